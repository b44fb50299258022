/* The inner loops of the solvers (solvers.c), on nodes [i0, i1) or edges [e0, e1) of any graph. */
#ifndef NNK_SOLVERS_H
#define NNK_SOLVERS_H

#include <stdint.h>

/* The edges of an undirected graph, each of them once, with an arbitrary direction.
 *   tail, head       edge e goes from node tail[e] to node head[e]
 *   first, of_node   the edges of node i are of_node[first[i] .. first[i + 1]): twice the number of
 *                    the edge, plus 1 if it ends at i
 *   limit, step      of type T, one per edge: see below */
typedef struct {
    const int32_t *tail, *head, *first, *of_node;
    const void *limit, *step;
} nnk_edge_list;

/* Total variation, by its dual problem: a flow u along the edges with |u| <= limit.
 *
 *   variation_nodes  Write x = z - r (what v makes flow out of each node), clipped to [low, high].
 *   variation_edges  Make a step of the accelerated projected gradient method:
 *                        next = clip(v + step (x_tail - x_head)),
 *                        v = next + momentum (next - u),  u = next.
 *                    Return sum (v - next)(next - u), with the v from before the step.  It is
 *                    positive if the momentum leads uphill.
 *   variation_gap    With d = x_tail - x_head, add sum (limit |d| - u d), the contribution to the
 *                    duality gap, to out[0], and sum limit |d|, the total variation, to out[1].
 *
 * Piecewise planar signals (gradient graph Laplacian), on the rows of a CSR matrix.  f holds a
 * value and `axes` slopes for each node, f[i (1 + axes)] being the value of node i.  `places` holds
 * the coordinates p of the nodes, [nodes][axes].
 *
 *   planes           Write half the gradient with respect to f, in the same layout, of
 *                        sum over edges w (d^2 + stiffness |s_i - s_j|^2),
 *                        d = f_j - f_i - (p_j - p_i) . (s_i + s_j) / 2,
 *                    with the values f and the slopes s. */
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

enum { NNK_MOST_AXES = 8 }; /* of the coordinates that `planes` takes */

#endif
