/* Products, or squared distances, of all pairs of a few rows. */
#ifndef NNK_GRAM_H
#define NNK_GRAM_H

#include "octets.h"

#if defined(NNK_VARIANT_AVX512)
enum { TILE = 4 }; /* rows a side of a tile: its sums stay in registers */
#else
enum { TILE = 2 };
#endif

/* Sums over `width` numbers for TILE x TILE pairs of rows, at g[i * n + j]. */
static inline __attribute__((always_inline)) void pair_tile(double *const *a, double *const *b, int64_t width,
                                                            double *g, int64_t n, const int distance)
{
    octet sum[TILE][TILE] = {{{0}}};
    for (int64_t l = 0; l < width; l += LANES) {
        octet right[TILE];
        for (int j = 0; j < TILE; j++)
            right[j] = load_octet(b[j] + l);
        for (int i = 0; i < TILE; i++) {
            const octet left = load_octet(a[i] + l);
            for (int j = 0; j < TILE; j++) {
                const octet d = left - right[j];
                sum[i][j] += distance ? d * d : left * right[j];
            }
        }
    }
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            g[i * n + j] = lane_sum(sum[i][j]);
}

/* g[i][j] = rows[i].rows[j], or |rows[i] - rows[j]|^2, for `n` rows of `width` numbers; n
 * and width are whole octets. */
static void pairs(double *const *rows, int64_t n, int64_t width, double *g, int distance)
{
    for (int64_t i = 0; i < n; i += TILE)
        for (int64_t j = i; j < n; j += TILE)
            if (distance)
                pair_tile(rows + i, rows + j, width, g + i * n + j, n, 1);
            else
                pair_tile(rows + i, rows + j, width, g + i * n + j, n, 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i / TILE * TILE; j++)
            g[i * n + j] = g[j * n + i];
}

#endif
