/* NNK of many queries.  This file is compiled once per instruction set; NNK_VARIANT names the table
 * that it defines. */
#include <float.h>
#include <math.h>

#include "../templating.h"
#include "methods.h"

/* Return the largest number of candidates of the queries [i0, i1). */
static int64_t most_candidates(const nnk_task *t, int64_t i0, int64_t i1)
{
    int64_t most = 0;
    for (int64_t q = i0; q < i1; q++)
        most = t->indptr[q + 1] - t->indptr[q] > most ? t->indptr[q + 1] - t->indptr[q] : most;
    return most;
}

/* Allocate scratch memory for queries [i0, i1).  Return a status. */
static int task_scratch(nnk_scratch *w, const nnk_task *t, int paired, int64_t i0, int64_t i1)
{
    const int64_t most = most_candidates(t, i0, i1), kept = most < t->n_neighbors ? most : t->n_neighbors;
    return scratch_make(w, most, kept, kernel_of(t)->rows == GIVEN ? 0 : whole_octets(t->n_features),
                        paired);
}

static int distances(const nnk_task *t, double *distance, int64_t i0, int64_t i1)
{
    nnk_scratch w;
    if (task_scratch(&w, t, 0, i0, i1))
        return NNK_NO_MEMORY;
    for (int64_t q = i0; q < i1; q++) {
        read_candidates(t, &w, q);
        choose_candidates(t, &w);
        const int64_t first = t->indptr[q], n = t->indptr[q + 1] - first;
        for (int64_t e = 0; e < n; e++)
            distance[first + e] = e < w.s.n ? sqrt(w.square[e]) : NAN;
    }
    free_aligned(w.memory);
    return NNK_OK;
}

/* Return whether candidates i and j are equal.  Then their similarity is 1 up to rounding, and
 * their b are exactly equal. */
static int are_twins(const nnk_problem *s, int32_t i, int32_t j)
{
    return s->k[j * s->row + i] >= 1 - 4 * DBL_EPSILON && s->b[i] == s->b[j];
}

/* Divide the weight of each candidate in P equally among all candidates equal to it. */
static void share(nnk_scratch *w)
{
    nnk_problem *s = &w->s;
    for (int32_t m = 0; m < s->size; m++) {
        const int32_t j = s->passive[m];
        int32_t twins = 0;
        for (int32_t i = 0; i < s->n; i++)
            twins += are_twins(s, i, j);
        const double part = s->theta[j] / twins;
        for (int32_t i = 0; i < s->n; i++)
            if (are_twins(s, i, j))
                s->theta[i] = part;
    }
}

/* Return the number by which weight j is multiplied, and its similarity divided, to compare them as
 * if K_jj = 1.  It is 1 if weights are the similarities. */
static double unit_of(const nnk_task *t, const nnk_scratch *w, int32_t j)
{
    return t->method == NNK_NEAREST || !(w->root[j] > 0) ? 1 : w->root[j];
}

/* Convert weights to the units of the caller, and set those below tol max(b) to 0.  Return
 * (b + l1)'theta + gradient'theta, which is K_qq minus twice the error; it includes the small
 * weights. */
static double unscale(const nnk_task *t, nnk_scratch *w)
{
    double explained = 0, top = 0;
    for (int32_t j = 0; j < w->s.n; j++)
        top = fmax(w->similarity[j] / unit_of(t, w, j), top);
    for (int32_t j = 0; j < w->s.n; j++) {
        double *theta = w->s.theta + j;
        explained += *theta * w->s.gradient[j] * w->scale * w->scale;
        *theta = *theta > 0 ? *theta * w->scale / w->root[j] : 0;
        explained += (w->similarity[j] + t->l1) * *theta;
        if (*theta * unit_of(t, w, j) < t->tol * top)
            *theta = 0;
    }
    return explained;
}

/* Write candidates and weights, ordered by the numbers of the points.  The position of each is the
 * count of smaller numbers: for so few this is faster than sorting, since it has no unpredictable
 * branches. */
