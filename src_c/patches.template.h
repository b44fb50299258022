/* Groups of similar patches: filter them, put them back.  T, S: type
 * and suffix.  See nnk_core.h for what a pass computes. */

/* What one group needs, allocated once per chunk of grid lines. */
typedef struct {
    int64_t reference;      /* position of the group's reference patch */
    int64_t *lines, *sum_lines; /* from a patch's first pixel to its lines, in the image and in the sums */
    int64_t *in_sums;       /* [k] where each member begins in the sums */
    int32_t n, k, row;      /* pixels of a patch; patches, this group; padded n */
    T *pilot, *value;       /* [k][row]: centered pilot and values */
    T *solved, *result;     /* [k][row] */
    T *gram, *cross;        /* [row][row] */
    T *shared, *inner, *theta; /* [square][square], square: padded group; only for correlated noise */
    T *transposed;          /* [row][square], likewise */
    int64_t *place;         /* [k] in an array like `between`: offsets of members become differences */
    T *mean;                /* [row] */
    T *pivots;              /* four rows, for the inverse */
    T *weight;              /* [k] */
} CAT(workspace, S);

/* Patch rows of the members into a padded matrix, `image` beginning at the reference patch; `patch` is
 * a constant where this is inlined. */
static inline __attribute__((always_inline)) void
CAT(gather_sized, S)(const T *image, const int64_t *lines, int32_t n_lines, const int32_t *members, int32_t k,
                     int64_t row, T *out, const int32_t patch)
{
    for (int32_t m = 0; m < k; m++)
        for (int32_t r = 0; r < n_lines; r++)
            memcpy(out + m * row + r * patch, image + members[m] + lines[r], sizeof(T) * (size_t)patch);
}

static void CAT(gather, S)(const nnk_patches *p, const T *image, const int32_t *members, int32_t k,
                           const CAT(workspace, S) *w, T *out)
{
    const int32_t n_lines = patch_lines(p);
#define GATHER(patch) CAT(gather_sized, S)(image, w->lines, n_lines, members, k, w->row, out, patch)
    FOR_PATCH(p->patch[NNK_AXES - 1], GATHER)
#undef GATHER
}

/* Subtract the mean patch, which is left in `mean`. */
static void CAT(center, S)(T *matrix, int32_t k, int64_t row, T *mean)
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

