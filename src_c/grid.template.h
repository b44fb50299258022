/* Products with an adjacency in SIMD blocks (nnk_grid_operator).  T, S: type and suffix. */

/* Find the first entry and the first weight of row y. */
static inline void CAT(find, S)(const nnk_grid_operator *op, int64_t y, const uint64_t **entry, const T **weight)
{
    const nnk_start start = entries_start(op, y);
    *entry = op->entry + start.entry;
    *weight = (const T *)op->weight + start.weight;
}

/* Write row y of W x to `out`, which points to pixel 0 of the row.  neighbor[o] points to the
 * neighbor of pixel 0 at offset o, in x. */
static __attribute__((noinline)) void
CAT(multiply_row, S)(const nnk_grid_operator *op, int64_t y, const T *const *restrict neighbor, T *restrict out)
{
    const nnk_before *before = entries_before(op, y);
    const uint64_t *entry;
    const T *weight;
    CAT(find, S)(op, y, &entry, &weight);
    for (int64_t b = 0; b < op->blocks; b++) {
        const int64_t at = b * CAT(BLOCK, S);
        const uint64_t *last = entry + (before[b + 1].entries - before[b].entries);
        CAT(double_block, S) sum = CAT(no_blocks, S)();
        for (; entry < last; entry++) {
            __builtin_prefetch(weight + BYTES_AHEAD / sizeof(T));
            const T *first = neighbor[first_offset(*entry)], *second = neighbor[second_offset(*entry)];
            sum = CAT(add_product, S)(sum, CAT(expand, S)(&weight, edges_of(*entry)), CAT(join, S)(first + at, second + at));
        }
        CAT(store_block, S)(out + at, CAT(fold, S)(sum));
    }
}

/* Write the degrees, W 1.  Operations are in the same order as in multiply_row, so that W x - D x
 * is exactly 0 for x = 1. */
static void CAT(degrees, S)(const nnk_grid_operator *op, T *degree, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++) {
        const nnk_before *before = entries_before(op, y);
        const uint64_t *entry;
        const T *weight;
        CAT(find, S)(op, y, &entry, &weight);
        for (int64_t b = 0; b < op->blocks; b++) {
            const uint64_t *last = entry + (before[b + 1].entries - before[b].entries);
            CAT(double_block, S) sum = CAT(no_blocks, S)();
            for (; entry < last; entry++)
                sum = CAT(add, S)(sum, CAT(expand, S)(&weight, edges_of(*entry)));
            CAT(store_block, S)(degree + y * op->stride + op->pad + b * CAT(BLOCK, S), CAT(fold, S)(sum));
        }
    }
}

/* Write scale (D + W) x.  All images are padded. */
static void CAT(signless, S)(const nnk_grid_operator *op, const T *degree, T scale, const T *x, T *out, int64_t y0,
                             int64_t y1)
{
    for (int64_t y = y0; y < y1; y++) {
        const nnk_before *before = entries_before(op, y);
        const uint64_t *entry;
        const T *weight;
        CAT(find, S)(op, y, &entry, &weight);
        for (int64_t b = 0; b < op->blocks; b++) {
            const int64_t at = y * op->stride + op->pad + b * CAT(BLOCK, S);
            const uint64_t *last = entry + (before[b + 1].entries - before[b].entries);
            CAT(double_block, S) sum = CAT(no_blocks, S)();
            for (; entry < last; entry++) {
                __builtin_prefetch(weight + BYTES_AHEAD / sizeof(T));
                const int64_t i = first_offset(*entry), j = second_offset(*entry);
                const T *first = x + at + op->dy[i] * op->stride + op->dx[i];
                const T *second = x + at + op->dy[j] * op->stride + op->dx[j];
                sum = CAT(add_product, S)(sum, CAT(expand, S)(&weight, edges_of(*entry)), CAT(join, S)(first, second));
            }
            const CAT(block, S) own = CAT(load_block, S)(degree + at) * CAT(load_block, S)(x + at);
            CAT(store_block, S)(out + at, scale * (own + CAT(fold, S)(sum)));
        }
    }
}
