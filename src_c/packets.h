/* The packets of an nnk_grid_operator: where they are, reading and writing pairs. */
#ifndef NNK_PACKETS_H
#define NNK_PACKETS_H

#include "nnk_core.h"

static inline const nnk_before *packets_before(const nnk_grid_operator *op, int64_t y)
{
    return op->before + y * (op->blocks + 1);
}

static inline nnk_start packets_start(const nnk_grid_operator *op, int64_t y) { return op->row_start[y % op->n_held]; }

static inline uint32_t first_offset(uint64_t pair) { return pair & 0xffff; }
static inline uint32_t second_offset(uint64_t pair) { return (uint32_t)pair >> 16; }
static inline uint32_t edges_of(uint64_t pair) { return (uint32_t)(pair >> 32); }

/* Where the next packet and the next weight of a block go. */
typedef struct {
    int64_t packet, weight;
} next_packet;

static inline void begin_row(const nnk_grid_operator *op, int64_t y, next_packet *next)
{
    const nnk_start start = packets_start(op, y);
    const nnk_before *before = packets_before(op, y);
    for (int64_t b = 0; b < op->blocks; b++)
        next[b] = (next_packet){2 * (start.pair + before[b].pairs), start.weight + before[b].weights};
}

/* Write a packet, but for its weights: as the first of a pair also in place of the second. */
static inline void put_packet(uint64_t *pairs, int64_t packet, int32_t size, uint64_t number, uint64_t edges)
{
    uint64_t *pair = pairs + packet / 2;
    const uint64_t second = packet & 1; /* as likely as not: no branch on it */
    const uint64_t kept = *pair & ~(uint64_t)0xffff0000 & -second, first = number & (second - 1);
    *pair = kept | first | number << 16 | edges << (32 + (int)second * size);
}

#endif
