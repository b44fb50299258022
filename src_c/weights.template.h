/* Kernel weights, as CSR rows and as entries of a grid operator.  F, FS: type and suffix of the
 * features; T, S: of the weights. */

/* An offset of the window in terms of the arrays that are read and written. */
typedef struct {
    int64_t other, column; /* distance to the neighbor in a feature plane, and in pixel numbers */
    T spatial;             /* spatial factor of the kernel */
} CAT3(step, FS, S);

static void CAT3(set_steps, FS, S)(const nnk_kernel *kernel, const nnk_edges *edges, CAT3(step, FS, S) *steps)
{
    for (int64_t number = 0; number < 2 * edges->half; number++) {
        const full_offset o = offset_of(edges, number);
        steps[number].other = o.dy * kernel->stride + o.dx;
        steps[number].column = number < edges->half ? -edges->step[o.half] : edges->step[o.half];
        steps[number].spatial = ((const T *)kernel->spatial)[o.half];
    }
}

/* Write the CSR row of one pixel from position `at` on: the columns of its edges to `indices`, the
 * squared differences of features to `weights`, and the spatial factors to `spatial`.  Bit i of
 * bits[64 t] belongs to offset 64 t + i.  Return the position after the last edge. */
static inline int64_t CAT3(emit_row, FS, S)(const uint64_t *bits, int64_t n_words, const CAT3(step, FS, S) *steps,
                                            const F *pixel, int64_t plane_size, int32_t channels, int64_t node,
                                            int64_t at, void *indices, int32_t wide, T *weights, T *spatial)
{
    for (int64_t t = 0; t < n_words; t++, steps += 64)
        for (uint64_t left = bits[64 * t]; left; left &= left - 1, at++) {
            const CAT3(step, FS, S) *step = steps + __builtin_ctzll(left);
            set_csr_index(indices, wide, at, node + step->column);
            T square = 0;
            for (int32_t c = 0; c < channels; c++) {
                const T d = (T)pixel[c * plane_size + step->other] - (T)pixel[c * plane_size];
                square += d * d;
            }
            weights[at] = square;
            *spatial++ = step->spatial;
        }
    return at;
}

/* Replace n squared differences in `weights` by the weights.  Return how many are 0. */
static int64_t CAT3(weigh, FS, S)(const T *spatial, T *weights, int64_t n, T two_sigma2)
{
    CAT(veci, S) underflown = {0};
    int64_t e = 0;
    for (; e + CAT(LANES, S) <= n; e += CAT(LANES, S)) {
        const CAT(vec, S) weight = CAT3(gaussian, vec, S)(CAT(loadu, S)(spatial + e), CAT(loadu, S)(weights + e), two_sigma2);
        underflown -= weight == 0;
        memcpy(weights + e, &weight, sizeof weight);
    }
    CAT(vec, S) last = {0}, factor = CAT(splat, S)(1);
    const size_t size = sizeof(T) * (size_t)(n - e);
    memcpy(&last, weights + e, size);
    memcpy(&factor, spatial + e, size);
    last = CAT3(gaussian, vec, S)(factor, last, two_sigma2);
    underflown -= last == 0;
    memcpy(weights + e, &last, size);
    int64_t sum = 0;
    for (int p = 0; p < CAT(LANES, S); p++)
        sum += underflown[p];
    return sum;
}

/* Write the CSR rows of up to 64 pixels from (y, 64 w) on, beginning at position `first`.  `bits`
 * is their part of an edge_row, which is transposed in place.  Add to *underflown how many weights
 * are 0.  Return the position after the last edge. */
static int64_t CAT3(fill_word, FS, S)(const nnk_kernel *kernel, const nnk_edges *edges, const CAT3(step, FS, S) *steps,
                                      int64_t y, int64_t w, uint64_t *bits, T *spatial, int64_t first,
                                      const nnk_csr_rows *csr, int64_t *underflown)
{
    const int64_t n_words = edge_stride(edges) / 64, plane_size = (edges->height + 2 * kernel->border) * kernel->stride;
    for (int64_t t = 0; t < n_words; t++)
        transpose(bits + 64 * t);
    const int64_t left = edges->width - 64 * w, n_pixels = left < 64 ? left : 64, node = edges->first_node[y] + 64 * w;
    const F *pixel = (const F *)kernel->planes + (y + kernel->border) * kernel->stride + kernel->radius + 64 * w;
    T *weights = csr->weights;
    int64_t at = first;
    for (int64_t x = 0; x < n_pixels; x++) {
        set_csr_index(csr->indptr, csr->wide, node + x, at);
        at = kernel->channels == 1 /* a constant lets the compiler unroll the loop */
                 ? CAT3(emit_row, FS, S)(bits + x, n_words, steps, pixel + x, plane_size, 1, node + x, at,
                                         csr->indices, csr->wide, weights, spatial + (at - first))
                 : CAT3(emit_row, FS, S)(bits + x, n_words, steps, pixel + x, plane_size, kernel->channels, node + x,
                                         at, csr->indices, csr->wide, weights, spatial + (at - first));
    }
    if (at > first) /* else `weights` may be NULL */
        *underflown += CAT3(weigh, FS, S)(spatial, weights + first, at - first, (T)kernel->two_sigma2);
    return at;
}

