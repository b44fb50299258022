/* Operators on images, and the Chebyshev recurrence on them.  nnk_core.h
 * describes the layouts. */
#ifndef NNK_OPERATOR_H
#define NNK_OPERATOR_H

#include <stddef.h>

#include "nnk_graph.h"

enum { NNK_MAX_ORDERS = 16 }; /* of a sweep */

/* Entries and weights before a block, counted from the beginning of its row. */
typedef struct {
    int32_t entries, weights;
} nnk_before;

/* Positions of the first entry and of the first weight of a row. */
typedef struct {
    int64_t entry, weight;
} nnk_start;

/* An operator  L = diag(a) - diag(r) W  on images, with the adjacency W in SIMD blocks.
 *
 * A block is B adjacent pixels of a row: B = 8 for float, 4 for double.  An edge block holds the
 * edges of these pixels along one offset of the window; only those with at least one edge are
 * stored, ordered by row, block and offset.  Two edge blocks of a block form an entry, a word that
 * says which pixels have the edges.  The weights are stored apart, and only those of edges.
 *
 *   height, width    rows, gaps included, and pixels of a row
 *   blocks           number of blocks in a row
 *   stride, pad      of padded images of type T
 *   border           largest dy of the window, at least 1
 *   n_nodes          number of pixels
 *   dy, dx           [n_offsets]: all offsets of the window.  The number of an offset is its place
 *                    in row-major order
 *   first_node       [height]: number of the first pixel of a row; -1 in gaps, where signals are 0
 *   before           [height][blocks + 1]: entries and weights before each block of a row; the last
 *                    element counts those of the whole row
 *   row_start        [n_held]: the entries and weights of row y begin at row_start[y % n_held].  If
 *                    n_held < height, the operator holds only that many rows at a time
 *   entry            bits 0-15 are the number of the offset of the first edge block, bits 16-31
 *                    that of the second.  Bit 32 + i says whether pixel i of the block has an
 *                    edge along the first offset, bit 32 + B + i along the second.  If a block has
 *                    an odd number of edge blocks, the last offset is repeated, without edges
 *   weight           T, of the edges in the order of their bits.  The memory must extend 64 bytes
 *                    past the weights of a row, because vectors are read there
 *   diagonal         a: a padded image of type T
 *   row_scale        r: likewise, or NULL for r = 1
 */
typedef struct {
    int64_t height, width, blocks, stride, pad, border, n_nodes;
    int32_t n_offsets;
    const int32_t *dy, *dx;
    const int64_t *first_node;
    const nnk_before *before;
    const nnk_start *row_start;
    int64_t n_held;
    uint64_t *entry;
    void *weight;
    const void *diagonal, *row_scale;
} nnk_grid_operator;

/* A sweep: a block of orders of the recurrence
 *     T_k = scale L T_{k-1} - shift T_{k-1} - T_{k-2} (+ clenshaw_k),
 *     k = first .. first + orders - 1, orders <= NNK_MAX_ORDERS,
 * in one tile of the rows, which moves down by `border` rows with each order.  Images are padded.
 * `coefficients` and `start` are double; all other arrays are of the operator's type T.
 *
 *   older, old            T_{first-2} and T_{first-1}.  If `older` is NULL, the recurrence begins:
 *                         first = 1, T_{-1} = 0, and scale and shift are halved for T_1
 *   new_older, new_old    the last two orders of the block are written here; NULL if they are not
 *                         needed
 *   above, below          memory shared with the tile above and the tile below; NULL at the top and
 *                         bottom of the image.  sweep_room gives its size.  The lower of the two
 *                         tiles writes the first rows of each order to it, the upper one reads
 *                         them; the caller zeroes it
 *   row_begin, row_end    of order first + i, the tile has the rows from row_begin + (i + 1) border
 *                         to row_end + (i + 1) border, end excluded.  Without a tile above, it
 *                         begins at the first row of the image; without one below, it ends at the
 *                         last
 *   bands                 [n_bands][n_nodes]
 *   coefficients          [n_bands][orders]
 *   start                 [n_bands], or NULL
 *   clenshaw              0: the bands are outputs, band_s += sum_i coefficients[s][i] T_{first+i}.
 *                         With `start` they need not be initialized: then band_s is set to
 *                         start[s] T_0 plus that sum.
 *                         1: the bands are inputs,
 *                         clenshaw_{first+i} = sum_s coefficients[s][i] band_s
 */
typedef struct {
    int32_t orders, n_bands, clenshaw;
    int64_t row_begin, row_end;
    void *above, *below;
    double scale, shift;
    const void *older, *old;
    void *new_older, *new_old, *bands;
    const double *coefficients, *start;
} nnk_sweep;

/* Write the entries and weights of rows [y0, y1) of an operator; the weights are those of nnk_fill.
 * Return a status. */
typedef int nnk_fill_entries(const nnk_kernel *, const nnk_edges *, nnk_grid_operator *, int64_t y0, int64_t y1);

/* Functions without vector instructions (edges.c, operator.c). */

/* Count the entries and weights before each block of `lanes` (4 or 8) pixels of rows [y0, y1), into
 * before[height][blocks + 1] as in nnk_grid_operator.  Return a status. */
int nnk_count_entries(const nnk_edges *, int32_t lanes, int64_t blocks, nnk_before *before, int64_t y0, int64_t y1);

/* Write the entries and weights of rows [y0, y1) of an operator of type T.  `data` are the weights
 * of the CSR matrix that `edges` were read from (nnk_edges_of_csr), and indptr is its array.
 * Return a status. */
#define NNK_COPY_ENTRIES(T)                                                                               \
    (const nnk_edges *edges, const void *indptr, int32_t wide, const T *data, nnk_grid_operator *op,       \
     int64_t y0, int64_t y1)
int nnk_copy_entries_f32 NNK_COPY_ENTRIES(float);
int nnk_copy_entries_f64 NNK_COPY_ENTRIES(double);

#endif
