/* Algorithm 4 (thesis section 3.1) for many pixels at once.  T, S: type and suffix.
 *
 * Adjacent pixels of a row are the lanes of a vector, and NNK_ABREAST vectors are processed
 * together; if a row needs at most half of these, they hold several rows.  The outer loop is over
 * the candidates: the offsets of the window, by increasing distance.
 *
 * d_k is the feature of candidate k minus that of the center.  Candidate k is pruned if
 * (d_j - d_k) . d_j <= mu Delta for a candidate j that has survived.  d_j is set to NaN where j has
 * been pruned, so that it prunes nothing there.  d_k is NaN where one of the two pixels is missing,
 * so that k does not survive there.
 */
enum { CAT(ABREAST, S) = CAT(LANES, S) * NNK_ABREAST };

/* Determine at which pixels candidate k survives; d[n_offsets][channels][NNK_ABREAST] holds the
 * candidates up to k.  Stop once no pixel is left. */
static inline __attribute__((always_inline)) void
CAT(survivors, S)(const CAT(vec, S) *d, const nnk_window *win, const T *threshold, int32_t k, int32_t channels,
                  CAT(live, S) live[NNK_ABREAST])
{
    const CAT(vec, S) *d_k = d + (size_t)k * channels * NNK_ABREAST;
    for (int v = 0; v < NNK_ABREAST; v++)
        live[v] = CAT(not_nan, S)(d_k[v]);
    for (int32_t p = win->pair_start[k]; p < win->pair_start[k + 1]; p += NNK_PAIRS_AT_ONCE) {
        for (int32_t pair = p; pair < p + NNK_PAIRS_AT_ONCE; pair++) {
            const CAT(vec, S) *d_j = d + (size_t)win->pruner[pair] * channels * NNK_ABREAST;
            const CAT(vec, S) most = CAT(splat, S)(threshold[pair]);
            for (int v = 0; v < NNK_ABREAST; v++) {
                CAT(vec, S) product = (d_j[v] - d_k[v]) * d_j[v];
                for (int32_t c = NNK_ABREAST; c < channels * NNK_ABREAST; c += NNK_ABREAST)
                    product += (d_j[c + v] - d_k[c + v]) * d_j[c + v];
                live[v] = CAT(live_above, S)(live[v], product, most);
            }
        }
        if (CAT(none_live, S)(live))
            break;
    }
}

/* Prune the candidates of up to 64 pixels.  Vector v is at center + place[v]; with more than
 * NNK_ABREAST vectors the next ones follow in the same row.  Write one bit per pixel to alive[k]:
 * whether k has survived.  `d` is scratch memory. */
static inline __attribute__((always_inline)) void
CAT(prune_pixels, S)(const T *center, const int64_t *place, int64_t stride, int64_t plane_size, int32_t channels,
                     int64_t n_pixels, const nnk_window *win, const T *threshold, CAT(vec, S) *d, uint64_t *alive)
{
    for (int32_t k = 0; k < win->n_offsets; k++)
        alive[k] = 0;
    for (int64_t x = 0; x < n_pixels; x += CAT(ABREAST, S)) {
        for (int32_t k = 0; k < win->n_offsets; k++) {
            const T *here = center + x, *other = here + win->dy[k] * stride + win->dx[k];
            CAT(live, S) live[NNK_ABREAST];
            CAT(vec, S) *d_k = d + (size_t)k * channels * NNK_ABREAST;
            for (int32_t c = 0; c < channels; c++)
                for (int v = 0; v < NNK_ABREAST; v++) {
                    const int64_t at = c * plane_size + place[v];
                    d_k[c * NNK_ABREAST + v] = CAT(loadu, S)(other + at) - CAT(loadu, S)(here + at);
                }
            CAT(survivors, S)(d, win, threshold, k, channels, live);
            uint64_t bits = 0;
            for (int v = 0; v < NNK_ABREAST; v++)
                bits |= CAT(live_bits, S)(live[v]) << (v * CAT(LANES, S));
            alive[k] |= bits << x;
            for (int32_t c = 0; c < channels * NNK_ABREAST; c += NNK_ABREAST)
                for (int v = 0; v < NNK_ABREAST; v++)
                    d_k[c + v] = CAT(nan_unless, S)(live[v], d_k[c + v]);
        }
    }
}

