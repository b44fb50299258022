"""Candidate search: which points may become neighbours of a query.

A search has one method, ``candidates(queries, n, exclude_self)``, that gives a
`Candidates`: CSR lists of at least the `n` most similar points it knows of for each query.
`search_for` chooses it.
"""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import issparse

from nnk_image.base import memory
from nnk_image.base.checks import check_choice, ready_for_c
from nnk_image.base.imports import uninterrupted
from nnk_image.base.parallel import RowExecutor
from nnk_image.neighbors import indexes
from nnk_image.neighbors.recall import recall_of

KD_TREE_FEATURES = 15
"""Most features for which a kd-tree beats comparing all pairs."""

LARGE_KD_TREE_FEATURES = 6
"""Most features for which a kd-tree of very many points beats an approximate index."""

WANTED_RECALL = 0.99
"""Part of the nearest points that an index shall find; one built by name searches harder."""

_TIE = 1e-6  # distances that differ by a smaller part may differ by rounding only

_MOST_TIES = 8
"""Most candidates asked for, per candidate wanted, to settle ties; among more equal points those
taken are arbitrary."""

_PIXELS_PER_QUERY = 64  # for which `RowExecutor` would reckon the time of a search in a kd-tree
_WORK_AT_A_TIME = 1 << 31  # multiplications of a full comparison at a time: tenths of a second
_WORK_OF_PAIR = 64  # multiplications that take as long as the rest of the work on two points
_QUERIES_OF_BLOCK = 256  # that scikit-learn compares with all points at a time

_CHUNK = 1 << 22  # numbers of similarities held in memory at a time


@dataclass(frozen=True)
class Candidates:
    """Lists of points, one per query.

    Attributes
    ----------
    indptr : (n + 1,) int64 ndarray
    indices : ndarray of int32 or int64
        Those of query i are ``indices[indptr[i]:indptr[i + 1]]``; -1 is a missing one.
    """

    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def of_table(cls, table):
        """From an (n, k) array: k candidates for each of n queries."""
        n, k = table.shape
        return cls(k * np.arange(n + 1, dtype=np.int64), _index_array(table.ravel()))

    @classmethod
    def of_lists(cls, lists):
        """From a list of arrays, one per query."""
        indptr = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(row) for row in lists], out=indptr[1:])
        return cls(indptr, _index_array(np.concatenate(lists)))

    @property
    def n_queries(self):
        """Number of queries."""
        return len(self.indptr) - 1


def search_for(neighbors, kernel, points, n_jobs, n_neighbors):
    """The candidate search that `neighbors` of the public functions asks for.

    Parameters
    ----------
    neighbors : None, arrays, CSR matrix or estimator
    kernel : Kernel
    points : (N, d) ndarray
        As `check_features` returns them; the Gram matrix for a precomputed kernel.
    n_jobs : int or None
    n_neighbors : int
        Candidates wanted per query.
    """
    if isinstance(neighbors, str) and neighbors == "auto":
        neighbors = _choice(kernel, points)
    if neighbors is None:
        if kernel.by_distance:
            return NearestSearch(points, n_jobs)
        return SimilaritySearch(kernel, points)
    if issparse(neighbors):
        return GivenSearch(_of_csr(neighbors, len(points)))
    if isinstance(neighbors, str) or indexes.query_of(neighbors):
        return _index_search(neighbors, kernel, points, n_jobs, n_neighbors)
    if hasattr(neighbors, "kneighbors"):
        return EstimatorSearch(_fitted(neighbors, points), points)
    if isinstance(neighbors, tuple):
        if len(neighbors) != 2:
            raise ValueError(
                f"neighbors= has {len(neighbors)} parts; give (indices, distances), or indices"
            )
        neighbors = neighbors[0]
    return GivenSearch(of_array(neighbors, len(points)))


