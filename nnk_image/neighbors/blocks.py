"""NNK neighbourhoods of points some rows at a time: for data that do not fit, and for workers."""

import os
from dataclasses import replace

import numpy as np

from nnk_image.base import memory
from nnk_image.base.checks import check_count
from nnk_image.neighbors.kernels import sigma_of
from nnk_image.neighbors.model import NeighborhoodModel

ROWS_OF_BLOCK = 1 << 16
"""Rows of a block by default."""

_KD_TREE_BYTES = 24  # per point, besides its features, of scipy's kd-tree
_BYTES_OF_CANDIDATE = 48  # while it is sought, checked, measured and weighed


class NeighborhoodBlocks:
    """NNK neighbourhoods of all points, computed for the rows that are asked for.

    Every block of rows has the bits it has in the whole, whichever blocks are computed, in
    which order, and in which process: an object can be pickled and sent to workers.  It then
    holds the index of the search, and the points unless `X` is a path.

    Parameters
    ----------
    X : (N, d) array_like, or path of a .npy file
        Points. A file, or a ``numpy.memmap``, of float32 or float64 is read where needed and
        never copied as a whole; a kd-tree, the exact search up to 15 features, holds a
        copy in float64.
    n_neighbors : int
        Candidates of each point.
    sigma : float or {'kth', 'local'}
        As for `nnk_neighbors`. The mean of 'kth' needs a distance of each point: give
        `set_farthest` those of all `farthest` blocks before the first `rows`.
    neighbors, **options
        As for `nnk_neighbors`; 'precomputed' kernels and distances, 'mutual_knn' and candidates
        given as arrays are for whole matrices, and refused.

    Attributes
    ----------
    n_points : int
    recall : float
        As of `Neighborhoods`.

    Raises
    ------
    TypeError, ValueError
        Bad points or options.
    MemoryError
        The search needs more memory than is free.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.neighbors import NeighborhoodBlocks
    >>> points = np.random.default_rng(0).standard_normal((1000, 3))
    >>> blocks = NeighborhoodBlocks(points, 10, sigma=1.0)
    >>> blocks.rows(200, 300).to_csr().shape
    (100, 1000)
    """

    def __init__(self, X, n_neighbors=30, *, sigma="kth", neighbors="auto", **options):
        self._path = os.fspath(X) if isinstance(X, str | os.PathLike) else None
        points = X if self._path is None else _open(self._path)
        self._check(options, sigma)
        _require_for_search(points, neighbors)
        self.model = NeighborhoodModel(
            points, n_neighbors, sigma=sigma, neighbors=neighbors, **options
        )
        if self.model.search.fixed:
            raise ValueError("neighbors= of blocks must be a search, not candidates found before")
        self._needs_farthest = sigma == "kth" and self.model.has_sigma
        self.recall = self.model.recall

    @staticmethod
    def _check(options, sigma):
        if options.get("kernel") == "precomputed" or options.get("metric") == "precomputed":
            raise ValueError(
                "blocks of rows are of points, not of a precomputed matrix; use nnk_neighbors"
            )
        if options.get("method") == "mutual_knn":
            raise ValueError(
                "method='mutual_knn' looks at all points together; use nnk_graph without out="
            )
        if sigma == "median":
            raise ValueError(
                "sigma='median' needs the distances of all points at once; use 'kth', 'local' or "
                "a number"
            )

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._path is not None:
            state["model"] = self.model.without_points()
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self._path is not None:
            self.model.take_points(_open(self._path))

    @property
    def n_points(self):
        """Number of points."""
        return len(self.model.points)

    def candidates(self, start, stop):
        """CSR lists of the candidates of points `start` to `stop`."""
        stop = check_count("stop", stop, 1, self.n_points)
        start = check_count("start", start, 0, stop - 1)
        model = self.model
        asked = 2 * model.n_neighbors + 1
        memory.require(
            (stop - start) * asked * _BYTES_OF_CANDIDATE,
            f"a block of {stop - start} rows with {asked} candidates each",
            "ask for fewer rows at a time",
        )
        return model.candidates_of_rows(start, stop)

    def farthest(self, start, stop, candidates=None):
        """Distances of points `start` to `stop` from the farthest of their candidates.

        NaN where a point has no candidate.  The width 'kth' is a third of their mean.
        """
        found = self.candidates(start, stop) if candidates is None else candidates
        return self.model.farthest_of_rows(start, stop, found)

    def set_farthest(self, farthest):
        """Set the width of rule 'kth' from the distances (N,) that `farthest` gives, in order."""
        if np.shape(farthest) != (self.n_points,):
            raise ValueError(
                f"farthest has shape {np.shape(farthest)}; one distance for each of the "
                f"{self.n_points} points is needed"
            )
        if self._needs_farthest:
            scale = self.model.options.sigma_scale
            starts = np.arange(self.n_points + 1)
            self.model.set_sigma(scale * sigma_of("kth", np.asarray(farthest, np.float64), starts))
            self._needs_farthest = False

    def solve(self, start, stop, candidates=None):
        """Candidates of points `start` to `stop` with their weights, zeros among them."""
        if self._needs_farthest:
            raise ValueError(
                "sigma='kth' is a mean over all points, not known yet: call set_farthest first, "
                "or give sigma a number"
            )
        found = self.candidates(start, stop) if candidates is None else candidates
        return self.model.solve_rows(start, stop, found)

    def rows(self, start, stop):
        """`Neighborhoods` of points `start` to `stop`, none its own neighbour.

        Its ``to_csr()`` is that block of rows of ``nnk_graph(X, symmetrize=None)``.
        """
        found = self.solve(start, stop).neighborhoods(self.model.options.n_jobs)
        return replace(found, recall=self.recall)


def row_block(blocks, start, stop):
    """Rows `start` to `stop` of the directed NNK graph, as a (stop - start, N) csr_array.

    A function of its arguments alone, for workers in other processes.

    Parameters
    ----------
    blocks : NeighborhoodBlocks
    start, stop : int

    Returns
    -------
    scipy.sparse.csr_array

    Raises
    ------
    ValueError
        Rows that the points do not have; a width that is not known yet (`NeighborhoodBlocks`).

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.neighbors import NeighborhoodBlocks, row_block
    >>> points = np.arange(6.0).reshape(-1, 1)
    >>> row_block(NeighborhoodBlocks(points, 4, sigma=1.0), 2, 3).indices
    array([1, 3], dtype=int32)
    """
    return blocks.rows(start, stop).to_csr()


def _open(path):
    """The array in a .npy file, mapped."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path}: not a .npy file of numbers ({error})") from error


def _require_for_search(points, neighbors):
    """Raise MemoryError, before anything is built, if the exact search would not fit."""
    shape = getattr(points, "shape", ())
    if len(shape) == 2 and (neighbors is None or isinstance(neighbors, str)):
        itemsize = min(8, getattr(points, "dtype", np.dtype(float)).itemsize)
        memory.require(
            shape[0] * (shape[1] * itemsize + _KD_TREE_BYTES),
            f"the search among {shape[0]} points of {shape[1]} features",
            "use float32, fewer points or fewer features",
        )
