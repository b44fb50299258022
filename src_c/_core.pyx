# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Thin bindings of the C core: typed views in, status codes out, no GIL inside.

The Python modules check arguments; nothing here repeats that.  Row arguments
``y0, y1`` select the band of rows to work on (see nnk_core.h for layouts).
"""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

cdef extern from "nnk_core.h" nogil:
    enum: NNK_OK
    enum: NNK_MAX_ORDERS

    ctypedef struct nnk_window:
        int32_t radius, n_offsets, n_near
        const int32_t *dy
        const int32_t *dx
        const int32_t *plane
        const int32_t *pair_start
        const int32_t *pruner

    ctypedef struct nnk_edges:
        int64_t height, width, words, half
        uint64_t *forward
        uint64_t *backward

    ctypedef struct nnk_grid_operator:
        int64_t height, width, blocks, stride, pad
        int32_t radius, n_offsets
        const int32_t *dy
        const int32_t *dx
        const int64_t *start
        const uint16_t *id
        const void *weight
        const void *diagonal

    ctypedef struct nnk_group:
        int32_t orders, n_bands, forcing
        double scale, shift
        const void *older
        const void *old
        void *new_older
        void *new_old
        void *bands
        const double *coefficients

    ctypedef struct nnk_patches:
        int64_t height, width
        int32_t patch, radius, group, n_rows, n_columns
        const int32_t *rows
        const int32_t *columns

    ctypedef struct nnk_patch_pass:
        int32_t first, right
        double sigma, tau
        const void *y
        const void *z
        const void *x
        void *sum_x
        void *sum_z
        void *weights
        int64_t first_row

    ctypedef struct nnk_kernels:
        const char *name
        int (*prune_f32)(const float *, int64_t, int32_t, const nnk_window *, const float *,
                         const float *, const nnk_edges *, int64_t, int64_t) noexcept nogil
        int (*prune_f64)(const double *, int64_t, int32_t, const nnk_window *, const double *,
                         const double *, const nnk_edges *, int64_t, int64_t) noexcept nogil
        int (*fill_f32_f32)(const float *, int64_t, int32_t, int32_t, const int32_t *,
                            const int32_t *, const float *, double, int32_t, const nnk_edges *,
                            const void *, void *, int32_t, float *, int64_t, int64_t) noexcept nogil
        int (*fill_f32_f64)(const float *, int64_t, int32_t, int32_t, const int32_t *,
                            const int32_t *, const double *, double, int32_t, const nnk_edges *,
                            const void *, void *, int32_t, double *, int64_t, int64_t) noexcept nogil
        int (*fill_f64_f64)(const double *, int64_t, int32_t, int32_t, const int32_t *,
                            const int32_t *, const double *, double, int32_t, const nnk_edges *,
                            const void *, void *, int32_t, double *, int64_t, int64_t) noexcept nogil
        void (*drop_f32_f32)(const float *, int64_t, int32_t, int32_t, const int32_t *,
                             const int32_t *, const float *, double, int32_t, const nnk_edges *,
                             int64_t, int64_t, int64_t *) noexcept nogil
        void (*drop_f32_f64)(const float *, int64_t, int32_t, int32_t, const int32_t *,
                             const int32_t *, const double *, double, int32_t, const nnk_edges *,
                             int64_t, int64_t, int64_t *) noexcept nogil
        void (*drop_f64_f64)(const double *, int64_t, int32_t, int32_t, const int32_t *,
                             const int32_t *, const double *, double, int32_t, const nnk_edges *,
                             int64_t, int64_t, int64_t *) noexcept nogil
        int (*group_f32)(const nnk_grid_operator *, const nnk_group *, int64_t, int64_t) noexcept nogil
        int (*group_f64)(const nnk_grid_operator *, const nnk_group *, int64_t, int64_t) noexcept nogil
        int (*match_f32)(const nnk_patches *, const float *, int32_t *, int32_t *, int64_t,
                         int64_t) noexcept nogil
        int (*match_f64)(const nnk_patches *, const double *, int32_t *, int32_t *, int64_t,
                         int64_t) noexcept nogil
        int (*patch_pass_f32)(const nnk_patches *, const nnk_patch_pass *, const int32_t *,
                              const int32_t *, int64_t, int64_t) noexcept nogil
        int (*patch_pass_f64)(const nnk_patches *, const nnk_patch_pass *, const int32_t *,
                              const int32_t *, int64_t, int64_t) noexcept nogil

    int nnk_variants(const nnk_kernels **)
    void nnk_symmetrise(const nnk_edges *, const int32_t *, const int32_t *, int64_t, int64_t)
    void nnk_all_pairs(const nnk_edges *, const uint64_t *, const int32_t *, const int32_t *,
                       int64_t, int64_t)
    void nnk_count(const nnk_edges *, const int32_t *, const int32_t *, int32_t, int32_t *,
                   int64_t, int64_t)
    int nnk_count_packets(const nnk_grid_operator *, int32_t, const void *, const void *, int32_t,
                          const int32_t *, int32_t *, int64_t, int64_t)
    int nnk_fill_packets_f32(const nnk_grid_operator *, const void *, const void *, int32_t,
                             const float *, const float *, const int32_t *, uint16_t *, float *,
                             int64_t, int64_t)
    int nnk_fill_packets_f64(const nnk_grid_operator *, const void *, const void *, int32_t,
                             const double *, const double *, const int32_t *, uint16_t *, double *,
                             int64_t, int64_t)
    void nnk_csr_step_f32(const void *, const void *, int32_t, const float *, const float *, double,
                          double, const float *, const float *, float *, float *, int64_t, int32_t,
                          const double *, int32_t, int64_t, int64_t)
    void nnk_csr_step_f64(const void *, const void *, int32_t, const double *, const double *,
                          double, double, const double *, const double *, double *, double *,
                          int64_t, int32_t, const double *, int32_t, int64_t, int64_t)

ctypedef fused real:
    float
    double

ctypedef fused feature:
    float
    double

MAX_ORDERS = NNK_MAX_ORDERS


# --- the vector variant ------------------------------------------------------------------

cdef const nnk_kernels *kernels = NULL


def simd_variants():
    """Names of the vector variants this machine can run, the fastest last."""
    cdef const nnk_kernels *found[4]
    cdef int n = nnk_variants(found)
    return [found[i].name.decode() for i in range(n)]


def simd_variant():
    """Name of the vector variant in use."""
    return kernels.name.decode()


def use_simd(name=None):
    """Use the named vector variant, or the fastest one; results never differ."""
    global kernels
    cdef const nnk_kernels *found[4]
    cdef int n = nnk_variants(found)
    names = simd_variants()
    if name and name not in names:
        raise ValueError(
            f"NNK_IMAGE_SIMD={name!r} is not a vector variant of this machine; "
            f"choose one of {', '.join(names)}, or unset it for the fastest"
        )
    kernels = found[names.index(name) if name else n - 1]


use_simd(os.environ.get("NNK_IMAGE_SIMD"))


cdef int check(int status) except -1:
    if status != NNK_OK:
        raise MemoryError("nnk_image ran out of memory for the scratch of one row band")
    return 0


# --- graphs ------------------------------------------------------------------------------

cdef class Window:
    """Offsets by distance and who can prune whom (nnk_window)."""

    cdef nnk_window c
    cdef const int32_t[::1] dy, dx, plane, pair_start, pruner

    def __init__(self, radius, n_near, const int32_t[::1] dy, const int32_t[::1] dx,
                 const int32_t[::1] plane, const int32_t[::1] pair_start,
                 const int32_t[::1] pruner):
        self.dy, self.dx, self.plane = dy, dx, plane
        self.pair_start, self.pruner = pair_start, pruner
        self.c.radius, self.c.n_offsets, self.c.n_near = radius, dy.shape[0], n_near
        self.c.dy, self.c.dx, self.c.plane = &dy[0], &dx[0], &plane[0]
        self.c.pair_start, self.c.pruner = &pair_start[0], &pruner[0]


cdef class Edges:
    """Edge planes: a bit per pixel and offset (nnk_edges)."""

    cdef nnk_edges c
    cdef uint64_t[:, :, ::1] forward, backward

    def __init__(self, int64_t height, int64_t width, int64_t half, backward=True):
        cdef int64_t words = (width + 63) // 64
        self.c = nnk_edges(height, width, words, half, NULL, NULL)
        self.forward = np.empty((height, half, words), np.uint64)
        self.c.forward = &self.forward[0, 0, 0]
        if backward:
            self.backward = np.empty((height, half, words), np.uint64)
            self.c.backward = &self.backward[0, 0, 0]

    def release_backward(self):
        """Give back the backward planes: an undirected graph needs only forward."""
        self.backward = None
        self.c.backward = NULL


def prune(Edges edges, Window window, const real[:, :, ::1] planes,
          const real[::1] pair_threshold, const real[::1] threshold, int64_t y0, int64_t y1):
    """Algorithm 4 on rows [y0, y1)."""
    cdef int status
    with nogil:
        if real is float:
            status = kernels.prune_f32(&planes[0, 0, 0], planes.shape[2], planes.shape[0], &window.c,
                                       &pair_threshold[0], &threshold[0], &edges.c, y0, y1)
        else:
            status = kernels.prune_f64(&planes[0, 0, 0], planes.shape[2], planes.shape[0], &window.c,
                                       &pair_threshold[0], &threshold[0], &edges.c, y0, y1)
    check(status)


def symmetrise(Edges edges, const int32_t[::1] dy, const int32_t[::1] dx, int64_t y0, int64_t y1):
    """Union of the directed edges, into the forward planes."""
    with nogil:
        nnk_symmetrise(&edges.c, &dy[0], &dx[0], y0, y1)


def all_pairs(Edges edges, const uint64_t[:, ::1] valid, const int32_t[::1] dy,
              const int32_t[::1] dx, int64_t y0, int64_t y1):
    """Every pair of valid pixels within the window, into the forward planes."""
    with nogil:
        nnk_all_pairs(&edges.c, &valid[0, 0], &dy[0], &dx[0], y0, y1)


def count(Edges edges, const int32_t[::1] dy, const int32_t[::1] dx, bint directed,
          int32_t[:, ::1] counts, int64_t y0, int64_t y1):
    """Edges per pixel."""
    with nogil:
        nnk_count(&edges.c, &dy[0], &dx[0], directed, &counts[0, 0], y0, y1)


def drop_underflow(Edges edges, const feature[:, :, ::1] planes, int32_t radius,
                   const int32_t[::1] dy, const int32_t[::1] dx, const real[::1] spatial,
                   double two_sigma2, bint directed, int64_t y0, int64_t y1):
    """Remove edges whose weight is not a normal number; returns how many."""
    cdef int64_t dropped = 0
    with nogil:
        if feature is float and real is float:
            kernels.drop_f32_f32(&planes[0, 0, 0], planes.shape[2], planes.shape[0], radius, &dy[0],
                                 &dx[0], &spatial[0], two_sigma2, directed, &edges.c, y0, y1, &dropped)
        elif feature is float:
            kernels.drop_f32_f64(&planes[0, 0, 0], planes.shape[2], planes.shape[0], radius, &dy[0],
                                 &dx[0], &spatial[0], two_sigma2, directed, &edges.c, y0, y1, &dropped)
        elif real is double:
            kernels.drop_f64_f64(&planes[0, 0, 0], planes.shape[2], planes.shape[0], radius, &dy[0],
                                 &dx[0], &spatial[0], two_sigma2, directed, &edges.c, y0, y1, &dropped)
        else:
            with gil:
                raise TypeError("float64 features have float64 weights")
    return dropped


def fill(Edges edges, const feature[:, :, ::1] planes, int32_t radius, const int32_t[::1] dy,
         const int32_t[::1] dx, const real[::1] spatial, double two_sigma2, bint directed,
         const unsigned char[::1] indptr, unsigned char[::1] indices, bint wide, real[::1] data,
         int64_t y0, int64_t y1):
    """CSR rows; indptr and indices are byte views of int32, or int64 if `wide`."""
    cdef int status = NNK_OK
    if data.shape[0] == 0:
        return
    with nogil:
        if feature is float and real is float:
            status = kernels.fill_f32_f32(&planes[0, 0, 0], planes.shape[2], planes.shape[0], radius,
                                          &dy[0], &dx[0], &spatial[0], two_sigma2, directed, &edges.c,
                                          &indptr[0], &indices[0], wide, &data[0], y0, y1)
        elif feature is float:
            status = kernels.fill_f32_f64(&planes[0, 0, 0], planes.shape[2], planes.shape[0], radius,
                                          &dy[0], &dx[0], &spatial[0], two_sigma2, directed, &edges.c,
                                          &indptr[0], &indices[0], wide, &data[0], y0, y1)
        elif real is double:
            status = kernels.fill_f64_f64(&planes[0, 0, 0], planes.shape[2], planes.shape[0], radius,
                                          &dy[0], &dx[0], &spatial[0], two_sigma2, directed, &edges.c,
                                          &indptr[0], &indices[0], wide, &data[0], y0, y1)
        else:
            with gil:
                raise TypeError("float64 features have float64 weights")
    check(status)


# --- operators ---------------------------------------------------------------------------

cdef class GridOperator:
    """Where the blocks of a grid operator are (nnk_grid_operator)."""

    cdef nnk_grid_operator c
    cdef const int32_t[::1] dy, dx
    cdef const int64_t[::1] start
    cdef const uint16_t[::1] id
    cdef const unsigned char[::1] weight, diagonal

    def __init__(self, int64_t height, int64_t width, int64_t blocks, int64_t stride, int64_t pad,
                 int32_t radius, const int32_t[::1] dy, const int32_t[::1] dx):
        self.dy, self.dx = dy, dx
        self.c = nnk_grid_operator(height, width, blocks, stride, pad, radius, dy.shape[0],
                                   &dy[0], &dx[0], NULL, NULL, NULL, NULL)

    def set_packets(self, const int64_t[::1] start, const uint16_t[::1] id,
                    const unsigned char[::1] weight, const unsigned char[::1] diagonal):
        """Attach the packets (weight and diagonal as byte views)."""
        self.start, self.id, self.weight, self.diagonal = start, id, weight, diagonal
        self.c.start = &start[0]
        self.c.id = &id[0]
        self.c.weight = &weight[0]
        self.c.diagonal = &diagonal[0]


def count_packets(GridOperator op, int32_t packet, const unsigned char[::1] indptr,
                  const unsigned char[::1] indices, bint wide, const int32_t[::1] offset_at,
                  int32_t[:, ::1] counts, int64_t y0, int64_t y1):
    """Packets of each block of rows [y0, y1)."""
    cdef int status
    with nogil:
        status = nnk_count_packets(&op.c, packet, &indptr[0], &indices[0], wide, &offset_at[0],
                                   &counts[0, 0], y0, y1)
    check(status)


def fill_packets(GridOperator op, const unsigned char[::1] indptr, const unsigned char[::1] indices,
                 bint wide, const real[::1] data, const real[::1] node_scale,
                 const int32_t[::1] offset_at, const int64_t[::1] start, uint16_t[::1] id,
                 real[::1] weight, int64_t y0, int64_t y1):
    """Ids and weights of the packets of rows [y0, y1); `node_scale` may be empty."""
    cdef int status
    cdef const real *scales = NULL
    if node_scale.shape[0]:
        scales = &node_scale[0]
    op.c.start = &start[0]
    with nogil:
        if real is float:
            status = nnk_fill_packets_f32(&op.c, &indptr[0], &indices[0], wide, &data[0], scales,
                                          &offset_at[0], &id[0], &weight[0], y0, y1)
        else:
            status = nnk_fill_packets_f64(&op.c, &indptr[0], &indices[0], wide, &data[0], scales,
                                          &offset_at[0], &id[0], &weight[0], y0, y1)
    check(status)


def chebyshev_group(GridOperator op, double scale, double shift, const real[:, ::1] older,
                    const real[:, ::1] old, real[:, ::1] new_older, real[:, ::1] new_old,
                    real[:, :, ::1] bands, const double[:, ::1] coefficients, bint forcing,
                    int64_t y0, int64_t y1):
    """Some orders of the recurrence on rows [y0, y1); `older` is empty at the start."""
    cdef int status
    cdef nnk_group group
    group.orders, group.n_bands, group.forcing = coefficients.shape[1], coefficients.shape[0], forcing
    group.scale, group.shift = scale, shift
    group.older = NULL
    if older.shape[0]:
        group.older = &older[0, 0]
    group.old, group.new_older, group.new_old = &old[0, 0], &new_older[0, 0], &new_old[0, 0]
    group.bands, group.coefficients = &bands[0, 0, 0], &coefficients[0, 0]
    with nogil:
        if real is float:
            status = kernels.group_f32(&op.c, &group, y0, y1)
        else:
            status = kernels.group_f64(&op.c, &group, y0, y1)
    check(status)


def csr_step(const unsigned char[::1] indptr, const unsigned char[::1] indices, bint wide,
             const real[::1] data, const real[::1] diagonal, double scale, double shift,
             const real[::1] older, const real[::1] x, real[::1] result, real[:, ::1] bands,
             const double[::1] coefficients, bint forcing, int64_t i0, int64_t i1):
    """One order of the recurrence on nodes [i0, i1) of any graph; `older` is empty at the start."""
    cdef const real *before = NULL
    if older.shape[0]:
        before = &older[0]
    cdef const real *values = NULL
    if data.shape[0]:
        values = &data[0]
    cdef const unsigned char *columns = NULL
    if indices.shape[0]:
        columns = &indices[0]
    with nogil:
        if real is float:
            nnk_csr_step_f32(&indptr[0], columns, wide, values, &diagonal[0], scale, shift, before,
                             &x[0], &result[0], &bands[0, 0], bands.shape[1], bands.shape[0],
                             &coefficients[0], forcing, i0, i1)
        else:
            nnk_csr_step_f64(&indptr[0], columns, wide, values, &diagonal[0], scale, shift, before,
                             &x[0], &result[0], &bands[0, 0], bands.shape[1], bands.shape[0],
                             &coefficients[0], forcing, i0, i1)


# --- patches -----------------------------------------------------------------------------

cdef class Patches:
    """Reference patches on a grid and the members of their groups (nnk_patches)."""

    cdef nnk_patches c
    cdef const int32_t[::1] rows, columns
    cdef int32_t[:, :, ::1] members
    cdef int32_t[:, ::1] n_members

    def __init__(self, int64_t height, int64_t width, int32_t patch, int32_t radius, int32_t group,
                 const int32_t[::1] rows, const int32_t[::1] columns):
        self.rows, self.columns = rows, columns
        self.members = np.empty((rows.shape[0], columns.shape[0], group), np.int32)
        self.n_members = np.empty((rows.shape[0], columns.shape[0]), np.int32)
        self.c = nnk_patches(height, width, patch, radius, group, rows.shape[0], columns.shape[0],
                             &rows[0], &columns[0])

    def groups(self):
        """Members (n_rows, n_columns, group) as positions, and their numbers."""
        return np.asarray(self.members), np.asarray(self.n_members)


def match(Patches patches, const real[:, ::1] image, int64_t g0, int64_t g1):
    """Find the members of the groups of grid rows [g0, g1)."""
    cdef int status
    with nogil:
        if real is float:
            status = kernels.match_f32(&patches.c, &image[0, 0], &patches.members[0, 0, 0],
                                       &patches.n_members[0, 0], g0, g1)
        else:
            status = kernels.match_f64(&patches.c, &image[0, 0], &patches.members[0, 0, 0],
                                       &patches.n_members[0, 0], g0, g1)
    check(status)


def patch_pass(Patches patches, bint first, bint right, double sigma, double tau,
               const real[:, ::1] y, const real[:, ::1] z, const real[:, ::1] x,
               real[:, ::1] sum_x, real[:, ::1] sum_z, real[:, ::1] weights, int64_t first_row,
               int64_t g0, int64_t g1):
    """Filter the groups of grid rows [g0, g1); an empty `sum_z` is not wanted."""
    cdef int status
    cdef nnk_patch_pass step
    step.first, step.right, step.sigma, step.tau = first, right, sigma, tau
    step.y, step.z, step.x = &y[0, 0], &z[0, 0], &x[0, 0]
    step.sum_x, step.weights, step.first_row = &sum_x[0, 0], &weights[0, 0], first_row
    step.sum_z = NULL
    if sum_z.shape[0]:
        step.sum_z = &sum_z[0, 0]
    with nogil:
        if real is float:
            status = kernels.patch_pass_f32(&patches.c, &step, &patches.members[0, 0, 0],
                                            &patches.n_members[0, 0], g0, g1)
        else:
            status = kernels.patch_pass_f64(&patches.c, &step, &patches.members[0, 0, 0],
                                            &patches.n_members[0, 0], g0, g1)
    check(status)
