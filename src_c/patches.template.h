/* Groups of similar patches: find them, filter them, put them back.  T, S: type
 * and suffix.  See nnk_core.h for what a pass computes. */

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
            const float rounded = (float)distance;
            uint32_t order; /* floats that are not negative sort like their bits */
            memcpy(&order, &rounded, sizeof order);
            if (dy == 0 && dx == 0)
                order = 0; /* the reference itself always comes first */
            else
                order++;
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

/* What one group needs, allocated once per chunk of rows. */
typedef struct {
    int64_t reference;      /* position of the group's reference patch */
    int32_t n, k, row;      /* pixels of a patch; patches, this group; padded n */
    T *pilot, *value;       /* [k][row]: centred pilot and values */
    T *solved, *result;     /* [k][row] */
    T *gram, *cross;        /* [row][row] */
    T *mean;                /* [row] */
    T *pivots;              /* four rows, for the inverse */
    T *weight;              /* [k] */
} CAT(workspace, S);

/* Patch rows of the members into a padded matrix, `image` beginning at the reference patch; `patch` is
 * a constant where this is inlined. */
static inline __attribute__((always_inline)) void
CAT(gather_sized, S)(const T *image, int64_t width, const int32_t *members, int32_t k, int64_t row, T *out,
                     const int32_t patch)
{
    for (int32_t m = 0; m < k; m++)
        for (int32_t r = 0; r < patch; r++)
            memcpy(out + m * row + r * patch, image + members[m] + r * width, sizeof(T) * (size_t)patch);
}

static void CAT(gather, S)(const nnk_patches *p, const T *image, const int32_t *members, int32_t k, int64_t row,
                           T *out)
{
#define GATHER(patch) CAT(gather_sized, S)(image, p->width, members, k, row, out, patch)
    FOR_PATCH(p->patch, GATHER)
#undef GATHER
}

/* Subtract the mean patch, which is left in `mean`. */
static void CAT(centre, S)(T *matrix, int32_t k, int64_t row, T *mean)
{
    memset(mean, 0, sizeof(T) * (size_t)row);
    for (int32_t m = 0; m < k; m++)
        for (int64_t j = 0; j < row; j++)
            mean[j] += matrix[m * row + j];
    for (int64_t j = 0; j < row; j++)
        mean[j] /= (T)k;
    for (int32_t m = 0; m < k; m++)
        for (int64_t j = 0; j < row; j++)
            matrix[m * row + j] -= mean[j];
}

/* Standard deviation of y - z over a group: how much noise is gone already. */
static double CAT(removed_noise, S)(const T *y, const T *z, int64_t padded, double n)
{
    CAT(block, S) sums = {0}, squares = {0};
    for (int64_t i = 0; i < padded; i += CAT(BLOCK, S)) { /* padding is 0 in both */
        const CAT(block, S) d = CAT(load_block, S)(y + i) - CAT(load_block, S)(z + i);
        sums += d;
        squares += d * d;
    }
    double sum = 0, square = 0;
    for (int l = 0; l < CAT(BLOCK, S); l++) {
        sum += sums[l];
        square += squares[l];
    }
    const double variance = square / n - (sum / n) * (sum / n);
    return sqrt(variance > 0 ? variance : 0);
}

/* Add weight x patches to the sums, and the weights to theirs (which may be
 * NULL); `patch` a constant where inlined. */
static inline __attribute__((always_inline)) void
CAT(scatter_sized, S)(const T *matrix, int64_t row, const T *weight, const int32_t *members, int32_t k,
                      int64_t reference, int64_t width, T *sums, T *weights, const int32_t patch)
{
    for (int32_t m = 0; m < k; m++)
        for (int32_t r = 0; r < patch; r++) {
            const int64_t at = reference + members[m] + r * width;
            const T *in = matrix + m * row + r * patch;
            for (int32_t c = 0; c < patch; c++)
                sums[at + c] += weight[m] * in[c];
            if (weights)
                for (int32_t c = 0; c < patch; c++)
                    weights[at + c] += weight[m];
        }
}

static void CAT(scatter, S)(const nnk_patches *p, const T *matrix, int64_t row, const T *weight,
                            const int32_t *members, int32_t k, int64_t reference, T *sums, T *weights)
{
#define SCATTER(patch)                                                                                       \
    CAT(scatter_sized, S)(matrix, row, weight, members, k, reference, p->width, sums, weights, patch)
    FOR_PATCH(p->patch, SCATTER)
#undef SCATTER
}

/* n rounded up to whole blocks. */
static int32_t CAT(whole_blocks, S)(int32_t n) { return (n + CAT(BLOCK, S) - 1) / CAT(BLOCK, S) * CAT(BLOCK, S); }

