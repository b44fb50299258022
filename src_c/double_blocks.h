/* Storing selected lanes of SIMD blocks, and pairs of blocks.  Arithmetic gives the same bits in
 * every variant, lane by lane.
 *
 * For each element type (suffix f32, f64):
 *   compress_S(p, v, lanes)  write the lanes of block v whose bit in `lanes` is set, one after
 *                            another; return how many
 *   repeat_S(p, a, n)        write a number n times, n <= BLOCK_S
 *   double_block_S           two blocks: 64 bytes in PARTS vectors
 *   no_blocks_S()            zeros
 *   join_S(p, q)             the blocks at p and q
 *   expand_S(&p, lanes)      the inverse of compress: numbers from p on, in the lanes whose bit is
 *                            set, and 0 in the others; p is advanced.  Up to 64 bytes from p on are
 *                            read
 *   add_S(a, b)              a + b
 *   add_product_S(s, a, b)   s + a * b
 *   fold_S(d)                the sum of the two blocks, a block
 */
#ifndef NNK_DOUBLE_BLOCKS_H
#define NNK_DOUBLE_BLOCKS_H

#include "simd.h"

#define PARTS (64 / VECTOR_BYTES) /* vectors in a double block */

#define DEFINE_DOUBLE_BLOCK(S)                                                                      \
    typedef struct {                                                                        \
        vec_##S part[PARTS];                                                                \
    } double_block_##S;                                                                             \
    static inline double_block_##S no_blocks_##S(void) { return (double_block_##S){{{0}}}; }                  \
    static inline double_block_##S add_##S(double_block_##S a, double_block_##S b)                                  \
    {                                                                                       \
        for (int i = 0; i < PARTS; i++)                                                     \
            a.part[i] += b.part[i];                                                         \
        return a;                                                                           \
    }                                                                                       \
    static inline double_block_##S add_product_##S(double_block_##S sum, double_block_##S a, double_block_##S b)            \
    {                                                                                       \
        for (int i = 0; i < PARTS; i++)                                                     \
            sum.part[i] += a.part[i] * b.part[i];                                           \
        return sum;                                                                         \
    }
DEFINE_DOUBLE_BLOCK(f32)
DEFINE_DOUBLE_BLOCK(f64)

#if defined(NNK_VARIANT_AVX512)
static inline double_block_f64 join_f64(const double *p, const double *q)
{
    const __m512d first = _mm512_castpd256_pd512(_mm256_loadu_pd(p));
    return (double_block_f64){{(vec_f64)_mm512_insertf64x4(first, _mm256_loadu_pd(q), 1)}};
}
static inline double_block_f32 join_f32(const float *p, const float *q)
{
    return (double_block_f32){{(vec_f32)join_f64((const double *)p, (const double *)q).part[0]}};
}
/* Expand from a register: expanding from memory is several times slower on some processors
 * (measured on Zen 4).  IN_REGISTER keeps GCC from merging the load into the expansion. */
#ifdef __clang__
#define IN_REGISTER(v) (void)(v)
#else
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#endif
static inline double_block_f32 expand_f32(const float **p, uint32_t lanes)
{
    __m512 next = _mm512_loadu_ps(*p);
    IN_REGISTER(next);
    const vec_f32 v = (vec_f32)_mm512_maskz_expand_ps((__mmask16)lanes, next);
    *p += _mm_popcnt_u32(lanes);
    return (double_block_f32){{v}};
}
static inline double_block_f64 expand_f64(const double **p, uint32_t lanes)
{
    __m512d next = _mm512_loadu_pd(*p);
    IN_REGISTER(next);
    const vec_f64 v = (vec_f64)_mm512_maskz_expand_pd((__mmask8)lanes, next);
    *p += _mm_popcnt_u32(lanes);
    return (double_block_f64){{v}};
}
static inline block_f32 fold_f32(double_block_f32 v)
{
    const __m512 pair = (__m512)v.part[0];
    return (block_f32)_mm512_castps512_ps256(pair) + (block_f32)_mm512_extractf32x8_ps(pair, 1);
}
static inline block_f64 fold_f64(double_block_f64 v)
{
    const __m512d pair = (__m512d)v.part[0];
    return (block_f64)_mm512_castpd512_pd256(pair) + (block_f64)_mm512_extractf64x4_pd(pair, 1);
}
/* Compress in a register and then store: compressing to memory is very slow on some processors. */
static inline int compress_f32(float *p, block_f32 v, uint32_t lanes)
{
    const int n = _mm_popcnt_u32(lanes);
    _mm256_mask_storeu_ps(p, (__mmask8)((1u << n) - 1), _mm256_maskz_compress_ps((__mmask8)lanes, (__m256)v));
    return n;
}
static inline int compress_f64(double *p, block_f64 v, uint32_t lanes)
{
    const int n = _mm_popcnt_u32(lanes);
    _mm256_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), _mm256_maskz_compress_pd((__mmask8)lanes, (__m256d)v));
    return n;
}
static inline void repeat_f32(float *p, float a, int n)
{
    _mm256_mask_storeu_ps(p, (__mmask8)((1u << n) - 1), _mm256_set1_ps(a));
}
static inline void repeat_f64(double *p, double a, int n)
{
    _mm256_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), _mm256_set1_pd(a));
}

