# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Thin bindings of the C core of nnk_image.neighbors (see neighbors.h).

The Python modules check arguments; nothing here repeats that.  Arguments ``i0, i1``
select the queries or rows to work on.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from nnk_image._core import simd_variant

cdef extern from "neighbors.h" nogil:
    enum: NNK_OK
    enum:
        NNK_EXACT
        NNK_ORTHOGONAL_PURSUIT
        NNK_MATCHING_PURSUIT
        NNK_NEAREST
        NNK_K_STAR
        NNK_LOCAL_PURSUIT
    enum:
        NNK_MIN_ERROR
        NNK_MIN_ERROR_ONESIDED
        NNK_MAX
        NNK_MEAN
        NNK_MIN

    ctypedef struct nnk_task:
        int32_t method, kind, degree
        double ratio, gamma, coef0
        const void *points
        const void *queries
        int64_t n_features
        int32_t single, wide, exclude_self, share_duplicates
        const double *sigma
        const double *self_similarity
        const int64_t *indptr
        const void *indices
        int64_t n_neighbors
        double l1, tol

    ctypedef struct nnk_solved:
        int32_t *count
        void *index
        double *weight
        double *error
        double *residual

    ctypedef struct nnk_rows:
        int64_t n
        const int64_t *start
        const int32_t *count
        const void *index
        int32_t wide
        const double *weight
        const double *error

    ctypedef struct nnk_neighbor_kernels:
        const char *name
        const char *(*kernel_name)(int32_t) noexcept nogil
        int (*distances)(const nnk_task *, double *, int64_t, int64_t) noexcept nogil
        int (*solve_task)(const nnk_task *, const nnk_solved *, int64_t, int64_t) noexcept nogil
        int (*solve_given)(const double *, const double *, int32_t, double, double *, double *, int64_t,
                           int64_t) noexcept nogil

    int nnk_neighbor_variants(const nnk_neighbor_kernels **)
    void nnk_transpose_counts(const nnk_rows *, int64_t, int64_t *)
    void nnk_transpose(const nnk_rows *, int64_t, const int64_t *, int64_t *, void *, double *)
    void nnk_symmetric_rows(const nnk_rows *, const int64_t *, const void *, const double *, int32_t,
                            int64_t *, const int64_t *, void *, double *, int64_t, int64_t)
    void nnk_chosen_rows(const nnk_rows *, int64_t *, const int64_t *, void *, double *, int64_t, int64_t)

METHODS = {
    "nnk": NNK_EXACT,
    "omp": NNK_ORTHOGONAL_PURSUIT,
    "mp": NNK_MATCHING_PURSUIT,
    "knn": NNK_NEAREST,
    "mutual_knn": NNK_NEAREST,
    "kstar": NNK_K_STAR,
    "lnp": NNK_LOCAL_PURSUIT,
}
RULES = {
    "min_error": NNK_MIN_ERROR,
    "min_error_onesided": NNK_MIN_ERROR_ONESIDED,
    "max": NNK_MAX,
    "mean": NNK_MEAN,
    "min": NNK_MIN,
}


# --- the vector variant ------------------------------------------------------------------

cdef const nnk_neighbor_kernels *kernels = NULL


def use_simd(name):
    """Use the vector variant of that name (`nnk_image._core.simd_variants`); results never differ."""
    global kernels
    cdef const nnk_neighbor_kernels *found[4]
    for i in range(nnk_neighbor_variants(found)):
        if found[i].name == name.encode():
            kernels = found[i]
            return
    raise ValueError(f"{name!r} is not a vector variant of this machine")


use_simd(simd_variant())


def kernel_numbers():
    """Names of the kernels with their places in the table of kernels.h."""
    numbers = {}
    while kernels.kernel_name(len(numbers)) != NULL:
        numbers[kernels.kernel_name(len(numbers)).decode()] = len(numbers)
    return numbers


KERNELS = kernel_numbers()


cdef int check(int status) except -1:
    if status != NNK_OK:
        raise MemoryError("nnk_image ran out of memory for the scratch of some queries")
    return 0


cdef const void *address(const unsigned char[::1] view) noexcept:
    return &view[0] if view.shape[0] else NULL


cdef const double *doubles(const double[::1] view) noexcept:
    return &view[0] if view.shape[0] else NULL


# --- weights -----------------------------------------------------------------------------

