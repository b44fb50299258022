/* Filters for groups of similar patches.  T, S: type and suffix.  nnk_patch_pass in nnk_patches.h
 * defines what a pass computes. */

/* Scratch memory for one group at a time, allocated once per chunk of grid lines. */
typedef struct {
    int64_t reference;          /* position of the reference patch */
    int64_t *lines, *sum_lines; /* offsets of the lines of a patch, in the image and in the sums */
    int64_t *in_sums;           /* [k] position of each member in the sums */
    int32_t n, k, row, fours;   /* pixels, members; n rounded up to blocks and to fours */
    T *pilot;                   /* [channels * k][row], mean subtracted */
    T *value, *other, *result;  /* [k][row], one channel */
    T *gram, *filter;           /* [n][row] */
    T *mean, *weight;           /* [row], [k] */
    CAT(block, S) *inverses;    /* [fours][fours] of a batch, then scratch for `invert` */
} CAT(workspace, S);

/* Copy the patches of the members to the rows of a matrix.  `image` points to the reference patch;
 * `patch` is the side along the last axis, a constant for the usual sides (FOR_PATCH). */
static inline __attribute__((always_inline)) void
CAT(gather_sized, S)(const T *image, const int64_t *lines, int32_t n_lines, const int32_t *members, int32_t k,
                     int64_t row, T *out, const int32_t patch)
{
    for (int32_t m = 0; m < k; m++) {
        const T *from = image + members[m];
        T *to = out + m * row;
        int32_t r = 0;
        /* Copy whole blocks if the next line overwrites the excess.  The block is no longer than
         * two lines of the patch, so that it lies within the image. */
        if (patch <= CAT(BLOCK, S) && 2 * patch >= CAT(BLOCK, S))
            for (; r < n_lines - 1; r++)
                CAT(store_block, S)(to + r * patch, CAT(load_block, S)(from + lines[r]));
        for (; r < n_lines; r++)
            memcpy(to + r * patch, from + lines[r], sizeof(T) * (size_t)patch);
    }
}

static void CAT(gather, S)(const nnk_patches *p, const T *image, const int32_t *members,
                           const CAT(workspace, S) *w, T *out)
{
    const int32_t n_lines = patch_lines(p);
#define GATHER(patch) \
    CAT(gather_sized, S)(image + w->reference, w->lines, n_lines, members, w->k, w->row, out, patch)
    FOR_PATCH(p->patch[NNK_AXES - 1], GATHER)
#undef GATHER
}

/* Subtract the mean of the k rows from each row, and write it to `mean`. */
static void CAT(center, S)(T *matrix, int32_t k, int64_t row, T *mean)
{
    for (int64_t j = 0; j < row; j += CAT(BLOCK, S)) {
        CAT(block, S) even = {0}, odd = {0}; /* two chains of additions are faster */
        int32_t m = 0;
        for (; m + 4 <= k; m += 4) {
            const T *rows = matrix + m * row + j;
            even += CAT(load_block, S)(rows) + CAT(load_block, S)(rows + 2 * row);
            odd += CAT(load_block, S)(rows + row) + CAT(load_block, S)(rows + 3 * row);
        }
        for (; m < k; m++)
            even += CAT(load_block, S)(matrix + m * row + j);
        const CAT(block, S) sum = (even + odd) / (T)k;
        CAT(store_block, S)(mean + j, sum);
        for (m = 0; m < k; m++)
            CAT(store_block, S)(matrix + m * row + j, CAT(load_block, S)(matrix + m * row + j) - sum);
    }
}

/* Return the sum of the lanes of a block. */
static T CAT(sum_of_lanes, S)(CAT(block, S) v)
{
    T sum = 0;
    for (int l = 0; l < CAT(BLOCK, S); l++)
        sum += v[l];
    return sum;
}

/* Return the standard deviation of the k patches in the rows of a matrix. */
static double CAT(deviation, S)(const T *matrix, const CAT(workspace, S) *w)
{
    CAT(block, S) sums = {0}, squares = {0}; /* the padding of rows, 0, adds nothing */
    for (int64_t i = 0; i < (int64_t)w->k * w->row; i += CAT(BLOCK, S)) {
        const CAT(block, S) d = CAT(load_block, S)(matrix + i);
        sums += d;
        squares += d * d;
    }
    const double n = (double)w->k * w->n, mean = CAT(sum_of_lanes, S)(sums) / n;
    const double variance = CAT(sum_of_lanes, S)(squares) / n - mean * mean;
    return sqrt(variance > 0 ? variance : 0);
}

