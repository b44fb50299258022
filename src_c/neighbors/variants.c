/* The SIMD variants of the functions on points. */
#include "../variants.h"
#include "neighbors.h"

NNK_DEFINE_VARIANTS(nnk_neighbor_variants, nnk_neighbor_kernels, nnk_neighbor_kernels)
