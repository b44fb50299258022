/* The vector operations of the kernels, for each instruction set.
 *
 * Arithmetic uses the vector extensions of GCC and Clang: `a - b` on vectors works lane by lane.
 * What the extensions lack is written with intrinsics here.  Every operation gives the same bits in
 * each lane on every instruction set, so that results do not depend on the width of vectors.
 *
 * For each element type (suffix f32, f64):
 *   vec_S, LANES_S      widest vector of the variant, and its number of lanes
 *   veci_S              vector of integers of the same size
 *   loadu_S, splat_S    unaligned load; the same value in every lane
 *   live_S              one truth value per lane
 *   not_nan_S(v)        true in lanes that are not NaN
 *   live_above_S(l, v, t)  l and not v <= t: a NaN in v or t changes nothing
 *   live_bits_S(l)      the lanes as the low bits of an integer
 *   none_live_S(l)      whether no lane of l[0 .. NNK_ABREAST) is true
 *   nan_unless_S(l, d)  d in lanes that are true, NaN in the others
 *   block_S, BLOCK_S    a vector of 32 bytes on every instruction set, and its number of lanes: the
 *                       unit of the grid operator
 *   load_F_S(p)         a block of S from numbers of type F
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

typedef float block_f32 __attribute__((vector_size(32)));
typedef double block_f64 __attribute__((vector_size(32)));
typedef int32_t blocki_f32 __attribute__((vector_size(32)));
typedef int64_t blocki_f64 __attribute__((vector_size(32)));
#define BLOCK_f32 8
#define BLOCK_f64 4

#define DEFINE_COMMON(S, T)                                                     \
    static inline vec_##S loadu_##S(const T *p)                                 \
    {                                                                           \
        vec_##S v;                                                              \
        memcpy(&v, p, sizeof v);                                                \
        return v;                                                               \
    }                                                                           \
    static inline vec_##S splat_##S(T a) { return a - (vec_##S){0}; }           \
    static inline block_##S load_block_##S(const T *p)                        \
    {                                                                           \
        block_##S v;                                                           \
        memcpy(&v, p, sizeof v);                                                \
        return v;                                                               \
    }                                                                           \
    static inline void store_block_##S(T *p, block_##S v)                     \
    {                                                                           \
        memcpy(p, &v, sizeof v);                                                \
    }

DEFINE_COMMON(f32, float)
DEFINE_COMMON(f64, double)

static inline block_f32 load_f32_f32(const float *p) { return load_block_f32(p); }
static inline block_f64 load_f64_f64(const double *p) { return load_block_f64(p); }
static inline block_f64 load_f32_f64(const float *p)
{
    float v __attribute__((vector_size(16)));
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, block_f64);
}

enum { NNK_ABREAST = 4 }; /* vectors that are processed together; they fit into the registers */

#if defined(NNK_VARIANT_AVX512)
#include <immintrin.h>
typedef __mmask16 live_f32;
typedef __mmask8 live_f64;
static inline live_f32 not_nan_f32(vec_f32 v) { return _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_ORD_Q); }
static inline live_f64 not_nan_f64(vec_f64 v) { return _mm512_cmp_pd_mask((__m512d)v, (__m512d)v, _CMP_ORD_Q); }
static inline live_f32 live_above_f32(live_f32 l, vec_f32 v, vec_f32 t)
{
    return _mm512_mask_cmp_ps_mask(l, (__m512)v, (__m512)t, _CMP_NLE_UQ);
}
static inline live_f64 live_above_f64(live_f64 l, vec_f64 v, vec_f64 t)
{
    return _mm512_mask_cmp_pd_mask(l, (__m512d)v, (__m512d)t, _CMP_NLE_UQ);
}
static inline uint64_t live_bits_f32(live_f32 l) { return l; }
static inline uint64_t live_bits_f64(live_f64 l) { return l; }
static inline int none_live_f32(const live_f32 *l) { return !(l[0] | l[1] | l[2] | l[3]); }
static inline int none_live_f64(const live_f64 *l) { return !(l[0] | l[1] | l[2] | l[3]); }
static inline vec_f32 nan_unless_f32(live_f32 l, vec_f32 d)
{
    return (vec_f32)_mm512_mask_mov_ps((__m512)((vec_f32){0} / 0), l, (__m512)d);
}
static inline vec_f64 nan_unless_f64(live_f64 l, vec_f64 d)
{
    return (vec_f64)_mm512_mask_mov_pd((__m512d)((vec_f64){0} / 0), l, (__m512d)d);
}

#else
#define DEFINE_LIVE(S)                                                          \
    typedef veci_##S live_##S;                                                  \
    static inline live_##S not_nan_##S(vec_##S v) { return v == v; }            \
    static inline live_##S live_above_##S(live_##S l, vec_##S v, vec_##S t)     \
    {                                                                           \
        return l & ~(v <= t);                                                   \
    }                                                                           \
    static inline vec_##S nan_unless_##S(live_##S l, vec_##S d)                 \
    {                                                                           \
        return (vec_##S)((veci_##S)d | ~l);                                     \
    }

DEFINE_LIVE(f32)
DEFINE_LIVE(f64)

#if defined(NNK_VARIANT_AVX2)
#include <immintrin.h>
static inline uint64_t live_bits_f32(live_f32 l) { return (unsigned)_mm256_movemask_ps((__m256)l); }
static inline uint64_t live_bits_f64(live_f64 l) { return (unsigned)_mm256_movemask_pd((__m256d)l); }
#elif defined(__SSE2__)
#include <emmintrin.h>
static inline uint64_t live_bits_f32(live_f32 l) { return (unsigned)_mm_movemask_ps((__m128)l); }
static inline uint64_t live_bits_f64(live_f64 l) { return (unsigned)_mm_movemask_pd((__m128d)l); }
#else /* any other processor (NEON included) */
#define DEFINE_LIVE_BITS(S)                                                     \
    static inline uint64_t live_bits_##S(live_##S l)                            \
    {                                                                           \
        uint64_t bits = 0;                                                      \
        for (int i = 0; i < LANES_##S; i++)                                     \
            bits |= (uint64_t)(l[i] & 1) << i;                                  \
        return bits;                                                            \
    }
DEFINE_LIVE_BITS(f32)
DEFINE_LIVE_BITS(f64)
#endif

static inline int none_live_f32(const live_f32 *l) { return !live_bits_f32((l[0] | l[1]) | (l[2] | l[3])); }
static inline int none_live_f64(const live_f64 *l) { return !live_bits_f64((l[0] | l[1]) | (l[2] | l[3])); }
#endif

#endif
