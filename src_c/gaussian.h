/* The exponential function and the Gaussian kernel, for vectors.  They give the same bits in every
 * variant and on every machine.
 *
 * x is split into n ln 2 + r with |r| <= ln 2 / 2, and exp(r) = 1 + (r + r^2 q(r)), where q is a
 * polynomial fitted to a relative error below one unit in the last place.  The factor 2^n is
 * applied by adding n to the exponent bits.  Results below the smallest normal number are 0.  Only
 * x <= 0 is allowed, which suffices for kernels.
 */
#ifndef NNK_GAUSSIAN_H
#define NNK_GAUSSIAN_H

#include <float.h>

#include "simd.h"

static inline vec_f64 exp_vec_f64(vec_f64 x)
{
    const veci_f64 above = x >= -708.39;
    const double magic = 6755399441055744.0; /* 1.5 2^52: adding it rounds to an integer */
    const vec_f64 inside = (vec_f64)((veci_f64)x & above); /* 0 where the result is 0 */
    const vec_f64 t = inside * 1.4426950408889634 + magic, n = t - magic;
    const vec_f64 r = (inside - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    vec_f64 q = 2.5100424157005066788e-8 * r + 2.7620138719733995569e-7;
    q = q * r + 2.7557268378684192873e-6;
    q = q * r + 2.4801521190217727651e-5;
    q = q * r + 1.9841269863105968748e-4;
    q = q * r + 1.3888888917281793308e-3;
    q = q * r + 8.3333333333300513464e-3;
    q = q * r + 4.1666666666623991516e-2;
    q = q * r + 1.6666666666666667456e-1;
    q = q * r + 0.5;
    const vec_f64 y = 1.0 + (r + r * r * q);
    return (vec_f64)(((veci_f64)y + ((veci_f64)t << 52)) & above); /* the low bits of t are n */
}

static inline vec_f32 exp_vec_f32(vec_f32 x)
{
    const veci_f32 above = x >= -87.33f;
    const float magic = 12582912.0f; /* 1.5 2^23 */
    const vec_f32 inside = (vec_f32)((veci_f32)x & above);
    const vec_f32 t = inside * 1.44269504f + magic, n = t - magic;
    const vec_f32 r = (inside - n * 0.693145752f) - n * 1.42860677e-6f;
    vec_f32 q = 1.39262134663e-3f * r + 8.36320297158e-3f;
    q = q * r + 4.16665544377e-2f;
    q = q * r + 1.6666576846e-1f;
    q = q * r + 0.5f;
    const vec_f32 y = 1.0f + (r + r * r * q);
    return (vec_f32)(((veci_f32)y + ((veci_f32)t << 23)) & above);
}

/* Return factor exp(-square / two_sigma2), or 0 if that is below the smallest normal number. */
static inline vec_f64 gaussian_vec_f64(vec_f64 factor, vec_f64 square, double two_sigma2)
{
    const vec_f64 weight = factor * exp_vec_f64(-(square / two_sigma2));
    return (vec_f64)((veci_f64)weight & (weight >= DBL_MIN));
}

static inline vec_f32 gaussian_vec_f32(vec_f32 factor, vec_f32 square, float two_sigma2)
{
    const vec_f32 weight = factor * exp_vec_f32(-(square / two_sigma2));
    return (vec_f32)((veci_f32)weight & (weight >= FLT_MIN));
}

#endif
