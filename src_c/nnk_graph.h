/* The graph of an image: window, edge planes, kernel and CSR rows.  nnk_core.h describes the
 * layouts. */
#ifndef NNK_GRAPH_H
#define NNK_GRAPH_H

#include <stdint.h>

/* Pruners of a candidate that are tried before `prune` checks whether it survives at any pixel. */
enum { NNK_PAIRS_AT_ONCE = 4 };

/* The window around a pixel: all offsets but (0, 0) by increasing distance, and for each offset the
 * nearer ones that may prune it (thesis section 3.1, Algorithm 4).
 *   border, radius      largest dy and dx
 *   dy, dx              [n_offsets]
 *   plane               [n_offsets]: offset k is that of forward[p], p = plane[k], if p >= 0, and
 *                       of backward[-1 - p] if p < 0
 *   pair_start, pruner  the pruners of offset k are pruner[pair_start[k] .. pair_start[k + 1]), all
 *                       less than k.  Those that prune most often come first; the last one is
 *                       repeated up to a multiple of NNK_PAIRS_AT_ONCE
 */
typedef struct {
    int64_t border;
    int32_t radius, n_offsets;
    const int32_t *dy, *dx, *plane;
    const int32_t *pair_start, *pruner;
} nnk_window;

/* The edge planes, with the offsets dy, dx of their forward half.  If `backward` is NULL, the graph
 * is undirected, and the forward planes hold each edge once.
 *   line        line[n_lines]: row of each line of pixels, in the order of the pixels
 *   first_node  first_node[height]: number of the first pixel of a row; -1 in gaps
 *   step        step[half]: difference of the pixel numbers at both ends of a forward edge */
typedef struct {
    int64_t height, width, words, half, n_lines;
    const int32_t *dy, *dx;
    const int64_t *line, *first_node, *step;
    uint64_t *forward, *backward;
} nnk_edges;

/* The bilateral kernel.  The weight of an edge along forward offset o, or its negative, is
 *     spatial[o] exp(-|f_i - f_j|^2 / two_sigma2),
 * or 0 if that is below the smallest normal number.  f are the features in `planes`, feature planes
 * with this stride, border and radius.  The suffixes of a function that takes a kernel name the
 * types of `planes` and of `spatial`, which is also that of the weights. */
typedef struct {
    const void *planes, *spatial;
    int64_t stride, border;
    int32_t channels, radius;
    double two_sigma2;
} nnk_kernel;

/* The arrays of a CSR matrix with a row for every pixel.  indptr and indices are int64 if `wide`,
 * else int32; weights are of the type of the kernel's `spatial`.  Columns ascend within each row.
 *   row_start   row_start[height]: position in `indices` of the first edge of each image row */
typedef struct {
    const int64_t *row_start;
    void *indptr, *indices, *weights;
    int32_t wide;
} nnk_csr_rows;

/* Write the CSR rows of the pixels of image rows [y0, y1): their elements of indptr (but not the
 * last element, the total), columns, and the weights that the kernel gives.  Add to *underflown how
 * many weights are 0.  Return a status. */
typedef int nnk_fill(const nnk_kernel *, const nnk_edges *, const nnk_csr_rows *, int64_t *underflown, int64_t y0,
                     int64_t y1);

/* Functions without vector instructions (edges.c). */

/* Make the graph undirected: add each backward edge to the forward plane at its other end.  Only
 * rows [y0, y1) of the forward planes are written. */
void nnk_symmetrize(nnk_edges *, int64_t y0, int64_t y1);

/* Link every pair of valid pixels within the window, in the forward planes.  valid[height][words]
 * has one bit per pixel, 0 in gaps and beyond the width. */
void nnk_all_pairs(nnk_edges *, const uint64_t *valid, int64_t y0, int64_t y1);

/* Read the edges of the pixels of rows [y0, y1) from a CSR matrix, symmetric or not, and write both
 * edge planes.  Columns must ascend within each row.  All edges must lie in the window, and there
 * must be no self loops.
 *   offset_at   maps (dy + border)(2 radius + 1) + (dx + radius) to the number of that offset in
 *               row-major order
 * Return a status. */
int nnk_edges_of_csr(nnk_edges *, const void *indptr, const void *indices, int32_t wide, int64_t border,
                     int32_t radius, const int32_t *offset_at, int64_t y0, int64_t y1);

/* Write how many edges the pixels of each row have, together, to count[height].  An undirected edge
 * counts at both ends, as in a symmetric matrix. */
void nnk_count_rows(const nnk_edges *, int64_t *count, int64_t y0, int64_t y1);

#endif