/* Add the rows of `result` times the members' weights to the sums.  `patch` is as in
 * gather_sized. */
static inline __attribute__((always_inline)) void
CAT(scatter_sized, S)(const CAT(workspace, S) *w, int32_t n_lines, T *sums, const int32_t patch)
{
    for (int32_t m = 0; m < w->k; m++)
        for (int32_t r = 0; r < n_lines; r++) {
            T *out = sums + w->in_sums[m] + w->sum_lines[r];
            const T *in = w->result + m * w->row + r * patch, weight = w->weight[m];
            for (int32_t c = 0; c < patch; c++)
                out[c] += weight * in[c];
        }
}

static void CAT(scatter, S)(const nnk_patches *p, const CAT(workspace, S) *w, T *sums)
{
    const int32_t n_lines = patch_lines(p);
#define SCATTER(patch) CAT(scatter_sized, S)(w, n_lines, sums, patch)
    FOR_PATCH(p->patch[NNK_AXES - 1], SCATTER)
#undef SCATTER
}

static void CAT(free_workspace, S)(CAT(workspace, S) *w) { free_aligned(w->inverses); }

/* Allocate a workspace: one piece of memory for all arrays.  It is zeroed, and the padding of rows
 * stays zero from then on. */
static int CAT(new_workspace, S)(CAT(workspace, S) *w, const nnk_patches *p, const nnk_patch_pass *pass)
{
    const int32_t n_lines = patch_lines(p), n = n_lines * p->patch[NNK_AXES - 1];
    const size_t row = (size_t)(n + CAT(BLOCK, S) - 1) / CAT(BLOCK, S) * CAT(BLOCK, S);
    const size_t fours = (size_t)(n + 3) / 4 * 4;
    const size_t members = ((size_t)p->group + 3) / 4 * 4, matrix = members * row, square = row * row;
    const size_t inverses = fours * (fours + 8) * CAT(BLOCK, S);
    const size_t numbers = inverses + ((size_t)pass->channels + 3) * matrix + 2 * square + row + members;
    const size_t bytes = sizeof(T) * numbers + sizeof(int64_t) * (members + 2 * (size_t)n_lines);
    T *at = new_aligned(bytes);
    if (!at)
        return NNK_NO_MEMORY;
    memset(at, 0, bytes);
    *w = (CAT(workspace, S)){.n = n, .row = (int32_t)row, .fours = (int32_t)fours};
    w->inverses = (CAT(block, S) *)(void *)at;
    w->pilot = at += inverses;
    w->value = at += (size_t)pass->channels * matrix;
    w->other = at += matrix;
    w->result = at += matrix;
    w->gram = at += matrix;
    w->filter = at += square;
    w->mean = at += square;
    w->weight = at += row;
    w->in_sums = (int64_t *)(void *)(at + members);
    w->lines = w->in_sums + members;
    w->sum_lines = w->lines + n_lines;
    find_patch_lines(p->patch, p->shape, w->lines);
    find_patch_lines(p->patch, pass->box.shape, w->sum_lines);
    return NNK_OK;
}

/* Prepare a workspace for group g of the grid, which has k members. */
static void CAT(next_group, S)(const nnk_patches *p, const nnk_box *box, const int32_t *members, int32_t k,
                               int64_t g, CAT(workspace, S) *w)
{
    w->k = k;
    w->reference = p->lines[g / p->n_columns] * p->shape[NNK_AXES - 1] + p->columns[g % p->n_columns];
    for (int32_t m = 0; m < k; m++)
        w->in_sums[m] = place_in_box(p->shape, box, w->reference + members[m]);
}

/* Return the mean variance of the noise in a group, relative to sigma^2. */
static double CAT(group_variance, S)(const nnk_patches *p, const int32_t *members, const CAT(workspace, S) *w)
{
    if (!p->variances)
        return 1;
    const T *variances = (const T *)p->variances + w->reference;
    double sum = 0;
    for (int32_t m = 0; m < w->k; m++)
        sum += variances[members[m]];
    return sum / w->k;
}

/* Return the level of the noise left in the working image, relative to that of the noisy one: at
 * least 0.01. */
