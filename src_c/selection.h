/* The k smallest of many keys. */
#ifndef NNK_SELECTION_H
#define NNK_SELECTION_H

#include <stdint.h>

static inline void swap_keys(uint64_t *a, uint64_t *b)
{
    const uint64_t t = *a;
    *a = *b, *b = t;
}

/* Bring the k smallest of n different keys to the front (quickselect, middle of
 * three as pivot); their order is a function of the keys alone. */
static inline void smallest_first(uint64_t *keys, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1;
    while (low < high && k < n) {
        const int64_t middle = low + (high - low) / 2;
        if (keys[middle] < keys[low])
            swap_keys(keys + middle, keys + low);
        if (keys[high] < keys[low])
            swap_keys(keys + high, keys + low);
        if (keys[high] < keys[middle])
            swap_keys(keys + high, keys + middle);
        const uint64_t pivot = keys[middle];
        int64_t i = low, j = high;
        while (i <= j) {
            while (keys[i] < pivot)
                i++;
            while (keys[j] > pivot)
                j--;
            if (i <= j)
                swap_keys(keys + i++, keys + j--);
        }
        if (k - 1 <= j)
            high = j;
        else if (k - 1 >= i)
            low = i;
        else
            break;
    }
}

#endif
