/* The kernels: a function and a line of the table for each.  nnk_image/neighbors/kernels.py has
 * their formulas in numpy, under the same names. */
#ifndef NNK_KERNELS_H
#define NNK_KERNELS_H

#include "gram.h"
#include "scratch.h"

/* Contents of the rows of candidates, and which candidates count as the most similar.
 *   CENTERED  a_j = x_j - x_q; the nearest ones
 *   PLAIN     x_j; those with the largest product with the query, or the largest `rank`
 *   GIVEN     no rows: `points` is the matrix K, and row q of `queries` holds K_qj; those with the
 *             largest K_qj */
enum { CENTERED, PLAIN, GIVEN };

/* A kernel.
 *   distances  whether `fill` gets squared distances between candidates instead of products
 *   rank       returns what orders plain rows, from x_j.x_q, |x_j|^2 and |x_q|^2; NULL for x_j.x_q
 *   fill       computes K_SS and b for query q.  It replaces the products of rows in w->s.k by
 *              K_SS, on and above the diagonal, and writes b to w->similarity, which holds what has
 *              ordered plain rows.  w->square holds the squared lengths of the rows.  Returns K_qq
 *   finish     changes the weights at the end, given K_qq, and returns the error; NULL if there is
 *              nothing to do */
typedef struct {
    const char *name;
    int rows, distances;
    double (*rank)(double product, double square, double query_square);
    double (*fill)(const nnk_task *, nnk_scratch *w, int64_t q);
    double (*finish)(nnk_scratch *w, double own);
} nnk_kernel;

/* Return x^degree by repeated squaring, for degree >= 0. */
static double power(double x, int32_t degree)
{
    double y = 1;
    for (; degree > 0; degree >>= 1, x *= x)
        if (degree & 1)
            y *= x;
    return y;
}

static double gaussian(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const double sigma = t->sigma[q], half = -0.5 / sigma / sigma;
    const int64_t row = w->s.row;
    for (int32_t i = 0; i < w->s.n; i++) {
        double *g = w->s.k + i * row;
        const int64_t from = i / LANES * LANES;
        for (int64_t j = from; j < row; j++) {
            const double d2 = (w->square[i] - g[j]) + (w->square[j] - g[j]);
            g[j] = half * (d2 > 0 ? d2 : 0);
        }
        exp_octets(g + from, row - from);
        g[i] = 1;
    }
    for (int64_t j = 0; j < row; j++)
        w->similarity[j] = half * w->square[j];
    exp_octets(w->similarity, row);
    return 1;
}

static double laplacian(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const double sigma = t->sigma[q];
    const int64_t row = w->s.row;
    for (int32_t i = 0; i < w->s.n; i++) {
        double *g = w->s.k + i * row;
        const int64_t from = i / LANES * LANES;
        for (int64_t j = from; j < row; j++)
            g[j] = -sqrt(g[j]) / sigma;
        exp_octets(g + from, row - from);
    }
    for (int64_t j = 0; j < row; j++)
        w->similarity[j] = -sqrt(w->square[j]) / sigma;
    exp_octets(w->similarity, row);
    return 1;
}

/* The kernel of 'lle': K_ij = c + a_i.a_j, where c is the mean of |a_j|^2, or 1 if that is 0. */
static double embedding(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    (void)t, (void)q;
    double c = 0;
    for (int32_t i = 0; i < w->s.n; i++)
        c += w->square[i] / w->s.n;
    c = c > 0 ? c : 1;
    for (int64_t i = 0; i < w->s.n * w->s.row; i++)
        w->s.k[i] += c;
    for (int32_t j = 0; j < w->s.n; j++)
        w->similarity[j] = c;
    return c;
}

/* Scale the weights to a sum of 1.  Return half the squared distance between the query and its
 * reconstruction, 1/2 |sum theta_j a_j|^2.  K_ij is c + a_i.a_j, scaled to K_jj = 1. */