/* The columns of k rows of n numbers as rows, padded to `square` with zeros. */
static void CAT(transpose, S)(const T *matrix, int32_t k, int32_t n, int64_t row, T *out, int64_t square)
{
    memset(out, 0, sizeof(T) * (size_t)n * (size_t)square);
    for (int32_t i = 0; i < k; i++)
        for (int32_t j = 0; j < n; j++)
            out[j * square + i] = matrix[i * row + j];
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
CAT(scatter_sized, S)(const CAT(workspace, S) *w, int32_t n_lines, int32_t k, T *sums, T *weights,
                      const int32_t patch)
{
    for (int32_t m = 0; m < k; m++)
        for (int32_t r = 0; r < n_lines; r++) {
            const int64_t at = w->in_sums[m] + w->sum_lines[r];
            const T *in = w->result + m * w->row + r * patch, weight = w->weight[m];
            for (int32_t c = 0; c < patch; c++)
                sums[at + c] += weight * in[c];
            if (weights)
                for (int32_t c = 0; c < patch; c++)
                    weights[at + c] += weight;
        }
}

/* The same for the first k results of a group. */
static void CAT(scatter, S)(const nnk_patches *p, const CAT(workspace, S) *w, int32_t k, T *sums, T *weights)
{
    const int32_t n_lines = patch_lines(p);
#define SCATTER(patch) CAT(scatter_sized, S)(w, n_lines, k, sums, weights, patch)
    FOR_PATCH(p->patch[NNK_AXES - 1], SCATTER)
#undef SCATTER
}

/* n rounded up to whole blocks. */
static int32_t CAT(whole_blocks, S)(int32_t n) { return (n + CAT(BLOCK, S) - 1) / CAT(BLOCK, S) * CAT(BLOCK, S); }

static void CAT(free_workspace, S)(CAT(workspace, S) *w) { free_aligned(w->pilot); }

/* One allocation, cut into matrices; zeros, so that padding stays zero. */
static int CAT(new_workspace, S)(CAT(workspace, S) *w, const nnk_patches *p, const nnk_box *box, int32_t k,
                                 int correlated)
{
    const int32_t n_lines = patch_lines(p), n = n_lines * p->patch[NNK_AXES - 1];
    const size_t row = (size_t)CAT(whole_blocks, S)(n), rows = (size_t)CAT(whole_blocks, S)(k);
    const size_t square = row * row, lane = row > rows ? row : rows, matrix = rows * lane;
    const size_t between = correlated ? rows * rows : 0, turned = correlated ? matrix : 0;
    const size_t numbers = 4 * matrix + 2 * square + 3 * between + turned + 6 * lane;
    const size_t bytes = sizeof(T) * numbers + sizeof *w->place * 2 * (rows + (size_t)n_lines);
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
    w->shared = at, at += between;
    w->inner = at, at += between;
    w->theta = at, at += between;
    w->transposed = at, at += turned;
    w->mean = at, at += lane;
    w->pivots = at, at += 4 * lane;
    w->weight = at, at += lane;
    w->place = (int64_t *)(void *)at;
    w->in_sums = w->place + rows;
    w->lines = w->in_sums + rows;
    w->sum_lines = w->lines + n_lines;
    find_patch_lines(p->patch, p->shape, w->lines);
    find_patch_lines(p->patch, box->shape, w->sum_lines);
    return NNK_OK;
}

/* Go on to group g of the grid. */
static void CAT(next_group, S)(const nnk_patches *p, const nnk_box *box, const int32_t *members, int32_t k,
                               int64_t g, CAT(workspace, S) *w)
{
    w->reference = p->lines[g / p->n_columns] * p->shape[NNK_AXES - 1] + p->columns[g % p->n_columns];
    for (int32_t m = 0; m < k; m++)
        w->in_sums[m] = place_in_box(p->shape, box, w->reference + members[m]);
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

/* M - M 1 1' M / 1' M 1 of a symmetric matrix; `sums` is left with its row sums. */
static void CAT(remove_mean, S)(T *m, int64_t row, int32_t k, T *sums)
{
    T total = 0;
    for (int32_t i = 0; i < k; i++) {
        sums[i] = 0;
        for (int32_t j = 0; j < k; j++)
            sums[i] += m[i * row + j];
        total += sums[i];
    }
    for (int32_t i = 0; i < k; i++)
        for (int32_t j = 0; j < k; j++)
            m[i * row + j] -= sums[i] * sums[j] / total;
}

/* I - b M in place of M, and the weight 1 / |row|^2 of each of its rows. */
static void CAT(complement, S)(T *m, int64_t row, int32_t k, T b, T *weight)
{
    for (int32_t i = 0; i < k; i++) {
        T norm = 0;
        for (int32_t j = 0; j < k; j++) {
            T *at = m + i * row + j;
            *at = (i == j) - b * *at;
            norm += *at * *at;
        }
        weight[i] = 1 / (norm > (T)1e-6 ? norm : (T)1e-6);
    }
}

/* Standard deviation of a group's noise relative to sigma: 1 where it is the same everywhere. */
static double CAT(group_level, S)(const nnk_patches *p, const int32_t *members, const CAT(workspace, S) *w)
{
    if (!p->variances)
        return 1;
    const T *variances = (const T *)p->variances + w->reference;
    double sum = 0;
    for (int32_t m = 0; m < w->k; m++)
        sum += variances[members[m]];
    return sqrt(sum / w->k);
}

/* Patches of less noise count for more where groups overlap. */
static void CAT(weigh, S)(const nnk_patches *p, CAT(workspace, S) *w, double level)
{
    if (p->variances)
        for (int32_t m = 0; m < w->k; m++)
            w->weight[m] /= (T)(level * level);
}

/* (P' P + c I)^-1 of the centered pilot, into gram; returns c, at least `ridge`. */
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

/* The same for groups of few members: Theta = 1 1'/k + I - c (P P' + c I)^-1, for P is centered. */
static void CAT(wiener_members, S)(CAT(workspace, S) *w, T ridge)
{
    const int32_t n = w->n, k = w->k, row = w->row, square = CAT(whole_blocks, S)(k);
    T *m = w->gram;
    CAT(transpose, S)(w->pilot, k, n, row, w->solved, square);
    CAT(gram, S)(w->solved, square, m, k, n);
    const T c = CAT(add_ridge, S)(m, square, k, ridge);
    CAT(invert, S)(m, square, k, w->pivots);
    CAT(complement, S)(m, square, k, c, w->weight);
    CAT(product, S)(m, 1, square, w->value, row, w->result, row, k, row, k);
    for (int32_t i = 0; i < k; i++)
        w->weight[i] = 1 / (1 / w->weight[i] + (T)1 / k);
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
    for (int32_t m = 0; m < w->k; m++)
        w->weight[m] = 1 / (square / n + (T)1 / k);
}

/* N, the noise that the members share, in units of c: `between` at their offsets. */
static void CAT(shared_noise, S)(const nnk_patches *p, const int32_t *members, const T *between,
                                 CAT(workspace, S) *w)
{
    const int32_t square = CAT(whole_blocks, S)(w->k);
    nnk_box window = {{0}, {0}};
    int64_t center = 0;
    for (int axis = 0; axis < NNK_AXES; axis++) {
        window.shape[axis] = 4 * p->radius[axis] + 1;
        center = center * window.shape[axis] + 2 * p->radius[axis];
    }
    for (int32_t m = 0; m < w->k; m++)
        w->place[m] = place_in_box(p->shape, &window, w->reference + members[m]);
    for (int32_t i = 0; i < w->k; i++)
        for (int32_t j = 0; j < w->k; j++)
            w->shared[i * square + j] = between[center + w->place[j] - w->place[i]];
}

/* Filter across patches under correlated noise: Theta = I - b N (M - M 1 1' M / 1' M 1) with
 * M = (X V^-1 X' + a N)^-1, where V is the covariance of a patch's noise, X the centered pilot and N the
 * noise that members share, c times `between`.  X = Theta Z, weights 1 / |theta_i|^2. */
static void CAT(correlated_left, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                    CAT(workspace, S) *w, T c, T a, T b)
{
    const int32_t n = w->n, k = w->k, row = w->row, square = CAT(whole_blocks, S)(k);
    CAT(shared_noise, S)(p, members, pass->between, w);
    CAT(product, S)(w->pilot, 1, row, pass->whitening, row, w->solved, row, k, row, n);
    CAT(transpose, S)(w->solved, k, n, row, w->transposed, square);
    T *m = w->inner;
    CAT(gram, S)(w->transposed, square, m, k, n);
    for (int32_t i = 0; i < k; i++)
        for (int32_t j = 0; j < k; j++)
            m[i * square + j] += a * c * w->shared[i * square + j];
    CAT(add_ridge, S)(m, square, k, 0);
    CAT(invert, S)(m, square, k, w->pivots);
    CAT(remove_mean, S)(m, square, k, w->mean);
    CAT(product, S)(w->shared, 1, square, m, square, w->theta, square, k, square, k);
    CAT(complement, S)(w->theta, square, k, b * c, w->weight);
    CAT(product, S)(w->theta, 1, square, w->value, row, w->result, row, k, row, k);
}

/* Filter the values of a group, whose noise has this level, with the response of its pilot. */
static void CAT(wiener, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                           CAT(workspace, S) *w, double noise)
{
    CAT(center, S)(w->pilot, w->k, w->row, w->mean);
    if (pass->whitening) {
        CAT(correlated_left, S)(p, pass, members, w, (T)(noise * noise), 1, 1);
        return;
    }
    CAT(center, S)(w->value, w->k, w->row, w->mean);
    if (pass->right)
        CAT(wiener_right, S)(w, (T)(w->k * noise * noise));
    else if (2 * p->group <= w->n)
        CAT(wiener_members, S)(w, (T)(w->n * noise * noise));
    else
        CAT(wiener_left, S)(w, (T)(w->n * noise * noise));
    CAT(add_mean, S)(w);
}

/* One group of a Wiener pass. */
static void CAT(wiener_group, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                 CAT(workspace, S) *w)
{
    const T *y = (const T *)pass->y + w->reference, *z = (const T *)pass->z + w->reference;
    const T *x = (const T *)pass->x + w->reference;
    const int64_t padded = (int64_t)w->k * w->row;
    CAT(gather, S)(p, z, members, w->k, w, w->value);
    CAT(gather, S)(p, y, members, w->k, w, w->solved);
    for (int32_t m = 0; m < w->k; m++) /* products leave rounding where padding was */
        for (int32_t j = w->n; j < w->row; j++)
            w->solved[m * w->row + j] = 0;
    const double level = pass->sigma * CAT(group_level, S)(p, members, w);
    const double removed = CAT(removed_noise, S)(w->solved, w->value, padded, (double)w->k * w->n) / level;
    double left = 1 - removed > pass->tau ? 1 - removed : pass->tau;
    left = left > 0.01 ? left : 0.01;
    const double noise = level * left;
    CAT(gather, S)(p, x, members, w->k, w, w->pilot);
    CAT(wiener, S)(p, pass, members, w, noise);
    CAT(weigh, S)(p, w, level / pass->sigma);
    CAT(scatter, S)(p, w, w->k, pass->sum_x, pass->weights);
    if (!pass->sum_z)
        return;
    const T kept = (T)(pass->tau / left);
    CAT(gather, S)(p, z, members, w->k, w, w->value);
    for (int64_t i = 0; i < (int64_t)w->k * w->row; i++)
        w->result[i] = (1 - kept) * w->result[i] + kept * w->value[i];
    CAT(scatter, S)(p, w, w->k, pass->sum_z, NULL);
}

/* One group of the first estimate: Theta = I - (1 + a^2) c (M - M 1 1' M / 1' M 1) with
 * M = (Y Y' + a^2 c I)^-1, c = n sigma^2. */
static void CAT(first_group, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                CAT(workspace, S) *w)
{
    const int32_t n = w->n, k = w->k, row = w->row, square = CAT(whole_blocks, S)(k);
    const double level = pass->sigma * CAT(group_level, S)(p, members, w);
    const T a2 = (T)0.25, c = (T)(n * level * level);
    CAT(gather, S)(p, (const T *)pass->y + w->reference, members, k, w, w->value);
    if (pass->whitening) {
        memcpy(w->pilot, w->value, sizeof(T) * (size_t)k * (size_t)row);
        CAT(center, S)(w->pilot, k, row, w->mean);
        CAT(correlated_left, S)(p, pass, members, w, (T)(level * level), a2, 1 + a2);
    } else {
        T *m = w->pilot; /* [square][square] */
        CAT(transpose, S)(w->value, k, n, row, w->solved, square);
        CAT(gram, S)(w->solved, square, m, k, n);
        CAT(add_ridge, S)(m, square, k, a2 * c);
        CAT(invert, S)(m, square, k, w->pivots);
        CAT(remove_mean, S)(m, square, k, w->mean);
        CAT(complement, S)(m, square, k, (1 + a2) * c, w->weight);
        CAT(product, S)(m, 1, square, w->value, row, w->result, row, k, row, k);
    }
    CAT(weigh, S)(p, w, level / pass->sigma);
    CAT(scatter, S)(p, w, k, pass->sum_x, pass->weights);
}

static int CAT(patch_pass, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                              const int32_t *n_members, int64_t g0, int64_t g1)
{
    CAT(workspace, S) w;
    if (CAT(new_workspace, S)(&w, p, &pass->box, p->group, pass->whitening != NULL) != NNK_OK)
        return NNK_NO_MEMORY;
    for (int64_t g = g0 * p->n_columns; g < g1 * p->n_columns; g++) {
        const int32_t *mine = members + g * p->group;
        if (n_members[g] < w.k) /* rows beyond the group must be zero */
            memset(w.pilot, 0, sizeof(T) * (size_t)(w.mean - w.pilot));
        w.k = n_members[g];
        CAT(next_group, S)(p, &pass->box, mine, w.k, g, &w);
        if (pass->first)
            CAT(first_group, S)(p, pass, mine, &w);
        else
            CAT(wiener_group, S)(p, pass, mine, &w);
    }
    CAT(free_workspace, S)(&w);
    return NNK_OK;
}
