/* The hot loops of the solvers (solvers.c), on nodes [i0, i1) or edges [e0, e1) of any graph. */
#ifndef NNK_SOLVERS_H
#define NNK_SOLVERS_H

#include <stdint.h>

/* The edges of an undirected graph, each once.
 *   tail, head       edge e goes from node tail[e] to node head[e]
 *   first, of_node   of_node[first[i]] .. of_node[first[i + 1]] are the edges of node i: twice their
 *                    number, and 1 more if they end there
 *   limit, step      of type T, for each edge: see below */
typedef struct {
    const int32_t *tail, *head, *first, *of_node;
    const void *limit, *step;
} nnk_edge_list;

/* Total variation by its dual: a flow u along each edge, |u| <= limit.
 *
 *   variation_nodes  x = z - r (what flows out of each node), within [low, high]
 *   variation_edges  a step of the accelerated projected gradient, from v: next = clip(v + step (x_tail - x_head)),
 *                    v = next + momentum (next - u), u = next.
 *                    Returns sum (v - next)(next - u), above 0 where the momentum leads upwards
 *   variation_gap    with d = x_tail - x_head, out[0] += sum limit |d| - u d, out[1] += sum limit |d|
 *
 * Piecewise planar signals (gradient graph Laplacian), on rows of CSR: of node i a value and `axes` slopes
 * lie at f[i (1 + axes)].  With c = p_j - p_i the displacement of two nodes, s slopes and
 * d = f_j - f_i - c (s_i + s_j) / 2, `planes` writes half the gradient of
 *   sum over edges w (d^2 + stiffness |s_i - s_j|^2)
 * in f, in the same layout. */
#define NNK_SOLVERS_OF(S, T)                                                                                    \
    void nnk_variation_nodes_##S(const nnk_edge_list *, const T *z, const T *r, const T *v, double low,         \
                                 double high, T *x, int64_t i0, int64_t i1);                                    \
    double nnk_variation_edges_##S(const nnk_edge_list *, const T *x, double momentum, T *u, T *v, int64_t e0,  \
                                   int64_t e1);                                                                 \
    void nnk_variation_gap_##S(const nnk_edge_list *, const T *x, const T *u, double *out, int64_t e0,          \
                               int64_t e1);                                                                     \
    void nnk_planes_##S(const int32_t *indptr, const int32_t *indices, const T *weights, const T *places,       \
                        int32_t axes, double stiffness, const T *f, T *out, int64_t i0, int64_t i1);
NNK_SOLVERS_OF(f32, float)
NNK_SOLVERS_OF(f64, double)

enum { NNK_MOST_AXES = 8 }; /* of places */

#endif
