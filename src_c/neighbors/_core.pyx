# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Thin bindings of the C core of nnk_image.neighbors, which neighbors.h describes.

Arguments are checked by the Python modules and not here. ``i0, i1`` select the queries [i0, i1).
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

    ctypedef struct nnk_neighbor_kernels:
        const char *name
        const char *(*kernel_name)(int32_t) noexcept nogil
        int (*distances)(const nnk_task *, double *, int64_t, int64_t) noexcept nogil
        int (*solve_task)(const nnk_task *, const nnk_solved *, int64_t, int64_t) noexcept nogil
        int (*solve_given)(const double *, const double *, int32_t, double, double *, double *, int64_t,
                           int64_t) noexcept nogil

    int nnk_neighbor_variants(const nnk_neighbor_kernels **)

METHODS = {
    "nnk": NNK_EXACT,
    "omp": NNK_ORTHOGONAL_PURSUIT,
    "mp": NNK_MATCHING_PURSUIT,
    "knn": NNK_NEAREST,
    "mutual_knn": NNK_NEAREST,
    "kstar": NNK_K_STAR,
    "lnp": NNK_LOCAL_PURSUIT,
}


# --- the SIMD variant ------------------------------------------------------------------

cdef const nnk_neighbor_kernels *kernels = NULL


def use_simd(name):
    """Use the SIMD variant with this name, one of `nnk_image._core.simd_variants`."""
    global kernels
    cdef const nnk_neighbor_kernels *found[4]
    for i in range(nnk_neighbor_variants(found)):
        if found[i].name == name.encode():
            kernels = found[i]
            return
    raise ValueError(f"{name!r} is not a SIMD variant of this machine")


use_simd(simd_variant())


def kernel_numbers():
    """Return a dict from the names of the kernels to their indices in the table of kernels.h."""
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
    """The problems of many queries (nnk_task). All arrays are contiguous."""

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
        """Set the kernel; `sigma` and `self_similarity` are (queries,), or empty if not used."""
        self.sigma, self.self_similarity = sigma, self_similarity
        self.c.kind, self.c.degree, self.c.gamma, self.c.coef0 = kind, degree, gamma, coef0
        self.c.sigma, self.c.self_similarity = doubles(sigma), doubles(self_similarity)

    def set_method(self, int32_t method, double ratio):
        """Set the method to compute weights."""
        self.c.method, self.c.ratio = method, ratio

    def set_rules(self, int64_t n_neighbors, bint exclude_self, bint share_duplicates, double l1,
                  double tol):
        """Set which candidates are used, and options of the weights."""
        self.c.n_neighbors, self.c.exclude_self = n_neighbors, exclude_self
        self.c.share_duplicates, self.c.l1, self.c.tol = share_duplicates, l1, tol

    def distances(self, double[::1] result, int64_t i0, int64_t i1):
        """Write the distances of queries to their candidates to `result` (nnk_distances)."""
        cdef int status
        if result.shape[0] == 0:
            return
        with nogil:
            status = kernels.distances(&self.c, &result[0], i0, i1)
        check(status)

    def solve(self, int32_t[::1] count, unsigned char[::1] index, double[::1] weight, double[::1] error,
              double[::1] residual, int64_t i0, int64_t i1):
        """Compute the results of queries (nnk_solved); `index` is a view of the bytes."""
        cdef int status
        cdef nnk_solved out
        out.count, out.error, out.residual = &count[0], &error[0], &residual[0]
        out.index = &index[0] if index.shape[0] else NULL
        out.weight = &weight[0] if weight.shape[0] else NULL
        with nogil:
            status = kernels.solve_task(&self.c, &out, i0, i1)
        check(status)


def solve_given(const double[:, :, ::1] k, const double[:, ::1] b, double l1, double[:, ::1] theta,
                double[::1] residual, int64_t i0, int64_t i1):
    """Compute the weights of problems that are given as matrices `k` and vectors `b`."""
    cdef int status
    with nogil:
        status = kernels.solve_given(&k[0, 0, 0], &b[0, 0], k.shape[1], l1, &theta[0, 0],
                                     &residual[0], i0, i1)
    check(status)
