/* Access to the entries of an nnk_grid_operator, which describes their layout. */
#ifndef NNK_ENTRIES_H
#define NNK_ENTRIES_H

#include "nnk_core.h"

/* Return the counts of row y, one element per block and one for the whole row. */
static inline const nnk_before *entries_before(const nnk_grid_operator *op, int64_t y)
{
    return op->before + y * (op->blocks + 1);
}

/* Return where the entries and weights of row y begin. */
static inline nnk_start entries_start(const nnk_grid_operator *op, int64_t y) { return op->row_start[y % op->n_held]; }

/* The parts of an entry: numbers of its two offsets, and its bits of edges. */
static inline uint32_t first_offset(uint64_t entry) { return entry & 0xffff; }
static inline uint32_t second_offset(uint64_t entry) { return (uint32_t)entry >> 16; }
static inline uint32_t edges_of(uint64_t entry) { return (uint32_t)(entry >> 32); }

/* Where the next edge block and the next weight of a block of pixels are written.  Edge block i is
 * in entry i / 2. */
typedef struct {
    int64_t edge_block, weight;
} next_edge_block;

/* Set next[blocks] to the beginning of row y. */
static inline void begin_row(const nnk_grid_operator *op, int64_t y, next_edge_block *next)
{
    const nnk_start start = entries_start(op, y);
    const nnk_before *before = entries_before(op, y);
    for (int64_t b = 0; b < op->blocks; b++)
        next[b] = (next_edge_block){2 * (start.entry + before[b].entries), start.weight + before[b].weights};
}

/* Write an edge block of `size` pixels without its weights: the number of its offset, and a bit for
 * each edge.  The number of the first one of an entry is also written as the second, in case no
 * other one follows. */
static inline void put_edge_block(uint64_t *entries, int64_t edge_block, int32_t size, uint64_t number, uint64_t edges)
{
    uint64_t *entry = entries + edge_block / 2;
    const uint64_t second = edge_block & 1; /* no branch: it would be mispredicted */
    const uint64_t kept = *entry & ~(uint64_t)0xffff0000 & -second, first = number & (second - 1);
    *entry = kept | first | number << 16 | edges << (32 + (int)second * size);
}

#endif
