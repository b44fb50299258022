/* The instruction sets that this x86 processor and the operating system support.
 *
 * The compilers' __builtin_cpu_supports needs a runtime library that clang-cl does not link on
 * Windows.  <cpuid.h> comes with the compilers too and needs none. */
#ifndef NNK_PROCESSOR_H
#define NNK_PROCESSOR_H

#include <cpuid.h>
#include <stdint.h>

/* Return which registers the operating system saves when it switches threads: bit 1 for SSE, bit 2
 * for AVX, bits 5 to 7 for AVX-512. */
static inline uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Return whether all `wanted` bits are set. */
static inline int has_all(uint32_t bits, uint32_t wanted)
{
    return (bits & wanted) == wanted;
}

/* Return 2 if AVX-512 F, DQ, BW and VL can be used, 1 if only AVX2, BMI and POPCNT can, and 0
 * otherwise. */
static inline int vector_level(void)
{
    const uint32_t osxsave = 1u << 27, avx = 1u << 28, popcnt = 1u << 23;
    const uint32_t avx2 = 1u << 5, bmi = 1u << 3;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all(c, osxsave | avx | popcnt))
        return 0;
    const uint32_t saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_all(b, avx2 | bmi) || !has_all(saved, 0x6))
        return 0;
    return has_all(b, avx512) && has_all(saved, 0xe6) ? 2 : 1;
}

#endif
