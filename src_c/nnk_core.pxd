"""Declarations of nnk_core.h for Cython; the headers describe them."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "nnk_core.h" nogil:
    enum: NNK_OK
    enum: NNK_MAX_ORDERS
    enum: NNK_PAIRS_AT_ONCE

    ctypedef struct nnk_window:
        int64_t border
        int32_t radius, n_offsets
        const int32_t *dy
        const int32_t *dx
        const int32_t *plane
        const int32_t *pair_start
        const int32_t *pruner

    ctypedef struct nnk_edges:
        int64_t height, width, words, half, n_lines
        const int32_t *dy
        const int32_t *dx
        const int64_t *line
        const int64_t *first_node
        const int64_t *step
        uint64_t *forward
        uint64_t *backward

    ctypedef struct nnk_kernel:
        const void *planes
        const void *spatial
        int64_t stride, border
        int32_t channels, radius
        double two_sigma2

    ctypedef struct nnk_before:
        int32_t entries, weights

    ctypedef struct nnk_start:
        int64_t entry, weight

    ctypedef struct nnk_grid_operator:
        int64_t height, width, blocks, stride, pad, border, n_nodes
        int32_t n_offsets
        const int32_t *dy
        const int32_t *dx
        const int64_t *first_node
        const nnk_before *before
        const nnk_start *row_start
        int64_t n_held
        uint64_t *entry
        void *weight
        const void *diagonal
        const void *row_scale

    ctypedef struct nnk_sweep:
        int32_t orders, n_bands, clenshaw
        int64_t row_begin, row_end
        void *above
        void *below
        double scale, shift
        const void *older
        const void *old
        void *new_older
        void *new_old
        void *bands
        const double *coefficients
        const double *start

    enum: NNK_AXES

    ctypedef struct nnk_patches:
        int64_t shape[4]
        int32_t patch[4]
        int32_t radius[4]
        int32_t group, n_lines, n_columns
        const int64_t *lines
        const int32_t *columns
        const void *bias
        const void *variances

    ctypedef struct nnk_box:
        int64_t first[4]
        int64_t shape[4]

    ctypedef struct nnk_patch_pass:
        int32_t channels, across_members
        double a, b, limit
        const void *removed
        const void *z
        const void *x
        const void *covariance
        void *sums
        void *weights
        nnk_box box

    ctypedef struct nnk_csr_rows:
        const int64_t *row_start
        void *indptr
        void *indices
        void *weights
        int32_t wide

    ctypedef int nnk_fill(const nnk_kernel *, const nnk_edges *, const nnk_csr_rows *, int64_t *,
                          int64_t, int64_t) noexcept nogil
    ctypedef int nnk_fill_entries(const nnk_kernel *, const nnk_edges *, nnk_grid_operator *,
                                  int64_t, int64_t) noexcept nogil

    ctypedef struct nnk_kernels:
        const char *name
        int (*prune_f32)(const float *, int64_t, int32_t, const nnk_window *, const float *,
                         nnk_edges *, int64_t, int64_t) noexcept nogil
        int (*prune_f64)(const double *, int64_t, int32_t, const nnk_window *, const double *,
                         nnk_edges *, int64_t, int64_t) noexcept nogil
        nnk_fill *fill_f32_f32
        nnk_fill *fill_f32_f64
        nnk_fill *fill_f64_f64
        nnk_fill_entries *fill_entries_f32_f32
        nnk_fill_entries *fill_entries_f32_f64
        nnk_fill_entries *fill_entries_f64_f64
        void (*degrees_f32)(const nnk_grid_operator *, float *, int64_t, int64_t) noexcept nogil
        void (*degrees_f64)(const nnk_grid_operator *, double *, int64_t, int64_t) noexcept nogil
        void (*signless_f32)(const nnk_grid_operator *, const float *, float, const float *, float *,
                             int64_t, int64_t) noexcept nogil
        void (*signless_f64)(const nnk_grid_operator *, const double *, double, const double *,
                             double *, int64_t, int64_t) noexcept nogil
        int (*sweep_rows_f32)(const nnk_grid_operator *, const nnk_sweep *, void *, int64_t,
                              int64_t) noexcept nogil
        int (*sweep_rows_f64)(const nnk_grid_operator *, const nnk_sweep *, void *, int64_t,
                              int64_t) noexcept nogil
        void (*sweep_room_f32)(const nnk_grid_operator *, const nnk_sweep *, size_t *,
                               size_t *) noexcept nogil
        void (*sweep_room_f64)(const nnk_grid_operator *, const nnk_sweep *, size_t *,
                               size_t *) noexcept nogil
        int (*match_f32)(const nnk_patches *, const float *, int32_t *, int32_t *, int64_t,
                         int64_t) noexcept nogil
        int (*match_f64)(const nnk_patches *, const double *, int32_t *, int32_t *, int64_t,
                         int64_t) noexcept nogil
        int (*patch_pass_f32)(const nnk_patches *, const nnk_patch_pass *, const int32_t *,
                              const int32_t *, int64_t, int64_t) noexcept nogil
        int (*patch_pass_f64)(const nnk_patches *, const nnk_patch_pass *, const int32_t *,
                              const int32_t *, int64_t, int64_t) noexcept nogil

    int nnk_variants(const nnk_kernels **)
    void nnk_symmetrize(nnk_edges *, int64_t, int64_t)
    void nnk_all_pairs(nnk_edges *, const uint64_t *, int64_t, int64_t)
    int nnk_edges_of_csr(nnk_edges *, const void *, const void *, int32_t, int64_t, int32_t,
                         const int32_t *, int64_t, int64_t)
    void nnk_count_rows(const nnk_edges *, int64_t *, int64_t, int64_t)
    int nnk_count_entries(const nnk_edges *, int32_t, int64_t, nnk_before *, int64_t, int64_t)
    int nnk_copy_entries_f32(const nnk_edges *, const void *, int32_t, const float *,
                             nnk_grid_operator *, int64_t, int64_t)
    int nnk_copy_entries_f64(const nnk_edges *, const void *, int32_t, const double *,
                             nnk_grid_operator *, int64_t, int64_t)

    ctypedef struct nnk_edge_list:
        const int32_t *tail
        const int32_t *head
        const int32_t *first
        const int32_t *of_node
        const void *limit
        const void *step

    void nnk_variation_nodes_f32(const nnk_edge_list *, const float *, const float *, const float *, double,
                                 double, float *, int64_t, int64_t)
    void nnk_variation_nodes_f64(const nnk_edge_list *, const double *, const double *, const double *,
                                 double, double, double *, int64_t, int64_t)
    double nnk_variation_edges_f32(const nnk_edge_list *, const float *, double, float *, float *, int64_t,
                                   int64_t)
    double nnk_variation_edges_f64(const nnk_edge_list *, const double *, double, double *, double *, int64_t,
                                   int64_t)
    void nnk_variation_gap_f32(const nnk_edge_list *, const float *, const float *, double *, int64_t,
                               int64_t)
    void nnk_variation_gap_f64(const nnk_edge_list *, const double *, const double *, double *, int64_t,
                               int64_t)
    void nnk_planes_f32(const int32_t *, const int32_t *, const float *, const float *, int32_t, double,
                        const float *, float *, int64_t, int64_t)
    void nnk_planes_f64(const int32_t *, const int32_t *, const double *, const double *, int32_t, double,
                        const double *, double *, int64_t, int64_t)
    enum: NNK_MOST_AXES
