/* Operators from CSR rows: the grid operator's blocks, and the plain CSR step
 * for graphs that are not images. */
#include <stdlib.h>
#include <string.h>

#include "nnk_core.h"
#include "templating.h"

static inline int64_t index_at(const void *values, int32_t wide, int64_t i)
{
    return wide ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
}

/* The offset ids of the edges of pixel (y, x), in the order of its CSR row, into
 * ids; returns their number.  Columns are sorted, so their image row only grows. */
static int32_t row_ids(const nnk_grid_operator *op, const void *indptr, const void *indices, int32_t wide,
                       const int32_t *offset_at, int64_t y, int64_t x, uint16_t *ids)
{
    const int64_t side = 2 * op->radius + 1, i = y * op->width + x;
    const int64_t first = index_at(indptr, wide, i), last = index_at(indptr, wide, i + 1);
    int64_t row = y > op->radius ? y - op->radius : 0;
    for (int64_t e = first; e < last; e++) {
        const int64_t column = index_at(indices, wide, e);
        while (column >= (row + 1) * op->width)
            row++;
        const int64_t dy = row - y, dx = column - row * op->width - x;
        ids[e - first] = (uint16_t)offset_at[(dy + op->radius) * side + dx + op->radius];
    }
    return (int32_t)(last - first);
}

int nnk_count_packets(const nnk_grid_operator *op, int32_t packet, const void *indptr, const void *indices,
                      int32_t wide, const int32_t *offset_at, int32_t *count, int64_t y0, int64_t y1)
{
    uint16_t *ids = malloc(sizeof *ids * (size_t)op->n_offsets);
    int64_t *seen_in = malloc(sizeof *seen_in * (size_t)op->n_offsets);
    if (!ids || !seen_in) {
        free(ids), free(seen_in);
        return NNK_NO_MEMORY;
    }
    for (int32_t o = 0; o < op->n_offsets; o++)
        seen_in[o] = -1;
    for (int64_t y = y0; y < y1; y++)
        for (int64_t b = 0; b < op->blocks; b++) {
            const int64_t block = y * op->blocks + b;
            int32_t distinct = 0;
            for (int64_t x = b * packet; x < (b + 1) * packet && x < op->width; x++) {
                const int32_t n = row_ids(op, indptr, indices, wide, offset_at, y, x, ids);
                for (int32_t e = 0; e < n; e++)
                    if (seen_in[ids[e]] != block) {
                        seen_in[ids[e]] = block;
                        distinct++;
                    }
            }
            count[block] = distinct;
        }
    free(ids), free(seen_in);
    return NNK_OK;
}

#define T float
#define S f32
#define PACKET 8
#include "operator.template.h"
#undef T
#undef S
#undef PACKET

#define T double
#define S f64
#define PACKET 4
#include "operator.template.h"
