/* Rows of edge planes: where they are and how to read them shifted. */
#ifndef NNK_PLANES_H
#define NNK_PLANES_H

#include "nnk_core.h"

static inline uint64_t *plane_row(const nnk_edges *e, uint64_t *planes, int64_t y, int64_t offset)
{
    return planes + (y * e->half + offset) * e->words;
}

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

/* The edges of row y towards (-dy, -dx), word w.  Undirected graphs keep them in
 * the forward planes of the other end. */
static inline uint64_t backward_word(const nnk_edges *e, int64_t y, int64_t w, int64_t offset)
{
    if (e->backward)
        return plane_row(e, e->backward, y, offset)[w];
    if (y < e->dy[offset])
        return 0;
    return shifted_word(plane_row(e, e->forward, y - e->dy[offset], offset), e->words, w, -e->dx[offset]);
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

/* The edges of row y, word w, towards the offset of that number. */
static inline uint64_t edge_word(const nnk_edges *e, int64_t y, int64_t w, int64_t number)
{
    return number < e->half ? backward_word(e, y, w, e->half - 1 - number)
                            : plane_row(e, e->forward, y, number - e->half)[w];
}

/* Bit 0 of every group of `packet` (4 or 8) bits set where the group is not zero. */
static inline uint64_t groups_of(uint64_t word, int32_t packet)
{
    word |= word >> 1;
    word |= word >> 2;
    if (packet == 4)
        return word & 0x1111111111111111u;
    word |= word >> 4;
    return word & 0x0101010101010101u;
}

#endif
