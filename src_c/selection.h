/* The k smallest of many keys. */
#ifndef NNK_SELECTION_H
#define NNK_SELECTION_H

#include <stdint.h>

static inline int32_t count_up_to(const int32_t *keys, int32_t n, int32_t most)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += keys[i] <= most;
    return count;
}

/* The places of the k smallest of n keys, the first among equals, in their order; k is from 1 to n. */
static inline void places_of_smallest(const int32_t *keys, int32_t n, int32_t k, int32_t *places)
{
    int64_t low = INT32_MIN, high = INT32_MAX; /* bisection for the k-th smallest: it is above low */
    int32_t found = n, below = 0;
    while (found != k && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        const int32_t count = count_up_to(keys, n, (int32_t)middle);
        if (count >= k)
            high = middle, found = count;
        else
            low = middle, below = count;
    }
    int32_t equal = found == k ? k : k - below; /* of the keys above low */
    for (int32_t i = 0, place = 0; place < k; i++) { /* without a branch that cannot be predicted */
        places[place] = i;
        const int32_t counts = keys[i] > low && keys[i] <= high;
        const int32_t taken = keys[i] <= low || (counts && equal > 0);
        equal -= counts;
        place += taken;
    }
}

#endif
