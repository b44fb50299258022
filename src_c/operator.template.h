/* Operators from CSR matrices.  T, S: type and suffix; BLOCK: number of pixels in a block. */

int CAT(nnk_copy_entries, S) NNK_COPY_ENTRIES(T)
{
    const int64_t width = edges->width;
    int64_t *entry = malloc(sizeof *entry * (size_t)width); /* next one of each pixel's CSR row */
    next_edge_block *next = malloc(sizeof *next * (size_t)op->blocks);
    uint64_t *row = new_edge_row(edges);
    const int status = entry && next && row ? NNK_OK : NNK_NO_MEMORY;
    for (int64_t y = y0; status == NNK_OK && y < y1; y++) {
        const int64_t node = edges->first_node[y];
        for (int64_t x = 0; node >= 0 && x < width; x++) /* a gap has no edges */
            entry[x] = csr_index(indptr, wide, node + x);
        edge_row(edges, y, row);
        begin_row(op, y, next);
        for (int64_t w = 0; w < edges->words; w++)
            for (int64_t o = 0; o < 2 * edges->half; o++) { /* ascending like columns */
                const uint64_t word = row[w * edge_stride(edges) + o];
                for (uint64_t left = nonzero_groups(word, BLOCK); left; left &= left - 1) {
                    const int first = __builtin_ctzll(left);
                    const uint64_t block = word >> first & ((1u << BLOCK) - 1);
                    next_edge_block *at = next + (64 * w + first) / BLOCK;
                    put_edge_block(op->entry, at->edge_block++, BLOCK, (uint64_t)o, block);
                    for (uint64_t bits = block; bits; bits &= bits - 1)
                        ((T *)op->weight)[at->weight++] = data[entry[64 * w + first + __builtin_ctzll(bits)]++];
                }
            }
    }
    free(entry), free(next), free(row);
    return status;
}

void CAT(nnk_csr_step, S)(const nnk_csr_order *k, int64_t i0, int64_t i1)
{
    const T *data = k->data, *diagonal = k->diagonal, *row_scale = k->row_scale, *older = k->older, *x = k->x;
    T *next = k->next, *bands = k->bands;
    const double half = older ? 1 : 0.5; /* as in recurrence_row: T_1 = x T_0 */
    const T factor = (T)(half * k->scale), offset = (T)(half * k->shift);
    for (int64_t i = i0; i < i1; i++) {
        T sum = 0;
        const int64_t last = csr_index(k->indptr, k->wide, i + 1);
        for (int64_t e = csr_index(k->indptr, k->wide, i); e < last; e++)
            sum += data[e] * x[csr_index(k->indices, k->wide, e)];
        if (row_scale)
            sum *= row_scale[i];
        T y = factor * (diagonal[i] * x[i] - sum) - offset * x[i];
        if (older)
            y -= older[i];
        if (k->clenshaw)
            for (int32_t s = 0; s < k->n_bands; s++)
                y += (T)k->c[s] * bands[s * k->n + i];
        else
            for (int32_t s = 0; s < k->n_bands; s++)
                bands[s * k->n + i] += (T)k->c[s] * y;
        next[i] = y;
    }
}
