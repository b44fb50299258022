/* Select the k smallest of n integers. */
#ifndef NNK_SELECTION_H
#define NNK_SELECTION_H

#include <stdint.h>

/* Return how many keys are at most `most`. */
static inline int32_t count_up_to(const int32_t *keys, int32_t n, int32_t most)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += keys[i] <= most;
    return count;
}

/* Write the indices of the k smallest of n keys to `places`, in ascending order; 1 <= k <= n.
 * Among equal keys the first ones are chosen. */
static inline void places_of_smallest(const int32_t *keys, int32_t n, int32_t k, int32_t *places)
{
    /* Bisection: at least k keys are <= high; fewer than k are <= low, unless low is INT32_MIN. */
    int64_t low = INT32_MIN, high = INT32_MAX;
    int32_t found = n, below = 0;
    while (found != k && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        const int32_t count = count_up_to(keys, n, (int32_t)middle);
        if (count >= k)
            high = middle, found = count;
        else
            low = middle, below = count;
    }
    int32_t equal = found == k ? k : k - below; /* how many to choose from (low, high] */
    for (int32_t i = 0, place = 0; place < k; i++) { /* no branch: it would often be mispredicted */
        places[place] = i;
        const int32_t counts = keys[i] > low && keys[i] <= high;
        const int32_t taken = keys[i] <= low || (counts && equal > 0);
        equal -= counts;
        place += taken;
    }
}

#endif
