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
static inline uint64_t backward_word(const nnk_edges *e, int32_t directed, int64_t y, int64_t w, int64_t offset,
                                     int32_t dy, int32_t dx)
{
    if (directed)
        return plane_row(e, e->backward, y, offset)[w];
    if (y < dy)
        return 0;
    return shifted_word(plane_row(e, e->forward, y - dy, offset), e->words, w, -dx);
}

#endif