static void write_rows(const nnk_task *t, const nnk_solved *out, const nnk_scratch *w, int64_t q)
{
    const int32_t n = w->s.n;
    for (int32_t i = 0; i < n; i++) {
        int64_t at = t->indptr[q];
        for (int32_t j = 0; j < n; j++)
            at += w->point[j] < w->point[i];
        set_csr_index(out->index, t->wide, at, w->point[i]);
        out->weight[at] = w->s.theta[i];
    }
    out->count[q] = n;
}

/* Compute weights by kernel regression, exactly or by a pursuit, or from similarities.  Return the
 * error. */
static double regress(const nnk_task *t, nnk_scratch *w, int64_t q, double *residual)
{
    const double own = similarities(t, w, q);
    normalize(w, t->l1);
    *residual = 0;
    switch (t->method) {
    case NNK_MATCHING_PURSUIT: pursue(&w->s); break;
    case NNK_NEAREST: take_all(w); break;
    default:
        if (t->method == NNK_EXACT)
            solve(&w->s);
        else
            pursue_orthogonally(&w->s);
        *residual = residual_of(&w->s);
    }
    if (t->share_duplicates)
        share(w);
    const double error = 0.5 * (own - unscale(t, w));
    if (kernel_of(t)->finish)
        return kernel_of(t)->finish(w, own);
    return error > 0 ? error : 0;
}

static void solve_query(const nnk_task *t, const nnk_solved *out, nnk_scratch *w, int64_t q)
{
    read_candidates(t, w, q);
    choose_candidates(t, w);
    if (t->method == NNK_K_STAR) {
        out->error[q] = weigh_by_distance(w, t->ratio);
        out->residual[q] = 0;
    } else if (t->method == NNK_LOCAL_PURSUIT) {
        pair_candidates(t, w, 0);
        mirror(w->s.k, w->s.n, w->s.row);
        out->error[q] = pursue_locally(w);
        out->residual[q] = 0;
    } else {
        out->error[q] = regress(t, w, q, &out->residual[q]);
    }
    write_rows(t, out, w, q);
}

static int solve_task(const nnk_task *t, const nnk_solved *out, int64_t i0, int64_t i1)
{
    nnk_scratch w;
    if (task_scratch(&w, t, t->method != NNK_K_STAR, i0, i1))
        return NNK_NO_MEMORY;
    for (int64_t q = i0; q < i1; q++)
        solve_query(t, out, &w, q);
    free_aligned(w.memory);
    return NNK_OK;
}

static int solve_given(const double *k, const double *b, int32_t n, double l1, double *theta, double *residual,
                       int64_t i0, int64_t i1)
{
    nnk_scratch w;
    if (scratch_make(&w, n, n, 0, 1))
        return NNK_NO_MEMORY;
    w.s.n = n, w.s.row = whole_octets(n);
    for (int64_t p = i0; p < i1; p++) {
        for (int32_t i = 0; i < n; i++)
            memcpy(w.s.k + i * w.s.row, k + (p * n + i) * n, sizeof *k * (size_t)n);
        memcpy(w.similarity, b + p * n, sizeof *b * (size_t)n);
        normalize(&w, l1);
        solve(&w.s);
        residual[p] = residual_of(&w.s);
        for (int32_t j = 0; j < n; j++)
            theta[p * n + j] = w.s.theta[j] > 0 ? w.s.theta[j] * w.scale / w.root[j] : 0;
    }
    free_aligned(w.memory);
    return NNK_OK;
}

#define NAME_(v) #v
#define NAME(v) NAME_(v)
#define TABLE(v) CAT(nnk_neighbor_kernels, v)

const nnk_neighbor_kernels TABLE(NNK_VARIANT) = {
    .name = NAME(NNK_VARIANT),
    .kernel_name = kernel_name,
    .distances = distances,
    .solve_task = solve_task,
    .solve_given = solve_given,
};
