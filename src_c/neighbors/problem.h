/* The scaled problem of one query: kernels, order of candidates, unit diagonal. */
#ifndef NNK_PROBLEM_H
#define NNK_PROBLEM_H

#include <stdlib.h>

#include "../csr.h"
#include "gram.h"
#include "neighbors.h"
#include "solver.h"

enum { STRIP = 256 }; /* features at a time: so much of all candidates stays in cache */

/* Scratch for one query at a time: arrays of a number per candidate; `block`, STRIP
 * features of those that take part; `query` and `a`, rows of `width` numbers. */
typedef struct {
    nnk_problem s;
    int64_t capacity, width;
    int32_t taken;           /* candidates before the nearest n_neighbors are kept */
    int64_t *point;          /* their numbers, most similar first */
    double *key, *square;    /* what they are ordered by; |a_j|^2 */
    double *similarity;      /* b before scaling */
    double *root;            /* sqrt(K_jj), 0 where K_jj is not positive */
    double *block, *query, *a;
    double scale, query_square;
    void *memory;
} nnk_scratch;

static size_t take(size_t *used, size_t n_bytes)
{
    const size_t at = *used;
    *used += (n_bytes + 63) / 64 * 64;
    return at;
}

/* Room for problems of n candidates of which `kept` take part. */
static int scratch_make(nnk_scratch *w, int64_t n, int64_t kept, int64_t width)
{
    const int64_t capacity = whole_octets(n > 0 ? n : 1), row = whole_octets(kept > 0 ? kept : 1);
    const size_t line = sizeof(double) * (size_t)row, long_line = sizeof(double) * (size_t)capacity;
    size_t used = 0;
    const size_t k = take(&used, line * (size_t)row), r = take(&used, line * (size_t)row);
    size_t lines[8], long_lines[5];
    for (int i = 0; i < 8; i++)
        lines[i] = take(&used, line);
    for (int i = 0; i < 5; i++)
        long_lines[i] = take(&used, long_line);
    const size_t block = take(&used, line * (size_t)(width < STRIP ? width : STRIP));
    const size_t query = take(&used, sizeof(double) * (size_t)width);
    const size_t a = take(&used, sizeof(double) * (size_t)width);
    memset(w, 0, sizeof *w);
    if (posix_memalign(&w->memory, 64, used))
        return NNK_NO_MEMORY;
    char *base = w->memory;
    memset(base, 0, used);
    w->s.k = (double *)(base + k), w->s.r = (double *)(base + r);
    w->s.b = (double *)(base + lines[0]), w->s.theta = (double *)(base + lines[1]);
    w->s.gradient = (double *)(base + lines[2]), w->s.y = (double *)(base + lines[3]);
    w->s.z = (double *)(base + lines[4]), w->s.column = (double *)(base + lines[5]);
    w->s.passive = (int32_t *)(base + lines[6]), w->s.state = (uint8_t *)(base + lines[7]);
    w->point = (int64_t *)(base + long_lines[0]), w->key = (double *)(base + long_lines[1]);
    w->square = (double *)(base + long_lines[2]), w->similarity = (double *)(base + long_lines[3]);
    w->root = (double *)(base + long_lines[4]);
    w->block = (double *)(base + block), w->query = (double *)(base + query), w->a = (double *)(base + a);
    w->capacity = capacity, w->width = width;
    return NNK_OK;
}

static int is_centred(int32_t kind) { return kind <= NNK_ANGULAR; }

/* Features [from, to) of row `i` of points or queries as doubles, less `centre` where given. */
static void read_row(const nnk_task *t, const void *rows, int64_t i, int64_t from, int64_t to, const double *centre,
                     double *out)
{
    const float *x = (const float *)rows + i * t->n_features + from;
    const double *y = (const double *)rows + i * t->n_features + from;
    const int64_t n = to - from;
    if (t->single && centre)
        for (int64_t l = 0; l < n; l++)
            out[l] = (double)x[l] - centre[from + l];
    else if (t->single)
        for (int64_t l = 0; l < n; l++)
            out[l] = (double)x[l];
    else if (centre)
        for (int64_t l = 0; l < n; l++)
            out[l] = y[l] - centre[from + l];
    else
        memcpy(out, y, sizeof *out * (size_t)n);
}