def _choice(kernel, points):
    """What neighbors='auto' stands for: None, where comparing is fast or must be, or a package."""
    n, n_features = points.shape
    few = n <= indexes.FLAT_POINTS or n_features <= LARGE_KD_TREE_FEATURES
    if few or not kernel.by_distance:
        return None
    name = indexes.installed()
    if name is None:
        warnings.warn(
            f"neighbors='auto' found no package for approximate search: all pairs of {n} points "
            "are compared, which takes long; pip install faiss-cpu",
            stacklevel=5,
        )
    return name


def _index_search(index, kernel, points, n_jobs, n_neighbors):
    """`IndexSearch` for an index, or for the name of a package that builds one."""
    if not kernel.by_distance:
        raise ValueError(
            f"neighbors={index!r} finds what is near, which is not what kernel={kernel.name!r} "
            "finds similar; leave neighbors= at its default"
        )
    if not isinstance(index, str):
        return IndexSearch(index, points, n_jobs)
    name = check_choice("neighbors", index, (*indexes.NAMES, "auto"))
    n_bytes = indexes.index_bytes(name, *points.shape)
    what = f"an index of {name} of {len(points)} points"
    memory.require(n_bytes, what, "use fewer points or features")
    centre = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    search = IndexSearch(indexes.build_index(name, points, centre, n_jobs), points, n_jobs, centre)
    search.tune(points, n_neighbors)
    return search


class NearestSearch:
    """The nearest points: few features by scipy's kd-tree, many by scikit-learn's full comparison.

    Of equally near points those of lower index are to be candidates.  The searches do not promise
    that, so where the last candidate is no nearer than the first one left out, more are asked for;
    the computation of the weights then sorts them by exact distance and index.

    Attributes
    ----------
    fixed : bool
        Whether the candidates are given for one set of queries, as every search says.
    exact : bool
        Whether no better candidates exist, as every search says.
    """

    fixed = False
    exact = True

    def __init__(self, points, n_jobs):
        # scikit-learn computes distances from products, which lose digits far from the origin.
        self._centre = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
        few = points.shape[1] <= KD_TREE_FEATURES
        self._query = (_kd_tree if few else _all_pairs)(points - self._centre, n_jobs)
        self._n_points = len(points)

    def candidates(self, queries, n, exclude_self):
        """The nearest `n` points of each query, those as near as the last of them, and itself."""
        queries = queries - self._centre
        n = min(n + exclude_self, self._n_points)
        asked = min(n + 1, self._n_points)
        distances, found = self._query(queries, asked)
        tied = np.flatnonzero(self._unsettled(distances, n))
        if len(tied) == 0:
            return Candidates.of_table(found)
        lists = dict.fromkeys(range(len(queries)))
        while len(tied) and asked < _MOST_TIES * n:
            asked = min(2 * asked, self._n_points)
            distances, more = self._query(queries[tied], asked)
            lists.update(zip(tied.tolist(), more, strict=True))
            tied = tied[self._unsettled(distances, n)]
        return Candidates.of_lists([found[i] if row is None else row for i, row in lists.items()])

    def _unsettled(self, distances, n):
        """Which rows may lack a point that is as near as their candidate number n."""
        if distances.shape[1] == self._n_points:
            return np.zeros(len(distances), bool)
        return distances[:, -1] <= distances[:, n - 1] * (1 + _TIE)


