/* Groups of similar patches: find them.  T, S: type and suffix.  See nnk_core.h for the
 * layouts. */

/* Squared differences of one column of patches: out[x] = sum over the patch's rows
 * of (a[x] - b[x])^2. */
static void CAT(column_distances, S)(const T *a, const T *b, int64_t width, int64_t n, int32_t patch, T *out)
{
    int64_t x = 0;
    for (; x + CAT(BLOCK, S) <= n; x += CAT(BLOCK, S)) {
        CAT(block, S) sum = {0};
        for (int32_t r = 0; r < patch; r++) {
            const CAT(block, S) d =
                CAT(load_block, S)(a + r * width + x) - CAT(load_block, S)(b + r * width + x);
            sum += d * d;
        }
        CAT(store_block, S)(out + x, sum);
    }
    for (; x < n; x++) {
        T sum = 0;
        for (int32_t r = 0; r < patch; r++) {
            const T d = a[r * width + x] - b[r * width + x];
            sum += d * d;
        }
        out[x] = sum;
    }
}

/* Bits that sort, as an unsigned number above 0, like the number itself. */
static uint32_t CAT(sortable, S)(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* What the noise of two patches adds to their squared distance. */
static T CAT(noise_distance, S)(const nnk_patches *p, int64_t at, int64_t dy, int64_t dx)
{
    const T bias = ((const T *)p->bias)[(dy + p->radius) * (2 * p->radius + 1) + dx + p->radius];
    const T *variances = p->variances;
    return variances ? bias * (T)0.5 * (variances[at] + variances[at + dy * p->width + dx]) : bias;
}

/* Distances from the reference patches of row y to the candidates dy rows below:
 * keys[ref][..] gets one key per candidate inside the image: the distance above, and below it the
 * position, counted from the corner of the search window, which fits into 32 bits. */
static void CAT(candidate_row, S)(const nnk_patches *p, const T *image, int64_t y, int64_t dy, T *columns,
                                  uint64_t *keys, int32_t *n_keys, int64_t room)
{
    const int64_t width = p->width, last_x = width - p->patch;
    for (int64_t dx = -p->radius; dx <= p->radius; dx++) {
        const int64_t from = dx < 0 ? -dx : 0, to = dx > 0 ? width - dx : width;
        if (to - from < p->patch)
            continue;
        CAT(column_distances, S)(image + y * width + from, image + (y + dy) * width + from + dx, width, to - from,
                                 p->patch, columns + from);
        for (int32_t i = 0; i < p->n_columns; i++) {
            const int64_t x = p->columns[i];
            if (x + dx < 0 || x + dx > last_x)
                continue;
            T distance = 0;
            for (int32_t c = 0; c < p->patch; c++)
                distance += columns[x + c];
            if (p->bias)
                distance -= CAT(noise_distance, S)(p, y * width + x, dy, dx);
            /* The reference itself always comes first. */
            const uint32_t order = dy == 0 && dx == 0 ? 0 : CAT(sortable, S)((float)distance);
            keys[i * room + n_keys[i]++] = (uint64_t)order << 32 | (uint64_t)((dy + p->radius) * width + dx + p->radius);
        }
    }
}

static int CAT(match, S)(const nnk_patches *p, const T *image, int32_t *members, int32_t *n_members, int64_t g0,
                         int64_t g1)
{
    const int64_t side = 2 * p->radius + 1, room = side * side, origin = p->radius * (p->width + 1);
    T *columns = malloc(sizeof *columns * (size_t)p->width);
    uint64_t *keys = malloc(sizeof *keys * (size_t)(room * p->n_columns));
    int32_t *n_keys = malloc(sizeof *n_keys * (size_t)p->n_columns);
    if (!columns || !keys || !n_keys) {
        free(columns), free(keys), free(n_keys);
        return NNK_NO_MEMORY;
    }
    for (int64_t g = g0; g < g1; g++) {
        const int64_t y = p->rows[g];
        memset(n_keys, 0, sizeof *n_keys * (size_t)p->n_columns);
        for (int64_t dy = -p->radius; dy <= p->radius; dy++)
            if (y + dy >= 0 && y + dy <= p->height - p->patch)
                CAT(candidate_row, S)(p, image, y, dy, columns, keys, n_keys, room);
        for (int32_t i = 0; i < p->n_columns; i++) {
            const int32_t k = n_keys[i] < p->group ? n_keys[i] : p->group;
            uint64_t *mine = keys + i * room;
            smallest_first(mine, n_keys[i], k);
            n_members[g * p->n_columns + i] = k;
            for (int32_t m = 0; m < k; m++)
                members[(g * p->n_columns + i) * p->group + m] = (int32_t)((int64_t)(mine[m] & 0xffffffffu) - origin);
        }
    }
    free(columns), free(keys), free(n_keys);
    return NNK_OK;
}
