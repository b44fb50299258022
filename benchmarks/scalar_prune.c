/* Algorithm 4 one pixel at a time with a bitmask of survivors: the usual way to write it.
 *
 * Compiled once per REAL by prune.py.  `at` walks planes padded with NaN, so that pixels
 * outside the image are dead from the start.
 */
#include <stdint.h>

enum { MAX_OFFSETS = 63 * 63 - 1, MAX_WORDS = (MAX_OFFSETS + 63) / 64 };

/* Offsets by increasing distance: a pixel is only pruned by nearer ones.  `delta` is [j, k],
 * `can_prune` a row of bits k per j, `alive` the result, `words` per pixel. */
void scalar_prune(const REAL *planes, int64_t stride, int64_t radius, int64_t height, int64_t width,
                  const int64_t *step, int64_t n_offsets, const int16_t *delta, const uint64_t *can_prune,
                  const REAL *threshold, uint64_t *alive)
{
    const int64_t words = (n_offsets + 63) / 64;
    REAL d[MAX_OFFSETS];
    uint64_t bits[MAX_WORDS];
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++, alive += words) {
            const REAL *at = planes + (y + radius) * stride + radius + x;
            for (int64_t w = 0; w < words; w++)
                bits[w] = 0;
            for (int64_t k = 0; k < n_offsets; k++) {
                d[k] = at[step[k]] - *at;
                bits[k / 64] |= (uint64_t)(d[k] == d[k]) << k % 64;
            }
            for (int64_t w = 0; w < words; w++)
                for (uint64_t left = bits[w]; left;) {
                    const int low = __builtin_ctzll(left);
                    const int64_t j = 64 * w + low;
                    const REAL d_j = d[j];
                    for (int64_t v = w; v < words; v++) {
                        uint64_t pruned = 0; /* without a branch: that would be mispredicted */
                        for (uint64_t c = bits[v] & can_prune[j * words + v]; c; c &= c - 1) {
                            const int64_t k = 64 * v + __builtin_ctzll(c);
                            const uint64_t dies = (d_j - d[k]) * d_j <= threshold[delta[j * n_offsets + k]];
                            pruned |= dies << k % 64;
                        }
                        bits[v] &= ~pruned;
                    }
                    left = bits[w] & ~((UINT64_C(2) << low) - 1);
                }
            for (int64_t w = 0; w < words; w++)
                alive[w] = bits[w];
        }
}
