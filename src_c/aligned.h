/* Memory aligned to cache lines. */
#ifndef NNK_ALIGNED_H
#define NNK_ALIGNED_H

#include <stdlib.h>

#ifdef _WIN32
#include <malloc.h>
#endif

enum { NNK_CACHE_LINE = 64 };

/* Allocate n_bytes, which free_aligned frees.  Return NULL if there is no memory. */
static inline void *new_aligned(size_t n_bytes)
{
#ifdef _WIN32
    return _aligned_malloc(n_bytes, NNK_CACHE_LINE);
#else
    void *memory = NULL;
    return posix_memalign(&memory, NNK_CACHE_LINE, n_bytes) ? NULL : memory;
#endif
}

static inline void free_aligned(void *memory)
{
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

#endif
