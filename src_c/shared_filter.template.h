/* One filter for several channels of a group of patches.  T, S: type and suffix.  See
 * nnk_shared_pass in nnk_patches.h. */

/* A 4 x 4 symmetric positive definite matrix as L D L': `a` becomes L below its diagonal. */
static void CAT(factor_four, S)(T a[4][4], T inverse[4])
{
    for (int q = 0; q < 4; q++) {
        inverse[q] = 1 / a[q][q];
        for (int i = q + 1; i < 4; i++) {
            a[i][q] *= inverse[q];
            for (int j = q + 1; j <= i; j++)
                a[i][j] -= a[i][q] * a[j][q] * a[q][q];
        }
    }
}

/* Four rows: f becomes V = L^-1 F, and r D^-1 V. */
static void CAT(substitute_down, S)(T l[4][4], const T inverse[4], T *f, T *r, int64_t row)
{
    for (int64_t j = 0; j < row; j += CAT(BLOCK, S))
        for (int q = 0; q < 4; q++) {
            CAT(block, S) value = CAT(load_block, S)(f + q * row + j);
            for (int s = 0; s < q; s++)
                value -= l[q][s] * CAT(load_block, S)(f + s * row + j);
            CAT(store_block, S)(f + q * row + j, value);
            CAT(store_block, S)(r + q * row + j, inverse[q] * value);
        }
}

/* Four rows: r becomes L'^-1 r. */
static void CAT(substitute_up, S)(T l[4][4], T *r, int64_t row)
{
    for (int64_t j = 0; j < row; j += CAT(BLOCK, S))
        for (int q = 2; q >= 0; q--) {
            CAT(block, S) value = CAT(load_block, S)(r + q * row + j);
            for (int s = q + 1; s < 4; s++)
                value -= l[s][q] * CAT(load_block, S)(r + s * row + j);
            CAT(store_block, S)(r + q * row + j, value);
        }
}

/* a[i][j] -= sum_q f[q][i] r[q][j] for four rows i and the blocks from column `from` on. */
static void CAT(subtract_products, S)(T *a, int64_t row, const T *f, const T *r, int64_t from)
{
    for (int64_t j = from; j < row; j += CAT(BLOCK, S)) {
        CAT(block, S) right[4];
        for (int q = 0; q < 4; q++)
            right[q] = CAT(load_block, S)(r + q * row + j);
        for (int i = 0; i < 4; i++) {
            CAT(block, S) value = CAT(load_block, S)(a + i * row + j);
            for (int q = 0; q < 4; q++)
                value -= f[q * row + i] * right[q];
            CAT(store_block, S)(a + i * row + j, value);
        }
    }
}

/* The symmetric sweep of the pivots p .. p + 3: with F their rows and P = L D L' where these meet
 * the pivots' columns, a -= F' P^-1 F elsewhere, P^-1 F in the pivots' rows and columns, and -P^-1
 * where both meet.  Swept everywhere, a is -a^-1.  P is never inverted by itself: the product with F
 * would lose too many digits.  Only blocks on and above the diagonal are read and written.
 * `scratch` holds eight rows. */
static void CAT(sweep_four, S)(T *a, int64_t row, int32_t n, int32_t p, T *scratch)
{
    const int64_t own = p / CAT(BLOCK, S) * CAT(BLOCK, S); /* where the pivots' blocks begin */
    T *f = scratch, *r = scratch + 4 * row, l[4][4], inverse[4];
    for (int q = 0; q < 4; q++) {
        for (int64_t j = 0; j < own; j++)
            f[q * row + j] = a[j * row + p + q];
        memcpy(f + q * row + own, a + (p + q) * row + own, sizeof(T) * (size_t)(row - own));
        memcpy(l[q], f + q * row + p, sizeof l[q]);
        for (int s = 0; s < 4; s++)
            f[q * row + p + s] = q == s; /* so that P^-1 comes out there */
    }
    CAT(factor_four, S)(l, inverse);
    CAT(substitute_down, S)(l, inverse, f, r, row);
    for (int32_t i = 0; i < n; i += 4)
        if (i != p)
            CAT(subtract_products, S)(a + i * row, row, f + i, r, i / CAT(BLOCK, S) * CAT(BLOCK, S));
    CAT(substitute_up, S)(l, r, row);
    for (int q = 0; q < 4; q++)
        memcpy(a + (p + q) * row + own, r + q * row + own, sizeof(T) * (size_t)(row - own));
    for (int q = 0; q < 4; q++)
        for (int64_t i = 0; i < n && i < own + CAT(BLOCK, S); i++)
            a[i * row + p + q] = i < p || i >= p + 4 ? r[q * row + i] : -r[q * row + i];
}

