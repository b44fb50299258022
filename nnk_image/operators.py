"""Polynomials of a Laplacian applied to signals: the Chebyshev recurrence on a graph.

A `LaplacianOperator` knows a graph's Laplacian in the form the C core is fast on:
blocks on the pixel grid for an `ImageGraph`, plain CSR for any other graph.
Everything else (filters, wavelets, denoising) is polynomials evaluated here.

With ``X = (2 / top) L - I`` and Chebyshev coefficients c (numpy's convention), a
bank of polynomials is ``p_s(L) = sum_k c[s, k] T_k(X)``, evaluated by the
recurrence ``T_k = 2 X T_{k-1} - T_{k-2}``; its adjoint by Clenshaw's.
"""

import numpy as np

from nnk_image import _core
from nnk_image.graph import ImageGraph
from nnk_image.laplacian import check_adjacency, check_symmetric, degrees, symmetric_form
from nnk_image.laplacian import spectral_bound as _spectral_bound
from nnk_image.window import window_of

ORDERS_PER_SWEEP = 6
"""Orders computed in one sweep down an image (measured: 5 to 8 are alike)."""

OPERATOR_STAGES = 2
"""Passes over all rows of setting up an operator, for progress bars."""

_PIXELS_PER_SWEEP = 1 << 20  # rows that neighbouring bands both compute stay a few percent


class LaplacianOperator:
    """The Laplacian of a graph as an operator on signals.

    Parameters
    ----------
    graph : ImageGraph or scipy.sparse adjacency
        Undirected graph.
    kind : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
        The Laplacian.  The last two are evaluated through their similarity to a
        symmetric matrix, ``p(L_rw) = D^-1/2 p(L_sym) D^1/2``.
    dtype : numpy.dtype
        float32 or float64: of the signals and all arithmetic.
    bands : Bands
        For the work of setting up.

    Attributes
    ----------
    shape : tuple
        Of a signal: (H, W) for an ImageGraph, (N,) otherwise.
    bound : float
        No eigenvalue exceeds it (0 for a graph without edges).
    """

    def __init__(self, graph, kind, dtype, bands):
        self.kind = kind
        self.dtype = np.dtype(dtype)
        if isinstance(graph, ImageGraph):
            adjacency = graph.adjacency
            if graph.directed:
                check_symmetric(adjacency)
            self.shape = graph.shape
        else:
            adjacency = check_adjacency(graph)
            self.shape = (adjacency.shape[0],)
        if adjacency.dtype != self.dtype:
            adjacency = adjacency.astype(self.dtype)
        degree = degrees(adjacency)
        self.bound = _spectral_bound(adjacency, degree, kind, bands)
        _check_magnitude(adjacency, degree)
        diagonal, root = symmetric_form(degree, kind)
        node_scale = np.empty(0, self.dtype) if root is None else 1 / root
        similar = kind in ("random_walk", "regularized")
        self._root = root.reshape(self.shape) if similar else None
        layout = _Grid if isinstance(graph, ImageGraph) else _Csr
        self._layout = layout(graph, adjacency, diagonal, node_scale, bands)

    def sweeps(self, order):
        """Passes over all rows of `analyze` with that order (for progress bars)."""
        return self._layout.sweeps(order)

    def synthesis_sweeps(self, order):
        """Passes over all rows of `synthesize`."""
        return self._layout.synthesis_sweeps(order) if order else 0

    def analyze(self, signal, coefficients, top, bands):
        """All polynomials of a bank on one signal.

        Parameters
        ----------
        signal : ndarray of `shape` and `dtype`
        coefficients : (n_bands, order + 1) float64 ndarray
        top : float
            The spectrum lies in [0, top].
        bands : Bands

        Returns
        -------
        (n_bands, *shape) ndarray
        """
        signal = self._symmetric_from(signal)
        result = np.multiply.outer(coefficients[:, 0].astype(self.dtype), signal)
        if coefficients.shape[1] > 1:
            self._layout.analyze(signal, np.ascontiguousarray(coefficients), top, result, bands)
        return self._symmetric_to(result)

    def synthesize(self, bands_in, coefficients, top, bands):
        """Adjoint of `analyze`: ``sum_s p_s(L) bands_in[s]``."""
        bands_in = np.ascontiguousarray(self._symmetric_from(bands_in))
        if coefficients.shape[1] == 1:
            result = np.tensordot(coefficients[:, 0].astype(self.dtype), bands_in, 1)
        else:
            result = self._layout.synthesize(
                bands_in, np.ascontiguousarray(coefficients), top, bands
            )
        return self._symmetric_to(result)

    def multiply(self, signal, bands):
        """``(L / bound) x`` for the symmetric matrix behind the Laplacian."""
        result = np.zeros((1, *self.shape), self.dtype)
        self._layout.analyze(signal, np.array([[0.0, 1.0]]), self.bound, result, bands)
        return (result[0] + signal) / 2  # T_1 = (2 / bound) L x - x

    def _symmetric_from(self, x):
        return x if self._root is None else x * self._root

    def _symmetric_to(self, x):
        return x if self._root is None else x / self._root


