/* The Chebyshev recurrence on a grid operator.  T, S: type and suffix.
 *
 * A block of orders is computed in one sweep down the rows.  Each order follows the one before at a
 * distance of `border` rows, so that the rows of the operator are read only once per block.  Each
 * order is kept in a ring buffer of a few rows.
 *
 * Each thread has a tile of the rows, which moves down by `border` rows with each order.  A tile
 * stores the first 2 border rows of each order for the tile above it.  Every pixel results from the
 * same operations in the same sequence, so that results do not depend on how orders and rows are
 * divided into blocks and tiles.
 */

typedef struct {
    const nnk_grid_operator *op;
    const nnk_sweep *given;
    T *rings; /* of order k: ring_rows[k] padded rows */
    int64_t ring_start[NNK_MAX_ORDERS + 1], ring_rows[NNK_MAX_ORDERS];
    T *clenshaw;        /* one padded row of clenshaw_k */
    const T **neighbor; /* for each offset, the neighbor of pixel 0 in T_{k-1} */
} CAT(sweep, S);

/* Return the first row of order k of the block, k = 0, 1, .., in this tile. */
static inline int64_t CAT(first_row, S)(const CAT(sweep, S) *s, int32_t k)
{
    return s->given->above ? s->given->row_begin + (k + 1) * s->op->border : 0;
}

/* Return the row after the last one of order k of the block in this tile. */
static inline int64_t CAT(end_row, S)(const CAT(sweep, S) *s, int32_t k)
{
    return s->given->below ? s->given->row_end + (k + 1) * s->op->border : s->op->height;
}

/* Return row y of order k of the block, with pixel x at [pad + x].  Orders -1 and -2 are the
 * inputs; NULL if there is no order -2. */
static inline const T *CAT(sweep_row, S)(const CAT(sweep, S) *s, int32_t k, int64_t y)
{
    const nnk_sweep *g = s->given;
    const int64_t stride = s->op->stride, n_shared = 2 * s->op->border;
    if (k == -1)
        return (const T *)g->old + y * stride;
    if (k == -2)
        return g->older ? (const T *)g->older + y * stride : NULL;
    const int64_t first = CAT(first_row, S)(s, k), end = CAT(end_row, S)(s, k);
    if (g->above && y < first + n_shared)
        return (const T *)g->above + (k * n_shared + y - first) * stride;
    if (y >= end)
        return (const T *)g->below + (k * n_shared + y - end) * stride;
    return s->rings + s->ring_start[k] + y % s->ring_rows[k] * stride;
}

/* Compute row y of clenshaw_k, a weighted sum of the bands.  Return a padded row. */
static const T *CAT(clenshaw_row, S)(const CAT(sweep, S) *s, int32_t k, int64_t y)
{
    const nnk_sweep *g = s->given;
    const int64_t width = s->op->width, node = s->op->first_node[y];
    T *row = s->clenshaw + s->op->pad;
    memset(row, 0, sizeof *row * (size_t)width);
    for (int32_t b = 0; node >= 0 && b < g->n_bands; b++) {
        const T *band = (const T *)g->bands + b * s->op->n_nodes + node;
        const T c = (T)g->coefficients[b * g->orders + k];
        for (int64_t x = 0; x < width; x++)
            row[x] += c * band[x];
    }
    return s->clenshaw;
}

/* Set `neighbor` for row y of order k.  Pointers for offsets that lead above or below the image
 * stay unchanged, because there are no edges along these. */
static void CAT(set_neighbors, S)(const CAT(sweep, S) *s, int32_t k, int64_t y)
{
    const nnk_grid_operator *op = s->op;
    for (int32_t o = 0; o < op->n_offsets;) { /* one dy after the other */
        const int32_t dy = op->dy[o];
        const int64_t there = y + dy;
        const T *row = there >= 0 && there < op->height ? CAT(sweep_row, S)(s, k, there) + op->pad : NULL;
        for (; o < op->n_offsets && op->dy[o] == dy; o++)
            if (row)
                s->neighbor[o] = row + op->dx[o];
    }
}

/* Prefetch row y of the inputs of the first order, which saves up to 8 % of the time.  Prefetching
 * below the image has no effect. */
static void CAT(prefetch_inputs, S)(const CAT(sweep, S) *s, int64_t y)
{
    const nnk_grid_operator *op = s->op;
    const T *const inputs[] = {(const T *)s->given->old + op->border * op->stride, s->given->older, op->diagonal,
                               op->row_scale};
    for (int i = 0; i < 4; i++)
        for (int64_t x = 0; inputs[i] && x < op->width; x += 64 / sizeof(T))
            __builtin_prefetch(inputs[i] + y * op->stride + op->pad + x);
}