static double CAT(noise_left, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                 double variance, CAT(workspace, S) *w)
{
    if (!pass->removed)
        return 1;
    double removed = 0;
    for (int32_t c = 0; c < pass->channels; c++) {
        CAT(gather, S)(p, (const T *)pass->removed + c * pixels_of(p->shape), members, w, w->value);
        removed += CAT(deviation, S)(w->value, w);
    }
    const double left = 1 - removed / pass->channels / sqrt(variance);
    return left > 0.01 ? left : 0.01;
}

/* Groups whose matrices are inverted together, one in each lane of a block. */
typedef struct {
    int32_t n;
    int64_t number[CAT(BLOCK, S)]; /* on the grid */
    const int32_t *members[CAT(BLOCK, S)];
    double variance[CAT(BLOCK, S)];
    T factor[CAT(BLOCK, S)]; /* b s if N is s times the covariance, or b c if N = c I */
} CAT(batch, S);

/* Write G + a N of a group to its lane of w->inverses, on and above the diagonal, and fill in the
 * group's variance and factor. */
static void CAT(begin_filter, S)(const nnk_patches *p, const nnk_patch_pass *pass, CAT(workspace, S) *w,
                                 CAT(batch, S) *b, int lane)
{
    const int32_t *members = b->members[lane], n = w->n, row = w->row;
    const T *covariance = pass->covariance;
    const double variance = b->variance[lane] = CAT(group_variance, S)(p, members, w);
    const double left = CAT(noise_left, S)(p, pass, members, variance, w);
    for (int32_t c = 0; c < pass->channels; c++) {
        T *pilot = w->pilot + (int64_t)c * w->k * row;
        CAT(gather, S)(p, (const T *)pass->x + c * pixels_of(p->shape), members, w, pilot);
        CAT(center, S)(pilot, w->k, row, w->mean);
    }
    T *gram = w->gram, trace = 0;
    CAT(gram, S)(w->pilot, row, gram, n, pass->channels * w->k);
    for (int32_t i = 0; i < n; i++)
        trace += gram[i * row + i];
    double noise = pass->channels * (pass->across_members ? n : w->k) * variance * left * left;
    /* Do not limit the noise of constant patches: float32 could not represent the inverse. */
    const int varies = trace > LEAST_TRACE * noise * n;
    if (varies && noise * n > pass->limit * trace)
        noise = pass->limit * trace / n;
    const T least = CAT(RIDGE, S) * trace; /* rounding leaves the matrix positive definite */
    T ridge = (T)(covariance ? 0 : pass->a * noise);
    ridge = ridge > least ? ridge : least;
    for (int64_t i = 0; covariance && i < (int64_t)n * row; i++)
        gram[i] += (T)(pass->a * noise) * covariance[i];
    b->factor[lane] = (T)(pass->b * (covariance ? noise : ridge / pass->a));
    for (int32_t i = 0; i < n; i++) {
        gram[i * row + i] += ridge;
        for (int32_t j = i; j < n; j++)
            w->inverses[i * w->fours + j][lane] = gram[i * row + j];
    }
}

/* Copy (G + a N)^-1 of a group from its lane to w->gram, both triangles. */
static void CAT(take_inverse, S)(CAT(workspace, S) *w, int lane)
{
    for (int32_t i = 0; i < w->n; i++)
        for (int32_t j = i; j < w->n; j++)
            w->gram[i * w->row + j] = w->gram[j * w->row + i] = w->inverses[i * w->fours + j][lane];
}

/* Write W = I - b (G + a N)^-1 N to w->filter, given the inverse in w->gram and the group's
 * `factor`, and give all members the weight 1 / (|W|^2 / n + 1 / k). */
static void CAT(pixel_filter, S)(const nnk_patch_pass *pass, CAT(workspace, S) *w, T factor)
{
    const int32_t n = w->n, row = w->row;
    const T *inverse = w->gram;
    if (pass->covariance)
        CAT(product, S)(inverse, row, 1, pass->covariance, row, NULL, w->filter, row, n, row, n);
    const T *from = pass->covariance ? w->filter : inverse;
    CAT(block, S) squares = {0};
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < row; j += CAT(BLOCK, S)) {
            CAT(block, S) value = -factor * CAT(load_block, S)(from + i * row + j);
            if (i >= j && i < j + CAT(BLOCK, S))
                value[i - j] += 1;
            squares += value * value;
            CAT(store_block, S)(w->filter + i * row + j, value);
        }
    for (int32_t m = 0; m < w->k; m++)
        w->weight[m] = 1 / (CAT(sum_of_lanes, S)(squares) / n + (T)1 / w->k);
}

