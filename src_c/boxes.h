/* Positions of pixels in images, patches and boxes of up to NNK_AXES axes. */
#ifndef NNK_BOXES_H
#define NNK_BOXES_H

#include "nnk_patches.h"

/* Return the number of pixels of an image of this shape. */
static inline int64_t pixels_of(const int64_t shape[NNK_AXES])
{
    int64_t n = 1;
    for (int axis = 0; axis < NNK_AXES; axis++)
        n *= shape[axis];
    return n;
}

/* Return the number of lines of a patch, which run along the last axis. */
static inline int32_t patch_lines(const nnk_patches *p) { return p->patch[0] * p->patch[1] * p->patch[2]; }

/* Write the offset of each line of a patch from its first pixel, in pixels of an array of this
 * shape. */
static inline void find_patch_lines(const int32_t patch[NNK_AXES], const int64_t shape[NNK_AXES], int64_t *lines)
{
    for (int64_t t = 0; t < patch[0]; t++)
        for (int64_t z = 0; z < patch[1]; z++)
            for (int64_t y = 0; y < patch[2]; y++)
                *lines++ = ((t * shape[1] + z) * shape[2] + y) * shape[3];
}

/* Write the offset of each position in a search window from its center, in pixels and in row-major
 * order. */
static inline void find_shifts(const nnk_patches *p, int32_t *shifts)
{
    const int32_t *r = p->radius;
    for (int64_t t = -r[0]; t <= r[0]; t++)
        for (int64_t z = -r[1]; z <= r[1]; z++)
            for (int64_t y = -r[2]; y <= r[2]; y++)
                for (int64_t x = -r[3]; x <= r[3]; x++)
                    *shifts++ = (int32_t)(((t * p->shape[1] + z) * p->shape[2] + y) * p->shape[3] + x);
}

/* Return the position within a box of the pixel at `position` in an image of this shape. */
static inline int64_t place_in_box(const int64_t shape[NNK_AXES], const nnk_box *box, int64_t position)
{
    if (shape[0] == 1 && shape[1] == 1 && box->shape[3] == shape[3])
        return position - box->first[2] * shape[3]; /* whole lines of a 2-D image */
    int64_t place = 0, stride = 1;
    for (int axis = NNK_AXES - 1; axis >= 0; axis--) {
        const int64_t above = position / shape[axis];
        place += (position - above * shape[axis] - box->first[axis]) * stride;
        stride *= box->shape[axis];
        position = above;
    }
    return place;
}

#endif
