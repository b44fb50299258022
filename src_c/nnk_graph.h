/* The graph of an image: window, edge planes, kernel, CSR rows.  Layouts: nnk_core.h. */
#ifndef NNK_GRAPH_H
#define NNK_GRAPH_H

#include <stdint.h>

enum { NNK_PAIRS_AT_ONCE = 4 };

/* The window: all offsets but (0,0) by increasing distance, and which nearer
 * offset can prune which farther one (thesis section 3.1, Algorithm 4).  It reaches over
 * `border` rows up and down, and `radius` pixels to the sides.
 *   plane[k]       p >= 0: offset k is forward[p]; p < 0: it is backward[-1-p]
 *   pruner         for offset k the candidates pruner[pair_start[k] ..
 *                  pair_start[k+1]), all below n_near, the likeliest first; the
 *                  last is repeated up to a multiple of NNK_PAIRS_AT_ONCE
 *   n_near         offsets [0, n_near) prune many pixels at once; the few
 *                  survivors beyond are settled pixel by pixel, which is right only where
 *                  distances are those of a plane's pixels
 */
typedef struct {
    int64_t border;
    int32_t radius, n_offsets, n_near;
    const int32_t *dy, *dx, *plane;
    const int32_t *pair_start, *pruner;
} nnk_window;

/* The edge planes, and the offsets dy, dx of the forward half.  Without `backward`
 * the graph is undirected: its forward planes hold each edge once.
 *   line        line[n_lines]: the row of each line of pixels, in order
 *   first_node  first_node[height]: number of a row's first pixel; -1 for a gap
 *   step        by how much the number of a pixel grows along each forward offset */
typedef struct {
    int64_t height, width, words, half, n_lines;
    const int32_t *dy, *dx;
    const int64_t *line, *first_node, *step;
    uint64_t *forward, *backward;
} nnk_edges;

/* The bilateral kernel between pixels at distance (dy[o], dx[o]), o numbering the
 * forward half: spatial[o] exp(-|f_i - f_j|^2 / two_sigma2), 0 below the smallest
 * normal number.  The functions' suffixes name the types of planes and spatial. */
typedef struct {
    const void *planes, *spatial;
    int64_t stride, border;
    int32_t channels, radius;
    double two_sigma2;
} nnk_kernel;

/* The CSR rows of pixels: where they start, included, sorted columns and weights, of the types that
 * `wide` (indices of 64 bits) and the kernel say.  row_start[y] is where the first of image row y
 * starts. */
typedef struct {
    const int64_t *row_start;
    void *indptr, *indices, *weights;
    int32_t wide;
} nnk_csr_rows;

/* Write the CSR rows of the pixels of rows [y0, y1) with weights of the kernel.  Adds to *underflown
 * how many weights are 0. */
typedef int nnk_fill(const nnk_kernel *, const nnk_edges *, const nnk_csr_rows *, int64_t *underflown, int64_t y0,
                     int64_t y1);

/* These need no vectors (edges.c). */

/* The undirected graph: forward |= backward seen from the other end. */
void nnk_symmetrise(nnk_edges *, int64_t y0, int64_t y1);
/* All valid pairs of the window; valid[height][words] is a bit per pixel. */
void nnk_all_pairs(nnk_edges *, const uint64_t *valid, int64_t y0, int64_t y1);
/* The planes of CSR rows: both of them, whether the matrix is symmetric or not.
 * offset_at maps (dy + border)(2 radius + 1) + (dx + radius) to the offset's number in
 * row-major order. */
int nnk_edges_of_csr(nnk_edges *, const void *indptr, const void *indices, int32_t wide, int64_t border,
                     int32_t radius, const int32_t *offset_at, int64_t y0, int64_t y1);
/* Number of edges of the pixels of each row, into count[height]. */
void nnk_count_rows(const nnk_edges *, int64_t *count, int64_t y0, int64_t y1);

#endif
