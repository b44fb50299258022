/* Which vector variants of the image kernels there are. */
#include "variants.h"
#include "nnk_core.h"

NNK_DEFINE_VARIANTS(nnk_variants, nnk_kernels, nnk_kernels)
