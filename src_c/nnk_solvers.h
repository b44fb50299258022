/* The hot loops of the solvers (solvers.c), on nodes [i0, i1) of any graph. */
#ifndef NNK_SOLVERS_H
#define NNK_SOLVERS_H

#include <stdint.h>

/* The edges of an undirected graph, each once.
 *   start, head   edges start[i] .. start[i + 1] go from node i to nodes head[e] > i
 *   into, edge    and edge[into[i]] .. edge[into[i + 1]] are the numbers of those that end at node i
 *   limit, step   of type T, for each edge: see below */
typedef struct {
    const int32_t *start, *head, *into, *edge;
    const void *limit, *step;
} nnk_edge_list;

/* Total variation by its dual: a flow u along each edge, |u| <= limit.
 *
 *   variation_nodes  x = z - r (what flows out of each node), within [low, high]
 *   variation_edges  a step of the accelerated projected gradient on the flows out of these nodes, from v:
 *                    next = clip(v + step (x_i - x_j)), v = next + momentum (next - u), u = next.
 *                    Returns sum (v - next)(next - u), above 0 where the momentum leads upwards
 *   variation_gap    out[0] += sum limit |x_i - x_j| - u (x_i - x_j), out[1] += sum limit |x_i - x_j|,
 *                    over the same edges
 *
 * Piecewise planar signals (gradient graph Laplacian), on rows of CSR: of node i a value and `axes` slopes
 * lie at f[i (1 + axes)].  With c = p_j - p_i the displacement of two nodes, s slopes and
 * d = f_j - f_i - c (s_i + s_j) / 2, `planes` writes half the gradient of
 *   sum over edges w (d^2 + stiffness |s_i - s_j|^2)
 * in f, in the same layout. */
#define NNK_SOLVERS_OF(S, T)                                                                                    \
    void nnk_variation_nodes_##S(const nnk_edge_list *, const T *z, const T *r, const T *v, double low,         \
                                 double high, T *x, int64_t i0, int64_t i1);                                    \
    double nnk_variation_edges_##S(const nnk_edge_list *, const T *x, double momentum, T *u, T *v, int64_t i0,  \
                                   int64_t i1);                                                                 \
    void nnk_variation_gap_##S(const nnk_edge_list *, const T *x, const T *u, double *out, int64_t i0,          \
                               int64_t i1);                                                                     \
    void nnk_planes_##S(const int32_t *indptr, const int32_t *indices, const T *weights, const T *places,       \
                        int32_t axes, double stiffness, const T *f, T *out, int64_t i0, int64_t i1);
NNK_SOLVERS_OF(f32, float)
NNK_SOLVERS_OF(f64, double)

enum { NNK_MOST_AXES = 8 }; /* of places */

#endif