cdef class Task:
    """Queries, their candidates and the kernel (nnk_task).

    Features and indices come as byte views of contiguous arrays.
    """

    cdef nnk_task c
    cdef const unsigned char[::1] points, queries, indices
    cdef const double[::1] sigma, self_similarity
    cdef const int64_t[::1] indptr

    def __init__(self, points, queries, const int64_t[::1] indptr, indices):
        self.points, self.queries = points.reshape(-1).view(np.uint8), queries.reshape(-1).view(np.uint8)
        self.indptr, self.indices = indptr, indices.view(np.uint8)
        self.c.points, self.c.queries = address(self.points), address(self.queries)
        self.c.n_features, self.c.single = points.shape[1], points.itemsize == 4
        self.c.indptr, self.c.indices = &indptr[0], address(self.indices)
        self.c.wide = indices.itemsize == 8

    def set_kernel(self, int32_t kind, int32_t degree, double gamma, double coef0,
                   const double[::1] sigma, const double[::1] self_similarity):
        """The kernel; sigma and K_qq are one per query, and may be empty where not read."""
        self.sigma, self.self_similarity = sigma, self_similarity
        self.c.kind, self.c.degree, self.c.gamma, self.c.coef0 = kind, degree, gamma, coef0
        self.c.sigma, self.c.self_similarity = doubles(sigma), doubles(self_similarity)

    def set_method(self, int32_t method, double ratio):
        """How candidates are weighed."""
        self.c.method, self.c.ratio = method, ratio

    def set_rules(self, int64_t n_neighbors, bint exclude_self, bint share_duplicates, double l1,
                  double tol):
        """What takes part, and what is done with it."""
        self.c.n_neighbors, self.c.exclude_self = n_neighbors, exclude_self
        self.c.share_duplicates, self.c.l1, self.c.tol = share_duplicates, l1, tol

    def distances(self, double[::1] result, int64_t i0, int64_t i1):
        """Distances of queries [i0, i1) to their candidates."""
        cdef int status
        if result.shape[0] == 0:
            return
        with nogil:
            status = kernels.distances(&self.c, &result[0], i0, i1)
        check(status)

    def solve(self, Rows rows, double[::1] residual, int64_t i0, int64_t i1):
        """Weights of queries [i0, i1)."""
        cdef int status
        cdef nnk_solved out
        out.count, out.residual = &rows.count[0], &residual[0]
        out.error = &rows.error[0]
        out.index = &rows.index[0] if rows.index.shape[0] else NULL
        out.weight = &rows.weight[0] if rows.weight.shape[0] else NULL
        with nogil:
            status = kernels.solve_task(&self.c, &out, i0, i1)
        check(status)


def solve_given(const double[:, :, ::1] k, const double[:, ::1] b, double l1, double[:, ::1] theta,
                double[::1] residual, int64_t i0, int64_t i1):
    """Weights of problems [i0, i1) given as matrices and vectors."""
    cdef int status
    with nogil:
        status = kernels.solve_given(&k[0, 0, 0], &b[0, 0], k.shape[1], l1, &theta[0, 0],
                                     &residual[0], i0, i1)
    check(status)


# --- rows --------------------------------------------------------------------------------

cdef class Rows:
    """Rows of candidates with their weights, 0 where not chosen (nnk_rows).

    Row i is ``[start[i], start[i] + count[i])`` of `index` (a byte view of int32, or int64
    if `wide`) and `weight`.
    """

    cdef nnk_rows c
    cdef const int64_t[::1] start
    cdef int32_t[::1] count
    cdef unsigned char[::1] index
    cdef double[::1] weight, error

    def __init__(self, const int64_t[::1] start, int32_t[::1] count, unsigned char[::1] index,
                 bint wide, double[::1] weight, double[::1] error):
        self.start, self.count, self.index, self.weight, self.error = start, count, index, weight, error
        self.c.n, self.c.wide = count.shape[0], wide
        self.c.start, self.c.count, self.c.error = &start[0], &count[0], &error[0]
        self.c.index = address(index)
        self.c.weight = doubles(weight)

    def transpose_counts(self, int64_t[::1] indptr):
        """Row pointers of the transpose."""
        with nogil:
            nnk_transpose_counts(&self.c, indptr.shape[0] - 1, &indptr[0])

    def transpose(self, const int64_t[::1] indptr, int64_t[::1] scratch, unsigned char[::1] index,
                  double[::1] weight):
        """Columns and weights of the transpose."""
        if weight.shape[0] == 0:
            return
        with nogil:
            nnk_transpose(&self.c, indptr.shape[0] - 1, &indptr[0], &scratch[0], &index[0], &weight[0])

    def symmetric(self, const int64_t[::1] t_indptr, const unsigned char[::1] t_index,
                  const double[::1] t_weight, int32_t rule, int64_t[::1] length, const int64_t[::1] indptr,
                  unsigned char[::1] index, double[::1] weight, int64_t i0, int64_t i1):
        """Undirected rows [i0, i1): lengths where `indptr` is empty, else columns and weights."""
        cdef const void *t_columns = address(t_index)
        cdef const double *t_values = doubles(t_weight)
        cdef bint fill = indptr.shape[0] > 0
        if fill and weight.shape[0] == 0:
            return
        with nogil:
            nnk_symmetric_rows(&self.c, &t_indptr[0], t_columns, t_values, rule,
                               NULL if fill else &length[0], &indptr[0] if fill else NULL,
                               &index[0] if fill else NULL, &weight[0] if fill else NULL, i0, i1)

    def chosen(self, int64_t[::1] length, const int64_t[::1] indptr, unsigned char[::1] index,
               double[::1] weight, int64_t i0, int64_t i1):
        """Rows [i0, i1) without zeros, likewise."""
        cdef bint fill = indptr.shape[0] > 0
        if fill and weight.shape[0] == 0:
            return
        with nogil:
            nnk_chosen_rows(&self.c, NULL if fill else &length[0], &indptr[0] if fill else NULL,
                            &index[0] if fill else NULL, &weight[0] if fill else NULL, i0, i1)
