/* Rows of edge planes: where they are and how to read them shifted. */
#ifndef NNK_PLANES_H
#define NNK_PLANES_H

#include <stdlib.h>

#include "nnk_core.h"

static inline uint64_t *plane_row(const nnk_edges *e, uint64_t *planes, int64_t y, int64_t offset)
{
    return planes + (y * e->half + offset) * e->words;
}

/* The lowest n of 64 bits, n > 0. */
static inline uint64_t low_bits(int64_t n) { return ~0ull >> (64 - n); }

/* Word w of `row` read dx pixels further: bit x is bit x + dx of the row, 0
 * outside it.  |dx| < 64. */
static inline uint64_t shifted_word(const uint64_t *row, int64_t words, int64_t w, int32_t dx)
{
    if (dx > 0)
        return row[w] >> dx | (w + 1 < words ? row[w + 1] << (64 - dx) : 0);
    if (dx < 0)
        return row[w] << -dx | (w > 0 ? row[w - 1] >> (64 + dx) : 0);
    return row[w];
}

/* An offset of the whole window, numbered 0 .. 2 half - 1 in row-major order. */
typedef struct {
    int64_t half;   /* its number, or its negative's, in the forward half */
    int32_t dy, dx;
} full_offset;

static inline full_offset offset_of(const nnk_edges *e, int64_t number)
{
    const int64_t o = number < e->half ? e->half - 1 - number : number - e->half;
    const int32_t sign = number < e->half ? -1 : 1;
    return (full_offset){o, sign * e->dy[o], sign * e->dx[o]};
}

/* Words that the edges of 64 pixels take in an edge_row: 64 x 64 bit matrices. */
static inline int64_t edge_stride(const nnk_edges *e) { return (2 * e->half + 63) / 64 * 64; }

/* Room for an edge_row; to be freed. */
static inline uint64_t *new_edge_row(const nnk_edges *e)
{
    return malloc((size_t)(e->words * edge_stride(e)) * sizeof(uint64_t));
}

static inline void copy_shifted(const uint64_t *row, int64_t words, int32_t dx, uint64_t *out, int64_t step)
{
    for (int64_t w = 0; w < words; w++)
        out[w * step] = row ? shifted_word(row, words, w, dx) : 0;
}

/* The edges of row y: out[w * edge_stride + number] is word w of those towards the offset of that
 * number, 0 for numbers of no offset.  Undirected graphs keep the backward ones in the forward
 * planes of the other end. */
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

/* Bit 0 of every `lanes` (4 or 8) bits is set where these are not all zero. */
static inline uint64_t groups_of(uint64_t word, int32_t lanes)
{
    word |= word >> 1;
    word |= word >> 2;
    if (lanes == 4)
        return word & 0x1111111111111111u;
    word |= word >> 4;
    return word & 0x0101010101010101u;
}

#endif
