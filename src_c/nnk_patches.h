/* Groups of similar patches, for denoising. */
#ifndef NNK_PATCHES_H
#define NNK_PATCHES_H

#include <stdint.h>

/* Number of axes of an image.  Lines of pixels run along the last axis; an image with fewer axes
 * has leading axes of length 1. */
enum { NNK_AXES = 4 };

/* Reference patches on a grid, and for each the group of patches that are similar to it.
 *
 * A patch is a box of pixels.  Its position is that of its first pixel, counted in row-major order.
 * The reference patches begin at the crossings of `lines` and `columns`, which the caller chooses
 * such that the patches cover the image.  The members of a group are at most `group` patches within
 * `radius` of its reference patch along each axis, among them the reference patch itself, in
 * row-major order.
 *
 *   shape       of the image, without channels
 *   lines       [n_lines]: lines of the image, counted in row-major order
 *   columns     [n_columns]: positions along a line
 *   bias        T [2 radius + 1 along each axis], or NULL for 0: what noise adds to the squared
 *               distance of two patches, by offset from the first to the second.  `match` subtracts
 *               it
 *   variances   T, of the image's shape, or NULL for 1: mean variance of the noise in the patch
 *               that begins at each pixel, relative to sigma^2.  The bias is multiplied by the mean
 *               of the two patches' variances
 *
 * The functions on groups take two more arrays:
 *   members     int32 [n_lines][n_columns][group]: position of each member minus that of the
 *               reference patch.  Images may have any number of pixels, as long as positions within
 *               a search window differ by less than 2^31
 *   n_members   int32 [n_lines][n_columns]: number of members.  patch_pass skips groups where it is
 *               not positive
 */
typedef struct {
    int64_t shape[NNK_AXES];
    int32_t patch[NNK_AXES], radius[NNK_AXES];
    int32_t group, n_lines, n_columns;
    const int64_t *lines;
    const int32_t *columns;
    const void *bias, *variances;
} nnk_patches;

/* A box of pixels within an image: the indices of its first pixel, and its shape. */
typedef struct {
    int64_t first[NNK_AXES], shape[NNK_AXES];
} nnk_box;

/* A pass: filter all groups and add up the results.
 *
 * By default a group has one filter across the n pixels of a patch,
 *     W = I - b (G + a N)^-1 N.
 * G is the sum over the channels of P' P, where the rows of P are the patches of the pilot less
 * their mean.  N is the sum, over channels and patches, of the covariance of the noise that is left
 * in the working image.  The filter is applied to the patches of the working image less their mean,
 * which is added again afterwards.
 *
 * Alternatively, for one channel with white noise and a = b, the filter combines the k members:
 *     X = Theta Z,  Theta = 1 1' / k + P (G + c I)^-1 P',
 * where the rows of Z are the patches of the working image, and c is a n times the variance of the
 * noise that is left.
 *
 *   across_members   1 for the second kind of filter, else 0
 *   removed, z, x    T [channels][shape of the image]: the noisy image less the working image, the
 *                    working image, and the pilot.  `removed` is NULL if all noise is left
 *   covariance       T [n][row], or NULL if noise is white: covariance of the n pixels of a patch,
 *                    the mean of the channels', in units of sigma^2.  Rows are padded with zeros to
 *                    whole SIMD blocks
 *   limit            the trace of N is limited to this multiple of the trace of G
 *   box              a box of the image that holds all members of the groups
 *   sums             T [channels][shape of the box]: weighted sums of the results
 *   weights          T [shape of the box]: for each pixel, the sum of the weights of the patches
 *                    that begin there
 * The caller sets `sums` and `weights` to zero before the first groups.
 */
typedef struct {
    int32_t channels, across_members;
    double a, b, limit;
    const void *removed, *z, *x, *covariance;
    void *sums, *weights;
    nnk_box box;
} nnk_patch_pass;

#endif
