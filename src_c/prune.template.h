/* Algorithm 4 (thesis section 3.1) for many pixels at once.  T, S: type and suffix.
 *
 * Adjacent pixels of a row are the lanes of a vector, and NNK_ABREAST vectors are processed
 * together; if a row needs at most half of these, they hold several rows.  The outer loop is over
 * the candidates: the offsets of the window, by increasing distance.
 *
 * d_k is the feature of candidate k minus that of the center.  Candidate k is pruned if
 * (d_j - d_k) . d_j <= mu Delta for a candidate j that has survived; vector and scalar code
 * evaluate this in the same form, so that they agree bit for bit.  d_j is set to NaN where j has
 * been pruned, so that it prunes nothing there.  d_k is NaN where one of the two pixels is missing,
 * so that k does not survive there.
 */
enum { CAT(ABREAST, S) = CAT(LANES, S) * NNK_ABREAST };

/* Determine at which pixels candidate k survives the near pruners, those below n_near, whose d_j
 * are in near[n_near][channels][NNK_ABREAST].  Stop once no pixel is left. */
static inline __attribute__((always_inline)) void
CAT(near_survivors, S)(const CAT(vec, S) *d_k, const CAT(vec, S) *near, const nnk_window *win,
                       const T *pair_threshold, int32_t k, int32_t channels, CAT(live, S) live[NNK_ABREAST])
{
    for (int v = 0; v < NNK_ABREAST; v++)
        live[v] = CAT(not_nan, S)(d_k[v]);
    for (int32_t p = win->pair_start[k]; p < win->pair_start[k + 1]; p += NNK_PAIRS_AT_ONCE) {
        for (int32_t pair = p; pair < p + NNK_PAIRS_AT_ONCE; pair++) {
            const CAT(vec, S) *d_j = near + (size_t)win->pruner[pair] * channels * NNK_ABREAST;
            const CAT(vec, S) threshold = CAT(splat, S)(pair_threshold[pair]);
            for (int v = 0; v < NNK_ABREAST; v++) {
                CAT(vec, S) product = (d_j[v] - d_k[v]) * d_j[v];
                for (int32_t c = NNK_ABREAST; c < channels * NNK_ABREAST; c += NNK_ABREAST)
                    product += (d_j[c + v] - d_k[c + v]) * d_j[c + v];
                live[v] = CAT(live_above, S)(live[v], product, threshold);
            }
        }
        if (CAT(none_live, S)(live))
            break;
    }
}

/* Try the near pruners on all candidates at up to 64 pixels.  Vector v is at center + place[v];
 * with more than NNK_ABREAST vectors the next ones follow in the same row.  Write one bit per pixel
 * to alive[k]: whether k has survived.  `near` and `d` are scratch memory. */
static inline __attribute__((always_inline)) void
CAT(near_pass, S)(const T *center, const int64_t *place, int64_t stride, int64_t plane_size, int32_t channels,
                  int64_t n_pixels, const nnk_window *win, const T *pair_threshold, CAT(vec, S) *near,
                  CAT(vec, S) *d, uint64_t *alive)
{
    for (int32_t k = 0; k < win->n_offsets; k++)
        alive[k] = 0;
    for (int64_t x = 0; x < n_pixels; x += CAT(ABREAST, S)) {
        for (int32_t k = 0; k < win->n_offsets; k++) {
            const T *here = center + x, *other = here + win->dy[k] * stride + win->dx[k];
            CAT(live, S) live[NNK_ABREAST];
            CAT(vec, S) *d_k = k < win->n_near ? near + (size_t)k * channels * NNK_ABREAST : d;
            for (int32_t c = 0; c < channels; c++)
                for (int v = 0; v < NNK_ABREAST; v++) {
                    const int64_t at = c * plane_size + place[v];
                    d_k[c * NNK_ABREAST + v] = CAT(loadu, S)(other + at) - CAT(loadu, S)(here + at);
                }
            CAT(near_survivors, S)(d_k, near, win, pair_threshold, k, channels, live);
            uint64_t bits = 0;
            for (int v = 0; v < NNK_ABREAST; v++)
                bits |= CAT(live_bits, S)(live[v]) << (v * CAT(LANES, S));
            alive[k] |= bits << x;
            if (k < win->n_near)
                for (int32_t c = 0; c < channels * NNK_ABREAST; c += NNK_ABREAST)
                    for (int v = 0; v < NNK_ABREAST; v++)
                        d_k[c + v] = CAT(nan_unless, S)(live[v], d_k[c + v]);
        }
    }
}

