/* Groups of similar patches, for denoising.  Layouts: nnk_core.h. */
#ifndef NNK_PATCHES_H
#define NNK_PATCHES_H

#include <stdint.h>

/* Axes of an image, the last along its lines; the first have one pixel where there are fewer. */
enum { NNK_AXES = 4 };

/* Groups of similar patches (denoising).  A patch is a box of pixels named by its first one, whose
 * position is its number in row-major order.  Reference patches lie on the grid lines x columns, which
 * the caller makes cover the image; each has at most `group` members, itself among them, found within
 * `radius` of it along each axis and in reading order.
 *   lines       numbers of lines of the image, in row-major order
 *   members     int32 [n_lines][n_columns][group]: the member's position minus that of the reference.
 *               So images may have any number of pixels, as long as the positions within a search
 *               window differ by less than 2^31
 *   n_members   int32 [n_lines][n_columns]; negative where passes leave a group out
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

/* One pass over all groups.  A group has one filter across the pixels of its patches,
 *     W = I - b (G + a N)^-1 N,
 * with G the sum over the channels of P' P, P the patches of the pilot less their mean, and N the sum over
 * channels and patches of the covariance of the noise left in them.  It is applied to the patches of the
 * working image less their mean, which is added again.  Or, for one channel with white noise, the filter is
 * one across the k members,
 *     X = Theta Z,  Theta = 1 1' / k + P (G + c I)^-1 P',
 * with c the number of pixels of a patch times the variance of the noise left.
 *   across_members   the latter
 *   y, z, x     noisy image, working image, pilot: T [channels] x shape of the image
 *   covariance  NULL where noise is white, or T [n][row]: that of the n pixels of a patch, the mean of the
 *               channels', in units of sigma^2; rows padded with zeros to whole SIMD blocks
 *   tau         least noise left in z, and that of the next working image, relative to sigma
 *   limit       the trace of N is at most so many times that of G
 *   sum_x, sum_z   T [channels] x shape of a box of the image that holds all members: weighted sums of the
 *               results, and of the next working image; the latter may be NULL
 *   weights     T, shape of the box: sums of the weights of the patches that begin at each pixel
 * The caller zeroes the sums.
 */
typedef struct {
    int32_t channels, across_members;
    double a, b, tau, limit;
    const void *y, *z, *x, *covariance;
    void *sum_x, *sum_z, *weights;
    nnk_box box;
} nnk_patch_pass;

#endif
