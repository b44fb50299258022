"""Memory that threads are the first to write to: the caller takes it for them, and only that."""

import mmap
import threading
from itertools import pairwise

import numpy as np
import pytest

import nnk_image.base.parallel
from nnk_image import image_graph
from nnk_image.base.parallel import RowExecutor, PIXELS_PER_BAND
from nnk_image.graph.pruning import GraphSpec
from nnk_image.spectral.block_matrix import Grid, KernelWeights
from nnk_image.base.image import check_image


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_caller_takes_memory_of_later_bands(n_jobs, monkeypatch):
    """In order, none for the bands that others begin with, and none if it is alone."""
    asked, given_, done, caller = [], [], [], threading.get_ident()
    monkeypatch.setattr(nnk_image._core, "populate", lambda part: given_.append(part.tolist()))
    taken = threading.Event()

    def work(y0, y1):
        # The others stay with the bands they begin with until the memory is taken.
        if threading.get_ident() != caller:
            assert taken.wait(30)
        done.append((y0, y1))

    def fresh(y0, y1):
        assert threading.get_ident() == caller
        asked.append((y0, y1))
        if len(asked) == 3 * n_jobs + 1:
            taken.set()
        return [np.array([y0], np.uint8), np.array([y1], np.uint8)]

    with RowExecutor(n_jobs) as bands:
        bands.run(work, 200, PIXELS_PER_BAND // 10, fresh=fresh)
    in_all = sorted(done)
    assert len(in_all) > 4 * n_jobs
    assert asked == ([] if n_jobs == 1 else in_all[n_jobs - 1 : 4 * n_jobs])
    assert given_ == [[y] for rows in asked for y in rows]


def test_others_have_work_while_the_caller_takes_memory():
    """And it takes none for bands that are done."""
    asked, done, n_queued = [], [], 8
    others_are_through = threading.Event()

    def work(y0, y1):
        done.append((y0, y1))
        if len(done) == n_queued:
            others_are_through.set()

    def fresh(y0, y1):
        asked.append((y0, y1))
        assert others_are_through.wait(30)
        return []

    with RowExecutor(2) as bands:
        bands.run(work, 200, PIXELS_PER_BAND // 10, fresh=fresh)
    assert len(asked) == 1


def test_memory_is_taken_within_limits(monkeypatch):
    """In pieces between which Ctrl-C is answered, and not without end."""
    pieces, page, enough = [], np.zeros(1, np.uint8), threading.Event()

    def populate(part):
        pieces.append(part.size)
        if len(pieces) == 8:
            enough.set()

    def work(y0, y1):
        assert threading.current_thread() is threading.main_thread() or enough.wait(30)

    monkeypatch.setattr(nnk_image._core, "populate", populate)
    monkeypatch.setattr(nnk_image.bands, "_MOST_FRESH", 100)
    monkeypatch.setattr(nnk_image.bands, "_FRESH_AT_ONCE", 16)
    with RowExecutor(2) as bands:
        rows = 200, PIXELS_PER_BAND // 10
        bands.run(work, *rows, fresh=lambda y0, y1: [np.broadcast_to(page, 40)])
    assert pieces == [16, 16, 8, 16, 16, 8, 16, 16]


def spans_of(parts):
    """Bytes [first, end) of arrays in memory."""
    firsts = [part.__array_interface__["data"][0] for part in parts]
    return [(first, first + part.nbytes) for first, part in zip(firsts, parts, strict=True)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", ["matrix", "packets"])
def test_memory_taken_in_advance_is_that_of_the_result(make, dtype, monkeypatch):
    taken, image = [], np.random.default_rng(4).random((150, 70)).astype(dtype)
    monkeypatch.setattr(nnk_image._core, "populate", taken.append)
    if make == "matrix":
        adjacency = image_graph(image, sigma_f=0.2, n_jobs=2).adjacency
        arrays = adjacency.indptr[:-1], adjacency.indices, adjacency.data
    else:
        with RowExecutor(2) as bands:
            plan = GraphSpec(check_image(image), 11, 2.0, 0.1)
            weights = KernelWeights(plan, "nnk", bands)
            taken.clear()
            grid = Grid(image.shape, plan.window, plan.image.dtype, weights, bands)
            grid.set_laplacian(lambda degree: (degree, None), bands)
        _, (*_, pair, weight), _ = grid.operator(1).__reduce__()
        arrays = pair, weight
    for n, (first, end) in enumerate(spans_of(arrays)):
        spans = spans_of(taken[n :: len(arrays)])
        assert len(spans) > 2
        assert first < spans[0][0]
        assert spans[-1][1] <= end
        assert all(a < b for a, b in spans)
        assert all(b == c for (_, b), (c, _) in pairwise(spans))


@pytest.mark.parametrize("offset", [0, 1, 4095, 4096])
@pytest.mark.parametrize("length", [0, 1, 4096, 8191, 12289])
def test_populated_memory_keeps_its_bytes(offset, length):
    memory = np.random.default_rng(0).integers(0, 256, 1 << 16, dtype=np.uint8)
    memory.flags.writeable = False  # nothing is written, so it need not be
    before = memory.copy()
    nnk_image._core.populate(memory[offset : offset + length])
    np.testing.assert_array_equal(memory, before)


def test_populated_memory_is_there():
    resource = pytest.importorskip("resource")
    pages = mmap.mmap(-1, 1 << 24)
    try:
        mmap.mmap(-1, mmap.PAGESIZE).madvise(23)  # MADV_POPULATE_WRITE
    except (AttributeError, OSError):
        pytest.skip("a wish that this system does not grant")

    def faults():
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt

    memory = np.frombuffer(pages, np.uint8)
    nnk_image._core.populate(memory)
    before = faults()
    memory.fill(1)
    assert faults() - before < memory.size // mmap.PAGESIZE // 4  # shadow pages of a sanitizer
