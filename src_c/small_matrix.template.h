/* Products and inverses of small dense matrices, rows padded with zeros to whole
 * packets.  T, S: type and suffix. */

/* c[i][j] = sum_r a[r step_r + i step_i] b[r][j] on a tile of 4 rows and
 * `packets` packets: the accumulators stay in registers. */
static inline __attribute__((always_inline)) void
CAT(product_tile, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, T *c, int64_t c_row,
                     int32_t n_r, const int packets)
{
    CAT(packet, S) sum[4][3] = {{{0}}};
    for (int32_t r = 0; r < n_r; r++, a += step_r, b += b_row) {
        CAT(packet, S) right[3];
        for (int p = 0; p < packets; p++)
            right[p] = CAT(load_packet, S)(b + p * CAT(PACKET, S));
        for (int i = 0; i < 4; i++)
            for (int p = 0; p < packets; p++)
                sum[i][p] += a[i * step_i] * right[p];
    }
    for (int i = 0; i < 4; i++)
        for (int p = 0; p < packets; p++)
            CAT(store_packet, S)(c + i * c_row + p * CAT(PACKET, S), sum[i][p]);
}

/* The whole product: n_i rounded up to 4 rows, n_j columns in whole packets. */
static void CAT(product, S)(const T *a, int64_t step_r, int64_t step_i, const T *b, int64_t b_row, T *c,
                            int64_t c_row, int32_t n_i, int32_t n_j, int32_t n_r)
{
    const int32_t wide = 2 * CAT(PACKET, S);
    for (int32_t i = 0; i < n_i; i += 4) {
        const T *a_i = a + i * step_i;
        T *c_i = c + i * c_row;
        int32_t j = 0;
        for (; j + wide <= n_j; j += wide)
            CAT(product_tile, S)(a_i, step_r, step_i, b + j, b_row, c_i + j, c_row, n_r, 2);
        for (; j < n_j; j += CAT(PACKET, S))
            CAT(product_tile, S)(a_i, step_r, step_i, b + j, b_row, c_i + j, c_row, n_r, 1);
    }
}

/* Invert a symmetric positive definite n x n matrix in place (Gauss-Jordan; no
 * pivots needed).  Rows of `row` numbers. */
static void CAT(invert, S)(T *a, int64_t row, int32_t n)
{
    for (int32_t k = 0; k < n; k++) {
        T *pivot_row = a + k * row;
        const T inverse = 1 / pivot_row[k];
        pivot_row[k] = 1;
        for (int64_t j = 0; j < row; j += CAT(PACKET, S))
            CAT(store_packet, S)(pivot_row + j, inverse * CAT(load_packet, S)(pivot_row + j));
        for (int32_t i = 0; i < n; i++) {
            if (i == k)
                continue;
            T *a_i = a + i * row;
            const T factor = a_i[k];
            a_i[k] = 0;
            for (int64_t j = 0; j < row; j += CAT(PACKET, S))
                CAT(store_packet, S)(a_i + j, CAT(load_packet, S)(a_i + j) - factor * CAT(load_packet, S)(pivot_row + j));
        }
    }
}
