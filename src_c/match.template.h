/* Search for groups of similar patches.  T, S: type and suffix.  nnk_patches.h describes the
 * arrays. */

/* A search for the members of up to REFERENCES groups, whose reference patches begin on one
 * line. */
typedef struct {
    const nnk_patches *p;
    const T *image;
    int64_t line;                 /* number of the line in the image */
    int32_t first, n, candidates; /* columns [first, first + n); size of a search window */
    int64_t *patch_lines;         /* offsets of the lines of a patch in the image */
    int32_t *shifts;              /* [candidates]: positions minus that of the reference patch */
    T *columns;                   /* squared differences between the columns of two patches */
    int32_t *keys;                /* [REFERENCES][candidates]: distances as integers */
} CAT(search, S);

/* Compute out[x] = sum over the lines of a patch of (a[x] - b[x])^2, for n columns x. */
static inline __attribute__((always_inline)) void
CAT(column_distances, S)(const T *a, const T *b, const int64_t *lines, const int32_t n_lines, int64_t n, T *out)
{
    int64_t x = 0;
    for (; x + 2 * CAT(BLOCK, S) <= n; x += 2 * CAT(BLOCK, S)) {
        CAT(block, S) first = {0}, second = {0};
        for (int32_t r = 0; r < n_lines; r++) {
            const T *p = a + lines[r] + x, *q = b + lines[r] + x;
            const CAT(block, S) d = CAT(load_block, S)(p) - CAT(load_block, S)(q);
            const CAT(block, S) e =
                CAT(load_block, S)(p + CAT(BLOCK, S)) - CAT(load_block, S)(q + CAT(BLOCK, S));
            first += d * d;
            second += e * e;
        }
        CAT(store_block, S)(out + x, first);
        CAT(store_block, S)(out + x + CAT(BLOCK, S), second);
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

/* Return an integer that sorts like the number: neither INT32_MIN nor INT32_MAX, unless it is
 * NaN. */
static inline int32_t CAT(sortable, S)(float number)
{
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits ^ (bits >> 31 & INT32_MAX);
}

/* Return what noise adds to the squared distance between the patches at `at` and at + shift, which
 * is position `number` in the search window. */
static T CAT(noise_distance, S)(const nnk_patches *p, int64_t at, int64_t shift, int64_t number)
{
    const T bias = ((const T *)p->bias)[number];
    const T *variances = p->variances;
    return variances ? bias * (T)0.5 * (variances[at] + variances[at + shift]) : bias;
}

/* Compute the keys of all candidates on one line of the search window, `number` being the first of
 * them.  The keys of candidates that leave the image on the left or right stay unchanged.  `patch`
 * is the side along the last axis, a constant for the usual sides (FOR_PATCH). */
static inline __attribute__((always_inline)) void
CAT(candidate_line_sized, S)(const CAT(search, S) *s, int32_t number, const int32_t patch)
{
    const nnk_patches *p = s->p;
    const int64_t width = p->shape[NNK_AXES - 1], radius = p->radius[NNK_AXES - 1];
    const int32_t n_lines = patch_lines(p), *columns = p->columns + s->first;
    const int64_t down = s->shifts[number] + radius;
    const T *here = s->image + s->line * width, *there = here + down;
    const int64_t x0 = columns[0], x1 = columns[s->n - 1] + patch;
    const int64_t blocks = 2 * CAT(BLOCK, S), whole = x0 + (x1 - x0 + blocks - 1) / blocks * blocks;
    for (int64_t dx = -radius; dx <= radius; dx++, number++) {
        const int64_t last = width - (dx > 0 ? dx : 0);
        const int64_t from = dx < -x0 ? -dx : x0, to = whole < last ? whole : last;
        if (to - from < patch)
            continue;
        T *distances = s->columns + from - x0;
        if (n_lines == patch) /* square patches: both sides are constants */
            CAT(column_distances, S)(here + from, there + from + dx, s->patch_lines, patch, to - from,
                                     distances);
        else
            CAT(column_distances, S)(here + from, there + from + dx, s->patch_lines, n_lines, to - from,
                                     distances);
        for (int32_t i = 0; i < s->n; i++) {
            const int64_t x = columns[i];
            if (x + dx < 0 || x + dx > width - patch)
                continue;
            T distance = 0;
            for (int32_t c = 0; c < patch; c++)
                distance += s->columns[x - x0 + c];
            if (p->bias)
                distance -= CAT(noise_distance, S)(p, s->line * width + x, down + dx, number);
            s->keys[i * s->candidates + number] = CAT(sortable, S)((float)distance);
        }
    }
}

static void CAT(candidate_line, S)(const CAT(search, S) *s, int32_t number)
{
#define LINE(patch) CAT(candidate_line_sized, S)(s, number, patch)
    FOR_PATCH(s->p->patch[NNK_AXES - 1], LINE)
#undef LINE
}

/* Compute the keys of all candidates: INT32_MAX outside the image, INT32_MIN for the reference
 * patch, which is always a member. */
static void CAT(candidates, S)(const CAT(search, S) *s)
{
    const nnk_patches *p = s->p;
    const int64_t *n = p->shape, y = s->line % n[2], z = s->line / n[2] % n[1], t = s->line / n[2] / n[1];
    const int32_t *r = p->radius, *patch = p->patch;
    int32_t number = 0;
    for (int32_t i = 0; i < s->n * s->candidates; i++)
        s->keys[i] = INT32_MAX;
    for (int64_t dt = -r[0]; dt <= r[0]; dt++)
        for (int64_t dz = -r[1]; dz <= r[1]; dz++)
            for (int64_t dy = -r[2]; dy <= r[2]; dy++, number += 2 * r[3] + 1)
                if (t + dt >= 0 && t + dt <= n[0] - patch[0] && z + dz >= 0 && z + dz <= n[1] - patch[1] &&
                    y + dy >= 0 && y + dy <= n[2] - patch[2])
                    CAT(candidate_line, S)(s, number);
    for (int32_t i = 0; i < s->n; i++)
        s->keys[i * s->candidates + s->candidates / 2] = INT32_MIN;
}

/* Select the members of reference patch i: the nearest candidates, among equal ones the first.
 * Return how many there are. */
static int32_t CAT(select_members, S)(const CAT(search, S) *s, int32_t i, int32_t *members)
{
    const int32_t *keys = s->keys + i * s->candidates, n = count_up_to(keys, s->candidates, INT32_MAX - 1);
    const int32_t k = n < s->p->group ? n : s->p->group;
    places_of_smallest(keys, s->candidates, k, members);
    for (int32_t m = 0; m < k; m++)
        members[m] = s->shifts[members[m]];
    return k;
}

static int CAT(match, S)(const nnk_patches *p, const T *image, int32_t *members, int32_t *n_members, int64_t g0,
                         int64_t g1)
{
    CAT(search, S) s = {.p = p, .image = image, .candidates = 1};
    for (int axis = 0; axis < NNK_AXES; axis++)
        s.candidates *= 2 * p->radius[axis] + 1;
    int64_t span = 0; /* largest distance between columns that are searched together */
    for (int32_t i = 0; i < p->n_columns; i += REFERENCES) {
        const int32_t end = i + REFERENCES < p->n_columns ? i + REFERENCES : p->n_columns;
        const int64_t this = p->columns[end - 1] - p->columns[i];
        span = this > span ? this : span;
    }
    const size_t candidates = (size_t)s.candidates;
    s.columns = malloc(sizeof *s.columns * (size_t)(span + p->patch[NNK_AXES - 1] + 2 * CAT(BLOCK, S)));
    s.keys = malloc(sizeof *s.keys * candidates * REFERENCES);
    s.shifts = malloc(sizeof *s.shifts * candidates);
    s.patch_lines = malloc(sizeof *s.patch_lines * (size_t)patch_lines(p));
    const int status = s.columns && s.keys && s.shifts && s.patch_lines ? NNK_OK : NNK_NO_MEMORY;
    if (status == NNK_OK) {
        find_patch_lines(p->patch, p->shape, s.patch_lines);
        find_shifts(p, s.shifts);
    }
    for (int64_t g = g0; g < g1 && status == NNK_OK; g++)
        for (s.first = 0; s.first < p->n_columns; s.first += REFERENCES) {
            s.line = p->lines[g];
            s.n = p->n_columns - s.first < REFERENCES ? p->n_columns - s.first : REFERENCES;
            CAT(candidates, S)(&s);
            for (int32_t i = 0; i < s.n; i++) {
                const int64_t group = g * p->n_columns + s.first + i;
                n_members[group] = CAT(select_members, S)(&s, i, members + group * p->group);
            }
        }
    free(s.columns), free(s.keys), free(s.shifts), free(s.patch_lines);
    return status;
}
