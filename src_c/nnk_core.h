/* The compiled core of nnk_image: plain C, no Python.
 *
 * Everything works on a range of image rows [y0, y1), so that the caller may
 * split an image into row bands and run them on threads in any order: a
 * function writes only to its own rows (or to its own scratch), and its result
 * never depends on how the rows were split.
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
 *                  stride >= radius + (width rounded up to 16) + radius.
 *
 * Edge planes      uint64 forward[height][half][words], backward likewise, with
 *                  words = ceil(width / 64).  Bit x%64 of word x/64 of
 *                  forward[y][o] says that pixel (y, x) has an edge to
 *                  (y + dy[o], x + dx[o]); backward the same for -dy[o], -dx[o].
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
enum { NNK_MAX_ORDERS = 8 };

/* The window: all offsets but (0,0) by increasing distance, and which nearer
 * offset can prune which farther one (thesis section 3.1, Algorithm 4).
 *   plane[k]       p >= 0: offset k is forward[p]; p < 0: it is backward[-1-p]
 *   pruner         for offset k the candidates pruner[pair_start[k] ..
 *                  pair_start[k+1]), ascending, all below n_near
 *   n_near         offsets [0, n_near) prune branch-free, many pixels at once;
 *                  the few survivors beyond are settled pixel by pixel
 */
typedef struct {
    int32_t radius, n_offsets, n_near;
    const int32_t *dy, *dx, *plane;
    const int32_t *pair_start, *pruner;
} nnk_window;

typedef struct {
    int64_t height, width, words, half;
    uint64_t *forward, *backward;
} nnk_edges;

/* A symmetric operator  L = diag(a) - M  on the pixel grid, M stored by blocks
 * of PACKET pixels of one row (8 float, 4 double): block b of row y holds the
 * packets start[y * blocks + b] .. start[y * blocks + b + 1), packet e being the
 * weights of the block's pixels towards pixel + offset[id[e]], 0 where absent.
 *   diagonal   T[height][stride] padded like the signals
 */
typedef struct {
    int64_t height, width, blocks, stride, pad;
    int32_t radius, n_offsets;
    const int32_t *dy, *dx;
    const int64_t *start;
    const uint16_t *id;
    const void *weight, *diagonal;
} nnk_grid_operator;

/* One group of orders of the recurrence
 *     T_k = scale (L T_{k-1}) - shift T_{k-1} - T_{k-2} (+ forcing_k)
 * for k = first .. first + orders - 1, at most NNK_MAX_ORDERS of them.
 *   older, old            T_{first-2}, T_{first-1}: [height][stride], read with a
 *                         halo of rows around the band.  Without `older` the group
 *                         starts the recurrence: T_1 takes half of scale and shift.
 *   new_older, new_old    the last two orders of the group, rows of the band
 *   bands, coefficients   n_bands images [height][width] and, per band,
 *                         `orders` numbers, order by order.
 *     analysis            band s += sum_k coefficients[s][k] T_k
 *     forcing = 1         they are inputs: forcing_k = sum_s coefficients[s][k] band_s
 */
typedef struct {
    int32_t orders, n_bands, forcing;
    double scale, shift;
    const void *older, *old;
    void *new_older, *new_old, *bands;
    const double *coefficients;
} nnk_group;

/* Groups of similar patches (denoising).  Patches are named by the position
 * y * width + x of their first pixel.  Reference patches lie on the grid rows x
 * columns, which the caller makes cover the image; each has at most `group`
 * members, itself first, found within `radius` of it.
 *   members     int32 [n_rows][n_columns][group];  n_members [n_rows][n_columns]
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

    /* Write the CSR rows of pixels [y0 width, y1 width): sorted columns and
     * kernel weights spatial[o] exp(-|f_i - f_j|^2 / two_sigma2).  `directed`
     * reads both edge planes, otherwise the forward planes hold the undirected
     * graph.  Suffix: type of the features, type of the weights. */
