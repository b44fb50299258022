"""Approximate nearest neighbour indexes of faiss, hnswlib and pynndescent as candidate searches.

They miss some neighbours: twice as many candidates as wanted are asked for, of which the
nearest by exact distance take part.  A package is imported only when it is asked for by name.
"""

import numpy as np

OVERSAMPLING = 2
"""Candidates asked for per candidate wanted.

Without the surplus an index that finds 95 % of the nearest points would change a fifth of the
neighbourhoods, one that finds 99 % a twenty-fifth.
"""

NAMES = ("faiss", "hnswlib", "pynndescent")


def build_index(name, points):
    """An index of the points by the package of that name, for Euclidean distance."""
    try:
        return {"faiss": _faiss, "hnswlib": _hnswlib, "pynndescent": _pynndescent}[name](points)
    except ImportError as error:
        package = "faiss-cpu" if name == "faiss" else name
        raise ImportError(f"neighbors={name!r} needs {name}: pip install {package}") from error


def query_of(index):
    """The search of an index, or None if `index` is none of the three packages.

    It is a function ``query(points, k)`` that returns indices (n, k), -1 for missing ones.
    """
    if hasattr(index, "ntotal") and hasattr(index, "search"):
        return lambda points, k: index.search(points, k)[1]
    if hasattr(index, "knn_query"):
        return lambda points, k: _query_hnswlib(index, points, k)
    if hasattr(index, "neighbor_graph") and hasattr(index, "query"):
        return lambda points, k: index.query(points, k=k)[0]
    return None


def n_indexed(index):
    """Number of points an index holds, or None if it does not say."""
    if hasattr(index, "get_current_count"):
        return index.get_current_count()
    return getattr(index, "ntotal", None)


def _faiss(points):
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(np.ascontiguousarray(points, np.float32))
    return index


def _hnswlib(points):
    import hnswlib

    index = hnswlib.Index("l2", points.shape[1])
    index.init_index(len(points), random_seed=0)
    index.add_items(points, num_threads=1)  # the graph depends on the order of insertion
    return index


def _pynndescent(points):
    import pynndescent

    return pynndescent.NNDescent(points, random_state=0)


def _query_hnswlib(index, points, k):
    index.set_ef(max(index.ef, 2 * k))  # a search list shorter than k finds too few
    return index.knn_query(points, k)[0]