/* Ask for a row that is read next: rows lie anywhere, and waiting for them takes the time. */
static void fetch_ahead(const nnk_task *t, int64_t i)
{
    enum { LINE = 64 };
    const int64_t n_bytes = t->n_features * (t->single ? 4 : 8);
    const char *row = (const char *)t->points + (i > 0 ? i : 0) * n_bytes;
    for (int64_t at = 0; at < n_bytes; at += LINE)
        __builtin_prefetch(row + at, 0, 2);
}

/* The candidates of query q: numbers, rows and what orders them. */
static void read_candidates(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const int centred = is_centred(t->kind), given = t->kind == NNK_PRECOMPUTED;
    int32_t n = 0;
    if (!given)
        read_row(t, t->queries, q, 0, t->n_features, NULL, w->query);
    w->query_square = given ? 0 : dot(w->query, w->query, w->width);
    for (int64_t e = t->indptr[q]; e < t->indptr[q + 1]; e++) {
        const int64_t j = csr_index(t->indices, t->wide, e);
        if (j < 0 || (t->exclude_self && j == q))
            continue;
        w->point[n] = j;
        if (given) {
            w->similarity[n] = ((const double *)t->queries)[q * t->n_features + j];
            w->key[n++] = -((const double *)t->queries)[q * t->n_features + j];
            continue;
        }
        double *a = w->a;
        if (e + 1 < t->indptr[q + 1])
            fetch_ahead(t, csr_index(t->indices, t->wide, e + 1));
        read_row(t, t->points, j, 0, t->n_features, centred ? w->query : NULL, a);
        w->square[n] = dot(a, a, w->width);
        w->similarity[n] = centred ? 0 : dot(a, w->query, w->width);
        if (t->kind == NNK_COSINE || t->kind == NNK_SHIFTED_COSINE) {
            const double norm = sqrt(w->square[n]) * sqrt(w->query_square);
            w->similarity[n] = norm > 0 ? w->similarity[n] / norm : 0;
        }
        w->key[n] = centred ? w->square[n] : -w->similarity[n];
        n++;
    }
    w->taken = n;
}

/* Insertion sort, for candidates mostly come in order. */
static void sort_candidates(nnk_scratch *w)
{
    for (int32_t i = 1; i < w->taken; i++) {
        const int64_t point = w->point[i];
        const double key = w->key[i], square = w->square[i], similarity = w->similarity[i];
        int32_t j = i;
        for (; j > 0 && (w->key[j - 1] > key || (w->key[j - 1] == key && w->point[j - 1] > point)); j--) {
            w->point[j] = w->point[j - 1], w->key[j] = w->key[j - 1], w->square[j] = w->square[j - 1];
            w->similarity[j] = w->similarity[j - 1];
        }
        w->point[j] = point, w->key[j] = key, w->square[j] = square, w->similarity[j] = similarity;
    }
}

/* Order them, drop repetitions, keep the most similar n_neighbors. */
static void choose_candidates(const nnk_task *t, nnk_scratch *w)
{
    sort_candidates(w);
    int32_t n = 0;
    for (int32_t i = 0; i < w->taken && n < t->n_neighbors; i++) {
        if (n && w->point[n - 1] == w->point[i])
            continue;
        w->point[n] = w->point[i], w->square[n] = w->square[i], w->similarity[n] = w->similarity[i];
        n++;
    }
    w->s.n = n;
    w->s.row = whole_octets(n);
    for (int64_t i = n; i < w->s.row; i++)
        w->square[i] = 0, w->similarity[i] = 0;
}

static double power(double x, int32_t degree)
{
    double y = 1;
    for (; degree > 0; degree >>= 1, x *= x)
        if (degree & 1)
            y *= x;
    return y;
}

/* The kernels: K_SS, on and above its diagonal, in place of the products g, and b.
 *
 * exp(-|x_i - x_j|^2 / (2 sigma^2)). */
static void gaussian(nnk_scratch *w, double sigma)
{
    const double half = -0.5 / sigma / sigma;
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
}

static void laplacian(nnk_scratch *w, double sigma)
{
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
}

