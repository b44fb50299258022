/* Making, reading and counting edge planes.  nnk_core.h describes the layout. */
#include "planes.h"

#include <stdlib.h>
#include <string.h>

#include "csr.h"

void nnk_symmetrize(nnk_edges *e, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++)
        for (int64_t o = 0; o < e->half; o++) {
            if (y + e->dy[o] >= e->height)
                continue;
            uint64_t *row = plane_row(e, e->forward, y, o);
            const uint64_t *other = plane_row(e, e->backward, y + e->dy[o], o);
            for (int64_t w = 0; w < e->words; w++)
                row[w] |= shifted_word(other, e->words, w, e->dx[o]);
        }
}

void nnk_all_pairs(nnk_edges *e, const uint64_t *valid, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++)
        for (int64_t o = 0; o < e->half; o++) {
            uint64_t *row = plane_row(e, e->forward, y, o);
            if (y + e->dy[o] >= e->height) {
                memset(row, 0, (size_t)e->words * sizeof *row);
                continue;
            }
            const uint64_t *here = valid + y * e->words, *there = valid + (y + e->dy[o]) * e->words;
            for (int64_t w = 0; w < e->words; w++)
                row[w] = here[w] & shifted_word(there, e->words, w, e->dx[o]);
        }
}

/* Set the bit of pixel (y, x), which is node `node`, in the word of each offset along which it has
 * an edge.  words[2 half] are ordered by the number of the offset. */
static void mark_row(const nnk_edges *e, const void *indptr, const void *indices, int32_t wide, int64_t border,
                     int32_t radius, const int32_t *offset_at, int64_t y, int64_t x, int64_t node, uint64_t *words)
{
    const int64_t side = 2 * radius + 1, width = e->width, last = csr_index(indptr, wide, node + 1);
    int64_t i = csr_index(indptr, wide, node);
    if (i == last)
        return;
    int64_t line = csr_index(indices, wide, i) / width; /* columns ascend, so it never decreases */
    const int32_t *at = offset_at + radius - x;
    for (; i < last; i++) {
        const int64_t column = csr_index(indices, wide, i);
        while (column >= (line + 1) * width)
            line++;
        words[at[(e->line[line] - y + border) * side + column - line * width]] |= 1ull << x % 64;
    }
}

int nnk_edges_of_csr(nnk_edges *e, const void *indptr, const void *indices, int32_t wide, int64_t border,
                     int32_t radius, const int32_t *offset_at, int64_t y0, int64_t y1)
{
    const size_t size = sizeof(uint64_t) * 2 * (size_t)e->half;
    uint64_t *words = malloc(size);
    if (!words)
        return NNK_NO_MEMORY;
    for (int64_t y = y0; y < y1; y++)
        for (int64_t w = 0; w < e->words; w++) {
            memset(words, 0, size);
            for (int64_t x = 64 * w; e->first_node[y] >= 0 && x < 64 * (w + 1) && x < e->width; x++)
                mark_row(e, indptr, indices, wide, border, radius, offset_at, y, x, e->first_node[y] + x, words);
            for (int64_t o = 0; o < e->half; o++) {
                plane_row(e, e->backward, y, o)[w] = words[e->half - 1 - o];
                plane_row(e, e->forward, y, o)[w] = words[e->half + o];
            }
        }
    free(words);
    return NNK_OK;
}

/* Return the number of bits set in n words. */
static int64_t bits_set(const uint64_t *words, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) { /* not every processor has an instruction for it */
        uint64_t v = words[i];
        v -= v >> 1 & 0x5555555555555555u;
        v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
        v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        sum += (int64_t)(v * 0x0101010101010101u >> 56);
    }
    return sum;
}

void nnk_count_rows(const nnk_edges *e, int64_t *count, int64_t y0, int64_t y1)
{
    const int64_t row_words = e->half * e->words;
    for (int64_t y = y0; y < y1; y++) {
        count[y] = bits_set(plane_row(e, e->forward, y, 0), row_words);
        if (e->backward) {
            count[y] += bits_set(plane_row(e, e->backward, y, 0), row_words);
            continue;
        }
        for (int64_t o = 0; o < e->half; o++)
            if (y >= e->dy[o])
                count[y] += bits_set(plane_row(e, e->forward, y - e->dy[o], o), e->words);
    }
}

/* Counters for the blocks of 64 pixels, one per byte.  Blocks of 8 pixels use `even` only; blocks
 * of 4 pixels use `even` and `odd` in turn. */
typedef struct {
    uint64_t even, odd;
} byte_counters;

/* Add counters of edge blocks and of edges to count[first], count[first + 1], ..  Edge blocks are
 * added to `entries`. */
static void add_counters(byte_counters edge_blocks, byte_counters edges, int32_t lanes, int64_t first, int64_t blocks,
                         nnk_before *count)
{
    const int32_t step = lanes == 4 ? 2 : 1;
    for (int32_t i = 0; i < 64; i += 8) {
        const int64_t block = first + step * (i / 8);
        if (block < blocks) {
            count[block].entries += (int32_t)(edge_blocks.even >> i & 255);
            count[block].weights += (int32_t)(edges.even >> i & 255);
        }
        if (lanes == 4 && block + 1 < blocks) {
            count[block + 1].entries += (int32_t)(edge_blocks.odd >> i & 255);
            count[block + 1].weights += (int32_t)(edges.odd >> i & 255);
        }
    }
}

/* Replace each group of `lanes` (4 or 8) bits by the number of bits set in it. */
static uint64_t group_sums(uint64_t v, int32_t lanes)
{
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    return lanes == 4 ? v : (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}

/* Add the edge blocks of 64 pixels to `entries`, and their edges to `weights`, of count[first],
 * count[first + 1], ..  The n words are their edges, one word per offset. */
static void count_groups(const uint64_t *words, int64_t n, int32_t lanes, int64_t first, int64_t blocks, nnk_before *count)
{
    const uint64_t bytes = 0x0101010101010101u, low = lanes == 4 ? 0x0f0f0f0f0f0f0f0fu : ~0ull;
    for (int64_t o = 0; o < n;) {
        const int64_t last = o + 31 < n ? o + 31 : n; /* 31 * 8 still fits into a byte */
        byte_counters edge_blocks = {0, 0}, edges = {0, 0};
        for (; o < last; o++) {
            const uint64_t groups = nonzero_groups(words[o], lanes), sums = group_sums(words[o], lanes);
            edge_blocks.even += groups & bytes;
            edge_blocks.odd += groups >> 4 & bytes;
            edges.even += sums & low;
            edges.odd += sums >> 4 & low;
        }
        add_counters(edge_blocks, edges, lanes, first, blocks, count);
    }
}

int nnk_count_entries(const nnk_edges *e, int32_t lanes, int64_t blocks, nnk_before *before, int64_t y0, int64_t y1)
{
    uint64_t *row = new_edge_row(e);
    if (!row)
        return NNK_NO_MEMORY;
    for (int64_t y = y0; y < y1; y++) {
        edge_row(e, y, row);
        nnk_before *sum = before + y * (blocks + 1), *count = sum + 1;
        memset(sum, 0, (size_t)(blocks + 1) * sizeof *sum);
        for (int64_t w = 0; w < e->words; w++)
            count_groups(row + w * edge_stride(e), 2 * e->half, lanes, 64 / lanes * w, blocks, count);
        /* Two edge blocks make an entry; then take cumulative sums. */
        for (int64_t b = 0; b < blocks; b++) {
            count[b].entries = sum[b].entries + (count[b].entries + 1) / 2;
            count[b].weights += sum[b].weights;
        }
    }
    free(row);
    return NNK_OK;
}
