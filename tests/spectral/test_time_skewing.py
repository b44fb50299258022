"""Tests of tiles of rows: the same bits for any order of the work."""

import itertools
import time

import numpy as np
import pytest
from laplacians import random_bank, run

from nnk_image import image_graph
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph.laplacian import KINDS
from nnk_image.spectral import block_matrix, chebyshev, time_skewing
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import LaplacianOperator

METHODS = ("analyze", "synthesize")


class DirtyNumpy:
    """Numpy whose `empty` arrays are full of NaN, or of -1 for integers."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def empty(shape, dtype=float):
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = 255
        return array


@pytest.fixture
def small_steps(monkeypatch):
    """Use the smallest steps, and new arrays full of NaN, so that unwritten values show."""
    monkeypatch.setattr(time_skewing, "_ROWS_PER_FILLING", 1)
    for module in (time_skewing, chebyshev, block_matrix):
        monkeypatch.setattr(module, "np", DirtyNumpy())


class Example:
    """The graph of a random image, and results of its operator for random signals."""

    def __init__(self, height, width, window, dtype=float, valid=None, kind="regularized"):
        self.image = np.random.default_rng(0).random((height, width)).astype(dtype)
        self.graph = image_graph(self.image, window, sigma_f=0.3, mask=valid)
        self.kind = kind

    def result(self, method, order, n_jobs=1):
        with RowExecutor(n_jobs) as executor:
            given = self.graph, self.graph.dtype, executor, block_matrix.MAX_KEPT_BYTES > 0
            operator = LaplacianOperator(GridRecurrence.of_graph(*given), self.kind, executor)
        lead = 1 if method == "analyze" else 2
        values = np.random.default_rng(2).standard_normal((lead, self.image.size))
        return run(operator, method, values, random_bank(2, order), n_jobs)


@pytest.fixture(params=[block_matrix.MAX_KEPT_BYTES, 0], ids=["kept", "made"])
def assert_same_bits(request, monkeypatch, tiles):
    """Return a function that compares results of several threads with those of one.

    The entries of the matrix are kept, or made again and again; one thread keeps them.
    """

    def check(example, order, jobs, methods=METHODS):
        for method in methods:
            expected = example.result(method, order)
            with monkeypatch.context() as patch:
                patch.setattr(block_matrix, "MAX_KEPT_BYTES", request.param)
                for n_jobs in jobs:
                    np.testing.assert_array_equal(example.result(method, order, n_jobs), expected)
        assert 1 < max(tiles) <= max(jobs)

    return check


@pytest.mark.parametrize("order", [1, 2, 7, 8, 15, 16, 33])
def test_same_bits_for_any_order_and_n_jobs(order, assert_same_bits, small_steps, tiles):
    assert_same_bits(Example(240, 20, 3), order, (1, 2, 3, 7))
    assert max(tiles) == 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("window", "order", "kind"), list(zip((3, 5, 7, 11), (20, 9, 4, 17), KINDS, strict=True))
)
def test_same_bits_for_any_window_and_laplacian(
    window, order, kind, dtype, assert_same_bits, small_steps, tiles
):
    height = 170 * (window // 2) + 3
    valid = np.random.default_rng(1).random((height, 45)) < 0.8
    assert_same_bits(Example(height, 45, window, dtype, valid, kind), order, (1, 4))
    assert max(tiles) == 4


@pytest.mark.parametrize("height", [140, 170])
def test_same_bits_if_few_rows_limit_the_number_of_tiles(height, assert_same_bits, small_steps):
    assert_same_bits(Example(height, 20, 5), 20, [7])


@pytest.mark.parametrize("n_jobs", [3, 7])
def test_same_bits_if_the_work_is_in_few_rows(n_jobs, assert_same_bits, small_steps):
    valid = np.zeros((300, 40), bool)
    valid[140:146] = True
    assert_same_bits(Example(300, 40, 7, valid=valid), 8, [n_jobs])


@pytest.mark.parametrize("n_jobs", [2, 3, 4])
def test_same_bits_if_the_last_block_has_one_order(n_jobs, assert_same_bits, tiles):
    """Tiles are tall, so their first rows are finished long before their last rows."""
    assert_same_bits(Example(1500, 24, 11, np.float32), 20, [n_jobs] * 3, ["synthesize"])
    assert max(tiles) == n_jobs


@pytest.mark.parametrize("late", range(4))
def test_bits_do_not_depend_on_which_thread_is_late(late, assert_same_bits, tiles, monkeypatch):
    go_on, calls = time_skewing.SkewedSweeps._go_on, itertools.count()

    def delayed(*arguments):
        if next(calls) % 4 == late:
            time.sleep(0.05)
        go_on(*arguments)

    monkeypatch.setattr(time_skewing.SkewedSweeps, "_go_on", delayed)
    assert_same_bits(Example(400, 24, 5), 13, [4])
    assert max(tiles) == 4
