/* Which vector variants this build has and this machine can run. */
#include "neighbors.h"

extern const nnk_neighbor_kernels nnk_neighbor_kernels_generic;
#if defined(NNK_X86)
extern const nnk_neighbor_kernels nnk_neighbor_kernels_avx2, nnk_neighbor_kernels_avx512;
#elif defined(NNK_ARM)
extern const nnk_neighbor_kernels nnk_neighbor_kernels_neon;
#endif

int nnk_neighbor_variants(const nnk_neighbor_kernels *found[4])
{
    int n = 0;
    found[n++] = &nnk_neighbor_kernels_generic;
#if defined(NNK_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt"))
        found[n++] = &nnk_neighbor_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        found[n++] = &nnk_neighbor_kernels_avx512;
#elif defined(NNK_ARM)
    found[n++] = &nnk_neighbor_kernels_neon;
#endif
    return n;
}
