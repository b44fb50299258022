/* The adjacency by packets (nnk_grid_operator).  T, S: type and suffix. */

/* Pairs and weights of row y, from block b on. */
static inline void CAT(find, S)(const nnk_grid_operator *op, int64_t y, int64_t b, const uint64_t **pair, const T **weight)
{
    const nnk_start start = packets_start(op, y);
    const nnk_before before = packets_before(op, y)[b];
    *pair = op->pair + start.pair + before.pairs;
    *weight = (const T *)op->weight + start.weight + before.weights;
}

/* Blocks [b0, b1) of row y of W x into out.  neighbour[number]: where x begins for pixel 0 + offset. */
static __attribute__((noinline)) void
CAT(multiply_row, S)(const nnk_grid_operator *op, int64_t y, int64_t b0, int64_t b1,
                     const T *const *restrict neighbour, T *restrict out)
{
    const nnk_before *before = packets_before(op, y);
    const uint64_t *pair;
    const T *weight;
    CAT(find, S)(op, y, b0, &pair, &weight);
    for (int64_t b = b0; b < b1; b++) {
        const int64_t at = b * CAT(PACKET, S);
        const uint64_t *last = pair + (before[b + 1].pairs - before[b].pairs);
        CAT(pair, S) sum = CAT(no_pair, S)();
        for (; pair < last; pair++) {
            __builtin_prefetch(weight + BYTES_AHEAD / sizeof(T));
            const T *first = neighbour[first_offset(*pair)], *second = neighbour[second_offset(*pair)];
            sum = CAT(add_product, S)(sum, CAT(expand, S)(&weight, edges_of(*pair)), CAT(join, S)(first + at, second + at));
        }
        CAT(store_packet, S)(out + at, CAT(fold, S)(sum));
    }
}

/* The same with x = 1, operation by operation: W 1 - degree is exactly 0. */
static void CAT(degrees, S)(const nnk_grid_operator *op, T *degree, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++) {
        const nnk_before *before = packets_before(op, y);
        const uint64_t *pair;
        const T *weight;
        CAT(find, S)(op, y, 0, &pair, &weight);
        for (int64_t b = 0; b < op->blocks; b++) {
            const uint64_t *last = pair + (before[b + 1].pairs - before[b].pairs);
            CAT(pair, S) sum = CAT(no_pair, S)();
            for (; pair < last; pair++)
                sum = CAT(add, S)(sum, CAT(expand, S)(&weight, edges_of(*pair)));
            CAT(store_packet, S)(degree + y * op->stride + op->pad + b * CAT(PACKET, S), CAT(fold, S)(sum));
        }
    }
}

static T CAT(edge_bound, S)(const nnk_grid_operator *op, const T *degree, int64_t y0, int64_t y1)
{
    CAT(pair, S) best = CAT(no_pair, S)();
    for (int64_t y = y0; y < y1; y++) {
        const nnk_before *before = packets_before(op, y);
        const uint64_t *pair;
        const T *weight;
        CAT(find, S)(op, y, 0, &pair, &weight);
        for (int64_t b = 0; b < op->blocks; b++) {
            const T *here = degree + y * op->stride + op->pad + b * CAT(PACKET, S);
            const CAT(pair, S) ours = CAT(join, S)(here, here);
            const uint64_t *last = pair + (before[b + 1].pairs - before[b].pairs);
            for (; pair < last; pair++) {
                __builtin_prefetch(weight + BYTES_AHEAD / sizeof(T));
                const int64_t i = first_offset(*pair), j = second_offset(*pair);
                const T *first = here + op->dy[i] * op->stride + op->dx[i];
                const T *second = here + op->dy[j] * op->stride + op->dx[j];
                const CAT(pair, S) sum = CAT(add, S)(ours, CAT(join, S)(first, second));
                best = CAT(larger, S)(best, sum, CAT(expand, S)(&weight, edges_of(*pair)));
            }
        }
    }
    T lanes[2 * CAT(PACKET, S)], bound = 0;
    const CAT(pair, S) found = best; /* whose address is taken: the other stays in a register */
    memcpy(lanes, &found, sizeof lanes);
    for (int i = 0; i < 2 * CAT(PACKET, S); i++)
        bound = lanes[i] > bound ? lanes[i] : bound;
    return bound;
}
