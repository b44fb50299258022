/* The compiled core of nnk_image: plain C, no Python.
 *
 * Everything works on a range of image rows [y0, y1), so that the caller may
 * split an image into chunks of rows and run them on threads in any order: a
 * function writes only to its own rows (or to its own scratch), and its result
 * never depends on how the rows were split.  (group_* alone goes down the rows
 * in turn; see nnk_sweep.)
 *
 * Memory: the caller owns every array named here.  Functions returning int may
 * allocate scratch of their own, which they free; they return NNK_OK or
 * NNK_NO_MEMORY.
 *
 * Three layouts recur.
 *
 * Feature planes   T plane[channels][height + 2 radius][stride]: the image with
 *                  a border of `radius` pixels on all sides.  Border pixels and
 *                  masked pixels hold NaN; no test on NaN succeeds, so they are
 *                  never neighbours and never prune, with no special case.
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

#include <stddef.h>
#include <stdint.h>

enum { NNK_OK = 0, NNK_NO_MEMORY = 1 };
enum { NNK_MAX_ORDERS = 16, NNK_PAIRS_AT_ONCE = 4 };

/* The window: all offsets but (0,0) by increasing distance, and which nearer
 * offset can prune which farther one (thesis section 3.1, Algorithm 4).
 *   plane[k]       p >= 0: offset k is forward[p]; p < 0: it is backward[-1-p]
 *   pruner         for offset k the candidates pruner[pair_start[k] ..
 *                  pair_start[k+1]), all below n_near, the likeliest first; the
 *                  last is repeated up to a multiple of NNK_PAIRS_AT_ONCE
 *   n_near         offsets [0, n_near) prune many pixels at once; the few
 *                  survivors beyond are settled pixel by pixel
 */
typedef struct {
    int32_t radius, n_offsets, n_near;
    const int32_t *dy, *dx, *plane;
    const int32_t *pair_start, *pruner;
} nnk_window;

/* The edge planes, and the offsets dy, dx of the forward half.  Without `backward`
 * the graph is undirected: its forward planes hold each edge once. */
typedef struct {
    int64_t height, width, words, half;
    const int32_t *dy, *dx;
    uint64_t *forward, *backward;
} nnk_edges;

/* The bilateral kernel between pixels at distance (dy[o], dx[o]), o numbering the
 * forward half: spatial[o] exp(-|f_i - f_j|^2 / two_sigma2), 0 below the smallest
 * normal number.  The functions' suffixes name the types of planes and spatial. */
typedef struct {
    const void *planes, *spatial;
    int64_t stride;
    int32_t channels, radius;
    double two_sigma2;
} nnk_kernel;

/* An operator  L = diag(a) - diag(r) W  on the pixel grid, the adjacency W stored
 * by blocks of LANES adjacent pixels of one row (8 float, 4 double).  An edge block is what a block has
 * of edges towards pixel + offset; offsets are all those of the window, numbered in
 * row-major order, and so are a block's edge blocks.  Two of them make an entry, which says where the
 * edges are; weights are stored of edges only.
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
    int64_t height, width, blocks, stride, pad;
    int32_t radius, n_offsets;
    const int32_t *dy, *dx;
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
 *                         inputs are read with a halo of orders * radius columns
 *   above, below          memory shared with the tiles above and below, NULL at the ends
 *                         of the image; zero at first, the lower one writes it
 *   row_begin, row_end    rows [row_begin + k radius, row_end + k radius) of the tile's order
 *                         k = 1, 2, .. of the block, where there are tiles above, below
 *   bands, coefficients   n_bands images [height][width] and, per band,
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

/* Groups of similar patches (denoising).  A patch is named by its first pixel, whose
 * position is y * width + x.  Reference patches lie on the grid rows x columns, which the
 * caller makes cover the image; each has at most `group` members, itself first, found
 * within `radius` of it.
 *   members     int32 [n_rows][n_columns][group]: the member's position minus that of the
 *               reference.  So images may have any number of pixels, as long as
 *               (2 radius + 1) (width + 1) < 2^31
 *   n_members   int32 [n_rows][n_columns]
 */
typedef struct {
    int64_t height, width;
    int32_t patch, radius, group, n_rows, n_columns;
    const int32_t *rows, *columns;
} nnk_patches;

/* One pass over all groups: filter each, add its patches to sums.
 *   first       the first estimate, from y alone; else a Wiener pass from the noisy
 *               image y, the working image z and the pilot x, with residual noise
 *               level at least tau (relative to sigma)
 *   right       filter across pixels of a patch instead of across patches
 *   sum_x, sum_z, weights   sums of the results, image rows from first_row on; the
 *               caller zeroes them and divides.  sum_z may be NULL.
 */
typedef struct {
    int32_t first, right;
    double sigma, tau;
    const void *y, *z, *x;
    void *sum_x, *sum_z, *weights;
    int64_t first_row;
} nnk_patch_pass;

/* Write the CSR rows of the pixels of rows [y0, y1), where they start included: sorted
 * columns and kernel weights.  row_start[y] is where the first of image row y starts.
 * Adds to *underflown how many weights are 0. */
typedef int nnk_fill(const nnk_kernel *, const nnk_edges *, const int64_t *row_start, void *indptr, void *indices,
                     int32_t wide, void *weights, int64_t *underflown, int64_t y0, int64_t y1);

/* Write the entries of rows [y0, y1) to their places in the operator: the same weights. */
typedef int nnk_fill_entries(const nnk_kernel *, const nnk_edges *, const nnk_grid_operator *, int64_t y0, int64_t y1);

