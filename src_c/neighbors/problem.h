/* Set up the problem of one query: read and sort its candidates, compute their kernel, and scale it
 * to a unit diagonal. */
#ifndef NNK_PROBLEM_H
#define NNK_PROBLEM_H

#include "../csr.h"
#include "kernels.h"

/* Write an octet minus `center` to `out`, and add its squares to `sum`. */
static inline void center_octet(const part *values, const double *center, double *out, part *sum)
{
    for (int p = 0; p < PARTS; p++) {
        const part a = values[p] - load_part(center + p * PART);
        store_part(out + p * PART, a);
        sum[p] += a * a;
    }
}

/* Read features [from, to) of row i of points or queries as doubles, and write them minus `center`
 * to `out`, padded with zeros to whole octets.  Return the sum of their squares. */
static double read_row(const nnk_task *t, const void *rows, int64_t i, int64_t from, int64_t to, const double *center,
                       double *out)
{
    typedef float single_part __attribute__((vector_size(sizeof(part) / 2)));
    const float *x = (const float *)rows + i * t->n_features + from;
    const double *y = (const double *)rows + i * t->n_features + from;
    const int64_t n = to - from, whole = n / LANES * LANES;
    part sum[PARTS] = {{0}}, values[PARTS];
    double total = 0;
    for (int64_t l = 0; l < whole; l += LANES) {
        if (l % STRIP == 0 && l > 0) { /* same order as in add_pairs, so that equal rows agree */
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
        center_octet(values, center + from + l, out + l, sum);
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
        center_octet(values, center + from + whole, out + whole, sum);
    }
    return total + lane_sum(sum);
}

/* Prefetch the beginning of the row of point i, which is read next.  Rows are scattered in memory;
 * the processor itself prefetches what follows. */
static void fetch_ahead(const nnk_task *t, int64_t i)
{
    enum { LINE = 64, BEGINNING = 256 };
    const int64_t n_bytes = t->n_features * (t->single ? 4 : 8);
    const char *row = (const char *)t->points + (i > 0 ? i : 0) * n_bytes;
    for (int64_t at = 0; at < n_bytes && at < BEGINNING; at += LINE)
        __builtin_prefetch(row + at, 0, 2);
}

/* Read the candidates of query q: their numbers, rows and sort keys. */
static void read_candidates(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const nnk_kernel *kernel = kernel_of(t);
    const int centered = kernel->rows == CENTERED, given = kernel->rows == GIVEN;
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
        w->square[n] = read_row(t, t->points, j, 0, t->n_features, centered ? w->query : w->zeros, a);
        w->similarity[n] = centered ? 0 : dot(a, w->query, w->width);
        if (kernel->rank)
            w->similarity[n] = kernel->rank(w->similarity[n], w->square[n], w->query_square);
        w->key[n] = centered ? w->square[n] : -w->similarity[n];
        n++;
    }
    w->n_read = n;
}

/* Copy what is known of candidate `from` to place `to`. */
static void move_candidate(nnk_scratch *w, int32_t from, int32_t to)
{
    w->point[to] = w->point[from], w->key[to] = w->key[from], w->square[to] = w->square[from];
    w->similarity[to] = w->similarity[from], w->place[to] = w->place[from];
}

/* Keep the n_neighbors most similar candidates, sorted by key, then by number; repeated ones count
 * once.  Insertion sort, because most are already in order, or too far to be kept. */
static void choose_candidates(const nnk_task *t, nnk_scratch *w)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->n_read; i++) {
        const int64_t point = w->point[i];
        const double key = w->key[i], square = w->square[i], similarity = w->similarity[i];
        const int32_t place = w->place[i];
        if (n == t->n_neighbors && w->key[n - 1] < key)
            continue;
        int32_t j = n;
        while (j > 0 && (w->key[j - 1] > key || (w->key[j - 1] == key && w->point[j - 1] > point)))
            j--;
        if (j == t->n_neighbors || (j > 0 && w->point[j - 1] == point))
            continue;
        n += n < t->n_neighbors;
        for (int32_t m = n - 1; m > j; m--)
            move_candidate(w, m - 1, m);
        w->point[j] = point, w->key[j] = key, w->square[j] = square, w->similarity[j] = similarity;
        w->place[j] = place;
    }
    w->s.n = n;
    w->s.row = whole_octets(n);
    for (int64_t i = n; i < w->s.row; i++)
        w->square[i] = 0, w->similarity[i] = 0;
}

/* Set w->line[i] to features [from, to) of candidate i, reading the rows again if they are not
 * kept.  Further lines up to a multiple of LANES are zeros. */
static void find_lines(const nnk_task *t, nnk_scratch *w, int64_t from, int64_t to)
{
    const double *center = kernel_of(t)->rows == CENTERED ? w->query : w->zeros;
    const int64_t width = whole_octets(to - from);
    for (int64_t i = 0; i < w->s.row; i++) {
        if (i >= w->s.n) {
            w->line[i] = w->zeros;
        } else if (w->stride) {
            w->line[i] = w->rows + w->place[i] * w->stride + from;
        } else {
            read_row(t, t->points, w->point[i], from, to, center, w->block + i * width);
            w->line[i] = w->block + i * width;
        }
    }
}

/* Write the products of the candidates' rows, or their squared distances, to K, on and above the
 * diagonal. */
static void pair_candidates(const nnk_task *t, nnk_scratch *w, int distance)
{
    const int64_t row = w->s.row;
    memset(w->s.k, 0, sizeof *w->s.k * (size_t)(row * row));
    for (int64_t from = 0; from < t->n_features; from += STRIP) {
        const int64_t to = from + STRIP < t->n_features ? from + STRIP : t->n_features;
        find_lines(t, w, from, to);
        add_pairs(w->line, row, w->s.n, whole_octets(to - from), w->s.k, distance);
    }
    for (int32_t i = 0; i < w->s.n; i++)
        w->s.k[i * row + i] = distance ? 0 : w->square[i];
}

/* Compute K_SS and b of query q.  Return K_qq. */
static double similarities(const nnk_task *t, nnk_scratch *w, int64_t q)
{
    const nnk_kernel *kernel = kernel_of(t);
    if (kernel->rows != GIVEN)
        pair_candidates(t, w, kernel->distances);
    const double own = kernel->fill(t, w, q);
    mirror(w->s.k, w->s.n, w->s.row);
    return own;
}

/* Scale the problem such that K_jj = 1 and max(b - l1) = 1.  The factors are kept in `root` and
 * `scale`.  If no b is above l1, `scale` is 0 and all weights will be 0. */
static void normalize(nnk_scratch *w, double l1)
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

/* Return the largest violation of the optimality conditions of the scaled problem. */
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
