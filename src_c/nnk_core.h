/* The compiled core of nnk_image: plain C that does not use Python.
 *
 * Most functions take a range of image rows [y0, y1), others a range of grid lines, nodes or edges.
 * The caller can split the work into such ranges and process them on several threads in any order:
 * a function writes only to its own range and to its own scratch memory, and the result does not
 * depend on the split.  There are two exceptions: sweep_rows must proceed from the top of a tile to
 * its bottom (see nnk_sweep), and patch_pass adds to sums, which every thread needs for itself.
 *
 * The caller allocates and frees all arrays that it passes.  Functions that return int may allocate
 * scratch memory and free it again; they return NNK_OK or NNK_NO_MEMORY.
 *
 * Images are stored as rows.  The rows of an image with more than two axes are its lines along the
 * last axis, one below the other.  Wherever another axis starts over, there is a gap: rows without
 * pixels, as many as are needed for every offset of the window that leads out of the image to end
 * in a gap or in the border.  Therefore an offset is the same pair (dy, dx) for all pixels, where
 * dy counts all rows, gaps included.
 *
 * Three layouts recur.
 *
 * Feature planes   T plane[channels][border + height + border][stride]: the image with `border`
 *                  rows above and below it and `radius` pixels on both sides.  Everything outside
 *                  the image, gaps, and masked pixels are NaN in all channels.  Every comparison
 *                  with NaN is false, so these pixels are never neighbors and prune no other pixel,
 *                  without any special case.
 *                  stride >= 2 radius + width rounded up to a multiple of 64 (of 16 or 32 if the
 *                  width is at most 16 or 32).
 *
 * Edge planes      uint64 forward[height][half][words] and backward of the same shape, with
 *                  words = ceil(width / 64): one bit per pixel and offset.
 *                  Bit x % 64 of word x / 64 of forward[y][o] is set if pixel (y, x) has an edge to
 *                  (y + dy[o], x + dx[o]); backward is the same for -dy[o], -dx[o].
 *                  No bit is set beyond the width, or for an edge that leads out of the image: the
 *                  lengths of CSR rows are counts of these bits.
 *                  The `half` forward offsets are those that follow (0, 0) in row-major order, in
 *                  this order.  In a window of 3 x 3 there are four: the forward (f) and the
 *                  backward (b) offsets of pixel i are
 *
 *                        . . .      b b b
 *                        . i f      b i .
 *                        f f f      . . .
 *
 * Padded rows      T row[stride], with pixel x at row[pad + x] and zeros elsewhere: the signals of
 *                  the Chebyshev recurrence.  A padded image has `height` such rows; gaps are 0.
 */
#ifndef NNK_CORE_H
#define NNK_CORE_H

#include "nnk_graph.h"
#include "nnk_operator.h"
#include "nnk_patches.h"
#include "nnk_solvers.h"

enum { NNK_OK = 0, NNK_NO_MEMORY = 1 };

/* The functions of one instruction set for numbers of type T (suffix S).
 *
 *   prune       Choose the edges of the pixels of rows [y0, y1) by Algorithm 4, and write all words
 *               of these rows of both edge planes.  planes, stride and channels describe the
 *               feature planes, threshold[p] is the threshold mu Delta of pair p of nnk_window.
 *   degrees     Write the row sums of W to rows [y0, y1) of the padded image `degree`.
 *   signless    Write scale (D + W) x to rows [y0, y1) of `out`, where D = diag(degree).  All
 *               images are padded.
 *   sweep_rows  Compute rows [y0, y1) of the first order of a block (see nnk_sweep), and of each
 *               later order the rows that are `border` higher than those of the order before.
 *               Bands and output images are written at the rows of the last order.  Call it for
 *               chunks of rows in turn, from the first row that the tile has of the first order to
 *               the last one; the call that reaches the last one also completes all other orders.
 *               `rings` is scratch memory that must be zero before the first call and be kept
 *               between calls.
 *   sweep_room  Write the sizes in bytes of `rings`, and of the memory that a tile shares with the
 *               tile above it (`above` in nnk_sweep).
 *   match       Find the groups of grid lines [g0, g1) in an image of one channel, and write
 *               `members` and `n_members`: the patches with the smallest sums of squared
 *               differences from the reference patch, among equal ones the first in row-major
 *               order.
 *   patch_pass  Filter the groups of grid lines [g0, g1) and add the results to the sums of
 *               nnk_patch_pass.
 */
#define NNK_KERNELS_OF(S, T)                                                                                   \
    int (*prune_##S)(const T *planes, int64_t stride, int32_t channels, const nnk_window *,                    \
                     const T *threshold, nnk_edges *, int64_t y0, int64_t y1);                                 \
    void (*degrees_##S)(const nnk_grid_operator *, T *degree, int64_t y0, int64_t y1);                         \
    void (*signless_##S)(const nnk_grid_operator *, const T *degree, T scale, const T *x, T *out, int64_t y0,  \
                         int64_t y1);                                                                          \
    int (*sweep_rows_##S)(const nnk_grid_operator *, const nnk_sweep *, void *rings, int64_t y0, int64_t y1);  \
    void (*sweep_room_##S)(const nnk_grid_operator *, const nnk_sweep *, size_t *rings, size_t *shared);       \
    int (*match_##S)(const nnk_patches *, const T *image, int32_t *members, int32_t *n_members, int64_t g0,    \
                     int64_t g1);                                                                              \
    int (*patch_pass_##S)(const nnk_patches *, const nnk_patch_pass *, const int32_t *members,                 \
                          const int32_t *n_members, int64_t g0, int64_t g1);

/* All functions of one instruction set (variant).  The suffixes of fill and fill_entries name the
 * types of the features and of the weights. */
typedef struct {
    const char *name;
    NNK_KERNELS_OF(f32, float)
    NNK_KERNELS_OF(f64, double)
    nnk_fill *fill_f32_f32, *fill_f32_f64, *fill_f64_f64;
    nnk_fill_entries *fill_entries_f32_f32, *fill_entries_f32_f64, *fill_entries_f64_f64;
} nnk_kernels;

/* Write pointers to the tables that this machine can run to `found`, the fastest last, and return
 * how many there are.  The first one, for the baseline of the architecture, always exists. */
int nnk_variants(const nnk_kernels *found[4]);

#endif
