"""Input from pandas and PyTorch, and edges for PyTorch Geometric."""

import numpy as np
import pandas as pd
import pytest
from graph_checks import assert_equal

from nnk_image import (
    SpectralGraphWavelets,
    denoise,
    estimate_noise,
    image_graph,
    nnk_graph,
    nnk_neighbors,
)
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate

RNG = np.random.default_rng(8)
POINTS = np.column_stack([RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)])
GRAY = RNG.integers(0, 256, (20, 24), dtype=np.uint8)


# --- tables ------------------------------------------------------------------------------


FLOATS = pd.DataFrame(POINTS, columns=list("abcd"))
TABLES = {
    "numbers": FLOATS,
    "a column of booleans": FLOATS.assign(d=FLOATS["d"] > 0),
    "nullable types": FLOATS.astype("Float64"),
    "one nullable column": FLOATS.assign(b=FLOATS["b"].astype("Float64")),
    "integers": FLOATS.assign(d=FLOATS["d"].astype("Int8")),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_pandas_tables_give_the_same_graphs(table):
    assert_equal(nnk_graph(table, 9), nnk_graph(POINTS, 9))
    found = nnk_neighbors(table, 9, queries=table + 0.0).to_csr()
    assert_equal(found, nnk_neighbors(POINTS, 9, queries=POINTS).to_csr())


def test_tables_with_text_or_missing_values_are_refused():
    with pytest.raises(TypeError, match="X must hold real numbers, not object"):
        nnk_graph(FLOATS.assign(a=FLOATS["a"].astype(str)))
    missing = FLOATS.astype("Float64")
    missing.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match="not finite, the first at row 3, column 1"):
        nnk_graph(missing)


def test_missing_values_of_nullable_arrays_are_not_known():
    table = pd.DataFrame({"value": pd.array([1, None, 4], dtype="Int64")})
    known = table["value"].notna()
    for values in (table["value"], table["value"].array):
        filled = interpolate(grid_graph((1, 3)), values, known)
        np.testing.assert_allclose(filled, [1, 2.5, 4])


# --- tensors -----------------------------------------------------------------------------


class Tensor:
    """Looks to numpy like a PyTorch tensor in main memory."""

    def __init__(self, array):
        self._array = array
        self.shape, self.ndim = tuple(array.shape), array.ndim
        self.dtype = type("dtype", (), {"itemsize": array.itemsize})()  # not a numpy dtype

    def __array__(self, dtype=None, copy=None):
        return self._array if dtype is None else self._array.astype(dtype)

    def __len__(self):
        return self.shape[0]


def tensor_kinds():
    try:
        import torch
    except ImportError:
        return [Tensor]
    return [Tensor, torch.from_numpy]


@pytest.mark.parametrize("tensor", tensor_kinds())
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_tensors_give_the_same_results(tensor, dtype):
    image, mask = GRAY.astype(dtype), GRAY > 20
    color = np.stack([image, image[::-1], image], axis=0)

    def results(form):
        graph = image_graph(form(image), mask=form(mask), sigma_f=20.0)
        wavelets = SpectralGraphWavelets(graph)
        return [
            graph.adjacency.data,
            wavelets.analyze(form(image)),
            *(denoise(form(image), 20, method=method) for method in ("fast", "sgw")),
            denoise(form(color), 20, channel_axis=0),
            np.array(repr(estimate_noise(form(image)))),
            nnk_graph(form(POINTS), 9).toarray(),
        ]

    for found, expected in zip(results(tensor), results(np.array), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)


# --- edges -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shape", [(7, 9), (3, 5, 6), (1, 1)])
def test_edge_index_of_an_image_graph(shape, directed, dtype):
    """In a message-passing layer, each edge carries the value of its start to its end."""
    image = RNG.normal(size=shape).astype(dtype)
    graph = image_graph(image, 3, sigma_f=1, directed=directed, spacing=(1,) * len(shape))
    edge_index, edge_weight = graph.to_edge_index()
    assert (edge_index.dtype, edge_weight.dtype) == (np.int64, dtype)
    assert edge_index.flags.c_contiguous
    assert edge_index.shape == (2, len(edge_weight)) == (2, graph.adjacency.nnz)
    assert not np.shares_memory(edge_weight, graph.adjacency.data)
    signal, (start, end) = RNG.normal(size=image.size), edge_index
    sums = np.bincount(end, edge_weight * signal[start], minlength=image.size)
    np.testing.assert_allclose(sums, graph.adjacency @ signal, atol=1e-13)


def test_edges_lead_from_points_to_queries():
    queries = RNG.normal(size=(11, 4))
    found = nnk_neighbors(POINTS, 8, queries=queries)
    edge_index, edge_weight = found.to_edge_index()
    dense = np.zeros((11, 60))
    dense[edge_index[1], edge_index[0]] = edge_weight
    np.testing.assert_array_equal(dense, found.to_csr().toarray())
