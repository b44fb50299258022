/* Sums of doubles, eight at a time.  A sum over many numbers consists of eight sums, each over
 * every eighth number, which are added in a fixed order at the end.  So every instruction set gives
 * the same bits.  Eight numbers (an octet) are held as PARTS vectors. */
#ifndef NNK_OCTETS_H
#define NNK_OCTETS_H

#include <string.h>

#include "../gaussian.h"

enum { LANES = 8 };

#if defined(NNK_VARIANT_AVX512)
enum { PARTS = 1 };
typedef double part __attribute__((vector_size(64)));
typedef int64_t part_mask __attribute__((vector_size(64)));
#else
enum { PARTS = 2 };
typedef block_f64 part;
typedef blocki_f64 part_mask;
#endif
enum { PART = LANES / PARTS }; /* lanes of a part */

static inline part load_part(const double *p)
{
    part v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_part(double *p, part v) { memcpy(p, &v, sizeof v); }

/* Return the maximum in each lane. */
static inline part larger(part a, part b)
{
    const part_mask above = a > b;
    return (part)(((part_mask)a & above) | ((part_mask)b & ~above));
}

/* Return the first four lanes of an octet plus its last four. */
static inline block_f64 halves_sum(const part *octet)
{
#if defined(NNK_VARIANT_AVX512)
    return __builtin_shufflevector(octet[0], octet[0], 0, 1, 2, 3) +
           __builtin_shufflevector(octet[0], octet[0], 4, 5, 6, 7);
#else
    return octet[0] + octet[1];
#endif
}

/* Return the sums of the lanes of four octets. */
static inline block_f64 lane_sums(const part *a, const part *b, const part *c, const part *d)
{
    const block_f64 p = halves_sum(a), q = halves_sum(b), r = halves_sum(c), s = halves_sum(d);
    const block_f64 pq = __builtin_shufflevector(p, q, 0, 4, 2, 6) + __builtin_shufflevector(p, q, 1, 5, 3, 7);
    const block_f64 rs = __builtin_shufflevector(r, s, 0, 4, 2, 6) + __builtin_shufflevector(r, s, 1, 5, 3, 7);
    return __builtin_shufflevector(pq, rs, 0, 1, 4, 5) + __builtin_shufflevector(pq, rs, 2, 3, 6, 7);
}

/* Return the sum of the lanes of an octet, added in the same order as in lane_sums. */
static inline double lane_sum(const part *octet)
{
    const block_f64 s = halves_sum(octet);
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* Return n rounded up to a multiple of LANES. */
static inline int64_t whole_octets(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Return the sum of a[i] b[i]; n is a multiple of LANES. */
static inline double dot(const double *a, const double *b, int64_t n)
{
    part sum[PARTS] = {{0}};
    for (int64_t i = 0; i < n; i += LANES)
        for (int p = 0; p < PARTS; p++)
            sum[p] += load_part(a + i + p * PART) * load_part(b + i + p * PART);
    return lane_sum(sum);
}

/* Subtract f b[i] from a[i]; n is a multiple of LANES. */
static inline void subtract_multiple(double *a, double f, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i += PART)
        store_part(a + i, load_part(a + i) - f * load_part(b + i));
}

/* Replace a[i] <= 0 by exp(a[i]); n is a multiple of LANES. */
static inline void exp_octets(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES_f64) {
        const vec_f64 y = exp_vec_f64(loadu_f64(a + i));
        memcpy(a + i, &y, sizeof y);
    }
}

#endif
