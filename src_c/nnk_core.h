/* The compiled core of nnk_image: plain C, no Python.
 *
 * Everything works on a range of image rows [y0, y1), so that the caller may
 * split an image into chunks of rows and run them on threads in any order: a
 * function writes only to its own rows (or to its own scratch), and its result
 * never depends on how the rows were split.  (sweep_rows alone goes down the rows
 * in turn; see nnk_sweep.)
 *
 * Memory: the caller owns every array named here.  Functions returning int may
 * allocate scratch of their own, which they free; they return NNK_OK or
 * NNK_NO_MEMORY.
 *
 * Images of more than two axes are rows too: the lines along their last axis, one below the
 * other, with gaps of rows that hold no pixel wherever an axis begins anew, as many as the window
 * reaches over.  So an offset of the window is (dy, dx) for every pixel, dy counting lines and
 * gaps, and what leads out of the image ends in a gap or in the border.
 *
 * Three layouts recur.
 *
 * Feature planes   T plane[channels][border + height + border][stride]: the image with a border of
 *                  `border` rows above and below, and `radius` pixels on both sides.  Pixels of
 *                  borders and gaps and masked pixels hold NaN; no test on NaN succeeds, so they
 *                  are never neighbors and never prune, with no special case.
 *                  stride >= radius + (width rounded up to 64) + radius.
 *
 * Edge planes      uint64 forward[height][half][words], backward likewise, with
 *                  words = ceil(width / 64).  Bit x%64 of word x/64 of
 *                  forward[y][o] says that pixel (y, x) has an edge to
 *                  (y + dy[o], x + dx[o]); backward the same for -dy[o], -dx[o].
 *                  Every set bit is an edge: none lies past the width, none
 *                  leads out of the image (rows of CSR are counted by bits).
 *                  `half` offsets, those after (0,0) in row-major order, sorted
 *                  in row-major order:
 *
 *                        . . .      b b b
 *                        . i f      b i .      w = 3: half = 4
 *                        f f f      . . .
 *
 * Padded rows      T row[stride], pixel x at row[pad + x], zeros elsewhere:
 *                  the signals of the Chebyshev recurrence.
 */
#ifndef NNK_CORE_H
#define NNK_CORE_H

#include "nnk_graph.h"
#include "nnk_operator.h"
#include "nnk_patches.h"
#include "nnk_solvers.h"

enum { NNK_OK = 0, NNK_NO_MEMORY = 1 };

/* What every instruction set has for numbers of type T (suffix S).
 *
 *   prune       Algorithm 4 on rows [y0, y1): sets every word of the edge planes in these rows.
 *               threshold[d] = mu d for d = 0 .. max Delta; pair_threshold the same per pruner
 *               pair of the window
 *   degrees     row sums of W into `degree`, padded like the signals
 *   signless    scale (D + W) x of a padded image x, into rows [y0, y1) of another
 *   sweep_rows  one block of orders of the Chebyshev recurrence, its front going over rows
 *               [y0, y1).  Called for all rows of the tile's first order, one chunk after the
 *               other, it writes row y as the front passes y + (orders - 1) radius, and at the
 *               tile's end the rest; it reads no row behind the front by more than the radius,
 *               but T_0 for `start`.  rings: kept from call to call, zero before the first
 *   sweep_room  bytes of the rings, and of what a tile shares with the one above it
 *   match       members of the groups of grid lines [g0, g1): nearest by squared difference,
 *               nearer positions in reading order first among equals
 *   patch_pass  one pass over the groups of grid lines [g0, g1)
 */
#define NNK_KERNELS_OF(S, T)                                                                                   \
    int (*prune_##S)(const T *planes, int64_t stride, int32_t channels, const nnk_window *,                    \
                     const T *pair_threshold, const T *threshold, nnk_edges *, int64_t y0, int64_t y1);        \
    void (*degrees_##S)(const nnk_grid_operator *, T *degree, int64_t y0, int64_t y1);                         \
    void (*signless_##S)(const nnk_grid_operator *, const T *degree, T scale, const T *x, T *out, int64_t y0,  \
                         int64_t y1);                                                                          \
    int (*sweep_rows_##S)(const nnk_grid_operator *, const nnk_sweep *, void *rings, int64_t y0, int64_t y1);  \
    void (*sweep_room_##S)(const nnk_grid_operator *, const nnk_sweep *, size_t *rings, size_t *shared);       \
    int (*match_##S)(const nnk_patches *, const T *image, int32_t *members, int32_t *n_members, int64_t g0,    \
                     int64_t g1);                                                                              \
    int (*patch_pass_##S)(const nnk_patches *, const nnk_patch_pass *, const int32_t *members,                 \
                          const int32_t *n_members, int64_t g0, int64_t g1);

/* The kernels of one instruction set; one such table per variant. */
typedef struct {
    const char *name;
    NNK_KERNELS_OF(f32, float)
    NNK_KERNELS_OF(f64, double)
    nnk_fill *fill_f32_f32, *fill_f32_f64, *fill_f64_f64;
    nnk_fill_entries *fill_entries_f32_f32, *fill_entries_f32_f64, *fill_entries_f64_f64;
} nnk_kernels;

/* The variants this machine can run, best last; the first is always there. */
int nnk_variants(const nnk_kernels *found[4]);

#endif
