# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Thin bindings of the C core, which run without the GIL.

Arguments are checked by the Python modules and not here. ``y0, y1`` select the rows [y0, y1) to
compute. nnk_core.h describes the layouts of arrays.
"""

import os

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint64_t

from nnk_core cimport *

ctypedef fused real:
    float
    double

MAX_ORDERS = NNK_MAX_ORDERS
PAIRS_AT_ONCE = NNK_PAIRS_AT_ONCE

cdef enum:
    PIXELS_PER_CALL = 1 << 21  # pixels times orders between two checks for Ctrl-C: about 20 ms


# --- the SIMD variant ------------------------------------------------------------------

cdef const nnk_kernels *kernels = NULL


def simd_variants():
    """Return the names of the SIMD variants that this machine can run, the fastest last."""
    cdef const nnk_kernels *found[4]
    cdef int n = nnk_variants(found)
    return [found[i].name.decode() for i in range(n)]


def simd_variant():
    """Return the name of the SIMD variant in use."""
    return kernels.name.decode()


def use_simd(name=None):
    """Use the SIMD variant with this name, or the fastest one; all give the same results."""
    global kernels
    cdef const nnk_kernels *found[4]
    cdef int n = nnk_variants(found)
    names = simd_variants()
    if name and name not in names:
        raise ValueError(
            f"NNK_IMAGE_SIMD={name!r} is not a SIMD variant of this machine; "
            f"choose one of {', '.join(names)}, or unset it for the fastest"
        )
    kernels = found[names.index(name) if name else n - 1]


use_simd(os.environ.get("NNK_IMAGE_SIMD"))


cdef int check(int status) except -1:
    if status != NNK_OK:
        raise MemoryError("nnk_image ran out of memory for the scratch of one chunk of rows")
    return 0


# --- graphs ------------------------------------------------------------------------------

cdef class Window:
    """The offsets of a window by distance, and which offsets may prune each (nnk_window)."""

    cdef nnk_window c
    cdef const int32_t[::1] dy, dx, plane, pair_start, pruner

    def __init__(self, border, radius, const int32_t[::1] dy, const int32_t[::1] dx,
                 const int32_t[::1] plane, const int32_t[::1] pair_start,
                 const int32_t[::1] pruner):
        self.dy, self.dx, self.plane = dy, dx, plane
        self.pair_start, self.pruner = pair_start, pruner
        self.c.border, self.c.radius, self.c.n_offsets = border, radius, dy.shape[0]
        self.c.dy, self.c.dx, self.c.plane = &dy[0], &dx[0], &plane[0]
        self.c.pair_start, self.c.pruner = &pair_start[0], &pruner[0]


cdef class Edges:
    """Edge planes: one bit per pixel and offset (nnk_edges)."""

    cdef nnk_edges c
    cdef const int32_t[::1] dy, dx
    cdef const int64_t[::1] line, first_node, step
    cdef const uint64_t[:, :, ::1] forward, backward

    def __init__(self, int64_t width, const int64_t[::1] line, const int64_t[::1] first_node,
                 const int32_t[::1] dy, const int32_t[::1] dx, const int64_t[::1] step, backward=True):
        cdef int64_t words = (width + 63) // 64, height = first_node.shape[0]
        self.line, self.first_node = line, first_node
        self.dy, self.dx, self.step = dy, dx, step
        self.c = nnk_edges(height, width, words, dy.shape[0], line.shape[0], &dy[0], &dx[0],
                           &line[0], &first_node[0], &step[0], NULL, NULL)
        planes = [np.empty((height, dy.shape[0], words), np.uint64) for _ in range(1 + backward)]
        self.__setstate__(planes)

    def __reduce__(self):
        lines = self.c.width, np.asarray(self.line), np.asarray(self.first_node)
        given = *lines, np.asarray(self.dy), np.asarray(self.dx), np.asarray(self.step)
        planes = [np.asarray(self.forward)]
        if self.backward is not None:
            planes.append(np.asarray(self.backward))
        return Edges, given, planes

    def __setstate__(self, planes):
        self.forward = planes[0]
        self.c.forward = <uint64_t *> &self.forward[0, 0, 0]
        self.release_backward()
        if len(planes) == 2:
            self.backward = planes[1]
            self.c.backward = <uint64_t *> &self.backward[0, 0, 0]

    def release_backward(self):
        """Free the backward planes, which undirected graphs do not need."""
        self.backward = None
        self.c.backward = NULL


cdef class Kernel:
    """The bilateral kernel on feature planes (nnk_kernel)."""

    cdef nnk_kernel c
    cdef object given
    cdef const unsigned char[::1] planes, spatial
    cdef bint double_features, double_weights

    def __init__(self, planes, spatial, int64_t border, int32_t radius, double two_sigma2):
        self.given = planes, spatial, border, radius, two_sigma2
        self.planes, self.spatial = planes.reshape(-1).view(np.uint8), spatial.view(np.uint8)
        self.double_features, self.double_weights = planes.itemsize == 8, spatial.itemsize == 8
        if self.double_features and not self.double_weights:
            raise TypeError("float64 features have float64 weights")
        self.c = nnk_kernel(&self.planes[0], &self.spatial[0], planes.shape[2], border,
                            planes.shape[0], radius, two_sigma2)

    def __reduce__(self):
        return Kernel, self.given


def prune(Edges edges, Window window, const real[:, :, ::1] planes,
          const real[::1] threshold, int64_t y0, int64_t y1):
    """Choose the edges of the pixels of rows [y0, y1) by Algorithm 4."""
    cdef int status
    with nogil:
        if real is float:
            status = kernels.prune_f32(&planes[0, 0, 0], planes.shape[2], planes.shape[0], &window.c,
                                       &threshold[0], &edges.c, y0, y1)
        else:
            status = kernels.prune_f64(&planes[0, 0, 0], planes.shape[2], planes.shape[0], &window.c,
                                       &threshold[0], &edges.c, y0, y1)
    check(status)


def symmetrize(Edges edges, int64_t y0, int64_t y1):
    """Add the backward edges to the forward planes, which makes the graph undirected."""
    with nogil:
        nnk_symmetrize(&edges.c, y0, y1)


def all_pairs(Edges edges, const uint64_t[:, ::1] valid, int64_t y0, int64_t y1):
    """Write every pair of valid pixels within the window to the forward planes."""
    with nogil:
        nnk_all_pairs(&edges.c, &valid[0, 0], y0, y1)


def edges_of_csr(Edges edges, const unsigned char[::1] indptr, const unsigned char[::1] indices,
                 bint wide, int64_t border, int32_t radius, const int32_t[::1] offset_at,
                 int64_t y0, int64_t y1):
    """Write the edges of a CSR matrix to the planes.

    `indptr` and `indices` are views of the bytes of int64 if `wide`, else int32.
    """
    cdef const unsigned char *columns = &indices[0] if indices.shape[0] else NULL
    cdef int status
    with nogil:
        status = nnk_edges_of_csr(&edges.c, &indptr[0], columns, wide, border, radius,
                                  &offset_at[0], y0, y1)
    check(status)


def count_rows(Edges edges, int64_t[::1] counts, int64_t y0, int64_t y1):
    """Write how many edges the pixels of each row have, together, to `counts`."""
    with nogil:
        nnk_count_rows(&edges.c, &counts[0], y0, y1)


def fill(Edges edges, Kernel kernel, const int64_t[::1] row_start, unsigned char[::1] indptr,
         unsigned char[::1] indices, bint wide, unsigned char[::1] data, int64_t y0, int64_t y1):
    """Write CSR rows (nnk_fill) and return how many weights are 0.

    All arrays but `row_start` are views of bytes.
    """
    cdef nnk_csr_rows rows
    cdef int64_t underflown = 0
    cdef int status
    cdef nnk_fill *work = kernels.fill_f32_f32
    if kernel.double_weights:
        work = kernels.fill_f64_f64 if kernel.double_features else kernels.fill_f32_f64
    rows.row_start, rows.indptr, rows.wide = &row_start[0], &indptr[0], wide
    rows.indices = &indices[0] if indices.shape[0] else NULL
    rows.weights = &data[0] if data.shape[0] else NULL
    with nogil:
        status = work(&kernel.c, &edges.c, &rows, &underflown, y0, y1)
    check(status)
    return underflown


# --- operators ---------------------------------------------------------------------------

cdef class GridOperator:
    """An adjacency in SIMD blocks, and a Laplacian of it (nnk_grid_operator).

    Only `fill_entries` and `copy_entries` write to `entry` and `weight`.
    """

    cdef nnk_grid_operator c
    cdef const int32_t[::1] dy, dx
    cdef const int64_t[::1] first_node
    cdef const int32_t[:, :, ::1] before
    cdef const int64_t[:, ::1] row_start
    cdef const uint64_t[::1] entry
    cdef const unsigned char[::1] weight, diagonal, row_scale

    def __init__(self, int64_t width, int64_t blocks, int64_t stride, int64_t pad, int64_t border,
                 int64_t n_nodes, const int32_t[::1] dy, const int32_t[::1] dx,
                 const int64_t[::1] first_node, const int32_t[:, :, ::1] before,
                 const int64_t[:, ::1] row_start, const uint64_t[::1] entry, const unsigned char[::1] weight):
        self.dy, self.dx, self.first_node = dy, dx, first_node
        self.before, self.row_start, self.entry, self.weight = before, row_start, entry, weight
        self.c = nnk_grid_operator(first_node.shape[0], width, blocks, stride, pad, border, n_nodes,
                                   dy.shape[0], &dy[0], &dx[0], &first_node[0],
                                   <const nnk_before *> &before[0, 0, 0],
                                   <const nnk_start *> &row_start[0, 0], row_start.shape[0],
                                   <uint64_t *> &entry[0], <void *> &weight[0], NULL, NULL)

    def __reduce__(self):
        sizes = self.c.width, self.c.blocks, self.c.stride, self.c.pad, self.c.border, self.c.n_nodes
        offsets = np.asarray(self.dy), np.asarray(self.dx)
        places = np.asarray(self.first_node), np.asarray(self.before), np.asarray(self.row_start)
        entries = *places, np.asarray(self.entry), np.asarray(self.weight)
        laplacian = np.asarray(self.diagonal), np.asarray(self.row_scale)
        return GridOperator, (*sizes, *offsets, *entries), laplacian

    def __setstate__(self, laplacian):
        self.set_laplacian(*laplacian)

    def set_laplacian(self, const unsigned char[::1] diagonal, const unsigned char[::1] row_scale):
        """Set the Laplacian by views of the bytes of two images; an empty `row_scale` means 1."""
        self.diagonal, self.row_scale = diagonal, row_scale
        self.c.diagonal = &diagonal[0]
        self.c.row_scale = NULL
        if row_scale.shape[0]:
            self.c.row_scale = &row_scale[0]


def count_entries(Edges edges, int32_t lanes, int32_t[:, :, ::1] before, int64_t y0, int64_t y1):
    """Count the entries and weights before each block, and those of the whole row."""
    cdef int status
    with nogil:
        status = nnk_count_entries(&edges.c, lanes, before.shape[1] - 1,
                                   <nnk_before *> &before[0, 0, 0], y0, y1)
    check(status)


def fill_entries(GridOperator op, Edges edges, Kernel kernel, int64_t y0, int64_t y1):
    """Write the entries of rows [y0, y1), with the weights that the kernel gives."""
    cdef int status
    cdef nnk_fill_entries *work = kernels.fill_entries_f32_f32
    if kernel.double_weights:
        work = kernels.fill_entries_f64_f64 if kernel.double_features else kernels.fill_entries_f32_f64
    with nogil:
        status = work(&kernel.c, &edges.c, &op.c, y0, y1)
    check(status)


def copy_entries(GridOperator op, Edges edges, const unsigned char[::1] indptr, bint wide,
                 const real[::1] data, int64_t y0, int64_t y1):
    """Write the entries of rows [y0, y1), with the weights of the matrix `edges` come from."""
    cdef int status = NNK_OK
    if data.shape[0] == 0:
        return
    with nogil:
        if real is float:
            status = nnk_copy_entries_f32(&edges.c, &indptr[0], wide, &data[0], &op.c, y0, y1)
        else:
            status = nnk_copy_entries_f64(&edges.c, &indptr[0], wide, &data[0], &op.c, y0, y1)
    check(status)


def degrees(GridOperator op, real[:, ::1] degree, int64_t y0, int64_t y1):
    """Write the row sums of the adjacency to a padded image."""
    with nogil:
        if real is float:
            kernels.degrees_f32(&op.c, &degree[0, 0], y0, y1)
        else:
            kernels.degrees_f64(&op.c, &degree[0, 0], y0, y1)


def signless(GridOperator op, const real[:, ::1] degree, double scale, const real[:, ::1] x,
             real[:, ::1] out, int64_t y0, int64_t y1):
    """Write ``scale (D + W) x`` of a padded image x to rows [y0, y1) of another."""
    with nogil:
        if real is float:
            kernels.signless_f32(&op.c, &degree[0, 0], <float>scale, &x[0, 0], &out[0, 0], y0, y1)
        else:
            kernels.signless_f64(&op.c, &degree[0, 0], scale, &x[0, 0], &out[0, 0], y0, y1)


cdef class ChebyshevSweep:
    """Several orders of the recurrence, computed in one sweep down a tile (nnk_sweep).

    All images have the same dtype. `older` is empty in the first block of orders, `start` unless
    the block initializes the bands. The tile has rows [top + k border, bottom + k border) of the
    k-th order of the block, k = 1, 2, .. It begins at the first row of the image if `top` is None,
    and ends at the last one if `below` is None.
    """

    cdef GridOperator op
    cdef nnk_sweep c
    cdef bint double_
    cdef object images, rings, above, below
    cdef size_t ring_bytes
    cdef const double[:, ::1] coefficients
    cdef const double[::1] start
    cdef readonly int64_t front, head, body, end

    def __init__(self, GridOperator op, top, bottom, ChebyshevSweep below,
                 double scale, double shift, older, old, new_older, new_old, bands,
                 const double[:, ::1] coefficients, const double[::1] start, bint clenshaw):
        cdef size_t shared = 0
        self.op, self.coefficients, self.start = op, coefficients, start
        self.images, self.rings = (older, old, new_older, new_old, bands), None
        self.double_ = old.dtype == np.float64
        self.c.orders, self.c.n_bands = coefficients.shape[1], coefficients.shape[0]
        self.c.clenshaw, self.c.scale, self.c.shift = clenshaw, scale, shift
        self.c.older, self.c.old = address(older), address(old)
        self.c.new_older, self.c.new_old = address(new_older), address(new_old)
        self.c.bands = address(bands)
        self.c.coefficients = &coefficients[0, 0]
        self.c.start = &start[0] if start.shape[0] else NULL
        if self.double_:
            kernels.sweep_room_f64(&op.c, &self.c, &self.ring_bytes, &shared)
        else:
            kernels.sweep_room_f32(&op.c, &self.c, &self.ring_bytes, &shared)
        self.front, self.end = 0, op.c.height
        if top is not None:
            self.above, self.c.row_begin = np.zeros(shared, np.uint8), top
            self.c.above, self.front = address(self.above), top + op.c.border
        self.body = self.end
        if below is not None:
            self.below, self.c.row_end = below.above, bottom
            self.c.below, self.end = below.c.above, bottom + op.c.border
            self.body = self.end - 1
        # Each order lags behind the one before by `border` rows; `front` is that of the first.
        self.head = min(self.front + 2 * self.c.orders * op.c.border, self.body)

    def go_to(self, int64_t row):
        """Advance the front, the next row of the first order, to a row.

        Once the front is at `head`, the tile above has all that it needs of this one. Up to `body`
        this one needs nothing of the tile below. At `end` all orders are complete. Ctrl-C
        interrupts between chunks of rows.
        """
        cdef int64_t rows = max(1, PIXELS_PER_CALL // (self.op.c.stride * self.c.orders))
        while self.front < row:
            self._advance(min(self.front + rows, row))
            PyErr_CheckSignals()

    cdef int _advance(self, int64_t row) except -1:
        cdef int status
        cdef unsigned char[::1] rings
        if self.rings is None:
            self.rings = np.zeros(self.ring_bytes, np.uint8)
        rings = self.rings
        with nogil:
            if self.double_:
                status = kernels.sweep_rows_f64(&self.op.c, &self.c, &rings[0], self.front, row)
            else:
                status = kernels.sweep_rows_f32(&self.op.c, &self.c, &rings[0], self.front, row)
        self.front = row
        if row == self.end:
            self.rings = self.above = self.below = None
        return check(status)


cdef void *address(image) except? NULL:
    """Return the address of a contiguous array, or NULL if it is empty."""
    cdef const unsigned char[::1] values
    if image.size == 0:
        return NULL
    values = image.reshape(-1).view(np.uint8)
    return <void *>&values[0]


# --- solvers -----------------------------------------------------------------------------

MOST_AXES = NNK_MOST_AXES


cdef class EdgeList:
    """The edges of an undirected graph, each of them once (nnk_edge_list)."""

    cdef nnk_edge_list c
    cdef object kept  # keeps alive the arrays that `c` points to

    def __init__(self, tail, head, first, of_node, limit, step):
        self.kept = tail, head, first, of_node, limit, step
        self.c.tail, self.c.head = <int32_t *>address(tail), <int32_t *>address(head)
        self.c.first, self.c.of_node = <int32_t *>address(first), <int32_t *>address(of_node)
        self.c.limit, self.c.step = address(limit), address(step)


def variation_nodes(EdgeList edges, const real[::1] z, const real[::1] r, const real[::1] v, double low,
                    double high, real[::1] x, int64_t i0, int64_t i1):
    """Compute the nodes [i0, i1) of a step.

    `v` has one number more than there are edges, so that it is never empty.
    """
    with nogil:
        if real is float:
            nnk_variation_nodes_f32(&edges.c, &z[0], &r[0], &v[0], low, high, &x[0], i0, i1)
        else:
            nnk_variation_nodes_f64(&edges.c, &z[0], &r[0], &v[0], low, high, &x[0], i0, i1)


def variation_edges(EdgeList edges, const real[::1] x, double momentum, real[::1] u, real[::1] v,
                    int64_t e0, int64_t e1):
    """Compute the edges [e0, e1) of a step.

    Return a sum that, over all edges, is positive if the momentum leads uphill.
    """
    cdef double uphill
    with nogil:
        if real is float:
            uphill = nnk_variation_edges_f32(&edges.c, &x[0], momentum, &u[0], &v[0], e0, e1)
        else:
            uphill = nnk_variation_edges_f64(&edges.c, &x[0], momentum, &u[0], &v[0], e0, e1)
    return uphill


def variation_gap(EdgeList edges, const real[::1] x, const real[::1] u, int64_t e0, int64_t e1):
    """Return the contributions of edges [e0, e1) to the duality gap and the total variation."""
    cdef double[2] out
    out[0] = out[1] = 0
    with nogil:
        if real is float:
            nnk_variation_gap_f32(&edges.c, &x[0], &u[0], out, e0, e1)
        else:
            nnk_variation_gap_f64(&edges.c, &x[0], &u[0], out, e0, e1)
    return out[0], out[1]


def planes(const int32_t[::1] indptr, const int32_t[::1] indices, const real[::1] weights,
           const real[:, ::1] places, double stiffness, const real[:, ::1] f, real[:, ::1] out,
           int64_t i0, int64_t i1):
    """Write half the gradient of piecewise planar signals at nodes [i0, i1) to `out`.

    `indices` and `weights` must not be empty.
    """
    cdef int32_t axes = places.shape[1]
    with nogil:
        if real is float:
            nnk_planes_f32(&indptr[0], &indices[0], &weights[0], &places[0, 0], axes, stiffness, &f[0, 0],
                           &out[0, 0], i0, i1)
        else:
            nnk_planes_f64(&indptr[0], &indices[0], &weights[0], &places[0, 0], axes, stiffness, &f[0, 0],
                           &out[0, 0], i0, i1)


# --- patches -----------------------------------------------------------------------------

cdef class Patches:
    """Reference patches on a grid, and the members of their groups (nnk_patches)."""

    cdef nnk_patches c
    cdef const int64_t[::1] lines
    cdef const int32_t[::1] columns
    cdef int32_t[:, :, ::1] members
    cdef int32_t[:, ::1] n_members
    cdef object kept  # keeps alive the arrays that `c` points to

    def __init__(self, shape, patch, radius, int32_t group, const int64_t[::1] lines,
                 const int32_t[::1] columns):
        cdef int axis
        cdef int missing = NNK_AXES - len(shape)
        self.lines, self.columns = lines, columns
        self.members = np.empty((lines.shape[0], columns.shape[0], group), np.int32)
        self.n_members = np.empty((lines.shape[0], columns.shape[0]), np.int32)
        for axis in range(NNK_AXES):
            self.c.shape[axis] = self.c.patch[axis] = 1
            self.c.radius[axis] = 0
            if axis >= missing:
                self.c.shape[axis] = shape[axis - missing]
                self.c.patch[axis] = patch[axis - missing]
                self.c.radius[axis] = radius[axis - missing]
        self.c.group, self.c.n_lines, self.c.n_columns = group, lines.shape[0], columns.shape[0]
        self.c.lines, self.c.columns = &lines[0], &columns[0]
        self.c.bias = self.c.variances = NULL

    def set_noise(self, bias, variances):
        """Set what noise adds to distances, and the variance of uneven noise (nnk_patches).

        Parameters
        ----------
        bias : (product of 2 radius + 1 over all axes,) ndarray or None
            Contiguous, of the dtype of the image.
        variances : ndarray or None
            Contiguous, of the shape and dtype of the image.
        """
        self.c.bias = address(bias) if bias is not None else NULL
        self.c.variances = address(variances) if variances is not None else NULL
        self.kept = bias, variances

    def keep(self, wanted):
        """Filter only some groups: `wanted` is bool, (n_lines, n_columns), or True for all."""
        n_members = abs(np.asarray(self.n_members))
        self.n_members = np.where(wanted, n_members, -n_members)

    def groups(self):
        """Return the positions and the numbers of the members.

        The positions are int64, (n_lines, n_columns, group). The numbers are int32, (n_lines,
        n_columns), and negative for groups that are not filtered.
        """
        lines = np.asarray(self.lines)[:, None, None] * self.c.shape[NNK_AXES - 1]
        reference = lines + np.asarray(self.columns, np.int64)[:, None]
        return reference + np.asarray(self.members), np.asarray(self.n_members)


cdef nnk_box box_of(corner, shape):
    """Return a box of an image, given the indices of its first pixel and its shape."""
    cdef nnk_box box
    cdef int axis
    cdef int missing = NNK_AXES - len(shape)
    for axis in range(NNK_AXES):
        box.first[axis] = corner[axis - missing] if axis >= missing else 0
        box.shape[axis] = shape[axis - missing] if axis >= missing else 1
    return box


def match(Patches patches, const real[::1] image, int64_t g0, int64_t g1):
    """Find the members of the groups of grid lines [g0, g1)."""
    cdef int status
    with nogil:
        if real is float:
            status = kernels.match_f32(&patches.c, &image[0], &patches.members[0, 0, 0],
                                       &patches.n_members[0, 0], g0, g1)
        else:
            status = kernels.match_f64(&patches.c, &image[0], &patches.members[0, 0, 0],
                                       &patches.n_members[0, 0], g0, g1)
    check(status)


def patch_pass(Patches patches, bint across_members, double a, double b, double limit, covariance, removed,
               const real[:, ::1] z, const real[:, ::1] x, real[:, ::1] sums, real[::1] weights,
               corner, shape, int64_t g0, int64_t g1):
    """Filter the groups of grid lines [g0, g1), and add the results to the sums (nnk_patch_pass).

    The sums are those of the box of the image that begins at pixel `corner` and has this `shape`.
    `covariance` and `removed` are contiguous and of the dtype of the images, or None.
    """
    cdef int status
    cdef nnk_patch_pass step
    step.across_members = across_members
    step.channels, step.a, step.b, step.limit = z.shape[0], a, b, limit
    step.covariance = address(covariance) if covariance is not None else NULL
    step.removed = address(removed) if removed is not None else NULL
    step.z, step.x = &z[0, 0], &x[0, 0]
    step.sums, step.weights, step.box = &sums[0, 0], &weights[0], box_of(corner, shape)
    with nogil:
        if real is float:
            status = kernels.patch_pass_f32(&patches.c, &step, &patches.members[0, 0, 0],
                                            &patches.n_members[0, 0], g0, g1)
        else:
            status = kernels.patch_pass_f64(&patches.c, &step, &patches.members[0, 0, 0],
                                            &patches.n_members[0, 0], g0, g1)
    check(status)