static void CAT(prune_pixels_any, S)(const T *center, const int64_t *place, int64_t stride, int64_t plane_size,
                                     int32_t channels, int64_t n_pixels, const nnk_window *win, const T *threshold,
                                     CAT(vec, S) *d, uint64_t *alive)
{
    if (channels == 1) /* constants let the compiler unroll the loops */
        CAT(prune_pixels, S)(center, place, stride, plane_size, 1, n_pixels, win, threshold, d, alive);
    else if (channels == 3)
        CAT(prune_pixels, S)(center, place, stride, plane_size, 3, n_pixels, win, threshold, d, alive);
    else
        CAT(prune_pixels, S)(center, place, stride, plane_size, channels, n_pixels, win, threshold, d, alive);
}

/* Write n bits of every alive[k], from bit `first` on, to word w of row y of the edge planes. */
static void CAT(store_alive, S)(const nnk_edges *edges, const nnk_window *win, int64_t y, int64_t w,
                                const uint64_t *alive, int64_t first, int64_t n)
{
    for (int32_t k = 0; k < win->n_offsets; k++) {
        const int32_t p = win->plane[k];
        uint64_t *row = p >= 0 ? plane_row(edges, edges->forward, y, p) : plane_row(edges, edges->backward, y, -1 - p);
        row[w] = alive[k] >> first & low_bits(n);
    }
}

static int CAT(prune, S)(const T *planes, int64_t stride, int32_t channels, const nnk_window *win,
                         const T *threshold, nnk_edges *edges, int64_t y0, int64_t y1)
{
    const int64_t plane_size = (edges->height + 2 * win->border) * stride;
    CAT(vec, S) *d = new_aligned((size_t)win->n_offsets * (size_t)channels * NNK_ABREAST * sizeof *d);
    uint64_t *alive = malloc(sizeof *alive * (size_t)win->n_offsets);
    if (!d || !alive) {
        free_aligned(d), free(alive);
        return NNK_NO_MEMORY;
    }
    /* Prune several rows at once if two or more fit into NNK_ABREAST vectors. */
    const int64_t of_width = (edges->width + CAT(LANES, S) - 1) / CAT(LANES, S);
    const int64_t rows = of_width > NNK_ABREAST / 2 ? 1 : NNK_ABREAST / of_width;
    const int64_t vectors = rows > 1 ? of_width : NNK_ABREAST, of_row = rows > 1 ? vectors * CAT(LANES, S) : 64;
    for (int64_t y = y0; y < y1; y += rows) {
        if (rows == 1 && edges->first_node[y] < 0) { /* a gap */
            const size_t row = sizeof(uint64_t) * (size_t)(edges->half * edges->words);
            memset(plane_row(edges, edges->forward, y, 0), 0, row);
            memset(plane_row(edges, edges->backward, y, 0), 0, row);
            continue;
        }
        const int64_t n_rows = y1 - y < rows ? y1 - y : rows;
        int64_t place[NNK_ABREAST];
        for (int64_t v = 0; v < NNK_ABREAST; v++) { /* below row y1 - 1, repeat it */
            const int64_t row = v / vectors < n_rows ? v / vectors : n_rows - 1;
            place[v] = row * stride + v % vectors * CAT(LANES, S);
        }
        for (int64_t w = 0; w < edges->words; w++) {
            const T *center = planes + (y + win->border) * stride + win->radius + 64 * w;
            const int64_t left = edges->width - 64 * w, n_pixels = rows > 1 ? 1 : left < 64 ? left : 64;
            CAT(prune_pixels_any, S)(center, place, stride, plane_size, channels, n_pixels, win, threshold, d, alive);
            for (int64_t row = 0; row < n_rows; row++)
                CAT(store_alive, S)(edges, win, y + row, w, alive, row * of_row, of_row);
        }
    }
    free_aligned(d), free(alive);
    return NNK_OK;
}