def _check_magnitude(adjacency, degree):
    """Raise ValueError where degrees have no normal inverse or sum: weights out of range."""
    linked = degree[degree > 0]
    range_of = np.finfo(degree.dtype)
    if linked.size and not (
        range_of.tiny <= linked.min() and 4 * range_of.tiny < linked.max() < range_of.max / 16
    ):
        raise ValueError(
            f"edge weights from {adjacency.data.min():g} to {adjacency.data.max():g} are too "
            f"small or too large for {degree.dtype} arithmetic; scale them, W * factor"
        )


class _Grid:
    """The recurrence on the blocks of an image graph (nnk_grid_operator)."""

    def __init__(self, graph, adjacency, diagonal, node_scale, bands):
        self.height, self.width = graph.shape
        self.dtype = adjacency.dtype
        window = window_of(graph.window)
        packet = 32 // self.dtype.itemsize
        blocks = -(-self.width // packet)
        self.pad = -(-window.radius // packet) * packet
        self.stride = self.pad + blocks * packet + self.pad
        offsets = np.concatenate([-window.forward[::-1], window.forward])
        self._op = _core.GridOperator(
            self.height,
            self.width,
            blocks,
            self.stride,
            self.pad,
            window.radius,
            np.ascontiguousarray(offsets[:, 0]),
            np.ascontiguousarray(offsets[:, 1]),
        )
        side, radius = window.size, window.radius
        offset_at = np.full(side * side, -1, np.int32)
        offset_at[(offsets[:, 0] + radius) * side + offsets[:, 1] + radius] = np.arange(
            len(offsets)
        )
        indptr, indices = adjacency.indptr.view(np.uint8), adjacency.indices.view(np.uint8)
        wide = adjacency.indices.dtype == np.int64
        counts = np.zeros((self.height, blocks), np.int32)

        def count(y0, y1):
            _core.count_packets(self._op, packet, indptr, indices, wide, offset_at, counts, y0, y1)

        if adjacency.nnz:
            bands.run(count, self.height, self.width)
        start = np.zeros(counts.size + 1, np.int64)
        np.cumsum(counts.ravel(), out=start[1:])
        ids = np.empty(max(1, start[-1]), np.uint16)
        weights = np.empty(max(1, start[-1]) * packet, self.dtype)

        def fill(y0, y1):
            _core.fill_packets(
                self._op,
                indptr,
                indices,
                wide,
                adjacency.data,
                node_scale,
                offset_at,
                start,
                ids,
                weights,
                y0,
                y1,
            )

        if adjacency.nnz:
            bands.run(fill, self.height, self.width)
        diagonal = self._padded(diagonal.reshape(graph.shape))
        self._op.set_packets(start, ids, weights.view(np.uint8), diagonal.ravel().view(np.uint8))

    def sweeps(self, order):
        return -(-order // ORDERS_PER_SWEEP)

    def synthesis_sweeps(self, order):
        return self.sweeps(order) + 1

    def _padded(self, image=None):
        rows = np.zeros((self.height, self.stride), self.dtype)
        if image is not None:
            rows[:, self.pad : self.pad + self.width] = image
        return rows

    def _group(self, scale, older, old, spare, images, coefficients, forcing, bands):
        """Advance by the orders of `coefficients`: returns the new last two and two spares."""
        new_older, new_old = spare

        def work(y0, y1):
            _core.chebyshev_group(
                self._op,
                scale,
                1.0 if forcing == "last" else 2.0,
                older,
                old,
                new_older,
                new_old,
                images,
                coefficients,
                bool(forcing),
                y0,
                y1,
            )

        rows = max(64, _PIXELS_PER_SWEEP // self.width)
        bands.run(work, self.height, self.width, rows)
        if not older.size:
            older = self._padded()
        return new_older, new_old, (older, old)

    def analyze(self, signal, coefficients, top, result, bands):
        older, old = np.empty((0, self.stride), self.dtype), self._padded(signal)
        spare = (self._padded(), self._padded())
        for first in range(1, coefficients.shape[1], ORDERS_PER_SWEEP):
            c = np.ascontiguousarray(coefficients[:, first : first + ORDERS_PER_SWEEP])
            older, old, spare = self._group(4 / top, older, old, spare, result, c, "", bands)

    def synthesize(self, bands_in, coefficients, top, bands):
        older, old = self._padded(), self._padded()
        spare = (self._padded(), self._padded())
        falling = coefficients[:, :0:-1]  # Clenshaw: from the last order down to 1
        for first in range(0, falling.shape[1], ORDERS_PER_SWEEP):
            c = np.ascontiguousarray(falling[:, first : first + ORDERS_PER_SWEEP])
            older, old, spare = self._group(4 / top, older, old, spare, bands_in, c, "all", bands)
        c = np.ascontiguousarray(coefficients[:, :1])
        _, old, _ = self._group(2 / top, older, old, spare, bands_in, c, "last", bands)
        return np.ascontiguousarray(old[:, self.pad : self.pad + self.width])


class _Csr:
    """The recurrence on plain CSR rows, order by order."""

    def __init__(self, graph, adjacency, diagonal, node_scale, bands):
        self.n = adjacency.shape[0]
        self.data, self.diagonal = adjacency.data, diagonal
        if node_scale.size:
            rows = np.repeat(np.arange(self.n), np.diff(adjacency.indptr))
            self.data = (self.data * node_scale[rows]) * node_scale[adjacency.indices]
        self.wide = adjacency.indices.dtype == np.int64
        self.indptr = adjacency.indptr.view(np.uint8)
        self.indices = adjacency.indices.view(np.uint8)

    def sweeps(self, order):
        return order

    def synthesis_sweeps(self, order):
        return order + 1

    def _step(self, scale, shift, older, x, images, c, forcing, bands):
        result = np.empty_like(x)

        def work(first, last):
            _core.csr_step(
                self.indptr,
                self.indices,
                self.wide,
                self.data,
                self.diagonal,
                scale,
                shift,
                older,
                x,
                result,
                images,
                c,
                forcing,
                first,
                last,
            )

        bands.run(work, self.n)
        return result

    def analyze(self, signal, coefficients, top, result, bands):
        older, old = np.empty(0, signal.dtype), np.ascontiguousarray(signal)
        for c in np.ascontiguousarray(coefficients.T)[1:]:
            older, old = old, self._step(4 / top, 2.0, older, old, result, c, False, bands)

    def synthesize(self, bands_in, coefficients, top, bands):
        rows = np.ascontiguousarray(coefficients.T)
        older = old = np.zeros(self.n, bands_in.dtype)
        for c in rows[:0:-1]:
            older, old = old, self._step(4 / top, 2.0, older, old, bands_in, c, True, bands)
        return self._step(2 / top, 1.0, older, old, bands_in, rows[0], True, bands)
