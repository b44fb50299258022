/* exp() that gives the same bits on every machine and in every vector variant.
 *
 * x = n ln 2 + r, |r| <= ln 2 / 2, exp(r) = 1 + (r + r^2 q(r)) with q a
 * polynomial fitted to relative error below one unit in the last place, then
 * 2^n by the exponent bits.  Below the smallest normal result it returns 0.
 * For x <= 0 only: kernels never need more.  Written without branches, so that
 * the compiler may use vectors of any width.
 */
#ifndef NNK_EXPONENTIAL_H
#define NNK_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

static inline double exp_f64(double x)
{
    const double magic = 6755399441055744.0; /* 1.5 2^52: adding it rounds to an integer */
    const double inside = x < -708.39 ? -708.39 : x;
    const double t = inside * 1.4426950408889634 + magic, n = t - magic;
    const double r = (inside - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double q = 2.5100424157005066788e-8;
    q = q * r + 2.7620138719733995569e-7;
    q = q * r + 2.7557268378684192873e-6;
    q = q * r + 2.4801521190217727651e-5;
    q = q * r + 1.9841269863105968748e-4;
    q = q * r + 1.3888888917281793308e-3;
    q = q * r + 8.3333333333300513464e-3;
    q = q * r + 4.1666666666623991516e-2;
    q = q * r + 1.6666666666666667456e-1;
    q = q * r + 0.5;
    const double y = 1.0 + (r + r * r * q);
    uint64_t bits, steps;
    memcpy(&bits, &y, sizeof bits);
    memcpy(&steps, &t, sizeof steps);
    bits += steps << 52; /* the low bits of t are n */
    double result;
    memcpy(&result, &bits, sizeof result);
    return x < -708.39 ? 0.0 : result;
}

static inline float exp_f32(float x)
{
    const float magic = 12582912.0f; /* 1.5 2^23 */
    const float inside = x < -87.33f ? -87.33f : x;
    const float t = inside * 1.44269504f + magic, n = t - magic;
    const float r = (inside - n * 0.693145752f) - n * 1.42860677e-6f;
    float q = 1.39262134663e-3f;
    q = q * r + 8.36320297158e-3f;
    q = q * r + 4.16665544377e-2f;
    q = q * r + 1.6666576846e-1f;
    q = q * r + 0.5f;
    const float y = 1.0f + (r + r * r * q);
    uint32_t bits, steps;
    memcpy(&bits, &y, sizeof bits);
    memcpy(&steps, &t, sizeof steps);
    bits += steps << 23;
    float result;
    memcpy(&result, &bits, sizeof result);
    return x < -87.33f ? 0.0f : result;
}

#endif
