/* Scratch memory for the problem of one query. */
#ifndef NNK_SCRATCH_H
#define NNK_SCRATCH_H

#include <stdlib.h>

#include "../aligned.h"
#include "neighbors.h"
#include "solver.h"

enum { STRIP = 256 };         /* features multiplied at a time, so that they fit into the cache */
enum { MOST_KEPT = 1 << 16 }; /* rows are kept if they have at most this many numbers together */

/* Scratch memory for one query at a time.  Most arrays have one number per candidate.
 *   query, zeros   rows of `width` numbers: the features of the query as doubles, and zeros
 *   rows           rows of the candidates, `stride` apart, if they are kept; else one row, which
 *                  each candidate overwrites
 *   block          if rows are not kept, STRIP features of the candidates that are used */
typedef struct {
    nnk_problem s;
    int64_t capacity, width;
    int32_t n_read;          /* candidates before the most similar n_neighbors are chosen */
    int64_t *point;          /* numbers of the candidates; the most similar first after sorting */
    int32_t *place;          /* index of each candidate in `rows` */
    double *key, *square;    /* sort key, ascending; |a_j|^2 or |x_j|^2 */
    double *similarity;      /* b before scaling */
    double *root;            /* sqrt(K_jj), 0 where K_jj is not positive */
    double *rows, *block, *query, *zeros;
    const double **line;     /* features of the candidates that are used, see find_lines */
    int64_t stride;          /* of `rows`; 0 if they are not kept */
    double scale, query_square;
    void *memory;
} nnk_scratch;

/* Reserve n_bytes, rounded up to whole cache lines.  Return their offset. */
static size_t take(size_t *used, size_t n_bytes)
{
    const size_t at = *used;
    *used += (n_bytes + 63) / 64 * 64;
    return at;
}

/* Allocate scratch memory for problems of n candidates with rows of `width` numbers, of which
 * `kept` candidates are used.  `paired` says whether pairs of candidates are compared, which
 * needs the matrices of w->s.  Return a status; the caller frees w->memory by free_aligned. */
static int scratch_make(nnk_scratch *w, int64_t n, int64_t kept, int64_t width, int paired)
{
    const int64_t capacity = whole_octets(n > 0 ? n : 1), row = whole_octets(kept > 0 ? kept : 1);
    const int64_t stride = (width / LANES | 1) * LANES; /* odd: no cache conflicts between rows */
    const int keep = paired && capacity * stride <= MOST_KEPT;
    const size_t line = sizeof(double) * (size_t)row, long_line = sizeof(double) * (size_t)capacity;
    size_t used = 0;
    const size_t matrix = paired ? line * (size_t)row : 0;
    const size_t k = take(&used, matrix), r = take(&used, matrix);
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

#endif
