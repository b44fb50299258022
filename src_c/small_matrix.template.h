/* Products and inverses of small dense matrices, rows padded with zeros to whole
 * blocks.  T, S: type and suffix. */

/* c[i][j] = sum_r a[r step_r + i step_i] b[r][j] on a tile of 4 rows and
 * `n_blocks` blocks: the accumulators stay in registers. */
static inline __attribute__((always_inline)) void
CAT(product_tile, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, T *c, int64_t c_row,
                     int32_t n_r, const int n_blocks)
{
    CAT(block, S) sum[4][3] = {{{0}}};
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

/* Four rows of a product, columns [from, n_j) in whole blocks. */
static void CAT(product_rows, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, T *c,
                                 int64_t c_row, int32_t from, int32_t n_j, int32_t n_r)
{
    int32_t n_blocks = (n_j - from) / CAT(BLOCK, S);
    for (int64_t j = from; n_blocks > 0;) {
        const int wide = n_blocks == 4 || n_blocks == 2 ? 2 : n_blocks >= 3 ? 3 : 1;
        if (wide == 3)
            CAT(product_tile, S)(a, step_r, step_i, b + j, b_row, c + j, c_row, n_r, 3);
        else if (wide == 2)
            CAT(product_tile, S)(a, step_r, step_i, b + j, b_row, c + j, c_row, n_r, 2);
        else
            CAT(product_tile, S)(a, step_r, step_i, b + j, b_row, c + j, c_row, n_r, 1);
        n_blocks -= wide;
        j += wide * CAT(BLOCK, S);
    }
}

/* The whole product: n_i rounded up to 4 rows, n_j columns in whole blocks. */
static void CAT(product, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, T *c,
                            int64_t c_row, int32_t n_i, int32_t n_j, int32_t n_r)
{
    for (int32_t i = 0; i < n_i; i += 4)
        CAT(product_rows, S)(a + i * step_i, step_r, step_i, b, b_row, c + i * c_row, c_row, 0, n_j, n_r);
}

/* The symmetric product a' a of `n_r` rows of n numbers, padded to `row`: tiles on and
 * above the diagonal, then their mirror image. */
static void CAT(gram, S)(const T *a, int64_t row, T *c, int32_t n, int32_t n_r)
{
    for (int32_t i = 0; i < n; i += 4) {
        const int32_t from = i / CAT(BLOCK, S) * CAT(BLOCK, S);
        CAT(product_rows, S)(a + i, row, 1, a, row, c + i * row, row, from, (int32_t)row, n_r);
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < i / CAT(BLOCK, S) * CAT(BLOCK, S); j++)
            c[i * row + j] = c[j * row + i];
}

#define PIVOTS 4

/* Some pivot rows of Gauss-Jordan elimination, scaled, with the inverse pivots. */
typedef struct {
    int32_t first, count;
    const T *row[PIVOTS];
    T inverse[PIVOTS];
} CAT(pivots, S);

/* Eliminate with pivots [from, count) from one row, in one pass over it. */
static inline void CAT(eliminate, S)(T *a, const CAT(pivots, S) *p, int32_t from, int64_t length)
{
    T factor[PIVOTS] = {0}, at_pivot[PIVOTS];
    for (int32_t q = from; q < p->count; q++) {
        factor[q] = a[p->first + q];
        for (int32_t r = from; r < q; r++)
            factor[q] -= factor[r] * p->row[r][p->first + q];
    }
    for (int32_t q = from; q < p->count; q++) { /* the columns of the pivots take the inverse */
        at_pivot[q] = -factor[q] * p->inverse[q];
        for (int32_t r = q + 1; r < p->count; r++)
            at_pivot[q] -= factor[r] * p->row[r][p->first + q];
    }
    for (int64_t j = 0; j < length; j += CAT(BLOCK, S)) {
        CAT(block, S) value = CAT(load_block, S)(a + j);
        for (int32_t q = 0; q < PIVOTS; q++) /* factors of absent pivots are 0 */
            value -= factor[q] * CAT(load_block, S)(p->row[q] + j);
        CAT(store_block, S)(a + j, value);
    }
    for (int32_t q = from; q < p->count; q++)
        a[p->first + q] = at_pivot[q];
}

/* Invert a symmetric positive definite n x n matrix in place: Gauss-Jordan without
 * pivoting, a few pivots at a time.  Rows of `length` numbers; `scratch` holds
 * PIVOTS rows. */
static void CAT(invert, S)(T *a, int64_t length, int32_t n, T *scratch)
{
    CAT(pivots, S) p;
    memset(scratch, 0, sizeof(T) * PIVOTS * (size_t)length);
    for (int32_t q = 0; q < PIVOTS; q++)
        p.row[q] = scratch + q * length;
    for (p.first = 0; p.first < n; p.first += PIVOTS) {
        const int32_t block = n - p.first < PIVOTS ? n - p.first : PIVOTS;
        for (p.count = 0; p.count < block;) {
            T *row = a + (p.first + p.count) * length, *scaled = scratch + p.count * length;
            CAT(eliminate, S)(row, &p, 0, length);
            const T inverse = 1 / row[p.first + p.count];
            for (int64_t j = 0; j < length; j++)
                scaled[j] = inverse * row[j];
            scaled[p.first + p.count] = p.inverse[p.count] = inverse;
            memcpy(row, scaled, sizeof(T) * (size_t)length);
            p.count++;
        }
        for (int32_t i = 0; i < n; i++) {
            const int32_t own = i - p.first;
            if (own < 0 || own >= block)
                CAT(eliminate, S)(a + i * length, &p, 0, length);
            else if (own + 1 < block)
                CAT(eliminate, S)(a + i * length, &p, own + 1, length);
        }
    }
}

#undef PIVOTS
