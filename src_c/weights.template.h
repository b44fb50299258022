/* Kernel weights and CSR rows.  F, FS: type and suffix of the features;
 * T, S: of the weights. */

/* Minus the exponent: |f_i - f_j|^2 / two_sigma2, from feature planes. */
static inline T CAT3(exponent, FS, S)(const F *pixel, const F *other, int64_t plane_size, int32_t channels,
                                      T two_sigma2)
{
    T square = 0;
    for (int32_t c = 0; c < channels; c++) {
        const T d = (T)other[c * plane_size] - (T)pixel[c * plane_size];
        square += d * d;
    }
    return -(square / two_sigma2);
}

/* Append the edges of one word to the rows of its pixels: column, exponent and
 * offset number; the exponentials follow for the whole row at once. */
static inline void CAT3(append, FS, S)(uint64_t word, const F *pixels, int64_t other, int64_t plane_size,
                                       int32_t channels, T two_sigma2, int64_t column, int32_t offset, int64_t *next,
                                       int64_t base, void *indices, int32_t wide, T *data, uint16_t *offsets)
{
    for (; word; word &= word - 1) {
        const int x = __builtin_ctzll(word);
        const int64_t at = next[x]++;
        if (wide)
            ((int64_t *)indices)[at] = column + x;
        else
            ((int32_t *)indices)[at] = (int32_t)(column + x);
        data[at] = CAT3(exponent, FS, S)(pixels + x, pixels + x + other, plane_size, channels, two_sigma2);
        offsets[at - base] = (uint16_t)offset;
    }
}

static int CAT3(fill, FS, S) NNK_FILL(F, T)
{
    const int64_t plane_size = (edges->height + 2 * radius) * stride, half = edges->half, width = edges->width;
    const int64_t *wide_start = indptr;
    const int32_t *start = indptr;
    int64_t *next = malloc(sizeof *next * (size_t)(64 * edges->words));
    uint16_t *offsets = malloc(sizeof *offsets * (size_t)(2 * half * width));
    if (!next || !offsets) {
        free(next), free(offsets);
        return NNK_NO_MEMORY;
    }
    for (int64_t y = y0; y < y1; y++) {
        for (int64_t x = 0; x < width; x++)
            next[x] = wide ? wide_start[y * width + x] : start[y * width + x];
        const int64_t base = next[0];
        const int64_t end = wide ? wide_start[(y + 1) * width] : start[(y + 1) * width];
        const F *row = planes + (y + radius) * stride + radius;
        for (int64_t side = 0; side < 2 * half; side++) { /* row-major: columns come out sorted */
            const int64_t o = side < half ? half - 1 - side : side - half;
            const int sign = side < half ? -1 : 1;
            const int64_t other = sign * (dy[o] * stride + dx[o]);
            const int64_t column = (y + sign * dy[o]) * width + sign * dx[o];
            for (int64_t w = 0; w < edges->words; w++) {
                const uint64_t word = sign > 0 ? plane_row(edges, edges->forward, y, o)[w]
                                               : backward_word(edges, directed, y, w, o, dy[o], dx[o]);
                CAT3(append, FS, S)(word, row + 64 * w, other, plane_size, channels, (T)two_sigma2, column + 64 * w,
                                    (int32_t)o, next + 64 * w, base, indices, wide, data, offsets);
            }
        }
        T *row_data = data + base;
        for (int64_t e = 0; e < end - base; e++)
            row_data[e] = spatial[offsets[e]] * CAT(exp, S)(row_data[e]);
    }
    free(next), free(offsets);
    return NNK_OK;
}

/* Clear the bits of one word whose weight is not a normal number. */
static inline uint64_t CAT3(drop_word, FS, S)(uint64_t word, const F *pixels, int64_t other, int64_t plane_size,
                                              int32_t channels, T two_sigma2, T spatial, int64_t *dropped)
{
    uint64_t kept = word;
    for (; word; word &= word - 1) {
        const int x = __builtin_ctzll(word);
        const T weight =
            spatial *
            CAT(exp, S)(CAT3(exponent, FS, S)(pixels + x, pixels + x + other, plane_size, channels, two_sigma2));
        if (!(weight >= CAT(SMALLEST, S))) {
            kept &= ~(1ull << x);
            ++*dropped;
        }
    }
    return kept;
}

static void CAT3(drop, FS, S) NNK_DROP(F, T)
{
    const int64_t plane_size = (edges->height + 2 * radius) * stride;
    *dropped = 0;
    for (int64_t y = y0; y < y1; y++)
        for (int64_t o = 0; o < edges->half; o++) {
            const F *row = planes + (y + radius) * stride + radius;
            const int64_t other = dy[o] * stride + dx[o];
            uint64_t *forward = plane_row(edges, edges->forward, y, o);
            uint64_t *backward = directed ? plane_row(edges, edges->backward, y, o) : NULL;
            for (int64_t w = 0; w < edges->words; w++) {
                forward[w] = CAT3(drop_word, FS, S)(forward[w], row + 64 * w, other, plane_size, channels,
                                                    (T)two_sigma2, spatial[o], dropped);
                if (backward)
                    backward[w] = CAT3(drop_word, FS, S)(backward[w], row + 64 * w, -other, plane_size, channels,
                                                         (T)two_sigma2, spatial[o], dropped);
            }
        }
}
