/* Which vector variants this build has and this machine can run. */
#include "nnk_core.h"

extern const nnk_kernels nnk_kernels_generic;
#if defined(NNK_X86)
extern const nnk_kernels nnk_kernels_avx2, nnk_kernels_avx512;
#elif defined(NNK_ARM)
extern const nnk_kernels nnk_kernels_neon;
#endif

int nnk_variants(const nnk_kernels *found[4])
{
    int n = 0;
    found[n++] = &nnk_kernels_generic;
#if defined(NNK_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt"))
        found[n++] = &nnk_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        found[n++] = &nnk_kernels_avx512;
#elif defined(NNK_ARM)
    found[n++] = &nnk_kernels_neon; /* part of every 64-bit ARM processor */
#endif
    return n;
}