class IndexSearch:
    """Candidates from an approximate index.

    Parameters
    ----------
    index : object
        Index of faiss, hnswlib or pynndescent.
    points : (N, d) ndarray
        What it was built from.
    n_jobs : int or None
    centre : (d,) ndarray, optional
        What was taken off the points before.
    """

    fixed = False
    exact = False

    def __init__(self, index, points, n_jobs=None, centre=0):
        self._index, self._n_points, self._n_jobs = index, len(points), n_jobs
        self._centre = centre
        held = indexes.n_indexed(index)
        if held is not None and held != self._n_points:
            raise ValueError(f"neighbors= indexes {held} points, the data are {self._n_points}")

    def candidates(self, queries, n, exclude_self):
        """Twice as many points near each query as wanted, besides the query itself."""
        n = min(indexes.OVERSAMPLING * n + exclude_self, self._n_points)
        query = indexes.query_of(self._index)
        dtype = memory.index_dtype(self._n_points)
        found = np.empty((len(queries), n), dtype)
        for i in range(0, len(queries), indexes.ROWS_AT_A_TIME):
            rows = indexes.as_single(queries[i : i + indexes.ROWS_AT_A_TIME], self._centre)
            found[i : i + len(rows)] = query(rows, n, self._n_jobs)
        return of_array(found, self._n_points)

    def tune(self, points, n_neighbors):
        """Let the index search harder until `WANTED_RECALL` is reached on some random rows.

        They are other rows than those of the recall that is reported.
        """
        while recall_of(self, points, n_neighbors, seed=1) < WANTED_RECALL:
            if not indexes.search_harder(self._index):
                break


class EstimatorSearch:
    """Candidates from ``kneighbors(Q, k)`` of a fitted scikit-learn estimator or the like."""

    fixed = False
    exact = False

    def __init__(self, estimator, points):
        self.estimator, self._points = estimator, points

    def candidates(self, queries, n, exclude_self):
        """The nearest `n` points of each query, besides the query itself."""
        n = min(n + exclude_self, len(self._points))
        found = self.estimator.kneighbors(queries, n, return_distance=False)
        return of_array(found, len(self._points))


class GivenSearch:
    """Candidates that the caller has found, for one set of queries."""

    fixed = True
    exact = False

    def __init__(self, given):
        self._given = given

    def candidates(self, queries, n, exclude_self):
        """The lists given, whatever their lengths."""
        if self._given.n_queries != len(queries):
            raise ValueError(
                f"neighbors= has lists for {self._given.n_queries} points, there are {len(queries)}"
            )
        return self._given


