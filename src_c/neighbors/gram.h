/* Products or squared distances of all pairs of a few rows. */
#ifndef NNK_GRAM_H
#define NNK_GRAM_H

#include "octets.h"

#if defined(NNK_VARIANT_AVX512)
enum { TILE = 4 }; /* pairs of TILE x TILE rows at a time: their sums stay in registers */
#else
enum { TILE = 2 };
#endif

/* Add the sums over `width` numbers to g[i * n + j], for TILE rows i and `columns` rows j; in a
 * tile on the diagonal only for i < j.  The last three arguments are constants where this is
 * inlined. */
static inline __attribute__((always_inline)) void pair_tile(const double *const *a, const double *const *b,
                                                            int64_t width, double *g, int64_t n, const int distance,
                                                            const int diagonal, const int columns)
{
    part sum[TILE][TILE][PARTS] = {{{{0}}}};
    for (int64_t l = 0; l < width; l += LANES)
        for (int p = 0; p < PARTS; p++) {
            part right[TILE];
            for (int j = 0; j < columns; j++)
                right[j] = load_part(b[j] + l + p * PART);
            for (int i = 0; i < (diagonal ? columns - 1 : TILE); i++) {
                const part left = diagonal ? right[i] : load_part(a[i] + l + p * PART);
                for (int j = diagonal ? i + 1 : 0; j < columns; j++) {
                    const part d = distance ? left - right[j] : left;
                    sum[i][j][p] += distance ? d * d : left * right[j];
                }
            }
        }
    for (int i = 0; i < TILE * TILE; i += 4) {
        part(*s)[PARTS] = &sum[0][0] + i;
        const block_f64 sums = lane_sums(s[0], s[1], s[2], s[3]);
        for (int j = 0; j < 4; j++)
            g[(i + j) / TILE * n + (i + j) % TILE] += sums[j];
    }
}

static inline __attribute__((always_inline)) void pair_all(const double *const *rows, int64_t n, int64_t used,
                                                           int64_t width, double *g, const int distance)
{
    for (int64_t i = 0; i < used; i += TILE)
        for (int64_t j = i; j < used; j += TILE) {
            const double *const *a = rows + i, *const *b = rows + j;
            double *tile = g + i * n + j;
            if (used - j > 2)
                if (i == j)
                    pair_tile(a, b, width, tile, n, distance, 1, TILE);
                else
                    pair_tile(a, b, width, tile, n, distance, 0, TILE);
            else if (i == j)
                pair_tile(a, b, width, tile, n, distance, 1, 2);
            else
                pair_tile(a, b, width, tile, n, distance, 0, 2);
        }
}

/* Add rows[i] . rows[j], or |rows[i] - rows[j]|^2 if `distance`, to g[i * n + j] for i < j among
 * the first `used` of n rows of `width` numbers.  n and width must be multiples of LANES, and the
 * rows that are not used must be zeros. */
static void add_pairs(const double *const *rows, int64_t n, int64_t used, int64_t width, double *g, int distance)
{
    if (distance)
        pair_all(rows, n, used, width, g, 1);
    else
        pair_all(rows, n, used, width, g, 0);
}

/* Copy the elements above the diagonal to those below it: n rows of `row` numbers. */
static void mirror(double *g, int64_t n, int64_t row)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            g[i * row + j] = g[j * row + i];
}

#endif
