/* The few vector operations the kernels need, spelled for each instruction set.
 *
 * Arithmetic uses the compiler's vector extensions (GCC, Clang), so `a - b` on
 * vectors is lane-wise.  What the extensions lack is written with intrinsics
 * here.  Every operation is exact per lane, so results never depend on the
 * vector's width.
 *
 * For each element type (suffix f32, f64):
 *   vec_S, LANES_S      the widest vector of the variant and its lane count
 *   loadu_S, splat_S    unaligned load; one value in every lane
 *   min_S(v, m)         v < m ? v : m per lane; a NaN in either yields m
 *   above_zero_S(m)     bit l set where lane l > 0 (a NaN is not)
 *   nan_unless_S(m, d)  d where m > 0, NaN elsewhere
 *   packet_S, PACKET_S  a 32-byte vector, the same on every instruction set:
 *                       the storage unit of the grid operator
 */
#ifndef NNK_SIMD_H
#define NNK_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(NNK_VARIANT_AVX512)
#define VECTOR_BYTES 64
#elif defined(NNK_VARIANT_AVX2)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef float vec_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vec_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t veci_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t veci_f64 __attribute__((vector_size(VECTOR_BYTES)));
#define LANES_f32 (VECTOR_BYTES / 4)
#define LANES_f64 (VECTOR_BYTES / 8)

typedef float packet_f32 __attribute__((vector_size(32)));
typedef double packet_f64 __attribute__((vector_size(32)));
#define PACKET_f32 8
#define PACKET_f64 4

#define DEFINE_COMMON(S, T)                                                     \
    static inline vec_##S loadu_##S(const T *p)                                 \
    {                                                                           \
        vec_##S v;                                                              \
        memcpy(&v, p, sizeof v);                                                \
        return v;                                                               \
    }                                                                           \
    static inline vec_##S splat_##S(T a) { return a - (vec_##S){0}; }           \
    static inline packet_##S load_packet_##S(const T *p)                        \
    {                                                                           \
        packet_##S v;                                                           \
        memcpy(&v, p, sizeof v);                                                \
        return v;                                                               \
    }                                                                           \
    static inline void store_packet_##S(T *p, packet_##S v)                     \
    {                                                                           \
        memcpy(p, &v, sizeof v);                                                \
    }

DEFINE_COMMON(f32, float)
DEFINE_COMMON(f64, double)

#if defined(NNK_VARIANT_AVX512)
#include <immintrin.h>
static inline vec_f32 min_f32(vec_f32 v, vec_f32 m) { return (vec_f32)_mm512_min_ps((__m512)v, (__m512)m); }
static inline vec_f64 min_f64(vec_f64 v, vec_f64 m) { return (vec_f64)_mm512_min_pd((__m512d)v, (__m512d)m); }
static inline uint64_t above_zero_f32(vec_f32 m) { return _mm512_cmp_ps_mask((__m512)m, _mm512_setzero_ps(), _CMP_GT_OQ); }
static inline uint64_t above_zero_f64(vec_f64 m) { return _mm512_cmp_pd_mask((__m512d)m, _mm512_setzero_pd(), _CMP_GT_OQ); }

#elif defined(NNK_VARIANT_AVX2)
#include <immintrin.h>
static inline vec_f32 min_f32(vec_f32 v, vec_f32 m) { return (vec_f32)_mm256_min_ps((__m256)v, (__m256)m); }
static inline vec_f64 min_f64(vec_f64 v, vec_f64 m) { return (vec_f64)_mm256_min_pd((__m256d)v, (__m256d)m); }
static inline uint64_t above_zero_f32(vec_f32 m) { return (unsigned)_mm256_movemask_ps((__m256)(m > 0)); }
static inline uint64_t above_zero_f64(vec_f64 m) { return (unsigned)_mm256_movemask_pd((__m256d)(m > 0)); }

#elif defined(__SSE2__)
#include <emmintrin.h>
static inline vec_f32 min_f32(vec_f32 v, vec_f32 m) { return (vec_f32)_mm_min_ps((__m128)v, (__m128)m); }
static inline vec_f64 min_f64(vec_f64 v, vec_f64 m) { return (vec_f64)_mm_min_pd((__m128d)v, (__m128d)m); }
static inline uint64_t above_zero_f32(vec_f32 m) { return (unsigned)_mm_movemask_ps((__m128)(m > 0)); }
static inline uint64_t above_zero_f64(vec_f64 m) { return (unsigned)_mm_movemask_pd((__m128d)(m > 0)); }

#else /* any other processor (NEON included): compare, select, collect the signs */
#define DEFINE_PORTABLE(S)                                                      \
    static inline vec_##S min_##S(vec_##S v, vec_##S m)                         \
    {                                                                           \
        veci_##S less = v < m;                                                  \
        return (vec_##S)(((veci_##S)v & less) | ((veci_##S)m & ~less));         \
    }                                                                           \
    static inline uint64_t above_zero_##S(vec_##S m)                            \
    {                                                                           \
        veci_##S above = m > 0;                                                 \
        uint64_t bits = 0;                                                      \
        for (int l = 0; l < LANES_##S; l++)                                     \
            bits |= (uint64_t)(above[l] & 1) << l;                              \
        return bits;                                                            \
    }
DEFINE_PORTABLE(f32)
DEFINE_PORTABLE(f64)
#endif

static inline vec_f32 nan_unless_f32(vec_f32 m, vec_f32 d) { return (vec_f32)((veci_f32)d | ~(m > 0)); }
static inline vec_f64 nan_unless_f64(vec_f64 m, vec_f64 d) { return (vec_f64)((veci_f64)d | ~(m > 0)); }

#endif
