"""Blocks of rows, approximate searches, graph files: the bits of the whole, none half written."""

import mmap
import os
import pickle
import tempfile
from itertools import pairwise

import numpy as np
import pytest
from child import on_linux
from disk import mapped_files, no_space
from scipy.sparse import load_npz
from scipy.spatial.distance import cdist

from nnk_image import nnk_graph, nnk_neighbors
from nnk_image.neighbors import (
    NeighborhoodBlocks,
    graph_file,
    load_nnk_graph,
    row_block,
    to_disk,
)
from nnk_image.neighbors.recall import exact_nearest, recall_of

POINTS = np.random.default_rng(0).standard_normal((700, 3))
WIDE = np.random.default_rng(1).standard_normal((700, 20))
K = 10


def same(a, b):
    """Equal bits; the types of indices too."""
    for name in ("indptr", "indices", "data"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def clusters(n, n_features):
    rng = np.random.default_rng(2)
    centres = 3 * rng.standard_normal((40, n_features))
    return (centres[rng.integers(0, 40, n)] + rng.standard_normal((n, n_features))).astype("f4")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_features", [1, 3, 20])
def test_exact_nearest_by_brute_force(dtype, n_features):
    points = np.random.default_rng(3).integers(0, 5, (400, n_features)).astype(dtype)
    points += 1000
    rows = np.array([0, 7, 8, 399])
    distances = cdist(points.astype(float), points.astype(float))
    np.fill_diagonal(distances, np.inf)
    found, reach = exact_nearest(points, rows, 9)
    np.testing.assert_allclose(reach, np.sort(distances[rows], axis=1)[:, :9], rtol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(distances[rows], found, 1), reach, rtol=1e-12)


class _Half:
    """A search that knows points of even number only."""

    def __init__(self, points):
        self._search = NeighborhoodBlocks(points, K, sigma=1.0, neighbors=None).model

    def candidates(self, queries, n, exclude_self):
        found = self._search.search.candidates(queries, n, exclude_self)
        indices = np.where(found.indices % 2 == 0, found.indices, -1)
        return type(found)(found.indptr, indices)


def test_recall_counts_what_is_missing():
    distances = cdist(POINTS, POINTS)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :K]
    measured = recall_of(_Half(POINTS), POINTS, K, n_rows=len(POINTS))
    assert measured == pytest.approx(np.mean(nearest % 2 == 0), abs=0.001)


def test_recall_is_reported():
    assert nnk_neighbors(POINTS, n_neighbors=K).recall == 1
    assert nnk_graph(POINTS, K, neighbors="auto").recall == 1
    given = np.tile(np.arange(4), (len(POINTS), 1))
    assert np.isnan(nnk_neighbors(POINTS, n_neighbors=K, neighbors=given).recall)


class _Blind:
    """An index in the manner of faiss that knows three points only."""

    ntotal = len(WIDE)

    def search(self, points, k):
        return None, np.tile(np.r_[:3, np.full(k - 3, -1)], (len(points), 1))


def test_a_low_recall_is_no_secret():
    with pytest.warns(UserWarning, match=r"finds \d+ % of the nearest"):
        graph = nnk_graph(WIDE, K, neighbors=_Blind(), sigma=1.0)
    assert graph.recall < 0.1


def test_inverted_lists_find_nearly_all_and_do_not_depend_on_threads():
    pytest.importorskip("faiss", exc_type=ImportError)
    points = clusters(21_000, 16)
    found = nnk_neighbors(points, n_neighbors=K, neighbors="faiss")
    assert 0.98 <= found.recall <= 1
    rows = np.arange(0, len(points), 50)
    blocks = NeighborhoodBlocks(points, K, neighbors="faiss", sigma=found.sigma)
    assert recall_of(blocks.model.search, points, K, 2000, seed=5) == pytest.approx(
        found.recall, abs=0.01
    )
    lists = exact_nearest(points, rows, K)[0]
    exact = nnk_neighbors(
        points, points[rows], K, neighbors=lists, sigma=found.sigma
    )  # as queries: the lists leave the points themselves out
    own = found.to_csr()[rows]
    equal = [np.array_equal(own[[i]].indices, exact.neighbors(i)[0]) for i in range(len(rows))]
    assert np.mean(equal) > 0.95
    again = nnk_neighbors(points, n_neighbors=K, neighbors="auto", n_jobs=2)
    same(again.to_csr(), found.to_csr())