/* LLE; the constant added is the mean diagonal of G. */
static double embedding(nnk_scratch *w)
{
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

/* Cosines in place of products, 0 for zero vectors; then shift + slope cosine. */
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

static double polynomial(const nnk_task *t, nnk_scratch *w)
{
    for (int64_t i = 0; i < w->s.n * w->s.row; i++)
        w->s.k[i] = power(t->gamma * w->s.k[i] + t->coef0, t->degree);
    for (int32_t j = 0; j < w->s.n; j++)
        w->similarity[j] = power(t->gamma * w->similarity[j] + t->coef0, t->degree);
    return power(t->gamma * w->query_square + t->coef0, t->degree);
}

/* Products, or squared distances, of the candidates' rows into K, on and above its
 * diagonal. */
static void pair_candidates(const nnk_task *t, nnk_scratch *w)
{
    const int64_t row = w->s.row;
    const double *centre = is_centred(t->kind) ? w->query : NULL;
    memset(w->s.k, 0, sizeof *w->s.k * (size_t)(row * row));
    for (int64_t from = 0; from < t->n_features; from += STRIP) {
        const int64_t to = from + STRIP < t->n_features ? from + STRIP : t->n_features;
        const int64_t width = whole_octets(to - from);
        for (int64_t i = 0; i < row; i++) {
            double *a = w->block + i * width;
            if (i < w->s.n)
                read_row(t, t->points, w->point[i], from, to, centre, a);
            for (int64_t l = i < w->s.n ? to - from : 0; l < width; l++)
                a[l] = 0;
        }
        add_pairs(w->block, row, width, w->s.k, t->kind == NNK_LAPLACIAN);
    }
}

/* K_SS, on and above its diagonal, and b of query q; returns K_qq. */
static double upper_similarities(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const int32_t n = w->s.n;
    if (t->kind == NNK_PRECOMPUTED) {
        const double *k = t->points;
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++)
                w->s.k[i * w->s.row + j] = k[w->point[i] * t->n_features + w->point[j]];
        return t->self_similarity[q];
    }
    pair_candidates(t, w);
    switch (t->kind) {
    case NNK_GAUSSIAN: gaussian(w, t->sigma[q]); return 1;
    case NNK_LAPLACIAN: laplacian(w, t->sigma[q]); return 1;
    case NNK_LLE: return embedding(w);
    case NNK_ANGULAR:
        cosines(w, 0.5, 0.5, 0);
        for (int32_t j = 0; j < n; j++)
            w->similarity[j] = 0.5;
        return 0.5;
    case NNK_COSINE:
        cosines(w, 0, 1, 1);
        return w->query_square > 0;
    case NNK_SHIFTED_COSINE:
        cosines(w, 0.5, 0.5, 1);
        for (int32_t j = 0; j < n; j++)
            w->similarity[j] = w->query_square > 0 && w->square[j] > 0 ? 0.5 + 0.5 * w->similarity[j] : 0;
        return w->query_square > 0;
    default: return polynomial(t, w);
    }
}

/* K_SS and b of query q; returns K_qq. */
static double similarities(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const double own = upper_similarities(t, w, q);
    mirror(w->s.k, w->s.n, w->s.row);
    return own;
}

/* K_jj = 1 and max b = 1, the weights' units kept in `root` and `scale`; with no b > l1
 * the scale is 0 and so are all weights. */
static void normalise(nnk_scratch *w, double l1)
{
    nnk_problem *s = &w->s;
    int unit = 1;
    for (int32_t j = 0; j < s->n; j++) {
        const double diagonal = s->k[j * s->row + j];
        w->root[j] = diagonal > 0 ? sqrt(diagonal) : 0;
        unit &= diagonal == 1;
    }
    for (int32_t i = 0; !unit && i < s->n; i++)
        for (int32_t j = 0; j < s->n; j++) {
            const double root = w->root[i] * w->root[j];
            s->k[i * s->row + j] = i == j ? 1 : root > 0 ? s->k[i * s->row + j] / root : 0;
        }
    w->scale = 0;
    for (int32_t j = 0; j < s->n; j++) {
        s->b[j] = w->root[j] > 0 ? (w->similarity[j] - l1) / w->root[j] : 0;
        w->scale = s->b[j] > w->scale ? s->b[j] : w->scale;
    }
    for (int64_t j = 0; j < s->row; j++)
        s->b[j] = j < s->n && w->scale > 0 ? s->b[j] / w->scale : 0;
}

/* Largest violation of optimality, in units of the scaled problem. */
static double residual_of(const nnk_problem *s)
{
    double worst = 0;
    for (int32_t j = 0; j < s->n; j++) {
        const double g = s->state[j] == PASSIVE ? fabs(s->gradient[j]) : s->gradient[j];
        worst = g > worst ? g : worst;
    }
    return worst;
}

#endif