static int CAT3(fill, FS, S)(const nnk_kernel *kernel, const nnk_edges *edges, const nnk_csr_rows *csr,
                             int64_t *underflown, int64_t y0, int64_t y1)
{
    const size_t n_offsets = 2 * (size_t)edges->half;
    CAT3(step, FS, S) *steps = malloc(sizeof *steps * n_offsets);
    uint64_t *row = new_edge_row(edges);
    T *spatial = malloc(sizeof *spatial * 64 * n_offsets);
    const int status = steps && row && spatial ? NNK_OK : NNK_NO_MEMORY;
    if (status == NNK_OK) {
        CAT3(set_steps, FS, S)(kernel, edges, steps);
        for (int64_t y = y0; y < y1; y++) {
            if (edges->first_node[y] < 0)
                continue;
            int64_t at = csr->row_start[y];
            edge_row(edges, y, row);
            for (int64_t w = 0; w < edges->words; w++)
                at = CAT3(fill_word, FS, S)(kernel, edges, steps, y, w, row + w * edge_stride(edges), spatial, at,
                                            csr, underflown);
        }
    }
    free(steps), free(row), free(spatial);
    return status;
}

/* Return the squared differences of features between a block of pixels and their neighbors. */
static inline CAT(block, S)
CAT3(squares, FS, S)(const F *pixel, const F *other, int64_t plane_size, int32_t channels)
{
    CAT(block, S) square = {0};
    for (int32_t c = 0; c < channels; c++) {
        const CAT(block, S) d = CAT3(load, FS, S)(other + c * plane_size) - CAT3(load, FS, S)(pixel + c * plane_size);
        square += d * d;
    }
    return square;
}

/* Write the edge blocks of up to 64 pixels.  `bits` are their edges, one word per offset, and
 * `next` says where to write for each block of pixels.  The squared differences of features go to
 * the places of the weights, and the spatial factors to the same places of another array; both
 * arrays begin at weight number `start`. */
static inline __attribute__((always_inline)) void
CAT3(list_edge_blocks, FS, S)(const nnk_grid_operator *op, const uint64_t *bits, int64_t n_offsets,
                          const CAT3(step, FS, S) *steps, const F *pixels, int64_t plane_size, int32_t channels,
                          next_edge_block *next, int64_t start, T *weights, T *spatial)
{
    for (int64_t o = 0; o < n_offsets; o++)
        for (uint64_t left = nonzero_groups(bits[o], CAT(BLOCK, S)); left; left &= left - 1) {
            const int first = __builtin_ctzll(left);
            const F *pixel = pixels + first;
            const uint32_t edges = (uint32_t)(bits[o] >> first) & ((1u << CAT(BLOCK, S)) - 1);
            next_edge_block *at = next + first / CAT(BLOCK, S);
            put_edge_block(op->entry, at->edge_block++, CAT(BLOCK, S), (uint64_t)o, edges);
            const CAT(block, S) square = CAT3(squares, FS, S)(pixel, pixel + steps[o].other, plane_size, channels);
            const int n = CAT(compress, S)(weights + (at->weight - start), square, edges);
            CAT(repeat, S)(spatial + (at->weight - start), steps[o].spatial, n);
            at->weight += n;
        }
}

static int CAT3(fill_entries, FS, S)(const nnk_kernel *kernel, const nnk_edges *edges, nnk_grid_operator *op,
                                     int64_t y0, int64_t y1)
{
    const int64_t plane_size = (edges->height + 2 * kernel->border) * kernel->stride, n_offsets = 2 * edges->half;
    CAT3(step, FS, S) *steps = malloc(sizeof *steps * (size_t)n_offsets);
    next_edge_block *next = malloc(sizeof *next * (size_t)op->blocks);
    uint64_t *row = new_edge_row(edges);
    T *spatial = malloc(sizeof *spatial * 64 * (size_t)n_offsets);
    const int status = steps && next && row && spatial ? NNK_OK : NNK_NO_MEMORY;
    if (status == NNK_OK)
        CAT3(set_steps, FS, S)(kernel, edges, steps);
    for (int64_t y = y0; status == NNK_OK && y < y1; y++) {
        const F *pixels = (const F *)kernel->planes + (y + kernel->border) * kernel->stride + kernel->radius;
        edge_row(edges, y, row);
        begin_row(op, y, next);
        for (int64_t w = 0; w < edges->words; w++) {
            const int64_t b = 64 / CAT(BLOCK, S) * w, end = b + 64 / CAT(BLOCK, S);
            const int64_t start = next[b].weight, last = (end < op->blocks ? end : op->blocks) - 1;
            const uint64_t *bits = row + w * edge_stride(edges);
            T *weights = (T *)op->weight + start;
            if (kernel->channels == 1) /* a constant lets the compiler unroll the loop */
                CAT3(list_edge_blocks, FS, S)(op, bits, n_offsets, steps, pixels + 64 * w, plane_size, 1, next + b,
                                          start, weights, spatial);
            else
                CAT3(list_edge_blocks, FS, S)(op, bits, n_offsets, steps, pixels + 64 * w, plane_size, kernel->channels,
                                          next + b, start, weights, spatial);
            if (next[last].weight > start)
                CAT3(weigh, FS, S)(spatial, weights, next[last].weight - start, (T)kernel->two_sigma2);
        }
    }
    free(steps), free(next), free(row), free(spatial);
    return status;
}
