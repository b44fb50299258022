/* The scaled problem of one query: kernels, order of candidates, unit diagonal. */
#ifndef NNK_PROBLEM_H
#define NNK_PROBLEM_H

#include <stdlib.h>

#include "../aligned.h"
#include "../csr.h"
#include "gram.h"
#include "neighbors.h"
#include "solver.h"

enum { STRIP = 256 };         /* features at a time: so much of all candidates stays in cache */
enum { MOST_KEPT = 1 << 16 }; /* numbers of candidates' rows kept from their first reading on */

/* Scratch for one query at a time: arrays of a number per candidate; the rows of `width`
 * numbers `query`, `zeros` and candidates as they are read, all of them kept where room is,
 * else one after the other; `block`, where they are not kept, STRIP features of those that
 * take part. */
typedef struct {
    nnk_problem s;
    int64_t capacity, width;
    int32_t taken;           /* candidates before the nearest n_neighbors are kept */
    int64_t *point;          /* their numbers, most similar first */
    int32_t *place;          /* where their rows are kept */
    double *key, *square;    /* what they are ordered by; |a_j|^2 */
    double *similarity;      /* b before scaling */
    double *root;            /* sqrt(K_jj), 0 where K_jj is not positive */
    double *rows, *block, *query, *zeros;
    const double **line;     /* of those that take part: where their rows begin */
    int64_t stride;          /* of the rows kept, 0 if they are not */
    double scale, query_square;
    void *memory;
} nnk_scratch;

static size_t take(size_t *used, size_t n_bytes)
{
    const size_t at = *used;
    *used += (n_bytes + 63) / 64 * 64;
    return at;
}

/* Room for problems of n candidates of which `kept` take part; `paired`: with each other. */
static int scratch_make(nnk_scratch *w, int64_t n, int64_t kept, int64_t width, int paired)
{
    const int64_t capacity = whole_octets(n > 0 ? n : 1), row = whole_octets(kept > 0 ? kept : 1);
    const int64_t stride = (width / LANES | 1) * LANES; /* odd, so that rows do not share cache sets */
    const int keep = paired && capacity * stride <= MOST_KEPT;
    const size_t line = sizeof(double) * (size_t)row, long_line = sizeof(double) * (size_t)capacity;
    size_t used = 0;
    const size_t k = take(&used, line * (size_t)row), r = take(&used, line * (size_t)row);
    size_t lines[8], long_lines[6];
    for (int i = 0; i < 8; i++)
        lines[i] = take(&used, line);
    for (int i = 0; i < 6; i++)
        long_lines[i] = take(&used, long_line);
    const size_t block = take(&used, keep || !paired ? 0 : line * (size_t)(width < STRIP ? width : STRIP));
    const size_t rows = take(&used, sizeof(double) * (size_t)(keep ? capacity * stride : width));
    const size_t query = take(&used, sizeof(double) * (size_t)width);
    const size_t zeros = take(&used, sizeof(double) * (size_t)width);
    const size_t pointers = take(&used, sizeof *w->line * (size_t)row);
    memset(w, 0, sizeof *w);
    w->memory = new_aligned(used);
    if (!w->memory)
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
    w->root = (double *)(base + long_lines[4]), w->place = (int32_t *)(base + long_lines[5]);
    w->rows = (double *)(base + rows), w->block = (double *)(base + block);
    w->query = (double *)(base + query), w->zeros = (double *)(base + zeros);
    w->line = (const double **)(base + pointers);
    w->capacity = capacity, w->width = width, w->stride = keep ? stride : 0;
    return NNK_OK;
}

static int is_centred(int32_t kind) { return kind <= NNK_ANGULAR; }

/* An octet less `centre` to `out`, its squares to `sum`. */
static inline void centre_octet(const part *values, const double *centre, double *out, part *sum)
{
    for (int p = 0; p < PARTS; p++) {
        const part a = values[p] - load_part(centre + p * PART);
        store_part(out + p * PART, a);
        sum[p] += a * a;
    }
}

/* Features [from, to) of row `i` of points or queries as doubles, less `centre`, in whole octets;
 * returns the sum of their squares. */