def test_auto_without_a_package_says_so(monkeypatch):
    for name in ("faiss", "hnswlib", "pynndescent"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    monkeypatch.setattr("nnk_image.neighbors.indexes.FLAT_POINTS", 500)
    with pytest.warns(UserWarning, match="pip install faiss-cpu"):
        graph = nnk_graph(WIDE, K, neighbors="auto")
    same(graph, nnk_graph(WIDE, K))


def test_numbers_too_large_for_float32_are_refused():
    pytest.importorskip("faiss", exc_type=ImportError)
    with pytest.raises(ValueError, match="computes in float32"):
        nnk_graph(WIDE * 1e30, K, neighbors="faiss")


@pytest.mark.parametrize("points", [POINTS, WIDE.astype("f4"), np.round(4 * POINTS)])
@pytest.mark.parametrize("sigma", ["kth", "local", 0.7])
def test_blocks_have_the_bits_of_the_whole(points, sigma):
    whole = nnk_neighbors(points, n_neighbors=K, sigma=sigma)
    blocks = NeighborhoodBlocks(points, K, sigma=sigma)
    cuts = [0, 1, 257, 258, 700]
    pairs = list(pairwise(cuts))
    blocks.set_farthest(np.concatenate([blocks.farthest(a, b) for a, b in pairs]))
    blocks = pickle.loads(pickle.dumps(blocks))
    for a, b in reversed(pairs):
        same(row_block(blocks, a, b), whole.to_csr()[a:b])
        part = blocks.rows(a, b)
        np.testing.assert_array_equal(part.error, whole.error[a:b])
        np.testing.assert_array_equal(
            part.sigma, whole.sigma[a:b] if sigma == "local" else whole.sigma
        )


@pytest.mark.parametrize("kernel", ["laplacian", "lle", "angular", "cosine", "polynomial"])
def test_blocks_of_other_kernels(kernel):
    whole = nnk_graph(POINTS, K, kernel=kernel, symmetrize=None, tol=0)
    blocks = NeighborhoodBlocks(POINTS, K, kernel=kernel, tol=0)
    blocks.set_farthest(blocks.farthest(0, 700))
    same(row_block(blocks, 100, 300), whole[100:300])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sigma": "median"}, "'median' needs the distances of all"),
        ({"method": "mutual_knn"}, "looks at all points together"),
        ({"kernel": "precomputed"}, "not of a precomputed matrix"),
        ({"neighbors": np.zeros((700, 3), int)}, "must be a search"),
    ],
)
def test_what_blocks_refuse(options, text):
    with pytest.raises(ValueError, match=text):
        NeighborhoodBlocks(POINTS, K, **options)


def test_blocks_ask_for_what_they_lack():
    blocks = NeighborhoodBlocks(POINTS, K)
    with pytest.raises(ValueError, match="call set_farthest first"):
        blocks.rows(0, 5)
    with pytest.raises(ValueError, match=r"shape \(5,\)"):
        blocks.set_farthest(np.ones(5))
    with pytest.raises(ValueError, match="stop=701"):
        blocks.candidates(0, 701)
    with pytest.raises(ValueError, match="start=5"):
        blocks.candidates(5, 5)


@pytest.mark.parametrize(
    "symmetrize", ["min_error", "min_error_onesided", "max", "mean", "min", None]
)
@pytest.mark.parametrize("block_rows", [64, 699, None])
def test_a_file_has_the_bits_of_the_whole(tmp_path, symmetrize, block_rows):
    for points in (POINTS, WIDE.astype("f4")):
        path = tmp_path / "graph.npz"
        whole, error = nnk_graph(points, K, symmetrize=symmetrize, return_error=True)
        graph, written = nnk_graph(
            points, K, symmetrize=symmetrize, return_error=True, out=path, block_rows=block_rows
        )
        same(graph, whole)
        np.testing.assert_array_equal(written, error)
        same(load_nnk_graph(path, mmap=False), whole)
        assert abs(load_npz(path) - whole).max() == 0
        assert graph.sigma == nnk_neighbors(points, n_neighbors=K).sigma
        assert graph.recall == 1
        assert [p.name for p in tmp_path.iterdir()] == ["graph.npz"]
        del graph, written  # Windows replaces no file that is mapped


def test_a_loaded_graph_is_mapped_aligned_and_read_only(tmp_path):
    graph = nnk_graph(POINTS, K, out=tmp_path / "graph.npz")
    for array in (graph.data, graph.indices, graph.indptr):
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(base, mmap.mmap)
        assert array.flags.aligned
        assert not array.flags.writeable
    np.testing.assert_allclose(graph @ np.ones(700), graph.sum(axis=1))