/* Compute row y of order k: scale (a x - r W x) - shift x - older (+ clenshaw). */
static void CAT(recurrence_row, S)(const CAT(sweep, S) *s, int32_t k, int64_t y)
{
    const nnk_grid_operator *op = s->op;
    const int64_t pad = op->pad;
    const T *x = CAT(sweep_row, S)(s, k - 1, y) + pad;
    const T *older = CAT(sweep_row, S)(s, k - 2, y);
    const T *diagonal = (const T *)op->diagonal + y * op->stride + pad;
    const T *row_scale = op->row_scale ? (const T *)op->row_scale + y * op->stride + pad : NULL;
    T *out = (T *)CAT(sweep_row, S)(s, k, y) + pad;
    const double half = older ? 1 : 0.5; /* T_1 = x T_0, T_k = 2 x T_{k-1} - T_{k-2} */
    const T scale = (T)(half * s->given->scale), shift = (T)(half * s->given->shift);
    const T *clenshaw = s->given->clenshaw ? CAT(clenshaw_row, S)(s, k, y) + pad : NULL;
    CAT(set_neighbors, S)(s, k - 1, y);
    if (k == 0)
        CAT(prefetch_inputs, S)(s, y + 1);
    CAT(multiply_row, S)(op, y, s->neighbor, out);
    for (int64_t at = 0; at < op->blocks * CAT(BLOCK, S); at += CAT(BLOCK, S)) {
        CAT(block, S) product = CAT(load_block, S)(out + at);
        if (row_scale)
            product *= CAT(load_block, S)(row_scale + at);
        const CAT(block, S) here = CAT(load_block, S)(x + at);
        CAT(block, S) value = scale * (CAT(load_block, S)(diagonal + at) * here - product) - shift * here;
        if (older)
            value -= CAT(load_block, S)(older + pad + at);
        if (clenshaw)
            value += CAT(load_block, S)(clenshaw + at);
        CAT(store_block, S)(out + at, value);
    }
}

/* Add sum_k c[k] rows[k] to n vectors of `band` from pixel x on, n <= 4.  If `zeroth` is given, set
 * them to start zeroth plus that sum instead. */
static inline __attribute__((always_inline)) void
CAT(accumulate, S)(T *band, int64_t x, const int n, const T *const *rows, const T *c, int32_t orders, const T *zeroth,
                   T start)
{
    CAT(vec, S) sum[4];
    for (int i = 0; i < n; i++) {
        const int64_t at = x + i * CAT(LANES, S);
        sum[i] = zeroth ? start * CAT(loadu, S)(zeroth + at) : CAT(loadu, S)(band + at);
    }
    for (int32_t k = 0; k < orders; k++)
        for (int i = 0; i < n; i++)
            sum[i] += c[k] * CAT(loadu, S)(rows[k] + x + i * CAT(LANES, S));
    memcpy(band + x, sum, sizeof *sum * (size_t)n);
}

/* Do the same as accumulate for the first `width` pixels. */
static void CAT(accumulate_span, S)(T *band, int64_t width, const T *const *rows, const T *c, int32_t orders,
                                    const T *zeroth, T start)
{
    int64_t x = 0;
    for (; x + 4 * CAT(LANES, S) <= width; x += 4 * CAT(LANES, S))
        CAT(accumulate, S)(band, x, 4, rows, c, orders, zeroth, start);
    for (; x + CAT(LANES, S) <= width; x += CAT(LANES, S))
        CAT(accumulate, S)(band, x, 1, rows, c, orders, zeroth, start);
    for (; x < width; x++) {
        T sum = zeroth ? start * zeroth[x] : band[x];
        for (int32_t k = 0; k < orders; k++)
            sum += c[k] * rows[k][x];
        band[x] = sum;
    }
}