static double read_row(const nnk_task *t, const void *rows, int64_t i, int64_t from, int64_t to, const double *centre,
                       double *out)
{
    typedef float single_part __attribute__((vector_size(sizeof(part) / 2)));
    const float *x = (const float *)rows + i * t->n_features + from;
    const double *y = (const double *)rows + i * t->n_features + from;
    const int64_t n = to - from, whole = n / LANES * LANES;
    part sum[PARTS] = {{0}}, values[PARTS];
    double total = 0;
    for (int64_t l = 0; l < whole; l += LANES) {
        if (l % STRIP == 0 && l > 0) { /* added up as add_pairs does, for equal rows to give the same */
            total += lane_sum(sum);
            memset(sum, 0, sizeof sum);
        }
        for (int p = 0; p < PARTS; p++) {
            single_part single;
            if (t->single) {
                memcpy(&single, x + l + p * PART, sizeof single);
                values[p] = __builtin_convertvector(single, part);
            } else {
                values[p] = load_part(y + l + p * PART);
            }
        }
        centre_octet(values, centre + from + l, out + l, sum);
    }
    if (whole < n) {
        double last[LANES] = {0};
        for (int64_t l = whole; l < n; l++)
            last[l - whole] = t->single ? (double)x[l] : y[l];
        memcpy(values, last, sizeof last);
        if (whole % STRIP == 0 && whole > 0) {
            total += lane_sum(sum);
            memset(sum, 0, sizeof sum);
        }
        centre_octet(values, centre + from + whole, out + whole, sum);
    }
    return total + lane_sum(sum);
}

/* Ask for the beginning of a row that is read next: rows lie anywhere, and what follows the
 * processor fetches ahead by itself. */
static void fetch_ahead(const nnk_task *t, int64_t i)
{
    enum { LINE = 64, BEGINNING = 256 };
    const int64_t n_bytes = t->n_features * (t->single ? 4 : 8);
    const char *row = (const char *)t->points + (i > 0 ? i : 0) * n_bytes;
    for (int64_t at = 0; at < n_bytes && at < BEGINNING; at += LINE)
        __builtin_prefetch(row + at, 0, 2);
}

/* The candidates of query q: numbers, rows and what orders them. */
static void read_candidates(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const int centred = is_centred(t->kind), given = t->kind == NNK_PRECOMPUTED;
    int32_t n = 0;
    w->query_square = given ? 0 : read_row(t, t->queries, q, 0, t->n_features, w->zeros, w->query);
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
        w->place[n] = n;
        double *a = w->rows + n * w->stride;
        if (e + 1 < t->indptr[q + 1])
            fetch_ahead(t, csr_index(t->indices, t->wide, e + 1));
        w->square[n] = read_row(t, t->points, j, 0, t->n_features, centred ? w->query : w->zeros, a);
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
        const int32_t place = w->place[i];
        int32_t j = i;
        for (; j > 0 && (w->key[j - 1] > key || (w->key[j - 1] == key && w->point[j - 1] > point)); j--) {
            w->point[j] = w->point[j - 1], w->key[j] = w->key[j - 1], w->square[j] = w->square[j - 1];
            w->similarity[j] = w->similarity[j - 1], w->place[j] = w->place[j - 1];
        }
        w->point[j] = point, w->key[j] = key, w->square[j] = square, w->similarity[j] = similarity;
        w->place[j] = place;
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
        w->place[n++] = w->place[i];
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

/* Where features [from, to) of the candidates begin, and of as many zeros as make whole octets of
 * candidates. */
static void find_lines(const nnk_task *t, nnk_scratch *w, int64_t from, int64_t to)
{
    const double *centre = is_centred(t->kind) ? w->query : w->zeros;
    const int64_t width = whole_octets(to - from);
    for (int64_t i = 0; i < w->s.row; i++) {
        if (i >= w->s.n) {
            w->line[i] = w->zeros;
        } else if (w->stride) {
            w->line[i] = w->rows + w->place[i] * w->stride + from;
        } else {
            read_row(t, t->points, w->point[i], from, to, centre, w->block + i * width);
            w->line[i] = w->block + i * width;
        }
    }
}

/* Products, or squared distances, of the candidates' rows into K, on and above its
 * diagonal. */
static void pair_candidates(const nnk_task *t, nnk_scratch *w)
{
    const int64_t row = w->s.row;
    const int distance = t->kind == NNK_LAPLACIAN;
    memset(w->s.k, 0, sizeof *w->s.k * (size_t)(row * row));
    for (int64_t from = 0; from < t->n_features; from += STRIP) {
        const int64_t to = from + STRIP < t->n_features ? from + STRIP : t->n_features;
        find_lines(t, w, from, to);
        add_pairs(w->line, row, w->s.n, whole_octets(to - from), w->s.k, distance);
    }
    for (int32_t i = 0; i < w->s.n; i++)
        w->s.k[i * row + i] = distance ? 0 : w->square[i];
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
