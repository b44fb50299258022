/* Tables for `expand` (double_blocks.h) on processors without an instruction for it.  They are
 * indexed by a mask m with one bit per lane.  The rank of a lane is the number of lanes below it
 * whose bit is set: the position of the number that it gets.
 *
 * BY_n(f, m) lists f(m), .., f(m + n - 1). */
#ifndef NNK_RANKS_H
#define NNK_RANKS_H

#include <stdint.h>

#define HAS(m, l) ((m) >> (l) & 1)
#define RANK(m, l) ((unsigned)__builtin_popcount((m) & ((1u << (l)) - 1)))

#define BY_4(f, m) f(m), f((m) + 1u), f((m) + 2u), f((m) + 3u)
#define BY_16(f, m) BY_4(f, m), BY_4(f, (m) + 4u), BY_4(f, (m) + 8u), BY_4(f, (m) + 12u)
#define BY_64(f, m) BY_16(f, m), BY_16(f, (m) + 16u), BY_16(f, (m) + 32u), BY_16(f, (m) + 48u)

#if defined(NNK_VARIANT_AVX2)
/* Byte i is the index of the 4-byte word that becomes word i of the vector; it is negative if the
 * bit of that lane is not set. */
#define WORD(m, i, size) ((uint64_t)((HAS(m, (i) / (size)) ? 0 : 0x80) | (RANK(m, (i) / (size)) * (size) + (i) % (size))) << 8 * (i))
#define WORDS(m, size) \
    (WORD(m, 0, size) | WORD(m, 1, size) | WORD(m, 2, size) | WORD(m, 3, size) | \
     WORD(m, 4, size) | WORD(m, 5, size) | WORD(m, 6, size) | WORD(m, 7, size))
#define WORDS_f32(m) WORDS(m, 1)
#define WORDS_f64(m) WORDS(m, 2)
static const uint64_t words_f32[256] = {BY_64(WORDS_f32, 0u), BY_64(WORDS_f32, 64u), BY_64(WORDS_f32, 128u),
                                        BY_64(WORDS_f32, 192u)};
static const uint64_t words_f64[16] = {BY_16(WORDS_f64, 0u)};

#elif defined(NNK_VARIANT_NEON)
/* Byte i is the index of the byte that becomes byte i of the vector; 255 if the bit of that lane is
 * not set. */
#define FROM(m, i, size) HAS(m, (i) / (size)) ? RANK(m, (i) / (size)) * (size) + (i) % (size) : 255
#define FROM_4(m, i, size) FROM(m, i, size), FROM(m, (i) + 1, size), FROM(m, (i) + 2, size), FROM(m, (i) + 3, size)
#define BYTES(m, size) {FROM_4(m, 0, size), FROM_4(m, 4, size), FROM_4(m, 8, size), FROM_4(m, 12, size)}
#define BYTES_f32(m) BYTES(m, 4)
#define BYTES_f64(m) BYTES(m, 8)
static const uint8_t bytes_f32[16][16] = {BY_16(BYTES_f32, 0u)};
static const uint8_t bytes_f64[4][16] = {BY_4(BYTES_f64, 0u)};

#else
/* The ranks of four lanes, and a mask of all ones for each lane whose bit is set. */
#define RANKS(m) {0, RANK(m, 1), RANK(m, 2), RANK(m, 3)}
#define KEPT_f32(m) {-(int)HAS(m, 0), -(int)HAS(m, 1), -(int)HAS(m, 2), -(int)HAS(m, 3)}
#define KEPT_f64(m) {-(int)HAS(m, 0), -(int)HAS(m, 1)}
static const uint8_t ranks[16][4] = {BY_16(RANKS, 0u)};
static const int32_t kept_f32[16][4] = {BY_16(KEPT_f32, 0u)};
static const int64_t kept_f64[4][2] = {BY_4(KEPT_f64, 0u)};
#endif

#if !defined(NNK_VARIANT_AVX2)
/* The number of bits set in m. */
#define COUNT(m) ((unsigned)RANK(m, 4))
static const uint8_t counts[16] = {BY_16(COUNT, 0u)};
#endif

#endif
