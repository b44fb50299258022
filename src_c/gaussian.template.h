/* exp() and the Gaussian kernel of vectors, the same bits on every machine and in every
 * variant.  V, VI: the vectors' names, packet and packeti or vec and veci.
 *
 * x = n ln 2 + r, |r| <= ln 2 / 2, exp(r) = 1 + (r + r^2 q(r)) with q a
 * polynomial fitted to relative error below one unit in the last place, then
 * 2^n by the exponent bits.  Below the smallest normal result it returns 0.
 * For x <= 0 only: kernels never need more.
 */

static inline CAT(V, f64) CAT3(exp, V, f64)(CAT(V, f64) x)
{
    const CAT(VI, f64) above = x >= -708.39;
    const double magic = 6755399441055744.0; /* 1.5 2^52: adding it rounds to an integer */
    const CAT(V, f64) inside = (CAT(V, f64))((CAT(VI, f64))x & above); /* 0 where the result is 0 */
    const CAT(V, f64) t = inside * 1.4426950408889634 + magic, n = t - magic;
    const CAT(V, f64) r = (inside - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    CAT(V, f64) q = 2.5100424157005066788e-8 * r + 2.7620138719733995569e-7;
    q = q * r + 2.7557268378684192873e-6;
    q = q * r + 2.4801521190217727651e-5;
    q = q * r + 1.9841269863105968748e-4;
    q = q * r + 1.3888888917281793308e-3;
    q = q * r + 8.3333333333300513464e-3;
    q = q * r + 4.1666666666623991516e-2;
    q = q * r + 1.6666666666666667456e-1;
    q = q * r + 0.5;
    const CAT(V, f64) y = 1.0 + (r + r * r * q);
    return (CAT(V, f64))(((CAT(VI, f64))y + ((CAT(VI, f64))t << 52)) & above); /* t's low bits are n */
}

static inline CAT(V, f32) CAT3(exp, V, f32)(CAT(V, f32) x)
{
    const CAT(VI, f32) above = x >= -87.33f;
    const float magic = 12582912.0f; /* 1.5 2^23 */
    const CAT(V, f32) inside = (CAT(V, f32))((CAT(VI, f32))x & above);
    const CAT(V, f32) t = inside * 1.44269504f + magic, n = t - magic;
    const CAT(V, f32) r = (inside - n * 0.693145752f) - n * 1.42860677e-6f;
    CAT(V, f32) q = 1.39262134663e-3f * r + 8.36320297158e-3f;
    q = q * r + 4.16665544377e-2f;
    q = q * r + 1.6666576846e-1f;
    q = q * r + 0.5f;
    const CAT(V, f32) y = 1.0f + (r + r * r * q);
    return (CAT(V, f32))(((CAT(VI, f32))y + ((CAT(VI, f32))t << 23)) & above);
}

/* factor exp(-square / two_sigma2), 0 where it is no normal number. */
static inline CAT(V, f64) CAT3(gaussian, V, f64)(CAT(V, f64) factor, CAT(V, f64) square, double two_sigma2)
{
    const CAT(V, f64) weight = factor * CAT3(exp, V, f64)(-(square / two_sigma2));
    return (CAT(V, f64))((CAT(VI, f64))weight & (weight >= DBL_MIN));
}

static inline CAT(V, f32) CAT3(gaussian, V, f32)(CAT(V, f32) factor, CAT(V, f32) square, float two_sigma2)
{
    const CAT(V, f32) weight = factor * CAT3(exp, V, f32)(-(square / two_sigma2));
    return (CAT(V, f32))((CAT(VI, f32))weight & (weight >= FLT_MIN));
}
