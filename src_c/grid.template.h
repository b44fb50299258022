/* The adjacency by packets (nnk_grid_operator).  T, S: type and suffix. */

/* Blocks [b0, b1) of row y of W x into out.  neighbour[id]: where x begins for pixel 0 + offset[id].  Even
 * and odd packets are summed apart, so that one addition need not wait for the other. */
static __attribute__((noinline)) void
CAT(multiply_row, S)(const nnk_grid_operator *op, int64_t y, int64_t b0, int64_t b1,
                     const T *const *restrict neighbour, T *restrict out)
{
    const int32_t *before = packets_before(op, y);
    const int64_t start = packets_start(op, y);
    const T *weight = (const T *)op->weight + (start + before[b0]) * CAT(PACKET, S);
    const uint16_t *ids = op->id + start, *id = ids + before[b0];
    for (int64_t b = b0; b < b1; b++) {
        const int64_t at = b * CAT(PACKET, S);
        CAT(packet, S) even = {0}, odd = {0};
        const uint16_t *last = ids + before[b + 1];
        for (; id + 1 < last; id += 2, weight += 2 * CAT(PACKET, S)) {
            __builtin_prefetch(weight + BYTES_AHEAD / sizeof(T));
            even += CAT(load_packet, S)(weight) * CAT(load_packet, S)(neighbour[id[0]] + at);
            odd += CAT(load_packet, S)(weight + CAT(PACKET, S)) * CAT(load_packet, S)(neighbour[id[1]] + at);
        }
        if (id < last) {
            even += CAT(load_packet, S)(weight) * CAT(load_packet, S)(neighbour[id[0]] + at);
            id++, weight += CAT(PACKET, S);
        }
        CAT(store_packet, S)(out + at, even + odd);
    }
}

/* The same with x = 1, operation by operation: W 1 - degree is exactly 0. */
static void CAT(degrees, S)(const nnk_grid_operator *op, T *degree, int64_t y0, int64_t y1)
{
    for (int64_t y = y0; y < y1; y++) {
        const int32_t *before = packets_before(op, y);
        const T *weight = (const T *)op->weight + packets_start(op, y) * CAT(PACKET, S);
        for (int64_t b = 0; b < op->blocks; b++) {
            CAT(packet, S) sum[2] = {{0}, {0}};
            for (int32_t e = 0; e < before[b + 1] - before[b]; e++, weight += CAT(PACKET, S))
                sum[e % 2] += CAT(load_packet, S)(weight);
            CAT(store_packet, S)(degree + y * op->stride + op->pad + b * CAT(PACKET, S), sum[0] + sum[1]);
        }
    }
}

static T CAT(edge_bound, S)(const nnk_grid_operator *op, const T *degree, int64_t y0, int64_t y1)
{
    CAT(packet, S) bound = {0};
    for (int64_t y = y0; y < y1; y++) {
        const int32_t *before = packets_before(op, y);
        const uint16_t *id = op->id + packets_start(op, y);
        const T *weights = (const T *)op->weight + packets_start(op, y) * CAT(PACKET, S);
        for (int64_t b = 0; b < op->blocks; b++) {
            const T *here = degree + y * op->stride + op->pad + b * CAT(PACKET, S);
            for (int64_t e = before[b]; e < before[b + 1]; e++) {
                const int64_t there = op->dy[id[e]] * op->stride + op->dx[id[e]];
                const CAT(packet, S) weight = CAT(load_packet, S)(weights + e * CAT(PACKET, S));
                const CAT(packet, S) sum = CAT(load_packet, S)(here) + CAT(load_packet, S)(here + there);
                const CAT(packeti, S) above = (weight > 0) & (sum > bound);
                bound = (CAT(packet, S))(((CAT(packeti, S))sum & above) | ((CAT(packeti, S))bound & ~above));
            }
        }
    }
    T largest = 0;
    for (int p = 0; p < CAT(PACKET, S); p++)
        largest = bound[p] > largest ? bound[p] : largest;
    return largest;
}
