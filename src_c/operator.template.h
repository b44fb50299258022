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