/* Write X = Theta Z to w->result, where Theta = 1 1' / k + P M P'.  M = (G + c I)^-1 is in w->gram,
 * Z less its mean in w->value, and the mean in w->mean.  Give member i the weight 1 / |theta_i|^2,
 * where theta_i is its row of Theta. */
static void CAT(filter_members, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                                   CAT(workspace, S) *w, T c)
{
    const int32_t n = w->n, k = w->k, row = w->row;
    T *solved = w->other;
    CAT(gather, S)(p, pass->x, members, w, w->pilot);
    CAT(center, S)(w->pilot, k, row, w->result);
    CAT(product, S)(w->pilot, 1, row, w->gram, row, NULL, solved, row, k, row, n);
    CAT(product, S)(w->pilot, row, 1, w->value, row, NULL, w->filter, row, n, row, k);
    CAT(product, S)(solved, 1, row, w->filter, row, w->mean, w->result, row, k, row, n);
    for (int32_t m = 0; m < k; m++) {
        T square = 0;
        for (int32_t j = 0; j < n; j++)
            square += solved[m * row + j] * (w->pilot[m * row + j] - c * solved[m * row + j]);
        w->weight[m] = 1 / (square + (T)1 / k);
    }
}

/* Filter all channels of a group, and add the results and the weights to the sums. */
static void CAT(apply_filter, S)(const nnk_patches *p, const nnk_patch_pass *pass, CAT(workspace, S) *w,
                                 const CAT(batch, S) *b, int lane)
{
    const int64_t plane = pixels_of(p->shape), sums_plane = pixels_of(pass->box.shape);
    const int32_t *members = b->members[lane], k = w->k, row = w->row;
    CAT(take_inverse, S)(w, lane);
    if (!pass->across_members)
        CAT(pixel_filter, S)(pass, w, b->factor[lane]);
    for (int32_t c = 0; c < pass->channels; c++) {
        CAT(gather, S)(p, (const T *)pass->z + c * plane, members, w, w->value);
        CAT(center, S)(w->value, k, row, w->mean);
        if (pass->across_members)
            CAT(filter_members, S)(p, pass, members, w, b->factor[lane]);
        else
            CAT(product, S)(w->value, 1, row, w->filter, row, w->mean, w->result, row, k, row, w->n);
        for (int32_t m = 0; m < k && c == 0; m++) {
            w->weight[m] /= (T)b->variance[lane];
            ((T *)pass->weights)[w->in_sums[m]] += w->weight[m];
        }
        CAT(scatter, S)(p, w, (T *)pass->sums + c * sums_plane);
    }
}

static int CAT(patch_pass, S)(const nnk_patches *p, const nnk_patch_pass *pass, const int32_t *members,
                              const int32_t *n_members, int64_t g0, int64_t g1)
{
    CAT(workspace, S) w;
    CAT(batch, S) b;
    if (CAT(new_workspace, S)(&w, p, pass) != NNK_OK)
        return NNK_NO_MEMORY;
    const int64_t end = g1 * p->n_columns;
    for (int64_t g = g0 * p->n_columns; g < end;) {
        for (b.n = 0; g < end && b.n < CAT(BLOCK, S); g++)
            if (n_members[g] > 0)
                b.number[b.n++] = g;
        for (int lane = 0; lane < b.n; lane++) {
            const int64_t number = b.number[lane];
            b.members[lane] = members + number * p->group;
            CAT(next_group, S)(p, &pass->box, b.members[lane], n_members[number], number, &w);
            CAT(begin_filter, S)(p, pass, &w, &b, lane);
        }
        if (b.n)
            CAT(invert, S)(w.inverses, w.n, w.fours);
        for (int lane = 0; lane < b.n; lane++) {
            const int64_t number = b.number[lane];
            CAT(next_group, S)(p, &pass->box, b.members[lane], n_members[number], number, &w);
            CAT(apply_filter, S)(p, pass, &w, &b, lane);
        }
    }
    CAT(free_workspace, S)(&w);
    return NNK_OK;
}
