/* Groups of similar patches, for denoising.  Layouts: nnk_core.h. */
#ifndef NNK_PATCHES_H
#define NNK_PATCHES_H

#include <stdint.h>

/* Axes of an image, the last along its lines; the first have one pixel where there are fewer. */
enum { NNK_AXES = 4 };

/* Groups of similar patches (denoising).  A patch is a box of pixels named by its first one, whose
 * position is its number in row-major order.  Reference patches lie on the grid lines x columns, which
 * the caller makes cover the image; each has at most `group` members, itself first, found within
 * `radius` of it along each axis.
 *   lines       numbers of lines of the image, in row-major order
 *   members     int32 [n_lines][n_columns][group]: the member's position minus that of the reference.
 *               So images may have any number of pixels, as long as the positions within a search
 *               window differ by less than 2^31
 *   n_members   int32 [n_lines][n_columns]
 *   bias        NULL, or [2 radius + 1 along each axis], type of the image: what the noise adds to the
 *               squared distance of patches, by their offset; it is taken off
 *   variances   NULL, or of the image's shape and type: mean variance of the noise in the patch that
 *               begins there, relative to sigma^2; the bias of two patches goes with the mean of theirs
 */
typedef struct {
    int64_t shape[NNK_AXES];
    int32_t patch[NNK_AXES], radius[NNK_AXES];
    int32_t group, n_lines, n_columns;
    const int64_t *lines;
    const int32_t *columns;
    const void *bias, *variances;
} nnk_patches;

/* A box of pixels within an image: where it begins, and how far it reaches. */
typedef struct {
    int64_t first[NNK_AXES], shape[NNK_AXES];
} nnk_box;

/* One pass over all groups: filter each, add its patches to sums.
 *   first       the first estimate, from y alone; else a Wiener pass from the noisy
 *               image y, the working image z and the pilot x, with residual noise
 *               level at least tau (relative to sigma)
 *   right       filter across pixels of a patch instead of across patches; white noise only
 *   sum_x, sum_z, weights   sums of the results, on a box of the image that holds all members; the
 *               caller zeroes them and divides.  sum_z may be NULL.
 * Correlated noise, both NULL where it is white; n pixels in a patch, in units of sigma^2:
 *   whitening   [n][row] inverse square root of the covariance of the pixels of a patch; rows padded
 *               with zeros to whole SIMD blocks
 *   between     [4 radius + 1 along each axis] noise that two patches share, by their offset: the trace
 *               of the inverse covariance times their cross-covariance; n at offset 0
 */
typedef struct {
    int32_t first, right;
    double sigma, tau;
    const void *y, *z, *x;
    void *sum_x, *sum_z, *weights;
    nnk_box box;
    const void *whitening, *between;
} nnk_patch_pass;

/* One Wiener pass of several channels that share each group's filter: across the pixels of a patch,
 * W = (C + c I)^-1 C with C the sum of the channels' P' P, P a channel's pilot patches less their
 * mean, and c = channels x members x sigma^2.
 *   y, x        noisy image and pilot, T [channels] x shape of the image
 *   sums        T [channels + 1] x shape of a box of the image that holds all members: the sums of
 *               the results, and of their weights; the caller zeroes them and divides
 */
typedef struct {
    int32_t channels;
    double sigma;
    const void *y, *x;
    void *sums;
    nnk_box box;
} nnk_shared_pass;

#endif