/* W = I - c (G + c I)^-1 in place of the symmetric n x n matrix G + c I, of which the blocks on
 * and above the diagonal are there; returns |W|^2.  Rows from n on must have room, up to
 * a multiple of four. */
static T CAT(response, S)(T *a, int64_t row, int32_t n, T c, T *scratch)
{
    const int32_t whole = (n + 3) / 4 * 4;
    for (int32_t i = n; i < whole; i++)
        a[i * row + i] = 1;
    for (int32_t p = 0; p < whole; p += 4)
        CAT(sweep_four, S)(a, row, whole, p, scratch);
    CAT(block, S) on = {0}, above = {0};
    for (int32_t i = 0; i < n; i++) {
        const int64_t own = i / CAT(BLOCK, S) * CAT(BLOCK, S);
        for (int64_t j = own; j < row; j += CAT(BLOCK, S))
            CAT(store_block, S)(a + i * row + j, c * CAT(load_block, S)(a + i * row + j));
        a[i * row + i] += 1;
        const CAT(block, S) first = CAT(load_block, S)(a + i * row + own);
        on += first * first;
        for (int64_t j = own + CAT(BLOCK, S); j < row; j += CAT(BLOCK, S)) {
            const CAT(block, S) value = CAT(load_block, S)(a + i * row + j);
            above += value * value;
        }
        for (int64_t j = 0; j < own; j++)
            a[i * row + j] = a[j * row + i];
    }
    T square = 0;
    for (int l = 0; l < CAT(BLOCK, S); l++)
        square += on[l] + 2 * above[l];
    return square;
}

/* One group: the channels' patches are stacked, each channel less its mean patch. */
static void CAT(shared_group, S)(const nnk_patches *p, const nnk_shared_pass *pass, const int32_t *members,
                                 int32_t k, CAT(workspace, S) *w)
{
    const int64_t plane = pixels_of(p->shape), sums_plane = pixels_of(pass->box.shape);
    const int32_t n = w->n, row = w->row;
    T *sums = pass->sums, *weights = sums + pass->channels * sums_plane;
    w->k = k * pass->channels;
    for (int32_t c = 0; c < pass->channels; c++) {
        T *pilot = w->pilot + c * k * row;
        CAT(gather, S)(p, (const T *)pass->x + c * plane + w->reference, members, k, w, pilot);
        CAT(center, S)(pilot, k, row, w->mean);
    }
    CAT(gram, S)(w->pilot, row, w->gram, n, w->k);
    const T ridge = CAT(add_ridge, S)(w->gram, row, n, (T)(w->k * pass->sigma * pass->sigma));
    const T square = CAT(response, S)(w->gram, row, n, ridge, w->solved);
    for (int32_t m = 0; m < k; m++)
        w->weight[m] = 1 / (square / n + (T)1 / k);
    for (int32_t c = 0; c < pass->channels; c++) {
        CAT(gather, S)(p, (const T *)pass->y + c * plane + w->reference, members, k, w, w->value);
        CAT(center, S)(w->value, k, row, w->mean);
        CAT(product, S)(w->value, 1, row, w->gram, row, w->result, row, k, row, n);
        for (int32_t m = 0; m < k; m++)
            for (int32_t j = 0; j < row; j++)
                w->result[m * row + j] += w->mean[j];
        CAT(scatter, S)(p, w, k, sums + c * sums_plane, c == 0 ? weights : NULL);
    }
}

static int CAT(shared_pass, S)(const nnk_patches *p, const nnk_shared_pass *pass, const int32_t *members,
                               const int32_t *n_members, int64_t g0, int64_t g1)
{
    CAT(workspace, S) w;
    /* eight rows of scratch lie in `solved`, whatever the group */
    const int32_t rows = pass->channels * p->group > 8 ? pass->channels * p->group : 8;
    if (CAT(new_workspace, S)(&w, p, &pass->box, rows, 0) != NNK_OK)
        return NNK_NO_MEMORY;
    for (int64_t g = g0 * p->n_columns; g < g1 * p->n_columns; g++) {
        CAT(next_group, S)(p, &pass->box, members + g * p->group, n_members[g], g, &w);
        CAT(shared_group, S)(p, pass, members + g * p->group, n_members[g], &w);
    }
    CAT(free_workspace, S)(&w);
    return NNK_OK;
}
