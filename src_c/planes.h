/* Rows of edge planes: access, shifted reading, and all edges of one image row. */
#ifndef NNK_PLANES_H
#define NNK_PLANES_H

#include <stdlib.h>

#include "nnk_core.h"

/* Return the words of row y of the plane of a forward offset. */
static inline uint64_t *plane_row(const nnk_edges *e, uint64_t *planes, int64_t y, int64_t offset)
{
    return planes + (y * e->half + offset) * e->words;
}

/* Return a word whose n lowest bits are set; 0 < n <= 64. */
static inline uint64_t low_bits(int64_t n) { return ~0ull >> (64 - n); }

/* Return word w of `row`, shifted by dx pixels: bit x of the result is bit x + dx of the row, or 0
 * outside it.  |dx| < 64. */
static inline uint64_t shifted_word(const uint64_t *row, int64_t words, int64_t w, int32_t dx)
{
    if (dx > 0)
        return row[w] >> dx | (w + 1 < words ? row[w + 1] << (64 - dx) : 0);
    if (dx < 0)
        return row[w] << -dx | (w > 0 ? row[w - 1] >> (64 + dx) : 0);
    return row[w];
}

/* An offset of the window. */
typedef struct {
    int64_t half; /* number of this offset, or of its negative, in the forward half */
    int32_t dy, dx;
} full_offset;

/* Return an offset by its number, 0 .. 2 half - 1, in row-major order. */
static inline full_offset offset_of(const nnk_edges *e, int64_t number)
{
    const int64_t o = number < e->half ? e->half - 1 - number : number - e->half;
    const int32_t sign = number < e->half ? -1 : 1;
    return (full_offset){o, sign * e->dy[o], sign * e->dx[o]};
}

/* Return the number of words for the edges of 64 pixels in an edge_row: one per offset, rounded up
 * to a multiple of 64, so that they form bit matrices of 64 x 64. */
static inline int64_t edge_stride(const nnk_edges *e) { return (2 * e->half + 63) / 64 * 64; }

/* Allocate memory for an edge_row, which the caller frees; NULL if there is none. */
static inline uint64_t *new_edge_row(const nnk_edges *e)
{
    return malloc((size_t)(e->words * edge_stride(e)) * sizeof(uint64_t));
}

/* Write all words of a shifted row to every `step`-th word of `out`; a `row` of NULL is 0. */
static inline void copy_shifted(const uint64_t *row, int64_t words, int32_t dx, uint64_t *out, int64_t step)
{
    for (int64_t w = 0; w < words; w++)
        out[w * step] = row ? shifted_word(row, words, w, dx) : 0;
}

/* Collect the edges of row y: out[w * edge_stride + number] is word w of the edges along the offset
 * of that number; numbers without an offset get 0.  The backward edges of an undirected graph are
 * read from the forward planes at their other ends. */
static inline void edge_row(const nnk_edges *e, int64_t y, uint64_t *out)
{
    const int64_t stride = edge_stride(e);
    for (int64_t number = 0; number < e->half; number++) {
        const full_offset o = offset_of(e, number);
        if (e->backward)
            copy_shifted(plane_row(e, e->backward, y, o.half), e->words, 0, out + number, stride);
        else
            copy_shifted(y + o.dy < 0 ? NULL : plane_row(e, e->forward, y + o.dy, o.half), e->words, o.dx,
                         out + number, stride);
    }
    for (int64_t o = 0; o < e->half; o++)
        copy_shifted(plane_row(e, e->forward, y, o), e->words, 0, out + e->half + o, stride);
    for (int64_t none = 2 * e->half; none < stride; none++)
        copy_shifted(NULL, e->words, 0, out + none, stride);
}

/* Return a word in which the lowest bit of each group of `lanes` (4 or 8) bits is set if the group
 * is not 0, and all other bits are 0. */
static inline uint64_t nonzero_groups(uint64_t word, int32_t lanes)
{
    word |= word >> 1;
    word |= word >> 2;
    if (lanes == 4)
        return word & 0x1111111111111111u;
    word |= word >> 4;
    return word & 0x0101010101010101u;
}

#endif
