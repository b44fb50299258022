/* Transposition of bit matrices. */
#ifndef NNK_BITS_H
#define NNK_BITS_H

#include <stdint.h>

/* Swap the two off-diagonal quarters of every block of 2 size x 2 size bits.  `low` has the lowest
 * `size` bits of each 2 size bits set. */
static inline __attribute__((always_inline)) void trade_quarters(uint64_t row[64], int size, uint64_t low)
{
    for (int block = 0; block < 64; block += 2 * size)
        for (int i = block; i < block + size; i++) {
            const uint64_t trade = (row[i] >> size ^ row[i + size]) & low;
            row[i + size] ^= trade;
            row[i] ^= trade << size;
        }
}

/* Transpose a 64 x 64 bit matrix: bit j of row i becomes bit i of row j. */
static inline void transpose(uint64_t row[64])
{
    trade_quarters(row, 32, 0x00000000ffffffffu);
    trade_quarters(row, 16, 0x0000ffff0000ffffu);
    trade_quarters(row, 8, 0x00ff00ff00ff00ffu);
    trade_quarters(row, 4, 0x0f0f0f0f0f0f0f0fu);
    trade_quarters(row, 2, 0x3333333333333333u);
    trade_quarters(row, 1, 0x5555555555555555u);
}

#endif