/* Add to row y of every band the orders of the block that this tile has computed there. */
static void CAT(accumulate_row, S)(const CAT(sweep, S) *s, int64_t y)
{
    const nnk_sweep *g = s->given;
    const int64_t width = s->op->width, pad = s->op->pad;
    int32_t first = 0, end = g->orders;
    while (first < end && y >= CAT(end_row, S)(s, first))
        first++;
    while (end > first && y < CAT(first_row, S)(s, end - 1))
        end--;
    const int starts = g->start && first == 0;
    const int64_t node = s->op->first_node[y];
    if (node < 0)
        return; /* a gap */
    const T *rows[NNK_MAX_ORDERS], *zeroth = starts ? CAT(sweep_row, S)(s, -1, y) + pad : NULL;
    for (int32_t k = first; k < end; k++)
        rows[k - first] = CAT(sweep_row, S)(s, k, y) + pad;
    for (int32_t b = 0; b < g->n_bands && first < end; b++) {
        T *band = (T *)g->bands + b * s->op->n_nodes + node, c[NNK_MAX_ORDERS];
        for (int32_t k = first; k < end; k++)
            c[k - first] = (T)g->coefficients[b * g->orders + k];
        for (int64_t x = 0; x < width; x += 64 / sizeof(T)) /* the band's next row */
            __builtin_prefetch(band + width + x, 1);
        CAT(accumulate_span, S)(band, width, rows, c, end - first, zeroth, starts ? (T)g->start[b] : 0);
    }
}

/* Copy row y of order k to `image`, an input of the next block; k = -1 is the last order of the
 * block before.  Only rows that the tile has of this order are copied, those of order 0 if k = -1.
 * Nothing is copied if `image` is NULL. */
static void CAT(hand_over, S)(const CAT(sweep, S) *s, int32_t k, int64_t y, void *image)
{
    const int64_t stride = s->op->stride;
    const int32_t of = k < 0 ? 0 : k;
    if (!image || y < CAT(first_row, S)(s, of) || y >= CAT(end_row, S)(s, of))
        return;
    memcpy((T *)image + y * stride, CAT(sweep_row, S)(s, k, y), sizeof(T) * (size_t)stride);
}

/* Compute rows [y0, y1) of order 0, and rows of the other orders, each `border` rows behind the one
 * before.  At the end of the tile go on until all orders are complete. */
static void CAT(sweep_down, S)(const CAT(sweep, S) *s, int64_t y0, int64_t y1)
{
    const nnk_sweep *g = s->given;
    const int32_t last = g->orders - 1;
    const int64_t border = s->op->border, lag = last * border;
    const int64_t end = y1 == CAT(end_row, S)(s, 0) ? CAT(end_row, S)(s, last) + lag : y1;
    for (int64_t front = y0; front < end; front++) {
        for (int32_t k = 0; k <= last; k++) {
            const int64_t y = front - k * border;
            if (y >= CAT(first_row, S)(s, k) && y < CAT(end_row, S)(s, k))
                CAT(recurrence_row, S)(s, k, y);
        }
        const int64_t y = front - lag;
        if (y >= 0 && !g->clenshaw)
            CAT(accumulate_row, S)(s, y);
        CAT(hand_over, S)(s, last - 1, y, g->new_older);
        CAT(hand_over, S)(s, last, y, g->new_old);
    }
}

/* Compute the layout of the rings, but do not allocate them.  The ring of an order holds its rows
 * from the newest one back to the last one that the next two orders or the bands still need. */
static CAT(sweep, S) CAT(new_sweep, S)(const nnk_grid_operator *op, const nnk_sweep *given)
{
    CAT(sweep, S) s = {.op = op, .given = given};
    for (int32_t k = 0; k < given->orders; k++) {
        const int32_t behind = given->orders - 1 - k;
        s.ring_rows[k] = (behind > 2 ? behind : 2) * op->border + 1;
        s.ring_start[k + 1] = s.ring_start[k] + s.ring_rows[k] * op->stride;
    }
    return s;
}

static void CAT(sweep_room, S)(const nnk_grid_operator *op, const nnk_sweep *given, size_t *rings, size_t *shared)
{
    const CAT(sweep, S) s = CAT(new_sweep, S)(op, given);
    *rings = sizeof(T) * (size_t)s.ring_start[given->orders];
    *shared = sizeof(T) * (size_t)(2 * op->border * given->orders * op->stride);
}

static int CAT(sweep_rows, S)(const nnk_grid_operator *op, const nnk_sweep *given, void *rings, int64_t y0, int64_t y1)
{
    CAT(sweep, S) s = CAT(new_sweep, S)(op, given);
    s.rings = rings;
    s.clenshaw = calloc((size_t)op->stride, sizeof(T));
    s.neighbor = malloc(sizeof *s.neighbor * (size_t)op->n_offsets);
    int status = NNK_NO_MEMORY;
    if (s.clenshaw && s.neighbor) {
        CAT(sweep_down, S)(&s, y0, y1);
        status = NNK_OK;
    }
    free(s.clenshaw), free(s.neighbor);
    return status;
}
