/* The SIMD variants of the functions on images. */
#include "variants.h"
#include "nnk_core.h"

NNK_DEFINE_VARIANTS(nnk_variants, nnk_kernels, nnk_kernels)
