"""Points with a candidate search and a kernel: the neighborhoods of any queries."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix

from nnk_image.base.checks import check_choice, check_count, check_number, warn
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor, resolve_n_jobs
from nnk_image.neighbors import _core
from nnk_image.neighbors.candidates import Candidates, search_for
from nnk_image.neighbors.features import check_features, check_not_tiny
from nnk_image.neighbors.kernels import (
    KERNELS,
    Kernel,
    KernelFunction,
    check_kernel,
    check_largest,
    check_sigma,
    evaluate,
    given_diagonal,
    sigma_of,
)
from nnk_image.neighbors.options import METHODS, KernelOptions, check_method_params, check_params
from nnk_image.neighbors.result import Neighborhoods, Solved
from nnk_image.neighbors.weights import (
    ROUNDING,
    check_diagonal,
    check_symmetric_kernel,
    warn_if_indefinite,
)

BY_DISTANCE = ("kstar", "lnp")  # methods that use distances and no kernel
_REGRESSIONS = ("nnk", "omp", "mp")  # methods that minimize the error of the regression
_WORK_PER_CHUNK = 1 << 24  # multiplications in a chunk of queries: some milliseconds

Sigma = float | NDArray[np.float64]


class Queries(NamedTuple):
    """Queries and their candidates; with `exclude_self`, query i is point i, but no candidate."""

    rows: Array
    candidates: Candidates
    exclude_self: bool


class NeighborhoodModel:
    """Points with a candidate search and a kernel: gives the neighborhoods of any queries.

    Arguments are X and `KernelOptions`. The width of the kernel is that of the points, whatever is
    queried; it is computed when first needed, and kept. `points` is X as the C core reads it.
    """

    def __init__(
        self, X: ArrayLike | sparray | spmatrix, n_neighbors: int = 30, **options: Any
    ) -> None:
        given = KernelOptions(check_count("n_neighbors", n_neighbors), **options)
        self.method = check_choice("method", given.method, METHODS)
        self.params = check_method_params(given.method_params)
        width = check_sigma(given.sigma)
        self._scale = check_number("sigma_scale", given.sigma_scale, least=1e-100)
        resolve_n_jobs(given.n_jobs)  # raises our own error before scikit-learn does
        self.n_jobs = given.n_jobs
        self.points = check_features("X", X)
        self.n_neighbors = min(given.n_neighbors, len(self.points))
        params = check_params("kernel_params", given.kernel_params)
        is_matrix = isinstance(given.kernel, str) and given.kernel == "precomputed"
        self.diagonal = params.pop("diagonal", None) if is_matrix else None
        self.kernel = check_kernel(given.kernel, params, self.points.shape[1])
        if is_matrix:
            self.points = _check_square(np.asarray(self.points, np.float64))
        else:
            check_not_tiny("X", self.points)
        self._check_method()
        check_largest(self.kernel, self.points, self.points)
        self.search = search_for(given.neighbors, self.kernel, self.points, given.n_jobs)
        self._sigma_rule = ""  # how to compute the width from distances, if it is not given
        self._sigma: Sigma | None = np.nan  # None until it is computed
        if self.has_sigma:
            if isinstance(width, str):
                self._sigma_rule, self._sigma = width, None
            else:
                self._sigma = self._scale * width

    def _check_method(self) -> None:
        method = self.method
        if method in BY_DISTANCE and self.kernel.name != "gaussian":
            raise ValueError(
                f"method={method!r} uses distances of points and no kernel; use kernel='gaussian', "
                "which it ignores"
            )
        if self.params.l1 > 0 and (method not in _REGRESSIONS or self.kernel.name == "lle"):
            raise ValueError(
                "l1 is for method='nnk', 'omp' or 'mp', and not for kernel='lle'; use 0"
            )

    @property
    def has_sigma(self) -> bool:
        """Whether the weights depend on a width."""
        return self.kernel.has_sigma and self.method not in BY_DISTANCE

    @property
    def sigma(self) -> Sigma:
        """Width of the kernel: a float; one per point for 'local'; NaN where it has none."""
        if self._sigma is None:
            self._sigma = self._sigma_from(self._queries())
        return self._sigma

    def check_queries(self, queries: ArrayLike) -> Array:
        """Return queries as the C core reads them, in the floating type of the points."""
        checked = check_features("queries", queries, self.points)
        check_largest(self.kernel, self.points, checked)
        return checked

    def _queries(self, queries: ArrayLike | None = None) -> Queries:
        """Return checked queries, or the points themselves, with their candidates."""
        exclude_self = queries is None
        rows = self.points if queries is None else self.check_queries(queries)
        n = min(self.n_neighbors + exclude_self, len(self.points))  # a point finds itself as well
        lists = self.search if isinstance(self.search, Candidates) else self.search(rows, n)
        if len(lists) != len(rows):
            raise ValueError(
                f"neighbors= has candidates for {len(lists)} queries, but there are {len(rows)}"
            )
        return Queries(rows, lists, exclude_self)

    def neighborhoods(self, queries: ArrayLike | None = None) -> Neighborhoods:
        """Return `Neighborhoods` of queries, or of the points, none its own neighbor."""
        return self.solve(queries).neighborhoods()

    def solve(self, queries: ArrayLike | None = None) -> Solved:
        """Return weighted candidates (`Solved`) of queries, or of the points."""
        if self.method == "mutual_knn" and queries is not None:
            raise ValueError(
                "method='mutual_knn' is for the points themselves: leave out queries, or call "
                "predict(None) of an estimator"
            )
        given = self._queries(queries)
        solved = Solved(given.candidates, len(self.points), self._sigma_for(given))
        if self.kernel.function is None:
            self._fill(solved, self.points, given, self.kernel, self.diagonal)
        else:
            self._fill_by_function(solved, given, self.kernel.function)
        warn_if_indefinite(solved.residual)
        if self.method == "mutual_knn":
            solved.keep_mutual()
        return solved

    def _sigma_for(self, given: Queries) -> Sigma:
        """Return the kernel width for queries: that of the points, or a local one."""
        if given.exclude_self and self._sigma is None:
            self._sigma = self._sigma_from(given)
        # Given candidate lists belong to these queries, so distances of the points are unknown.
        of_queries = self._sigma_rule == "local" or isinstance(self.search, Candidates)
        if self._sigma_rule and of_queries and not given.exclude_self:
            return self._sigma_from(given)
        return self.sigma

    def _sigma_from(self, given: Queries) -> Sigma:
        """Compute the width by the rule, from the distances of queries to their candidates."""
        distances = np.empty(len(given.candidates.indices))  # NaN: missing, or the query itself
        task = self._task(self.points, given, KERNELS["gaussian"], 1.0)
        self._run(lambda i0, i1: task.distances(distances, i0, i1), given.candidates, 1)
        return self._scale * sigma_of(self._sigma_rule, distances, given.candidates.indptr)

    def _fill(
        self, solved: Solved, points: Array, queries: Queries, kernel: Kernel, diagonal: Any
    ) -> None:
        """Fill in the weights, for a kernel that the C core knows; arguments as of `_task`."""
        task = self._task(points, queries, kernel, solved.sigma, diagonal)
        index, weights = solved.index.view(np.uint8), (solved.weight, solved.error, solved.residual)
        self._run(
            lambda i0, i1: task.solve(solved.count, index, *weights, i0, i1),
            queries.candidates,
            self.n_neighbors,
        )

    def _fill_by_function(self, solved: Solved, queries: Queries, function: KernelFunction) -> None:
        """Fill in the weights, for a Python function: a precomputed kernel for each query."""
        rows = np.split(queries.candidates.indices, queries.candidates.indptr[1:-1])
        for q, found in enumerate(rows):
            found = np.unique(found[(found >= 0) & ~(queries.exclude_self & (found == q))])
            points = np.concatenate([queries.rows[q : q + 1], self.points[found]])
            matrix = evaluate(function, points, points)
            check_symmetric_kernel("kernel(A, A)", matrix, ROUNDING)
            check_diagonal("the matrix of the kernel function", matrix)
            candidates = Candidates.of_table(np.arange(1, len(matrix))[None])
            one = Solved(candidates, len(matrix), np.nan)
            query = Queries(matrix[:1], candidates, exclude_self=False)
            self._fill(one, matrix, query, KERNELS["precomputed"], matrix[0, 0])
            n = one.count[0]
            part = slice(solved.indptr[q], solved.indptr[q] + n)
            solved.index[part], solved.weight[part] = found[one.index[:n] - 1], one.weight[:n]
            solved.count[q], solved.error[q], solved.residual[q] = n, one.error[0], one.residual[0]

    def _task(
        self, points: Array, queries: Queries, kernel: Kernel, sigma: Sigma, diagonal: Any = None
    ) -> Any:
        """Set up the problem of all queries as the C core takes it.

        For a precomputed kernel, `diagonal` is that of the queries with themselves; with
        `exclude_self` it is the diagonal of their rows instead.
        """
        params, rows = self.params, queries.rows
        task = _core.Task(points, rows, queries.candidates.indptr, queries.candidates.indices)
        own = np.empty(0)
        if kernel.name == "precomputed" and queries.exclude_self:
            own = np.ascontiguousarray(np.diagonal(rows))
        elif kernel.name == "precomputed":
            own = given_diagonal(diagonal, len(rows))
        widths = np.ascontiguousarray(np.broadcast_to(np.asarray(sigma, np.float64), len(rows)))
        kind = _core.KERNELS[kernel.name]
        task.set_kernel(kind, kernel.degree, kernel.gamma, kernel.coef0, widths, own)
        task.set_method(_core.METHODS[self.method], params.lc_ratio)
        share = params.duplicates == "share"
        task.set_rules(self.n_neighbors, queries.exclude_self, share, params.l1, params.tol)
        return task

    def _run(self, work: Callable[[int, int], None], candidates: Candidates, width: int) -> None:
        """Call ``work(i0, i1)`` for chunks of queries of some milliseconds each.

        `width` is the number of candidates that each candidate is compared with; for chunk sizes.
        """
        n = len(candidates)
        mean = len(candidates.indices) // max(1, n) + 1
        cost = mean * (min(mean, width) + 8) * (self.points.shape[1] + 16)
        with RowExecutor(self.n_jobs) as executor:
            executor.run(work, n, rows_per_chunk=max(1, min(1024, _WORK_PER_CHUNK // cost)))

    def warn_if_empty(self, solved: Solved) -> None:
        """Warn if the points have candidates, but none of them a neighbor."""
        if self.has_sigma and solved.count.any() and not solved.weight.any():
            warn(
                "no point has a neighbor, because all similarities are 0 or too small for l1 and "
                f"tol; use a larger sigma than {np.max(self.sigma):g}, or a smaller l1 or tol"
            )


def warn_of_few_points(n_neighbors: int, n_points: int, exclude_self: bool) -> None:
    """Warn if there are fewer points than candidates are requested.

    With `exclude_self`, the queries are the points, and each has the others as candidates.
    """
    n = n_points - exclude_self
    if n < n_neighbors:
        points = "other points" if exclude_self else "points"
        warn(f"n_neighbors={n_neighbors}, but there are {n} {points}; all are candidates")


def _check_square(matrix: Array) -> Array:
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"X must be a square Gram matrix, not of shape {matrix.shape}")
    check_symmetric_kernel("X", matrix)
    # Some points may have no similarity with themselves, but not all of them.
    if matrix.diagonal().max() <= 1e-8 * np.abs(matrix).max():
        check_diagonal("X", matrix)
    return matrix