static void CAT(free_workspace, S)(CAT(workspace, S) *w) { free_aligned(w->pilot); }

/* One allocation, cut into matrices; zeros, so that padding stays zero. */
static int CAT(new_workspace, S)(CAT(workspace, S) *w, int32_t n, int32_t k)
{
    const size_t row = (size_t)CAT(whole_blocks, S)(n), rows = (size_t)CAT(whole_blocks, S)(k);
    const size_t matrix = rows * row, square = row * row, lane = row > rows ? row : rows;
    const size_t bytes = sizeof(T) * (4 * matrix + 2 * square + 6 * lane);
    T *at = new_aligned(bytes);
    if (!at)
        return NNK_NO_MEMORY;
    memset(at, 0, bytes);
    *w = (CAT(workspace, S)){.n = n, .row = (int32_t)row};
    w->pilot = at, at += matrix;
    w->value = at, at += matrix;
    w->solved = at, at += matrix;
    w->result = at, at += matrix;
    w->gram = at, at += square;
    w->cross = at, at += square;
    w->mean = at, at += lane;
    w->pivots = at, at += 4 * lane;
    w->weight = at;
    return NNK_OK;
}

/* Add each row's mean patch back. */
static void CAT(add_mean, S)(CAT(workspace, S) *w)
{
    for (int32_t m = 0; m < w->k; m++)
        for (int32_t j = 0; j < w->row; j++)
            w->result[m * w->row + j] += w->mean[j];
}

/* Add at least `ridge` to the diagonal, and enough that rounding leaves the matrix
 * positive definite where there is next to no noise; returns what was added. */
static T CAT(add_ridge, S)(T *matrix, int64_t row, int32_t n, T ridge)
{
    T trace = 0;
    for (int32_t i = 0; i < n; i++)
        trace += matrix[i * row + i];
    const T least = CAT(RIDGE, S) * trace, added = ridge > least ? ridge : least;
    for (int32_t i = 0; i < n; i++)
        matrix[i * row + i] += added;
    return added;
}

/* (P' P + c I)^-1 of the centred pilot, into gram; returns c, at least `ridge`. */
static T CAT(inverse_gram, S)(CAT(workspace, S) *w, T ridge)
{
    CAT(gram, S)(w->pilot, w->row, w->gram, w->n, w->k);
    const T c = CAT(add_ridge, S)(w->gram, w->row, w->n, ridge);
    CAT(invert, S)(w->gram, w->row, w->n, w->pivots);
    return c;
}

/* Theta = 1 1'/k + P (P' P + c I)^-1 P', X = Theta Z, weights 1 / |theta_i|^2. */
static void CAT(wiener_left, S)(CAT(workspace, S) *w, T ridge)
{
    const int32_t n = w->n, k = w->k, row = w->row;
    const T c = CAT(inverse_gram, S)(w, ridge);
    CAT(product, S)(w->pilot, 1, row, w->gram, row, w->solved, row, k, row, n);
    CAT(product, S)(w->pilot, row, 1, w->value, row, w->cross, row, n, row, k);
    CAT(product, S)(w->solved, 1, row, w->cross, row, w->result, row, k, row, n);
    for (int32_t m = 0; m < k; m++) {
        const T *u = w->solved + m * row, *p = w->pilot + m * row;
        T square = (T)1 / k;
        for (int32_t j = 0; j < n; j++)
            square += u[j] * (p[j] - c * u[j]);
        w->weight[m] = 1 / (square > (T)1e-6 ? square : (T)1e-6);
    }
}

/* W = (C + c I)^-1 C with C = P' P, X = Z W, one weight 1 / (|W|^2 / n + 1 / k). */
static void CAT(wiener_right, S)(CAT(workspace, S) *w, T ridge)
{
    const int32_t n = w->n, k = w->k, row = w->row;
    const T c = CAT(inverse_gram, S)(w, ridge);
    T square = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            T *at = w->gram + i * row + j;
            *at = (i == j) - c * *at;
            square += *at * *at;
        }
    CAT(product, S)(w->value, 1, row, w->gram, row, w->result, row, k, row, n);
    for (int32_t m = 0; m < k; m++)
        w->weight[m] = 1 / (square / n + (T)1 / k);
}

