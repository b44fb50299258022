/* Groups of similar patches: find them.  T, S: type and suffix.  See nnk_core.h for the
 * layouts. */

/* Squared differences of one column of patches: out[x] = sum over the patch's lines
 * of (a[x] - b[x])^2. */
static void CAT(column_distances, S)(const T *a, const T *b, const int64_t *lines, int32_t n_lines, int64_t n,
                                     T *out)
{
    int64_t x = 0;
    for (; x + CAT(BLOCK, S) <= n; x += CAT(BLOCK, S)) {
        CAT(block, S) sum = {0};
        for (int32_t r = 0; r < n_lines; r++) {
            const CAT(block, S) d =
                CAT(load_block, S)(a + lines[r] + x) - CAT(load_block, S)(b + lines[r] + x);
            sum += d * d;
        }
        CAT(store_block, S)(out + x, sum);
    }
    for (; x < n; x++) {
        T sum = 0;
        for (int32_t r = 0; r < n_lines; r++) {
            const T d = a[lines[r] + x] - b[lines[r] + x];
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

/* What one line of references needs to find its candidates. */
typedef struct {
    const nnk_patches *p;
    const T *image;
    int64_t line, origin, room; /* its number; see candidate_line; keys of a reference at most */
    int64_t *patch_lines;
    T *columns;
    uint64_t *keys; /* [n_columns][room] */
    int32_t *n_keys;
} CAT(search, S);

/* What the noise of two patches adds to their squared distance; the second begins `shift` pixels
 * after the first, which is offset `number` of the search window. */
static T CAT(noise_distance, S)(const nnk_patches *p, int64_t at, int64_t shift, int64_t number)
{
    const T bias = ((const T *)p->bias)[number];
    const T *variances = p->variances;
    return variances ? bias * (T)0.5 * (variances[at] + variances[at + shift]) : bias;
}

/* Distances from the references of a line to the candidates `down` lines below, which is line
 * `number` of the search window: each reference gets one key per candidate inside the image, the
 * distance above, and below it the candidate's position, counted from the corner of the search
 * window, which fits into 32 bits.  The window's middle is `origin`. */
static void CAT(candidate_line, S)(const CAT(search, S) *s, int64_t down, int64_t number)
{
    const nnk_patches *p = s->p;
    const int64_t width = p->shape[NNK_AXES - 1], radius = p->radius[NNK_AXES - 1];
    const int32_t patch = p->patch[NNK_AXES - 1], n_lines = patch_lines(p);
    const T *here = s->image + s->line * width, *there = here + down * width;
    for (int64_t dx = -radius; dx <= radius; dx++) {
        const int64_t from = dx < 0 ? -dx : 0, to = dx > 0 ? width - dx : width, shift = down * width + dx;
        if (to - from < patch)
            continue;
        CAT(column_distances, S)(here + from, there + from + dx, s->patch_lines, n_lines, to - from,
                                 s->columns + from);
        for (int32_t i = 0; i < p->n_columns; i++) {
            const int64_t x = p->columns[i];
            if (x + dx < 0 || x + dx > width - patch)
                continue;
            T distance = 0;
            for (int32_t c = 0; c < patch; c++)
                distance += s->columns[x + c];
            if (p->bias)
                distance -= CAT(noise_distance, S)(p, s->line * width + x, shift,
                                                   number * (2 * radius + 1) + dx + radius);
            /* The reference itself always comes first. */
            const uint32_t order = shift == 0 ? 0 : CAT(sortable, S)((float)distance);
            s->keys[i * s->room + s->n_keys[i]++] = (uint64_t)order << 32 | (uint64_t)(s->origin + shift);
        }
    }
}

/* Candidates on all lines of the search window. */
static void CAT(candidates, S)(const CAT(search, S) *s)
{
    const nnk_patches *p = s->p;
    const int64_t *n = p->shape, y = s->line % n[2], z = s->line / n[2] % n[1], t = s->line / n[2] / n[1];
    const int32_t *r = p->radius, *patch = p->patch;
    for (int64_t dt = -r[0]; dt <= r[0]; dt++)
        for (int64_t dz = -r[1]; dz <= r[1]; dz++)
            for (int64_t dy = -r[2]; dy <= r[2]; dy++)
                if (t + dt >= 0 && t + dt <= n[0] - patch[0] && z + dz >= 0 && z + dz <= n[1] - patch[1] &&
                    y + dy >= 0 && y + dy <= n[2] - patch[2])
                    CAT(candidate_line, S)(s, (dt * n[1] + dz) * n[2] + dy,
                                           ((dt + r[0]) * (2 * r[1] + 1) + dz + r[1]) * (2 * r[2] + 1) + dy + r[2]);
}

static int CAT(match, S)(const nnk_patches *p, const T *image, int32_t *members, int32_t *n_members, int64_t g0,
                         int64_t g1)
{
    CAT(search, S) s = {.p = p, .image = image, .room = 1};
    for (int axis = 0; axis < NNK_AXES; axis++) {
        s.room *= 2 * p->radius[axis] + 1;
        s.origin = s.origin * p->shape[axis] + p->radius[axis];
    }
    s.columns = malloc(sizeof *s.columns * (size_t)p->shape[NNK_AXES - 1]);
    s.keys = malloc(sizeof *s.keys * (size_t)(s.room * p->n_columns));
    s.n_keys = malloc(sizeof *s.n_keys * (size_t)p->n_columns);
    s.patch_lines = malloc(sizeof *s.patch_lines * (size_t)patch_lines(p));
    const int status = s.columns && s.keys && s.n_keys && s.patch_lines ? NNK_OK : NNK_NO_MEMORY;
    if (status == NNK_OK)
        find_patch_lines(p->patch, p->shape, s.patch_lines);
    for (int64_t g = g0; g < g1 && status == NNK_OK; g++) {
        s.line = p->lines[g];
        memset(s.n_keys, 0, sizeof *s.n_keys * (size_t)p->n_columns);
        CAT(candidates, S)(&s);
        for (int32_t i = 0; i < p->n_columns; i++) {
            const int32_t k = s.n_keys[i] < p->group ? s.n_keys[i] : p->group;
            uint64_t *mine = s.keys + i * s.room;
            smallest_first(mine, s.n_keys[i], k);
            n_members[g * p->n_columns + i] = k;
            for (int32_t m = 0; m < k; m++)
                members[(g * p->n_columns + i) * p->group + m] =
                    (int32_t)((int64_t)(mine[m] & 0xffffffffu) - s.origin);
        }
    }
    free(s.columns), free(s.keys), free(s.n_keys), free(s.patch_lines);
    return status;
}
