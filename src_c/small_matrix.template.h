/* Products and inverses of small dense matrices, whose rows are padded with zeros to whole blocks.
 * T, S: type and suffix. */

/* Compute c[i][j] = base[j] + sum_r a[r step_r + i step_i] b[r][j] for 4 rows i and `n_blocks`
 * blocks of columns, at most 3, so that all sums stay in registers.  A `base` of NULL is 0. */
static inline __attribute__((always_inline)) void
CAT(product_tile, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, const T *base, T *c,
                     int64_t c_row, int32_t n_r, const int n_blocks)
{
    CAT(block, S) sum[4][3] = {{{0}}};
    if (base)
        for (int i = 0; i < 4; i++)
            for (int p = 0; p < n_blocks; p++)
                sum[i][p] = CAT(load_block, S)(base + p * CAT(BLOCK, S));
    for (int32_t r = 0; r < n_r; r++, a += step_r, b += b_row) {
        CAT(block, S) right[3];
        for (int p = 0; p < n_blocks; p++)
            right[p] = CAT(load_block, S)(b + p * CAT(BLOCK, S));
        for (int i = 0; i < 4; i++)
            for (int p = 0; p < n_blocks; p++)
                sum[i][p] += a[i * step_i] * right[p];
    }
    for (int i = 0; i < 4; i++)
        for (int p = 0; p < n_blocks; p++)
            CAT(store_block, S)(c + i * c_row + p * CAT(BLOCK, S), sum[i][p]);
}

/* Compute four rows of a product, columns [from, n_j), a whole number of blocks. */
static void CAT(product_rows, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, const T *base,
                                 T *c, int64_t c_row, int32_t from, int32_t n_j, int32_t n_r)
{
    int32_t n_blocks = (n_j - from) / CAT(BLOCK, S);
    for (int64_t j = from; n_blocks > 0;) {
        const int wide = n_blocks == 4 || n_blocks == 2 ? 2 : n_blocks >= 3 ? 3 : 1;
        if (wide == 3)
            CAT(product_tile, S)(a, step_r, step_i, b + j, b_row, base ? base + j : NULL, c + j, c_row, n_r, 3);
        else if (wide == 2)
            CAT(product_tile, S)(a, step_r, step_i, b + j, b_row, base ? base + j : NULL, c + j, c_row, n_r, 2);
        else
            CAT(product_tile, S)(a, step_r, step_i, b + j, b_row, base ? base + j : NULL, c + j, c_row, n_r, 1);
        n_blocks -= wide;
        j += wide * CAT(BLOCK, S);
    }
}

/* Compute a product as in product_tile for n_i rows, rounded up to a multiple of 4, and n_j
 * columns, a whole number of blocks.  The sum has n_r terms. */
static void CAT(product, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, const T *base,
                            T *c, int64_t c_row, int32_t n_i, int32_t n_j, int32_t n_r)
{
    for (int32_t i = 0; i < n_i; i += 4)
        CAT(product_rows, S)(a + i * step_i, step_r, step_i, b, b_row, base, c + i * c_row, c_row, 0, n_j, n_r);
}

/* Compute the symmetric product a' a of n_r rows of n numbers, padded to `row`.  Only blocks on and
 * above the diagonal are written. */
static void CAT(gram, S)(const T *a, int64_t row, T *c, int32_t n, int32_t n_r)
{
    for (int32_t i = 0; i < n; i += 4)
        CAT(product_rows, S)(a + i, row, 1, a, row, NULL, c + i * row, row, i / CAT(BLOCK, S) * CAT(BLOCK, S),
                             (int32_t)row, n_r);
}

/* The inverse is computed for as many symmetric matrices at once as a block has lanes: the elements
 * (i, j) of all of them are one block.  Rows have n blocks, n being a multiple of 4.  Only the
 * tiles of 4 x 4 on and above the diagonal are read and written. */

/* Copy the pivot rows p .. p + 3 to f, with the identity in place of the pivot tile.  Elements left
 * of the diagonal are read from the pivot columns. */
static void CAT(pivot_rows, S)(const CAT(block, S) *a, int32_t n, int32_t p, CAT(block, S) *f)
{
    for (int q = 0; q < 4; q++) {
        for (int32_t j = 0; j < p; j++)
            f[q * n + j] = a[j * n + p + q];
        for (int32_t j = p; j < n; j++)
            f[q * n + j] = a[(p + q) * n + j];
        for (int s = 0; s < 4; s++)
            f[q * n + p + s] = (CAT(block, S)){0} + (T)(q == s);
    }
}

