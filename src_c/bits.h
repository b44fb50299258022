/* Bit matrices. */
#ifndef NNK_BITS_H
#define NNK_BITS_H

#include <stdint.h>

/* Transpose a 64 x 64 bit matrix: bit j of row i becomes bit i of row j.  Halves
 * trade their off-diagonal quarters, then halves of halves. */
static inline void transpose(uint64_t row[64])
{
    uint64_t low = 0x00000000ffffffffu;
    for (int size = 32; size; size /= 2, low ^= low << size)
        for (int block = 0; block < 64; block += 2 * size)
            for (int i = block; i < block + size; i++) {
                const uint64_t trade = (row[i] >> size ^ row[i + size]) & low;
                row[i + size] ^= trade;
                row[i] ^= trade << size;
            }
}

#endif