def test_points_in_a_file_are_those_in_memory(tmp_path):
    np.save(tmp_path / "x.npy", WIDE.astype("f4"))
    path = str(tmp_path / "x.npy")
    expected = nnk_graph(WIDE.astype("f4"), K)
    mapped = np.load(path, mmap_mode="r")
    same(nnk_graph(mapped, K), expected)
    same(nnk_graph(path, K, out=tmp_path / "a.npz", block_rows=100), expected)
    same(nnk_graph(mapped, K, out=tmp_path / "b.npz", block_rows=100), expected)


def test_a_path_is_not_copied_to_workers(tmp_path):
    points = clusters(3000, 16)
    np.save(tmp_path / "x.npy", points)
    blocks = NeighborhoodBlocks(tmp_path / "x.npy", K, sigma=1.0, neighbors=_NoIndex())
    data = pickle.dumps(blocks)
    assert len(data) < 10_000
    same(row_block(pickle.loads(data), 5, 50), row_block(blocks, 5, 50))


class _NoIndex:
    """An index in the manner of faiss: the points by number."""

    ntotal = 3000

    def search(self, points, k):
        return None, np.tile(np.arange(k), (len(points), 1))


@pytest.mark.parametrize("where", ["solve", "write"])
def test_an_interrupted_graph_leaves_nothing(tmp_path, monkeypatch, where):
    path = tmp_path / "graph.npz"
    old = nnk_graph(POINTS, 5, out=path).toarray()
    before = path.read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    if where == "solve":
        monkeypatch.setattr(to_disk, "_places", fail)
    else:
        monkeypatch.setattr(graph_file, "_header", fail)
    with pytest.raises(KeyboardInterrupt):
        nnk_graph(POINTS, K, out=path)
    assert [p.name for p in tmp_path.iterdir()] == ["graph.npz"]
    assert path.read_bytes() == before
    np.testing.assert_array_equal(load_nnk_graph(path).toarray(), old)


@on_linux
@pytest.mark.parametrize("symmetrize", ["max", None])
def test_nothing_maps_a_file_that_is_deleted(tmp_path, monkeypatch, symmetrize):
    class Folder(tempfile.TemporaryDirectory):
        def __exit__(self, *error):
            left.append(self.name in mapped_files())
            super().__exit__(*error)

    left = []
    monkeypatch.setattr(tempfile, "TemporaryDirectory", Folder)
    nnk_graph(POINTS, K, out=tmp_path / "graph.npz", symmetrize=symmetrize)
    assert left == [False]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no space is reserved here")
def test_a_full_disk_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", no_space)
    with pytest.raises(ValueError, match=r"graph\.npz: .*No space left on device\); make room"):
        nnk_graph(POINTS, K, out=tmp_path / "graph.npz")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "graph.npz"
    nnk_graph(POINTS, K, out=path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-40], whole[: len(whole) // 2], b"PK" + bytes(2000)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="not a graph file of nnk_graph"):
            load_nnk_graph(path)
    np.savez(path, data=np.ones(3))
    with pytest.raises(ValueError, match="was not written by"):
        load_nnk_graph(path)


def test_an_index_outside_a_loaded_graph_is_found(tmp_path):
    path = tmp_path / "graph.npz"
    graph = nnk_graph(POINTS, K, out=path)
    position = path.read_bytes().index(np.asarray(graph.indices[:50]).tobytes())
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(np.array([700], graph.indices.dtype).tobytes())
    with pytest.raises(ValueError, match="an index lies outside"):
        load_nnk_graph(path)


def test_memory_is_told_in_advance(monkeypatch, tmp_path):
    monkeypatch.setattr("nnk_image.base.memory.SMALL", 0)
    monkeypatch.setattr("nnk_image.base.memory.available", lambda: 1000)
    with pytest.raises(MemoryError, match="the search among 700 points"):
        nnk_graph(POINTS, K, out=tmp_path / "graph.npz")
    assert not list(tmp_path.iterdir())


def test_options_of_files(tmp_path):
    with pytest.raises(ValueError, match="give out= too"):
        nnk_graph(POINTS, K, block_rows=5)
    with pytest.raises(ValueError, match="does not exist"):
        nnk_graph(POINTS, K, out=tmp_path / "no" / "graph.npz")
    with pytest.raises(ValueError, match="tol=1e\\+06 leaves no neighbour"):
        nnk_graph(POINTS, K, tol=1e6, out=tmp_path / "graph.npz")
    assert not list(tmp_path.iterdir())