#else
#include "ranks.h"
#if defined(NNK_VARIANT_AVX2)
static inline __m256i words_of(const void *p, const uint64_t *words)
{
    const __m256i from = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)words));
    const __m256i v = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)p), from);
    return _mm256_andnot_si256(_mm256_srai_epi32(from, 31), v);
}
static inline vec_f32 expand_vec_f32(const float *p, uint32_t lanes) { return (vec_f32)words_of(p, words_f32 + lanes); }
static inline vec_f64 expand_vec_f64(const double *p, uint32_t lanes) { return (vec_f64)words_of(p, words_f64 + lanes); }
static inline int n_set(uint32_t lanes) { return _mm_popcnt_u32(lanes); }

#elif defined(NNK_VARIANT_NEON)
#include <arm_neon.h>
static inline uint8x16_t bytes_of(const void *p, const uint8_t *from)
{
    return vqtbl1q_u8(vld1q_u8((const uint8_t *)p), vld1q_u8(from));
}
static inline vec_f32 expand_vec_f32(const float *p, uint32_t lanes) { return (vec_f32)bytes_of(p, bytes_f32[lanes]); }
static inline vec_f64 expand_vec_f64(const double *p, uint32_t lanes) { return (vec_f64)bytes_of(p, bytes_f64[lanes]); }
static inline int n_set(uint32_t lanes) { return counts[lanes]; }

#else
static inline vec_f32 expand_vec_f32(const float *p, uint32_t lanes)
{
    const uint8_t *rank = ranks[lanes];
    const vec_f32 v = {p[0], p[rank[1]], p[rank[2]], p[rank[3]]};
    veci_f32 kept;
    memcpy(&kept, kept_f32[lanes], sizeof kept);
    return (vec_f32)((veci_f32)v & kept);
}
static inline vec_f64 expand_vec_f64(const double *p, uint32_t lanes)
{
    const vec_f64 v = {p[0], p[lanes & 1]};
    veci_f64 kept;
    memcpy(&kept, kept_f64[lanes], sizeof kept);
    return (vec_f64)((veci_f64)v & kept);
}
static inline int n_set(uint32_t lanes) { return counts[lanes]; }
#endif

#define DEFINE_PARTS(S, T)                                                                  \
    static inline double_block_##S join_##S(const T *p, const T *q)                                 \
    {                                                                                       \
        double_block_##S v;                                                                         \
        for (int i = 0; i < PARTS / 2; i++) {                                               \
            v.part[i] = loadu_##S(p + i * LANES_##S);                                       \
            v.part[PARTS / 2 + i] = loadu_##S(q + i * LANES_##S);                           \
        }                                                                                   \
        return v;                                                                           \
    }                                                                                       \
    static inline double_block_##S expand_##S(const T **p, uint32_t lanes)                          \
    {                                                                                       \
        double_block_##S v;                                                                         \
        for (int i = 0; i < PARTS; i++) {                                                   \
            const uint32_t those = lanes >> i * LANES_##S & ((1u << LANES_##S) - 1);        \
            v.part[i] = expand_vec_##S(*p, those);                                          \
            *p += n_set(those);                                                             \
        }                                                                                   \
        return v;                                                                           \
    }                                                                                       \
    static inline block_##S fold_##S(double_block_##S v)                                           \
    {                                                                                       \
        block_##S sum;                                                                     \
        for (int i = 0; i < PARTS / 2; i++) {                                               \
            const vec_##S part = v.part[i] + v.part[PARTS / 2 + i];                         \
            memcpy((T *)&sum + i * LANES_##S, &part, sizeof part);                          \
        }                                                                                   \
        return sum;                                                                         \
    }                                                                                       \
    static inline int compress_##S(T *p, block_##S v, uint32_t lanes)                      \
    {                                                                                       \
        int n = 0;                                                                          \
        for (; lanes; lanes &= lanes - 1)                                                   \
            p[n++] = v[__builtin_ctz(lanes)];                                               \
        return n;                                                                           \
    }                                                                                       \
    static inline void repeat_##S(T *p, T a, int n)                                         \
    {                                                                                       \
        for (int i = 0; i < n; i++)                                                         \
            p[i] = a;                                                                       \
    }
DEFINE_PARTS(f32, float)
DEFINE_PARTS(f64, double)
#endif

#endif