#define NNK_FILL(F, W)                                                                                   \
    (const F *planes, int64_t stride, int32_t channels, int32_t radius, const int32_t *dy,               \
     const int32_t *dx, const W *spatial, double two_sigma2, int32_t directed, const nnk_edges *edges,  \
     const void *indptr, void *indices, int32_t wide, W *data, int64_t y0, int64_t y1)
    int (*fill_f32_f32) NNK_FILL(float, float);
    int (*fill_f32_f64) NNK_FILL(float, double);
    int (*fill_f64_f64) NNK_FILL(double, double);

    /* Clear the edges of rows [y0, y1) whose weight would be below the smallest
     * normal number of its type; returns how many through *dropped. */
#define NNK_DROP(F, W)                                                                                   \
    (const F *planes, int64_t stride, int32_t channels, int32_t radius, const int32_t *dy,               \
     const int32_t *dx, const W *spatial, double two_sigma2, int32_t directed, const nnk_edges *edges,  \
     int64_t y0, int64_t y1, int64_t *dropped)
    void (*drop_f32_f32) NNK_DROP(float, float);
    void (*drop_f32_f64) NNK_DROP(float, double);
    void (*drop_f64_f64) NNK_DROP(double, double);

    /* One group of the Chebyshev recurrence on rows [y0, y1). */
    int (*group_f32)(const nnk_grid_operator *, const nnk_group *, int64_t y0, int64_t y1);
    int (*group_f64)(const nnk_grid_operator *, const nnk_group *, int64_t y0, int64_t y1);

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
void nnk_symmetrise(const nnk_edges *, const int32_t *dy, const int32_t *dx, int64_t y0, int64_t y1);
/* All valid pairs of the window; valid[height][words] is a bit per pixel. */
void nnk_all_pairs(const nnk_edges *, const uint64_t *valid, const int32_t *dy, const int32_t *dx, int64_t y0, int64_t y1);
/* Number of edges of each pixel, into count[height][width]. */
void nnk_count(const nnk_edges *, const int32_t *dy, const int32_t *dx, int32_t directed, int32_t *count, int64_t y0, int64_t y1);

/* The blocks of a grid operator from the CSR rows of its pixels.  offset_at maps
 * (dy + radius)(2 radius + 1) + (dx + radius) to the offset's id.  First
 * nnk_count_packets: packets of each block into count[height][blocks]; then, with
 * `start` their running sum, nnk_fill_packets: ids and weights.  node_scale may be
 * NULL; else weight (i, j) is multiplied by node_scale[i] node_scale[j]. */
int nnk_count_packets(const nnk_grid_operator *, int32_t packet, const void *indptr, const void *indices, int32_t wide,
                      const int32_t *offset_at, int32_t *count, int64_t y0, int64_t y1);
#define NNK_FILL_PACKETS(T)                                                                              \
    (const nnk_grid_operator *op, const void *indptr, const void *indices, int32_t wide, const T *data,  \
     const T *node_scale, const int32_t *offset_at, uint16_t *id, T *weight, int64_t y0, int64_t y1)
int nnk_fill_packets_f32 NNK_FILL_PACKETS(float);
int nnk_fill_packets_f64 NNK_FILL_PACKETS(double);

/* One order of the recurrence on any CSR matrix M, rows [i0, i1) (operator.c):
 * next = scale (a x - M x) - shift x - older + forcing, then band s += c[s] next. */
#define NNK_CSR_STEP(T)                                                                                  \
    (const void *indptr, const void *indices, int32_t wide, const T *data, const T *diagonal, double scale, \
     double shift, const T *older, const T *x, T *next, T *bands, int64_t n, int32_t n_bands,            \
     const double *c, int32_t forcing, int64_t i0, int64_t i1)
void nnk_csr_step_f32 NNK_CSR_STEP(float);
void nnk_csr_step_f64 NNK_CSR_STEP(double);

#endif
