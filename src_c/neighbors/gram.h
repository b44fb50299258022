/* Products, or squared distances, of all pairs of a few rows. */
#ifndef NNK_GRAM_H
#define NNK_GRAM_H

#include "octets.h"

#if defined(NNK_VARIANT_AVX512)
enum { TILE = 4 }; /* rows a side of a tile: its sums stay in registers */
#else
enum { TILE = 2 };
#endif

/* Add to g[i * n + j] the sums over `width` numbers for TILE x TILE pairs of rows. */
static inline __attribute__((always_inline)) void pair_tile(const double *a, const double *b, int64_t width, double *g,
                                                            int64_t n, const int distance)
{
    part sum[TILE][TILE][PARTS] = {{{{0}}}};
    for (int64_t l = 0; l < width; l += LANES)
        for (int p = 0; p < PARTS; p++) {
            part right[TILE];
            for (int j = 0; j < TILE; j++)
                right[j] = load_part(b + j * width + l + p * PART);
            for (int i = 0; i < TILE; i++) {
                const part left = load_part(a + i * width + l + p * PART);
                for (int j = 0; j < TILE; j++) {
                    const part d = distance ? left - right[j] : left;
                    sum[i][j][p] += distance ? d * d : left * right[j];
                }
            }
        }
    for (int i = 0; i < TILE * TILE; i += 4) {
        part(*s)[PARTS] = &sum[0][0] + i;
        const packet_f64 sums = lane_sums(s[0], s[1], s[2], s[3]);
        for (int j = 0; j < 4; j++)
            g[(i + j) / TILE * n + (i + j) % TILE] += sums[j];
    }
}

/* Add to g[i][j] rows[i].rows[j], or |rows[i] - rows[j]|^2, for pairs on and above the
 * diagonal tiles; n rows of `width` numbers, both whole octets. */
static void add_pairs(const double *rows, int64_t n, int64_t width, double *g, int distance)
{
    for (int64_t i = 0; i < n; i += TILE)
        for (int64_t j = i; j < n; j += TILE)
            if (distance)
                pair_tile(rows + i * width, rows + j * width, width, g + i * n + j, n, 1);
            else
                pair_tile(rows + i * width, rows + j * width, width, g + i * n + j, n, 0);
}

/* Below the diagonal as above, n rows of `row` numbers. */
static void mirror(double *g, int64_t n, int64_t row)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            g[i * row + j] = g[j * row + i];
}

#endif