/* One group of a Wiener pass. */
static void CAT(wiener_group, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                 CAT(workspace, S) *w)
{
    const T *y = (const T *)pass->y + w->reference, *z = (const T *)pass->z + w->reference;
    const T *x = (const T *)pass->x + w->reference;
    const int64_t reference = w->reference - pass->first_row * p->width;
    const int64_t padded = (int64_t)w->k * w->row;
    CAT(gather, S)(p, z, members, w->k, w->row, w->value);
    CAT(gather, S)(p, y, members, w->k, w->row, w->solved);
    for (int32_t m = 0; m < w->k; m++) /* products leave rounding where padding was */
        for (int32_t j = w->n; j < w->row; j++)
            w->solved[m * w->row + j] = 0;
    const double removed =
        CAT(removed_noise, S)(w->solved, w->value, padded, (double)w->k * w->n) / pass->sigma;
    double left = 1 - removed > pass->tau ? 1 - removed : pass->tau;
    left = left > 0.01 ? left : 0.01;
    const double noise = pass->sigma * left;
    CAT(gather, S)(p, x, members, w->k, w->row, w->pilot);
    CAT(centre, S)(w->pilot, w->k, w->row, w->mean);
    CAT(centre, S)(w->value, w->k, w->row, w->mean);
    if (pass->right)
        CAT(wiener_right, S)(w, (T)(w->k * noise * noise));
    else
        CAT(wiener_left, S)(w, (T)(w->n * noise * noise));
    CAT(add_mean, S)(w);
    CAT(scatter, S)(p, w->result, w->row, w->weight, members, w->k, reference, pass->sum_x, pass->weights);
    if (!pass->sum_z)
        return;
    const T kept = (T)(pass->tau / left);
    CAT(gather, S)(p, z, members, w->k, w->row, w->value);
    for (int64_t i = 0; i < (int64_t)w->k * w->row; i++)
        w->result[i] = (1 - kept) * w->result[i] + kept * w->value[i];
    CAT(scatter, S)(p, w->result, w->row, w->weight, members, w->k, reference, pass->sum_z, NULL);
}

/* One group of the first estimate: Theta = I - (1 + a^2) c (M - M 1 1' M / 1' M 1) with
 * M = (Y Y' + a^2 c I)^-1, c = n sigma^2. */
static void CAT(first_group, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                CAT(workspace, S) *w)
{
    const int32_t n = w->n, k = w->k, row = w->row, square = CAT(whole_blocks, S)(k);
    const T a2 = (T)0.25, c = (T)(n * pass->sigma * pass->sigma);
    CAT(gather, S)(p, (const T *)pass->y + w->reference, members, k, row, w->value);
    T *transposed = w->solved, *m = w->pilot; /* [n][square], [square][square] */
    memset(transposed, 0, sizeof(T) * (size_t)n * (size_t)square);
    for (int32_t i = 0; i < k; i++)
        for (int32_t j = 0; j < n; j++)
            transposed[j * square + i] = w->value[i * row + j];
    CAT(gram, S)(transposed, square, m, k, n);
    CAT(add_ridge, S)(m, square, k, a2 * c);
    CAT(invert, S)(m, square, k, w->pivots);
    T total = 0;
    for (int32_t i = 0; i < k; i++) {
        w->mean[i] = 0;
        for (int32_t j = 0; j < k; j++)
            w->mean[i] += m[i * square + j];
        total += w->mean[i];
    }
    for (int32_t i = 0; i < k; i++) {
        T norm = 0;
        for (int32_t j = 0; j < k; j++) {
            T *at = m + i * square + j;
            *at = (i == j) - (1 + a2) * c * (*at - w->mean[i] * w->mean[j] / total);
            norm += *at * *at;
        }
        w->weight[i] = 1 / (norm > (T)1e-6 ? norm : (T)1e-6);
    }
    CAT(product, S)(m, 1, square, w->value, row, w->result, row, k, row, k);
    CAT(scatter, S)(p, w->result, row, w->weight, members, k, w->reference - pass->first_row * p->width, pass->sum_x,
                    pass->weights);
}

static int CAT(patch_pass, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                              const int32_t *n_members, int64_t g0, int64_t g1)
{
    CAT(workspace, S) w;
    if (CAT(new_workspace, S)(&w, p->patch * p->patch, p->group) != NNK_OK)
        return NNK_NO_MEMORY;
    for (int64_t g = g0 * p->n_columns; g < g1 * p->n_columns; g++) {
        const int32_t *mine = members + g * p->group;
        if (n_members[g] < w.k) /* rows beyond the group must be zero */
            memset(w.pilot, 0, sizeof(T) * (size_t)(w.mean - w.pilot));
        w.k = n_members[g];
        w.reference = p->rows[g / p->n_columns] * p->width + p->columns[g % p->n_columns];
        if (pass->first)
            CAT(first_group, S)(p, pass, mine, &w);
        else
            CAT(wiener_group, S)(p, pass, mine, &w);
    }
    CAT(free_workspace, S)(&w);
    return NNK_OK;
}