/* Return whether candidate k of one pixel is pruned by one of the `kept` candidates: the survivors
 * before it from n_near on. */
static inline int CAT(far_pruned, S)(const T *pixel, int64_t stride, int64_t plane_size, int32_t channels,
                                     const nnk_window *win, const T *threshold, int32_t k, const uint16_t *kept,
                                     int32_t n_kept)
{
    const T *at_k = pixel + win->dy[k] * stride + win->dx[k];
    for (int32_t i = 0; i < n_kept; i++) {
        const int32_t j = kept[i];
        const int32_t delta = (win->dy[k] - win->dy[j]) * win->dy[j] + (win->dx[k] - win->dx[j]) * win->dx[j];
        if (delta < 0)
            continue;
        const T *at_j = pixel + win->dy[j] * stride + win->dx[j];
        T product = 0;
        for (int32_t c = 0; c < channels; c++) {
            const int64_t p = c * plane_size;
            const T d_j = at_j[p] - pixel[p], d_k = at_k[p] - pixel[p];
            product += (d_j - d_k) * d_j;
        }
        if (product <= threshold[delta])
            return 1;
    }
    return 0;
}

/* Try the candidates from n_near on as pruners, pixel by pixel, because few of them have survived.
 * This can prune only candidates beyond them.  Bit x of alive[k] belongs to the pixel in row
 * x / of_row and column x % of_row from `center`; only the bits in `wanted` are considered. */
static void CAT(far_pass, S)(const T *center, uint64_t wanted, int64_t of_row, int64_t stride, int64_t plane_size,
                             int32_t channels, const nnk_window *win, const T *threshold, uint64_t *alive,
                             uint16_t *kept)
{
    int32_t n_kept[64] = {0};
    const int32_t room = win->n_offsets - win->n_near;
    for (int32_t k = win->n_near; k < win->n_offsets; k++)
        for (uint64_t left = alive[k] & wanted; left; left &= left - 1) {
            const int x = __builtin_ctzll(left);
            uint16_t *list = kept + (size_t)x * room;
            const T *pixel = center + x / of_row * stride + x % of_row;
            if (CAT(far_pruned, S)(pixel, stride, plane_size, channels, win, threshold, k, list, n_kept[x]))
                alive[k] &= ~(1ull << x);
            else
                list[n_kept[x]++] = (uint16_t)k;
        }
}

static void CAT(near_pass_any, S)(const T *center, const int64_t *place, int64_t stride, int64_t plane_size,
                                  int32_t channels, int64_t n_pixels, const nnk_window *win,
                                  const T *pair_threshold, CAT(vec, S) *near, CAT(vec, S) *d, uint64_t *alive)
{
    if (channels == 1) /* constants let the compiler unroll the loops */
        CAT(near_pass, S)(center, place, stride, plane_size, 1, n_pixels, win, pair_threshold, near, d, alive);
    else if (channels == 3)
        CAT(near_pass, S)(center, place, stride, plane_size, 3, n_pixels, win, pair_threshold, near, d, alive);
    else
        CAT(near_pass, S)(center, place, stride, plane_size, channels, n_pixels, win, pair_threshold, near, d, alive);
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
                         const T *pair_threshold, const T *threshold, nnk_edges *edges, int64_t y0, int64_t y1)
{
    const int64_t plane_size = (edges->height + 2 * win->border) * stride;
    const size_t n_vectors = ((size_t)win->n_near + 1) * (size_t)channels * NNK_ABREAST;
    const size_t far = 64 * (size_t)(win->n_offsets - win->n_near) + 1;
    CAT(vec, S) *near = new_aligned(n_vectors * sizeof *near);
    uint64_t *alive = malloc(sizeof *alive * (size_t)win->n_offsets);
    uint16_t *kept = malloc(sizeof *kept * far);
    if (!near || !alive || !kept) {
        free_aligned(near), free(alive), free(kept);
        return NNK_NO_MEMORY;
    }
    CAT(vec, S) *d = near + (size_t)win->n_near * (size_t)channels * NNK_ABREAST;
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
            CAT(near_pass_any, S)(center, place, stride, plane_size, channels, n_pixels, win, pair_threshold, near, d,
                                  alive);
            CAT(far_pass, S)(center, low_bits(n_rows * of_row), of_row, stride, plane_size, channels, win, threshold,
                             alive, kept);
            for (int64_t row = 0; row < n_rows; row++)
                CAT(store_alive, S)(edges, win, y + row, w, alive, row * of_row, of_row);
        }
    }
    free_aligned(near), free(alive), free(kept);
    return NNK_OK;
}
