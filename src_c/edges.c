/* Edge planes: symmetrise, all pairs, count (see nnk_core.h). */
#include "planes.h"

#include <string.h>

void nnk_symmetrise(const nnk_edges *e, const int32_t *dy, const int32_t *dx, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++)
        for (int64_t o = 0; o < e->half; o++) {
            if (y + dy[o] >= e->height)
                continue;
            uint64_t *row = plane_row(e, e->forward, y, o);
            const uint64_t *other = plane_row(e, e->backward, y + dy[o], o);
            for (int64_t w = 0; w < e->words; w++)
                row[w] |= shifted_word(other, e->words, w, dx[o]);
        }
}

void nnk_all_pairs(const nnk_edges *e, const uint64_t *valid, const int32_t *dy, const int32_t *dx, int64_t y0,
                   int64_t y1)
{
    for (int64_t y = y0; y < y1; y++)
        for (int64_t o = 0; o < e->half; o++) {
            uint64_t *row = plane_row(e, e->forward, y, o);
            if (y + dy[o] >= e->height) {
                memset(row, 0, (size_t)e->words * sizeof *row);
                continue;
            }
            const uint64_t *here = valid + y * e->words, *there = valid + (y + dy[o]) * e->words;
            for (int64_t w = 0; w < e->words; w++)
                row[w] = here[w] & shifted_word(there, e->words, w, dx[o]);
        }
}

static void count_bits(uint64_t word, int32_t *count)
{
    for (; word; word &= word - 1)
        count[__builtin_ctzll(word)]++;
}

void nnk_count(const nnk_edges *e, const int32_t *dy, const int32_t *dx, int32_t directed, int32_t *count, int64_t y0,
               int64_t y1)
{
    for (int64_t y = y0; y < y1; y++) {
        int32_t *row = count + y * e->width;
        memset(row, 0, (size_t)e->width * sizeof *row);
        for (int64_t o = 0; o < e->half; o++)
            for (int64_t w = 0; w < e->words; w++) {
                count_bits(plane_row(e, e->forward, y, o)[w], row + 64 * w);
                count_bits(backward_word(e, directed, y, w, o, dy[o], dx[o]), row + 64 * w);
            }
    }
}
