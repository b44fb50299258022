"""The NNK graph of a million points on disk, beside kneighbors_graph and pynndescent."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_swiss_roll

from benchmarks.timing import Table
from nnk_image import nnk_neighbors
from nnk_image.base.parallel import resolve_n_jobs
from nnk_image.neighbors import NeighborhoodBlocks, load_nnk_graph
from nnk_image.neighbors.to_disk import graph_to_disk

K = 30
FEATURES = (3, 16)
CHECKED = 50_000  # rows compared with exact candidates
BRUTE_QUERIES = 2000  # that scikit-learn gets where it compares all pairs


def add_options(group):
    """Command line options of this table."""
    group.add_argument(
        "--scale-points",
        type=int,
        nargs="+",
        default=[1_000_000],
        metavar="N",
        help="points of the graphs on disk (default %(default)s)",
    )


def tables(options):
    """Graphs on disk, then what others take for the nearest neighbours alone."""
    yield _ours(options.scale_points)
    yield _others(options.scale_points)


def _ours(sizes):
    columns = dict.fromkeys(("points", "features"), "d")
    columns |= {"threads": "d"} | dict.fromkeys(("build s", "search s", "solve s", "rest s"), ".1f")
    columns |= {"all s": ".1f", "peak MiB": ".0f", "edges": "d", "recall": ".4f"}
    columns |= {"checked": "d", "recall of them": ".4f", "same neighbours": ".4f"}
    columns |= {"weights differ": ".0e"}
    table = Table(f"nnk_graph(X.npy, {K}, neighbors='auto', out=FILE), a process each", columns)
    for n in sizes:
        table.rows += [_run("ours", n, d) for d in FEATURES]
    table.notes = (
        "float32 points mapped from a file: a swiss roll, or a mixture of 200 Gaussians.",
        "build: kd-tree (3 features) or inverted lists of faiss, tuned, with the recall measured;",
        "rest: transpose, symmetrise, write. Peak: before the check, with what is mapped of files.",
        "checked: rows whose candidates are sought again by faiss among all points, compared",
        "with theirs; same neighbours: part of the rows with the same neighbours; weights differ:",
        "largest difference in the rows with the same neighbours.",
    )
    return table


def _others(sizes):
    columns = {"": ""} | dict.fromkeys(("points", "features"), "d")
    columns |= {"queries": "d", "seconds": ".1f", "seconds for all": ".0f", "peak MiB": ".0f"}
    columns |= {"recall": ".4f"}
    table = Table(f"The {K} nearest neighbours by others, all threads, a process each", columns)
    for n in sizes:
        for d in FEATURES:
            table.rows += [_run(who, n, d) for who in ("scikit-learn", "pynndescent")]
    table.notes = (
        "scikit-learn: kneighbors_graph by kd-tree up to 15 features; above it compares all pairs,",
        f"and gets {BRUTE_QUERIES} queries, from which the time for all is reckoned in proportion.",
        "pynndescent: its neighbor_graph, compiled by numba before; recall on 1000 random rows.",
    )
    return table


def _run(who, n, d):
    command = [sys.executable, "-m", "benchmarks.scale", who, str(n), str(d)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{who}, {n} x {d}:\n{done.stderr}")
    print(who, done.stdout.splitlines()[-1], file=sys.stderr, flush=True)  # kept if the rest fails
    return json.loads(done.stdout.splitlines()[-1])


def points_of(n, d):
    """A swiss roll for 3 features, else a mixture of 200 Gaussians of unequal width."""
    if d == 3:
        return make_swiss_roll(n, noise=0.3, random_state=0)[0].astype(np.float32)
    rng = np.random.default_rng(0)
    centres, widths = 4 * rng.standard_normal((200, d)), rng.uniform(0.3, 1.5, 200)
    which = rng.integers(0, 200, n)
    points = rng.standard_normal((n, d)) * widths[which, None] + centres[which]
    return points.astype(np.float32)


def _peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class _Timed(NeighborhoodBlocks):
    """Blocks that add up the seconds of searching and solving."""

    searching = solving = 0.0

    def candidates(self, start, stop):
        begin = time.perf_counter()
        found = super().candidates(start, stop)
        self.searching += time.perf_counter() - begin
        return found

    def solve(self, start, stop, candidates=None):
        begin = time.perf_counter()
        found = super().solve(start, stop, candidates)
        self.solving += time.perf_counter() - begin
        return found


def _measure_ours(path, folder):
    begin = time.perf_counter()
    blocks = _Timed(path, K, neighbors="auto", n_jobs=-1)
    built = time.perf_counter()
    graph_to_disk(blocks, Path(folder, "graph.npz"), "min_error")
    end = time.perf_counter()
    row = {"points": blocks.n_points, "features": blocks.model.points.shape[1]}
    row |= {"threads": resolve_n_jobs(-1)}
    row |= {"build s": built - begin, "search s": blocks.searching, "solve s": blocks.solving}
    row |= {"rest s": end - built - blocks.searching - blocks.solving, "all s": end - begin}
    row |= {"peak MiB": _peak(), "edges": load_nnk_graph(Path(folder, "graph.npz")).nnz // 2}
    return row | {"recall": blocks.recall} | _check(blocks)


def _check(blocks):
    """The first rows, which are as random as any, with exact candidates."""
    points = np.asarray(blocks.model.points)
    n = min(CHECKED, len(points))
    lists = _exact(points, n)
    found = blocks.candidates(0, n)
    ours = blocks.rows(0, n)
    exact = nnk_neighbors(points, points[:n], K, neighbors=lists, sigma=ours.sigma, n_jobs=-1)
    same, largest, hits = 0, 0.0, 0
    for i in range(n):
        (a, v), (b, w) = ours.neighbors(i), exact.neighbors(i)
        hits += np.isin(lists[i, :K], found.indices[found.indptr[i] : found.indptr[i + 1]]).sum()
        if np.array_equal(a, b):
            same += 1
            largest = max(largest, float(np.abs(v - w).max(initial=0)))
    return {
        "checked": n,
        "recall of them": int(hits) / (n * K),
        "same neighbours": same / n,
        "weights differ": largest,
    }


def _exact(points, n):
    """More candidates than needed of the first rows, nearest first by exact distance, no self."""
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points - points.mean(axis=0))
    lists = index.search(points[:n] - points.mean(axis=0), K + 10)[1]
    offsets = points[lists].astype(np.float64) - points[:n, None]
    squares = np.square(offsets).sum(axis=2)
    squares[lists == np.arange(n)[:, None]] = np.inf
    order = np.argsort(squares, axis=1, kind="stable")
    return np.take_along_axis(lists, order, 1)[:, : K + 9]


def _measure_others(who, points):
    measure = {"scikit-learn": _by_scikit_learn, "pynndescent": _by_pynndescent}[who]
    seconds, queries, recall = measure(points)
    row = {"": who, "points": len(points), "features": points.shape[1], "queries": queries}
    row |= {"seconds": seconds, "seconds for all": seconds * len(points) / queries}
    return row | {"peak MiB": _peak(), "recall": recall}


def _by_scikit_learn(points):
    from sklearn.neighbors import NearestNeighbors

    few = points.shape[1] <= 15
    queries = len(points) if few else min(BRUTE_QUERIES, len(points))
    begin = time.perf_counter()
    search = NearestNeighbors(algorithm="kd_tree" if few else "brute", n_jobs=-1).fit(points)
    search.kneighbors_graph(points[:queries], K, mode="distance")
    return time.perf_counter() - begin, queries, 1.0


def _by_pynndescent(points):
    import pynndescent

    pynndescent.NNDescent(points[:2000], n_neighbors=K + 1, random_state=0)
    begin = time.perf_counter()
    found, _ = pynndescent.NNDescent(points, n_neighbors=K + 1, random_state=0).neighbor_graph
    seconds = time.perf_counter() - begin
    lists = _exact(points, 1000)
    hits = sum(np.isin(lists[i, :K], found[i]).sum() for i in range(1000))
    return seconds, len(points), int(hits) / (1000 * K)


def _main(who, n, d):
    points = points_of(n, d)
    if who != "ours":
        return _measure_others(who, points)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "x.npy"), points)
        del points
        return _measure_ours(Path(folder, "x.npy"), folder)


if __name__ == "__main__":
    print(json.dumps(_main(sys.argv[1], *map(int, sys.argv[2:]))))
