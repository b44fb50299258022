/* Operators from CSR rows.  T, S: type and suffix; PACKET: pixels in a block. */

/* The packets of one block: per pixel its ids, then one packet per id present,
 * in ascending order of id, so that the sum of a row has one order. */
static void CAT(fill_block, S)(const nnk_grid_operator *op, const void *indptr, const void *indices, int32_t wide,
                               const T *data, const T *node_scale, const int32_t *offset_at, int64_t y, int64_t b,
                               uint16_t *ids, uint64_t *present, int32_t *slot, uint16_t *id, T *weight)
{
    const int64_t words = (op->n_offsets + 63) / 64;
    int32_t n[PACKET] = {0}, n_packets = 0;
    memset(present, 0, sizeof *present * (size_t)words);
    for (int64_t x = b * PACKET, p = 0; p < PACKET && x < op->width; p++, x++) {
        uint16_t *mine = ids + p * op->n_offsets;
        n[p] = row_ids(op, indptr, indices, wide, offset_at, y, x, mine);
        for (int32_t e = 0; e < n[p]; e++)
            present[mine[e] / 64] |= 1ull << (mine[e] % 64);
    }
    for (int64_t w = 0; w < words; w++)
        for (uint64_t left = present[w]; left; left &= left - 1) {
            const int32_t o = (int32_t)(64 * w + __builtin_ctzll(left));
            id[n_packets] = (uint16_t)o;
            slot[o] = n_packets++;
        }
    memset(weight, 0, sizeof *weight * PACKET * (size_t)n_packets);
    for (int64_t p = 0; p < PACKET; p++) {
        const int64_t i = y * op->width + b * PACKET + p;
        const int64_t first = n[p] ? index_at(indptr, wide, i) : 0;
        for (int32_t e = 0; e < n[p]; e++) {
            T value = data[first + e];
            if (node_scale)
                value = (value * node_scale[i]) * node_scale[index_at(indices, wide, first + e)];
            weight[(int64_t)slot[ids[p * op->n_offsets + e]] * PACKET + p] = value;
        }
    }
}

int CAT(nnk_fill_packets, S) NNK_FILL_PACKETS(T)
{
    uint16_t *ids = malloc(sizeof *ids * PACKET * (size_t)op->n_offsets);
    uint64_t *present = malloc(sizeof *present * (size_t)(op->n_offsets / 64 + 1));
    int32_t *slot = malloc(sizeof *slot * (size_t)op->n_offsets);
    int status = NNK_NO_MEMORY;
    if (ids && present && slot) {
        for (int64_t y = y0; y < y1; y++)
            for (int64_t b = 0; b < op->blocks; b++) {
                const int64_t at = op->start[y * op->blocks + b];
                CAT(fill_block, S)(op, indptr, indices, wide, data, node_scale, offset_at, y, b, ids, present, slot,
                                   id + at, weight + at * PACKET);
            }
        status = NNK_OK;
    }
    free(ids), free(present), free(slot);
    return status;
}

void CAT(nnk_csr_step, S) NNK_CSR_STEP(T)
{
    const double half = older ? 1 : 0.5; /* as in recurrence_row */
    const T factor = (T)(half * scale), offset = (T)(half * shift);
    for (int64_t i = i0; i < i1; i++) {
        T sum = 0;
        const int64_t last = index_at(indptr, wide, i + 1);
        for (int64_t e = index_at(indptr, wide, i); e < last; e++)
            sum += data[e] * x[index_at(indices, wide, e)];
        T y = factor * (diagonal[i] * x[i] - sum) - offset * x[i];
        if (older)
            y -= older[i];
        if (forcing)
            for (int32_t s = 0; s < n_bands; s++)
                y += (T)c[s] * bands[s * n + i];
        else
            for (int32_t s = 0; s < n_bands; s++)
                bands[s * n + i] += (T)c[s] * y;
        next[i] = y;
    }
}
