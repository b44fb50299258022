/* NNK_DEFINE_VARIANTS(f, type, table) defines a function f(found).  It writes pointers to the
 * tables table_<variant> that this build has and this machine can run, the fastest last, and
 * returns how many there are.  table_generic always is the first. */
#ifndef NNK_VARIANTS_H
#define NNK_VARIANTS_H

#if defined(NNK_X86)
#include "processor.h"
#define NNK_DEFINE_VARIANTS(f, type, table)                                                     \
    extern const type table##_generic, table##_avx2, table##_avx512;                            \
    int f(const type *found[4])                                                                 \
    {                                                                                           \
        int n = 0;                                                                              \
        found[n++] = &table##_generic;                                                          \
        if (vector_level() >= 1)                                                                \
            found[n++] = &table##_avx2;                                                         \
        if (vector_level() >= 2)                                                                \
            found[n++] = &table##_avx512;                                                       \
        return n;                                                                               \
    }
#elif defined(NNK_ARM)
#define NNK_DEFINE_VARIANTS(f, type, table)                                                     \
    extern const type table##_generic, table##_neon;                                            \
    int f(const type *found[4])                                                                 \
    {                                                                                           \
        found[0] = &table##_generic;                                                            \
        found[1] = &table##_neon; /* every 64-bit ARM processor has NEON */                      \
        return 2;                                                                               \
    }
#else
#define NNK_DEFINE_VARIANTS(f, type, table)                                                     \
    extern const type table##_generic;                                                          \
    int f(const type *found[4])                                                                 \
    {                                                                                           \
        found[0] = &table##_generic;                                                            \
        return 1;                                                                               \
    }
#endif

#endif
