"""The Chebyshev recurrence on any sparse adjacency, order by order."""

import numpy as np

from nnk_image import _core
from nnk_image.base.checks import ready_for_c

# So many edges take about as long as the pixel for which `RowExecutor` sizes its chunks.
_EDGES_PER_PIXEL = 20


class CsrRecurrence:
    """The recurrence on the rows of an adjacency as from `check_adjacency`, in its dtype."""

    def __init__(self, adjacency):
        self.n = adjacency.shape[0]
        self.shape, self.dtype = (self.n,), adjacency.dtype
        self._adjacency = adjacency
        self._rows = (
            ready_for_c(adjacency.indptr).view(np.uint8),
            ready_for_c(adjacency.indices).view(np.uint8),
            adjacency.indices.dtype == np.int64,
            ready_for_c(adjacency.data),
        )
        self._work_of_node = max(1, adjacency.nnz // (_EDGES_PER_PIXEL * max(1, self.n)))
        self.degrees = (adjacency @ np.ones(self.n, self.dtype)).reshape(self.shape)

    @property
    def padded_degrees(self):
        """The degrees: signals are laid out as they are."""
        return self.degrees

    @staticmethod
    def inside(signal):
        """Return the signal."""
        return signal

    def signless(self, x, out, scale, executor):
        """Write ``scale (D + W) x`` into `out`."""
        np.multiply(self.degrees * x + self._adjacency @ x, scale, out=out)

    def set_laplacian(self, terms, executor):
        """Choose L by its `node_terms` as a function of degrees."""
        diagonal, square = terms(self.degrees.ravel())
        self._laplacian = diagonal, np.empty(0, self.dtype) if square is None else 1 / square

    def set_row_scale(self, scale):
        """Choose ``L = I - diag(scale) W``, with a number for each node."""
        self._laplacian = np.ones_like(scale), scale

    def analyze(self, signal, coefficients, lambda_max, executor):
        """All Chebyshev series on one signal: (n_bands, *shape)."""
        signal = signal.reshape(-1)
        result = np.multiply.outer(coefficients[:, 0].astype(self.dtype), signal)
        older, old = np.empty(0, self.dtype), np.ascontiguousarray(signal)
        for c in np.ascontiguousarray(coefficients.T)[1:]:
            older, old = (
                old,
                self._step(4 / lambda_max, 2.0, older, old, result, c, False, executor),
            )
        return result.reshape(-1, *self.shape)

    def synthesize(self, bands, coefficients, lambda_max, executor):
        """Sum of the series applied to one signal each, by Clenshaw's recurrence."""
        rows, bands = np.ascontiguousarray(coefficients.T), bands.reshape(len(bands), -1)
        older = old = np.zeros(self.n, bands.dtype)
        for c in rows[:0:-1]:
            older, old = old, self._step(4 / lambda_max, 2.0, older, old, bands, c, True, executor)
        result = self._step(2 / lambda_max, 1.0, older, old, bands, rows[0], True, executor)
        return result.reshape(self.shape)

    def _step(self, scale, shift, older, x, images, c, clenshaw, executor):
        result = np.empty_like(x)
        given = *self._laplacian, scale, shift, older, x, result, images, c, clenshaw

        def work(first, last):
            _core.csr_step(*self._rows, *given, first, last)

        executor.run(work, self.n, self._work_of_node)
        return result
