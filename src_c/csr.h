/* Access to the index arrays of CSR matrices: int64 if `wide`, else int32. */
#ifndef NNK_CSR_H
#define NNK_CSR_H

#include <stdint.h>

static inline int64_t csr_index(const void *values, int32_t wide, int64_t i)
{
    return wide ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
}

static inline void set_csr_index(void *values, int32_t wide, int64_t i, int64_t value)
{
    if (wide)
        ((int64_t *)values)[i] = value;
    else
        ((int32_t *)values)[i] = (int32_t)value;
}

#endif
