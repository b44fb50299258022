"""Approximate nearest neighbour indexes of faiss, hnswlib and pynndescent as candidate searches.

They miss some neighbours: twice as many candidates as wanted are asked for, of which the
nearest by exact distance take part.  A package is imported only when it is asked for by name.
"""

import sys
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec

import numpy as np

from nnk_image.base.imports import uninterrupted
from nnk_image.base.parallel import resolve_n_jobs

OVERSAMPLING = 2
"""Candidates asked for per candidate wanted.

Without the surplus an index that finds 95 % of the nearest points would change a fifth of the
neighbourhoods, one that finds 99 % a twenty-fifth.
"""

NAMES = ("faiss", "hnswlib", "pynndescent")

FLAT_POINTS = 20_000
"""Most points of which faiss compares all pairs; of more it searches the nearest lists only."""

ROWS_AT_A_TIME = 1 << 14
"""Rows given to an index at a time: converted to float32, and between them Ctrl-C is answered."""

_FIRST_LISTS = 8  # searched per query, before `tune` has looked at the recall
_TRAINING_POINTS = 64  # per list of faiss
_LARGEST = 1e18  # coordinate whose square float32 holds, summed over many features


def installed():
    """The first of the packages that is installed, or None."""
    return next((name for name in NAMES if _is_installed(name)), None)


def _is_installed(name):
    try:
        return find_spec(name) is not None
    except ValueError:  # a module that was put in place by hand, without a specification
        return False


def build_index(name, points, centre, n_jobs):
    """An index of ``points - centre`` by the package of that name, for Euclidean distance."""
    largest = max(abs(float(points.min())), abs(float(points.max())))
    if largest > _LARGEST:
        raise ValueError(
            f"neighbors={name!r} computes in float32, where squares of numbers as large as "
            f"{largest:g} overflow; scale X, or leave neighbors= at its default"
        )
    build = {"faiss": _faiss, "hnswlib": _hnswlib, "pynndescent": _pynndescent}[name]
    try:
        return build(points, centre, resolve_n_jobs(n_jobs))
    except ImportError as error:
        package = "faiss-cpu" if name == "faiss" else name
        raise ImportError(f"neighbors={name!r} needs {name}: pip install {package}") from error


def index_bytes(name, n_points, n_features):
    """Bytes that an index made by `build_index` takes at the least."""
    # Numbers in the lists; links of the lowest layer; links, distances and a second copy.
    besides = {"faiss": 8, "hnswlib": 148, "pynndescent": 240 + 4 * n_features}
    return n_points * (4 * n_features + besides[name])


def query_of(index):
    """The search of an index, or None if `index` is none of the three packages.

    It is a function ``query(points, k, n_jobs)`` that returns indices (n, k), -1 for missing ones.
    """
    if hasattr(index, "ntotal") and hasattr(index, "search"):
        return lambda points, k, n_jobs: _query_faiss(index, points, k, n_jobs)
    if hasattr(index, "knn_query"):
        return lambda points, k, n_jobs: _query_hnswlib(index, points, k, n_jobs)
    if hasattr(index, "neighbor_graph") and hasattr(index, "query"):
        return lambda points, k, n_jobs: index.query(points, k=k)[0]
    return None


def n_indexed(index):
    """Number of points an index holds, or None if it does not say."""
    if hasattr(index, "get_current_count"):
        return index.get_current_count()
    return getattr(index, "ntotal", None)


def search_harder(index):
    """Let an index search more of its points per query; False where it has no more to offer."""
    if hasattr(index, "nprobe") and hasattr(index, "nlist"):
        if 4 * index.nprobe >= index.nlist:
            return False
        index.nprobe *= 2
    elif hasattr(index, "knn_query"):
        if index.ef >= 1024:
            return False
        index.set_ef(2 * index.ef)
    else:
        return False
    return True


def rows_as_single(points, centre):
    """The points less the centre in float32, some rows at a time."""
    for i in range(0, len(points), ROWS_AT_A_TIME):
        yield as_single(points[i : i + ROWS_AT_A_TIME], centre)


def as_single(rows, centre):
    """Rows less the centre as contiguous float32; the difference is taken in their own type."""
    return np.ascontiguousarray(rows - centre, np.float32)


@contextmanager
def _faiss_threads(n_threads):
    """A context in which faiss uses so many threads: it knows one number for the whole process."""
    with uninterrupted():
        import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


def _faiss(points, centre, n_threads):
    n, n_features = points.shape
    # The lists depend on how sums are split among threads, so one thread makes them.
    with _faiss_threads(1) as faiss:
        index = faiss.IndexFlatL2(n_features)
        if n > FLAT_POINTS:
            n_lists = int(2 * np.sqrt(n))
            index = faiss.IndexIVFFlat(index, n_features, n_lists)
            rng = np.random.default_rng(0)
            some = rng.choice(n, min(n, _TRAINING_POINTS * n_lists), replace=False)
            index.train(as_single(points[np.sort(some)], centre))
            index.nprobe = _FIRST_LISTS
    with _faiss_threads(n_threads):
        for rows in rows_as_single(points, centre):
            index.add(rows)
    return index


def _query_faiss(index, points, k, n_jobs):
    # What is only like an index of faiss works without it.
    threads = _faiss_threads(resolve_n_jobs(n_jobs)) if "faiss" in sys.modules else nullcontext()
    with threads:
        return index.search(points, k)[1]


def _hnswlib(points, centre, n_threads):
    with uninterrupted():
        import hnswlib

    index = hnswlib.Index("l2", points.shape[1])
    index.init_index(len(points), random_seed=0)
    for rows in rows_as_single(points, centre):
        index.add_items(rows, num_threads=n_threads)
    return index


def _query_hnswlib(index, points, k, n_jobs):
    index.set_ef(max(index.ef, 2 * k))  # a search list shorter than k finds too few
    return index.knn_query(points, k, num_threads=resolve_n_jobs(n_jobs))[0]


def _pynndescent(points, centre, n_threads):
    with uninterrupted():
        import pynndescent

    single = np.concatenate(list(rows_as_single(points, centre)))
    return pynndescent.NNDescent(single, random_state=0, n_jobs=n_threads)
