/* Vectors of eight doubles: the unit of all sums here.  A sum over many numbers is
 * eight sums, one per lane, added in a fixed order at the end: the same bits on every
 * instruction set. */
#ifndef NNK_OCTETS_H
#define NNK_OCTETS_H

#include <string.h>

#include "../exponential.h"

typedef double octet __attribute__((vector_size(64)));
typedef int64_t octet_mask __attribute__((vector_size(64)));
enum { LANES = 8 };

static inline octet load_octet(const double *p)
{
    octet v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_octet(double *p, octet v) { memcpy(p, &v, sizeof v); }

static inline octet splat(double a) { return a - (octet){0}; }

static inline octet larger(octet a, octet b)
{
    const octet_mask above = a > b;
    return (octet)(((octet_mask)a & above) | ((octet_mask)b & ~above));
}

static inline double lane_sum(octet v)
{
    packet_f64 half[2];
    memcpy(half, &v, sizeof v);
    const packet_f64 s = half[0] + half[1];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

static inline int64_t whole_octets(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Sum of a[i] b[i], n a whole number of octets. */
static inline double dot(const double *a, const double *b, int64_t n)
{
    octet sum = {0};
    for (int64_t i = 0; i < n; i += LANES)
        sum += load_octet(a + i) * load_octet(b + i);
    return lane_sum(sum);
}

/* a[i] -= f b[i] */
static inline void subtract_multiple(double *a, double f, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        store_octet(a + i, load_octet(a + i) - f * load_octet(b + i));
}

/* a[i] = exp(a[i]) for a[i] <= 0 */
static inline void exp_octets(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i += PACKET_f64)
        store_packet_f64(a + i, exp_f64(load_packet_f64(a + i)));
}

#endif
