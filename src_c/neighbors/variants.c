/* Which vector variants of the solver there are. */
#include "../variants.h"
#include "neighbors.h"

NNK_DEFINE_VARIANTS(nnk_neighbor_variants, nnk_neighbor_kernels, nnk_neighbor_kernels)
