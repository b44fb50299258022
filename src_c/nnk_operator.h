/* Operators on images, and the Chebyshev recurrence on them and on any CSR matrix.  Layouts: nnk_core.h. */
#ifndef NNK_OPERATOR_H
#define NNK_OPERATOR_H

#include <stddef.h>

#include "nnk_graph.h"

enum { NNK_MAX_ORDERS = 16 };

/* An operator  L = diag(a) - diag(r) W  on the pixel grid, laid out as rows, the adjacency W stored
 * by blocks of LANES adjacent pixels of one row (8 float, 4 double).  An edge block is what a block has
 * of edges towards pixel + offset; offsets are all those of the window, numbered in
 * row-major order, and so are a block's edge blocks.  Two of them make an entry, which says where the
 * edges are; weights are stored of edges only.
 *   border, radius   rows and columns that the window reaches over
 *   first_node   first_node[height]: number of a row's first pixel, -1 for a gap (a row without
 *                pixels, where the signals of the recurrence are 0); n_nodes pixels there are
 *   before       [height][blocks + 1]: entries and weights before each block of a row, from 0
 *                on in each row
 *   row_start    where those of row y begin: row_start[y % n_held].  With n_held < height
 *                only so many rows are held at a time
 *   entry        the offset's number of one edge block in bits 0 .. 15, of the next in bits
 *                16 .. 31, and from bit 32 on a bit per edge, 2 LANES of them.  Where a block
 *                has an odd number of edge blocks, the last is repeated, without edges
 *   weight       of these edges, in that order; it may be read 64 bytes past a row's end
 *   diagonal, row_scale   a and r, T[height][stride] padded like the signals;
 *                         row_scale may be NULL for r = 1
 */
typedef struct {
    int32_t entries, weights;
} nnk_before;

typedef struct {
    int64_t entry, weight;
} nnk_start;

typedef struct {
    int64_t height, width, blocks, stride, pad, border, n_nodes;
    int32_t radius, n_offsets;
    const int32_t *dy, *dx;
    const int64_t *first_node;
    const nnk_before *before;
    const nnk_start *row_start;
    int64_t n_held;
    uint64_t *entry;
    void *weight;
    const void *diagonal, *row_scale;
} nnk_grid_operator;

/* One block of orders of the recurrence
 *     T_k = scale (L T_{k-1}) - shift T_{k-1} - T_{k-2} (+ clenshaw_k)
 * for k = first .. first + orders - 1, at most NNK_MAX_ORDERS of them.
 *   older, old            T_{first-2}, T_{first-1}: [height][stride].  Without `older` the
 *                         block starts the recurrence: T_1 takes half of scale and shift.
 *   new_older, new_old    the last two orders of the block, columns of the strip, with zeros
 *                         beside the image; NULL where nobody needs them
 *   b0, b1                blocks of the strip: as many as the cache holds rows of; the
 *                         inputs are read with an overlap of orders * radius columns
 *   above, below          memory shared with the tiles above and below, NULL at the ends
 *                         of the image; zero at first, the lower one writes it
 *   row_begin, row_end    rows [row_begin + k border, row_end + k border) of the tile's order
 *                         k = 1, 2, .. of the block, where there are tiles above, below
 *   bands, coefficients   n_bands images of the nodes and, per band,
 *                         `orders` numbers, order by order.
 *     analysis            band s += sum_k coefficients[s][k] T_k; with `start` they are
 *                         set instead, to start[s] T_0 and that sum
 *     clenshaw = 1         they are inputs: clenshaw_k = sum_s coefficients[s][k] band_s
 */
typedef struct {
    int32_t orders, n_bands, clenshaw;
    int64_t b0, b1, row_begin, row_end;
    void *above, *below;
    double scale, shift;
    const void *older, *old;
    void *new_older, *new_old, *bands;
    const double *coefficients, *start;
} nnk_sweep;

/* Write the entries of rows [y0, y1) to their places in the operator: the same weights. */
typedef int nnk_fill_entries(const nnk_kernel *, const nnk_edges *, nnk_grid_operator *, int64_t y0, int64_t y1);

/* These need no vectors (edges.c, operator.c). */

/* Entries and weights before each block of `lanes` (4 or 8) pixels of a row, into before[height][blocks + 1]. */
int nnk_count_entries(const nnk_edges *, int32_t lanes, int64_t blocks, nnk_before *before, int64_t y0, int64_t y1);

/* fill_entries with the weights of CSR rows, of type T (operator.c). */
#define NNK_COPY_ENTRIES(T)                                                                               \
    (const nnk_edges *edges, const void *indptr, int32_t wide, const T *data, nnk_grid_operator *op,       \
     int64_t y0, int64_t y1)
int nnk_copy_entries_f32 NNK_COPY_ENTRIES(float);
int nnk_copy_entries_f64 NNK_COPY_ENTRIES(double);

/* One order of the recurrence on any CSR matrix M (operator.c):
 * next = scale (a x - r M x) - shift x - older + clenshaw, then band s += c[s] next.
 *   indptr, indices, data   M: indices of 32 bits, or 64 if `wide`
 *   diagonal, row_scale     a and r; row_scale may be NULL for r = 1
 *   older, x, next          T_{k-2}, T_{k-1} and T_k; older may be NULL
 *   bands, c                n_bands signals of n numbers, and a number for each; inputs if `clenshaw`
 * All arrays but c and the indices are of the type that the function's suffix names. */
typedef struct {
    const void *indptr, *indices, *data, *diagonal, *row_scale;
    const void *older, *x;
    void *next, *bands;
    const double *c;
    double scale, shift;
    int64_t n;
    int32_t wide, n_bands, clenshaw;
} nnk_csr_order;

/* Nodes [i0, i1) of it. */
void nnk_csr_step_f32(const nnk_csr_order *, int64_t i0, int64_t i1);
void nnk_csr_step_f64(const nnk_csr_order *, int64_t i0, int64_t i1);

#endif
