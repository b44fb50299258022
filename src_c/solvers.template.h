/* Total variation and piecewise planar signals.  T, S: type and suffix. */

static inline T CAT(clip, S)(T value, T low, T high) { return value < low ? low : value > high ? high : value; }

void CAT(nnk_variation_nodes, S)(const nnk_edge_list *g, const T *z, const T *r, const T *v, double low, double high,
                                 T *x, int64_t i0, int64_t i1)
{
    static const T sign[2] = {1, -1};
    for (int64_t i = i0; i < i1; i++) {
        T out = 0;
        for (int32_t k = g->first[i]; k < g->first[i + 1]; k++)
            out += sign[g->of_node[k] & 1] * v[g->of_node[k] >> 1];
        x[i] = CAT(clip, S)(z[i] - r[i] * out, (T)low, (T)high);
    }
}

double CAT(nnk_variation_edges, S)(const nnk_edge_list *g, const T *x, double momentum, T *u, T *v, int64_t e0,
                                   int64_t e1)
{
    const T *limit = g->limit, *step = g->step, beta = (T)momentum;
    double uphill = 0;
    /* Do not loop over the few edges of each node: the end of such a short loop is mispredicted. */
    for (int64_t e = e0; e < e1; e++) {
        const T before = v[e], most = limit[e];
        const T there = before + step[e] * (x[g->tail[e]] - x[g->head[e]]), below = there < most ? there : most;
        const T next = below > -most ? below : -most, move = next - u[e];
        uphill += (before - next) * move;
        u[e] = next;
        v[e] = next + beta * move;
    }
    return uphill;
}

void CAT(nnk_variation_gap, S)(const nnk_edge_list *g, const T *x, const T *u, double *out, int64_t e0, int64_t e1)
{
    const T *limit = g->limit;
    for (int64_t e = e0; e < e1; e++) {
        const double d = (double)x[g->tail[e]] - x[g->head[e]], whole = limit[e] * (d < 0 ? -d : d);
        out[0] += whole - u[e] * d;
        out[1] += whole;
    }
}

/* Do the work of nnk_planes; `axes` is a constant in the usual case of 2. */
static inline __attribute__((always_inline)) void
CAT(planes_of, S)(const int32_t *indptr, const int32_t *indices, const T *weights, const T *places, const int axes,
                  T stiffness, const T *f, T *out, int64_t i0, int64_t i1)
{
    const int n = 1 + axes;
    for (int64_t i = i0; i < i1; i++) {
        const T *here = f + i * n;
        T sum[1 + NNK_MOST_AXES] = {0};
        for (int32_t k = indptr[i]; k < indptr[i + 1]; k++) {
            const int64_t j = indices[k];
            const T *there = f + j * n, w = weights[k];
            T c[NNK_MOST_AXES], d = there[0] - here[0];
            for (int a = 0; a < axes; a++) {
                c[a] = (places[j * axes + a] - places[i * axes + a]) / 2;
                d -= c[a] * (here[1 + a] + there[1 + a]);
            }
            sum[0] -= w * d;
            for (int a = 0; a < axes; a++)
                sum[1 + a] += w * (stiffness * (here[1 + a] - there[1 + a]) - d * c[a]);
        }
        for (int a = 0; a < n; a++)
            out[i * n + a] = sum[a];
    }
}

void CAT(nnk_planes, S)(const int32_t *indptr, const int32_t *indices, const T *weights, const T *places, int32_t axes,
                        double stiffness, const T *f, T *out, int64_t i0, int64_t i1)
{
    if (axes == 2) /* a constant lets the compiler unroll the loops over axes */
        CAT(planes_of, S)(indptr, indices, weights, places, 2, (T)stiffness, f, out, i0, i1);
    else
        CAT(planes_of, S)(indptr, indices, weights, places, axes, (T)stiffness, f, out, i0, i1);
}