/* Factor a symmetric 4 x 4 matrix into L D L'.  On return `l` holds L below the diagonal, and
 * `inverse` the inverse of D. */
static void CAT(factor_four, S)(CAT(block, S) l[4][4], CAT(block, S) inverse[4])
{
    for (int q = 0; q < 4; q++) {
        inverse[q] = 1 / l[q][q];
        for (int i = q + 1; i < 4; i++) {
            l[i][q] *= inverse[q];
            for (int j = q + 1; j <= i; j++)
                l[i][j] -= l[i][q] * l[q][j];
        }
        for (int i = q + 1; i < 4; i++)
            for (int j = i + 1; j < 4; j++)
                l[i][j] = l[j][i];
    }
}

/* Compute a[i][j] -= sum_q v[q][i] r[q][j] on one tile of 4 x 4. */
static inline void CAT(update_tile, S)(CAT(block, S) *a, const CAT(block, S) *v, const CAT(block, S) *r, int32_t n)
{
    for (int half = 0; half < 4; half += 2) { /* half a tile fits into 16 registers */
        CAT(block, S) sum[2][4];
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                sum[i][j] = a[(half + i) * n + j];
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] -= v[q * n + half + i] * r[q * n + j];
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                a[(half + i) * n + j] = sum[i][j];
    }
}

/* Sweep the pivots p .. p + 3 of a symmetric matrix.  F being the pivot rows and P the pivot tile,
 * a becomes a - F' P^-1 F outside the pivot rows and columns, P^-1 F within them, and -P^-1 in the
 * pivot tile.  After all pivots have been swept, a is -a^-1.  P = L D L' is not inverted itself,
 * since the product of its inverse with F would lose too many digits.  `v` and `r` are scratch
 * memory, four rows each. */
static void CAT(sweep_four, S)(CAT(block, S) *a, int32_t n, int32_t p, CAT(block, S) *v, CAT(block, S) *r)
{
    CAT(block, S) l[4][4], inverse[4];
    for (int q = 0; q < 4; q++)
        for (int s = 0; s < 4; s++)
            l[q][s] = a[(p + (q < s ? q : s)) * n + p + (q < s ? s : q)];
    CAT(factor_four, S)(l, inverse);
    CAT(pivot_rows, S)(a, n, p, v);
    for (int32_t j = 0; j < n; j++) /* V = L^-1 F and R = D^-1 V */
        for (int q = 0; q < 4; q++) {
            for (int s = 0; s < q; s++)
                v[q * n + j] -= l[q][s] * v[s * n + j];
            r[q * n + j] = inverse[q] * v[q * n + j];
        }
    for (int32_t i = 0; i < n; i += 4)
        for (int32_t j = i; j < n; j += 4)
            if (i != p && j != p)
                CAT(update_tile, S)(a + i * n + j, v + i, r + j, n);
    for (int32_t j = 0; j < n; j++) { /* L'^-1 R = P^-1 F, to the pivot rows and columns */
        for (int q = 2; q >= 0; q--)
            for (int s = q + 1; s < 4; s++)
                r[q * n + j] -= l[s][q] * r[s * n + j];
        for (int q = 0; q < 4; q++)
            if (j < p)
                a[j * n + p + q] = r[q * n + j];
            else
                a[(p + q) * n + j] = j < p + 4 ? -r[q * n + j] : r[q * n + j];
    }
}

/* Invert symmetric positive definite n x n matrices in place, one in each lane.  `a` has `whole`
 * rows of `whole` blocks, n rounded up to a multiple of 4, followed by 8 rows of scratch memory.
 * Only elements on and above the diagonal are read, and only these hold the inverses afterwards. */
static void CAT(invert, S)(CAT(block, S) *a, int32_t n, int32_t whole)
{
    for (int32_t i = 0; i < whole; i++)
        for (int32_t j = i / 4 * 4; j < whole; j++)
            if (j >= n)
                a[i * whole + j] = (CAT(block, S)){0} + (T)(i == j);
            else if (j < i)
                a[i * whole + j] = a[j * whole + i];
    CAT(block, S) *scratch = a + (int64_t)whole * whole;
    for (int32_t p = 0; p < whole; p += 4)
        CAT(sweep_four, S)(a, whole, p, scratch, scratch + 4 * whole);
    for (int64_t i = 0; i < (int64_t)whole * whole; i++)
        a[i] = -a[i];
}