static double sum_to_one(nnk_scratch *w, double c)
{
    double sum = 0;
    for (int32_t j = 0; j < w->s.n; j++)
        sum += w->s.theta[j];
    if (!(sum > 0))
        return 0;
    for (int32_t j = 0; j < w->s.n; j++)
        w->s.theta[j] /= sum;
    double square = -c;
    for (int32_t i = 0; i < w->s.n; i++) {
        const double *k = w->s.k + i * w->s.row, own = w->s.theta[i] * w->root[i];
        for (int32_t j = 0; own > 0 && j < w->s.n; j++)
            square += own * k[j] * w->root[j] * w->s.theta[j];
    }
    return square > 0 ? 0.5 * square : 0;
}

/* Replace products by shift + slope cosine.  The cosine with a zero vector is 0; with `isolate`, so
 * is the result. */
static void cosines(nnk_scratch *w, double shift, double slope, int isolate)
{
    const int64_t row = w->s.row;
    for (int32_t i = 0; i < w->s.n; i++)
        for (int32_t j = 0; j < w->s.n; j++) {
            double *g = w->s.k + i * row + j;
            const double norm = sqrt(w->square[i]) * sqrt(w->square[j]);
            if (isolate && !(norm > 0))
                *g = 0;
            else
                *g = shift + slope * (norm > 0 ? i == j ? 1 : *g / norm : 0);
        }
}

static double angular(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    (void)t, (void)q;
    cosines(w, 0.5, 0.5, 0);
    for (int32_t j = 0; j < w->s.n; j++)
        w->similarity[j] = 0.5;
    return 0.5;
}

static double cosine(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    (void)t, (void)q;
    cosines(w, 0, 1, 1);
    return w->query_square > 0;
}

static double shifted_cosine(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    (void)t, (void)q;
    cosines(w, 0.5, 0.5, 1);
    for (int32_t j = 0; j < w->s.n; j++)
        w->similarity[j] = w->query_square > 0 && w->square[j] > 0 ? 0.5 + 0.5 * w->similarity[j] : 0;
    return w->query_square > 0;
}

/* Return the cosine of candidate and query, which orders the candidates. */
static double cosine_of(double product, double square, double query_square)
{
    const double norm = sqrt(square) * sqrt(query_square);
    return norm > 0 ? product / norm : 0;
}

static double polynomial(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    (void)q;
    for (int64_t i = 0; i < w->s.n * w->s.row; i++)
        w->s.k[i] = power(t->gamma * w->s.k[i] + t->coef0, t->degree);
    for (int32_t j = 0; j < w->s.n; j++)
        w->similarity[j] = power(t->gamma * w->similarity[j] + t->coef0, t->degree);
    return power(t->gamma * w->query_square + t->coef0, t->degree);
}

/* A precomputed kernel: read_candidates has already read b. */
static double given(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const double *k = t->points;
    for (int32_t i = 0; i < w->s.n; i++)
        for (int32_t j = 0; j < w->s.n; j++)
            w->s.k[i * w->s.row + j] = k[w->point[i] * t->n_features + w->point[j]];
    return t->self_similarity[q];
}

/* The table, indexed by nnk_task.kind. */
static const nnk_kernel kernel_table[] = {
    {"gaussian", CENTERED, 0, NULL, gaussian, NULL},
    {"laplacian", CENTERED, 1, NULL, laplacian, NULL},
    {"lle", CENTERED, 0, NULL, embedding, sum_to_one},
    {"angular", CENTERED, 0, NULL, angular, NULL},
    {"cosine", PLAIN, 0, cosine_of, cosine, NULL},
    {"shifted_cosine", PLAIN, 0, cosine_of, shifted_cosine, NULL},
    {"polynomial", PLAIN, 0, NULL, polynomial, NULL},
    {"precomputed", GIVEN, 0, NULL, given, NULL},
};

static const nnk_kernel *kernel_of(const nnk_task *t) { return &kernel_table[t->kind]; }

/* Return the name of kernel number `kind`, or NULL beyond the last one. */
static const char *kernel_name(int32_t kind)
{
    return kind < (int32_t)(sizeof kernel_table / sizeof *kernel_table) ? kernel_table[kind].name : NULL;
}

#endif
