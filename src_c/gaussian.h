/* The Gaussian kernel of packets and of the variant's vectors (gaussian.template.h). */
#ifndef NNK_GAUSSIAN_H
#define NNK_GAUSSIAN_H

#include <float.h>

#include "simd.h"
#include "templating.h"

#define V packet
#define VI packeti
#include "gaussian.template.h"
#undef V
#undef VI

#define V vec
#define VI veci
#include "gaussian.template.h"
#undef V
#undef VI

#endif