class SimilaritySearch:
    """Computes all similarities and keeps the largest, for kernels without a distance."""

    fixed = False
    exact = True

    def __init__(self, kernel, points):
        self._kernel, self._points = kernel, points
        if kernel.name in ("cosine", "shifted_cosine"):
            self._points = unit_rows(points)

    def candidates(self, queries, n, exclude_self):
        """The most similar `n` points of each query; of equal ones those of lowest index."""
        n = min(n + exclude_self, len(self._points))
        found = np.empty((len(queries), n), np.int64)
        rows = max(1, _CHUNK // len(self._points))
        for i in range(0, len(queries), rows):
            found[i : i + rows] = _largest(self._similarities(queries[i : i + rows]), n)
        return Candidates.of_table(found)

    def _similarities(self, queries):
        kernel = self._kernel
        if kernel.name == "precomputed":
            return queries
        if kernel.name == "callable":
            return evaluate(kernel.function, queries, self._points)
        if kernel.name != "polynomial":
            return unit_rows(queries) @ self._points.T
        return (kernel.gamma * (queries @ self._points.T) + kernel.coef0) ** kernel.degree


def evaluate(function, a, b):
    """Values of a kernel function for all pairs of points of `a` and `b`, checked."""
    values = np.asarray(function(a, b), np.float64)
    if values.shape != (len(a), len(b)):
        raise ValueError(
            f"the kernel function gave shape {values.shape} for {len(a)} and {len(b)} points; "
            f"kernel(A, B) must give ({len(a)}, {len(b)})"
        )
    if not np.isfinite(values).all():
        raise ValueError("the kernel function gave numbers that are not finite")
    return values


def _largest(similarity, n):
    """Columns of the `n` largest numbers of each row, ties to the lower column."""
    if n < similarity.shape[1]:
        bound = np.partition(similarity, -n, axis=1)[:, -n, None]
        above, at = similarity > bound, similarity == bound
        room = n - above.sum(axis=1, keepdims=True)
        kept = above | (at & (np.cumsum(at, axis=1) <= room))
        return np.nonzero(kept)[1].reshape(len(similarity), n)
    return np.broadcast_to(np.arange(n), similarity.shape)


def unit_rows(points):
    """The points scaled to length 1; points at the origin stay there."""
    _, exponents = np.frexp(np.abs(points).max(axis=1, keepdims=True))
    points = np.ldexp(points, -exponents)  # exact; now squares neither overflow nor vanish
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(norms > 0, norms, 1)


def _kd_tree(points, n_jobs):
    with uninterrupted():
        from scipy.spatial import KDTree  # slow to import, and graphs of images do without

    # A tree split at midpoints is built in half the time and answers as fast.
    tree = KDTree(points, leafsize=32, balanced_tree=False)
    return partial(_query_tree, tree, n_jobs)


def _query_tree(tree, n_jobs, queries, n):
    """Distances (len(queries), n) and numbers of the nearest points.

    On our own threads: those of scipy go on when Ctrl-C ends the call, and write into arrays that
    are there no more.
    """
    shape = len(queries), n
    distances, found = np.empty(shape), np.empty(shape, np.intp)

    def work(i0, i1):
        nearest = tree.query(queries[i0:i1], n)
        distances[i0:i1], found[i0:i1] = (part.reshape(i1 - i0, n) for part in nearest)

    with RowExecutor(n_jobs) as executor:
        executor.run(work, len(queries), _PIXELS_PER_QUERY)
    return distances, found


def _all_pairs(points, n_jobs):
    try:
        with uninterrupted():
            from sklearn.neighbors import NearestNeighbors
    except ImportError:
        raise ImportError(
            f"candidate search among points of more than {KD_TREE_FEATURES} features needs "
            "scikit-learn: pip install 'nnk_image[neighbors]', or pass neighbors=(indices, "
            "distances)"
        ) from None
    search = NearestNeighbors(algorithm="brute", n_jobs=n_jobs).fit(points)
    cost = _QUERIES_OF_BLOCK * len(points) * (points.shape[1] + _WORK_OF_PAIR)
    blocks = max(1, _WORK_AT_A_TIME // cost)
    return partial(_query_all, search, blocks * _QUERIES_OF_BLOCK)


def _query_all(search, rows, queries, n):
    """As `_query_tree`, for so many rows at a time: in between, Ctrl-C is answered."""
    starts = range(0, len(queries), rows)
    parts = [search.kneighbors(queries[i : i + rows], n) for i in starts]
    return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))


def _fitted(estimator, points):
    """The estimator, fitted to the points if it has not been fitted yet."""
    n = getattr(estimator, "n_samples_fit_", None)
    if n is None and hasattr(estimator, "fit"):
        return estimator.fit(points)
    if n is not None and n != len(points):
        raise ValueError(f"neighbors= was fitted to {n} points, the data are {len(points)}")
    return estimator


def _of_csr(matrix, n_points):
    """`Candidates` named by the entries of a sparse (n, n_points) matrix."""
    matrix = matrix.tocsr()
    if matrix.shape[1] != n_points:
        raise ValueError(
            f"neighbors= is a matrix of shape {matrix.shape}; it must have a column for each of "
            f"the {n_points} points"
        )
    return Candidates(
        ready_for_c(matrix.indptr, np.int64),
        _checked(_index_array(matrix.indices), n_points),
    )


def of_array(indices, n_points):
    """`Candidates` of an (n, k) array of indices, checked."""
    indices = np.asarray(indices)
    if indices.ndim != 2:
        raise ValueError(f"indices of candidates must have shape (n, k), not {indices.shape}")
    if indices.dtype.kind not in "iu":
        raise TypeError(f"indices of candidates must be integers, not {indices.dtype}")
    return Candidates.of_table(_checked(indices, n_points))


def _checked(indices, n_points):
    if indices.size and indices.max() >= n_points:
        raise ValueError(
            f"a candidate is number {indices.max()}; the {n_points} points end at {n_points - 1}"
        )
    return indices


def _index_array(indices):
    """Indices as int32, or as int64 where int32 is too small."""
    return ready_for_c(indices, memory.index_dtype(indices.max(initial=0)))
