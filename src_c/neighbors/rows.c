/* Directed weights as CSR rows: transposed, made undirected, without zeros. */
#include <stddef.h>

#include "../csr.h"
#include "neighbors.h"

void nnk_transpose_counts(const nnk_rows *a, int64_t n_columns, int64_t *indptr)
{
    for (int64_t j = 0; j <= n_columns; j++)
        indptr[j] = 0;
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t e = a->start[i]; e < a->start[i] + a->count[i]; e++)
            if (a->weight[e] != 0)
                indptr[csr_index(a->index, a->wide, e) + 1]++;
    for (int64_t j = 0; j < n_columns; j++)
        indptr[j + 1] += indptr[j];
}

void nnk_transpose(const nnk_rows *a, int64_t n_columns, const int64_t *indptr, int64_t *next, void *index,
                   double *weight)
{
    for (int64_t j = 0; j < n_columns; j++)
        next[j] = indptr[j];
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t e = a->start[i]; e < a->start[i] + a->count[i]; e++)
            if (a->weight[e] != 0) {
                const int64_t at = next[csr_index(a->index, a->wide, e)]++;
                set_csr_index(index, a->wide, at, i);
                weight[at] = a->weight[e];
            }
}

/* Is j among the candidates of i? */
static int is_candidate(const nnk_rows *a, int64_t i, int64_t j)
{
    int64_t low = a->start[i], high = low + a->count[i];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (csr_index(a->index, a->wide, middle) < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->start[i] + a->count[i] && csr_index(a->index, a->wide, low) == j;
}

/* The undirected weight of i and j from W_ij = there, W_ji = back, one of them positive. */
static double joined(const nnk_rows *a, int32_t rule, int64_t i, int64_t j, double there, double back)
{
    const double high = there > back ? there : back, low = there > back ? back : there;
    if (rule == NNK_MAX)
        return high;
    if (rule == NNK_MEAN)
        return (there + back) / 2;
    if (rule == NNK_MIN)
        return low;
    const int mutual = (there != 0 || is_candidate(a, i, j)) && (back != 0 || is_candidate(a, j, i));
    if (!mutual)
        return rule == NNK_MIN_ERROR_ONESIDED ? high : 0;
    return a->error[i] < a->error[j] ? there : a->error[i] > a->error[j] ? back : high;
}

void nnk_symmetric_rows(const nnk_rows *a, const int64_t *t_indptr, const void *t_index, const double *t_weight,
                        int32_t rule, int64_t *length, const int64_t *indptr, void *out_index, double *out_weight,
                        int64_t i0, int64_t i1)
{
    for (int64_t i = i0; i < i1; i++) {
        int64_t e = a->start[i], f = t_indptr[i], at = out_index ? indptr[i] : 0;
        const int64_t e1 = e + a->count[i], f1 = t_indptr[i + 1], first = at;
        while (e < e1 || f < f1) { /* both rise */
            const int64_t j = e < e1 ? csr_index(a->index, a->wide, e) : INT64_MAX;
            const int64_t k = f < f1 ? csr_index(t_index, a->wide, f) : INT64_MAX;
            const double there = j <= k ? a->weight[e] : 0, back = k <= j ? t_weight[f] : 0;
            const int64_t other = j < k ? j : k;
            e += j <= k, f += k <= j;
            const double weight = there != 0 || back != 0 ? joined(a, rule, i, other, there, back) : 0;
            if (weight == 0)
                continue;
            if (out_index) {
                set_csr_index(out_index, a->wide, at, other);
                out_weight[at] = weight;
            }
            at++;
        }
        if (!out_index)
            length[i] = at - first;
    }
}

void nnk_chosen_rows(const nnk_rows *a, int64_t *length, const int64_t *indptr, void *out_index, double *out_weight,
                     int64_t i0, int64_t i1)
{
    for (int64_t i = i0; i < i1; i++) {
        int64_t at = out_index ? indptr[i] : 0;
        const int64_t first = at;
        for (int64_t e = a->start[i]; e < a->start[i] + a->count[i]; e++) {
            if (a->weight[e] == 0)
                continue;
            if (out_index) {
                set_csr_index(out_index, a->wide, at, csr_index(a->index, a->wide, e));
                out_weight[at] = a->weight[e];
            }
            at++;
        }
        if (!out_index)
            length[i] = at - first;
    }
}