/* The kernels of one instruction set; one such table per variant. */
typedef struct {
    const char *name;

    /* Algorithm 4 on rows [y0, y1): sets every word of `edges` in these rows.
     * threshold[d] = mu d for d = 0 .. max Delta; pair_threshold the same per
     * candidate pair of the window. */
    int (*prune_f32)(const float *planes, int64_t stride, int32_t channels, const nnk_window *,
                     const float *pair_threshold, const float *threshold, const nnk_edges *, int64_t y0, int64_t y1);
    int (*prune_f64)(const double *planes, int64_t stride, int32_t channels, const nnk_window *,
                     const double *pair_threshold, const double *threshold, const nnk_edges *, int64_t y0, int64_t y1);

    nnk_fill *fill_f32_f32, *fill_f32_f64, *fill_f64_f64;
    nnk_fill_entries *fill_entries_f32_f32, *fill_entries_f32_f64, *fill_entries_f64_f64;

    /* Row sums of W into degree, padded like the signals. */
    void (*degrees_f32)(const nnk_grid_operator *, float *degree, int64_t y0, int64_t y1);
    void (*degrees_f64)(const nnk_grid_operator *, double *degree, int64_t y0, int64_t y1);
    /* Largest degree[i] + degree[j] over the edges of rows [y0, y1). */
    float (*edge_bound_f32)(const nnk_grid_operator *, const float *degree, int64_t y0, int64_t y1);
    double (*edge_bound_f64)(const nnk_grid_operator *, const double *degree, int64_t y0, int64_t y1);

    /* One block of orders of the Chebyshev recurrence, front going over rows [y0, y1).  Called for
     * all rows of the tile's first order, one chunk after the other, it writes row y as the
     * front passes y + (orders - 1) radius, and at the tile's end the rest; it reads no row
     * behind the front by more than the radius, but T_0 for `start`.  rings: kept from call to
     * call, zero before the first. */
    int (*sweep_rows_f32)(const nnk_grid_operator *, const nnk_sweep *, void *rings, int64_t y0, int64_t y1);
    int (*sweep_rows_f64)(const nnk_grid_operator *, const nnk_sweep *, void *rings, int64_t y0, int64_t y1);
    /* Bytes of the rings and of what a tile shares with the one above it. */
    void (*sweep_room_f32)(const nnk_grid_operator *, const nnk_sweep *, size_t *rings, size_t *shared);
    void (*sweep_room_f64)(const nnk_grid_operator *, const nnk_sweep *, size_t *rings, size_t *shared);

    /* Members of the groups of grid rows [g0, g1): nearest by squared difference,
     * nearer positions in reading order first among equals. */
    int (*match_f32)(const nnk_patches *, const float *image, int32_t *members, int32_t *n_members, int64_t g0,
                     int64_t g1);
    int (*match_f64)(const nnk_patches *, const double *image, int32_t *members, int32_t *n_members, int64_t g0,
                     int64_t g1);
    /* One pass over the groups of grid rows [g0, g1). */
    int (*patch_pass_f32)(const nnk_patches *, const nnk_patch_pass *, const int32_t *members,
                          const int32_t *n_members, int64_t g0, int64_t g1);
    int (*patch_pass_f64)(const nnk_patches *, const nnk_patch_pass *, const int32_t *members,
                          const int32_t *n_members, int64_t g0, int64_t g1);
} nnk_kernels;

/* The variants this machine can run, best last; the first is always there. */
int nnk_variants(const nnk_kernels *found[4]);

/* Parts that need no vectors: edges.c, operator.c. */

/* The undirected graph: forward |= backward seen from the other end. */
void nnk_symmetrise(const nnk_edges *, int64_t y0, int64_t y1);
/* All valid pairs of the window; valid[height][words] is a bit per pixel. */
void nnk_all_pairs(const nnk_edges *, const uint64_t *valid, int64_t y0, int64_t y1);
/* The planes of CSR rows: both of them, whether the matrix is symmetric or not.
 * offset_at maps (dy + radius)(2 radius + 1) + (dx + radius) to the offset's number in
 * row-major order. */
int nnk_edges_of_csr(const nnk_edges *, const void *indptr, const void *indices, int32_t wide, int32_t radius,
                     const int32_t *offset_at, int64_t y0, int64_t y1);
/* Number of edges of the pixels of each row, into count[height]. */
void nnk_count_rows(const nnk_edges *, int64_t *count, int64_t y0, int64_t y1);
/* Entries and weights before each block of `lanes` (4 or 8) pixels of a row, into before[height][blocks + 1]. */
int nnk_count_entries(const nnk_edges *, int32_t lanes, int64_t blocks, nnk_before *before, int64_t y0, int64_t y1);

/* fill_entries with the weights of CSR rows, of type T (operator.c). */
#define NNK_COPY_ENTRIES(T)                                                                               \
    (const nnk_edges *edges, const void *indptr, int32_t wide, const T *data, const nnk_grid_operator *op, \
     int64_t y0, int64_t y1)
int nnk_copy_entries_f32 NNK_COPY_ENTRIES(float);
int nnk_copy_entries_f64 NNK_COPY_ENTRIES(double);

/* One order of the recurrence on any CSR matrix M, rows [i0, i1) (operator.c):
 * next = scale (a x - r M x) - shift x - older + clenshaw, then band s += c[s] next.
 * row_scale (r) may be NULL. */
#define NNK_CSR_STEP(T)                                                                                   \
    (const void *indptr, const void *indices, int32_t wide, const T *data, const T *diagonal,             \
     const T *row_scale, double scale, double shift, const T *older, const T *x, T *next, T *bands,       \
     int64_t n, int32_t n_bands, const double *c, int32_t clenshaw, int64_t i0, int64_t i1)
void nnk_csr_step_f32 NNK_CSR_STEP(float);
void nnk_csr_step_f64 NNK_CSR_STEP(double);

#endif
