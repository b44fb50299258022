"""Segments: fair shares of the rows, and the same bits whichever of them is ahead."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_operators import both_layouts, random_bank, random_graph, run

from nnk_image import bilateral_graph
from nnk_image.base.parallel import RowExecutor
from nnk_image.spectral._segments import Seam, seams

POLICIES = {
    "lowest first": lambda rng, chains: chains,
    "highest first": lambda rng, chains: chains[::-1],
    "furthest down first": lambda rng, chains: sorted(chains, key=lambda c: -c.front),
    "at random": lambda rng, chains: rng.permutation(np.array(chains, object)),
    "first or last": lambda rng, chains: chains[:: rng.choice([1, -1])],
}


@given(
    n_rows=st.integers(1, 3000),
    radius=st.integers(1, 20),
    n_orders=st.integers(1, 90),
    n_jobs=st.integers(1, 12),
    heavy=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 10**4)), max_size=4),
)
def test_seams_leave_room_for_what_is_shared(n_rows, radius, n_orders, n_jobs, heavy):
    work = np.ones(n_rows)
    for where, times in heavy:
        work[int(where * (n_rows - 1))] += times
    rows = seams(np.cumsum(work) / work.sum(), radius, n_orders, n_jobs)
    assert len(rows) < n_jobs
    if not rows:
        fits = n_rows >= 2 * (-(-n_orders * radius // 2) + 2 * radius)
        assert n_jobs == 1 or not fits
        return
    assert rows[0] >= 2 * radius
    assert rows[-1] + n_orders * radius <= n_rows - 2 * radius
    assert (np.diff(rows) >= n_orders * radius / 2 + 2 * radius).all()


def test_shares_are_of_the_work_of_all_orders():
    """The first segment grows from order to order: on the average its share is half."""
    radius, n_orders = 5, 30
    work = np.r_[np.full(500, 1.0), np.full(500, 3.0)]
    (row,) = seams(np.cumsum(work) / work.sum(), radius, n_orders, 2)
    first = sum(work[: row + k * radius].sum() for k in range(1, n_orders + 1))
    assert first / (n_orders * work.sum()) == pytest.approx(0.5, abs=0.01)


def test_a_segment_waits_for_the_first_rows_of_the_one_below():
    seam = Seam.of_group(100, 5, 8, 3)
    assert (seam.row, seam.end) == (140, 145)
    assert seam.needed(144) == 0
    # Order 3 of the group from row 155 on, 10 rows of it, 10 behind the front.
    assert seam.needed(145) == seam.shared == 155 + 10 + 10


class DirtyNumpy:
    """Numpy whose fresh memory is full of NaN."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def empty(shape, dtype=float):
        return np.full(shape, np.nan, dtype)


@pytest.fixture
def steps_of_a_row(monkeypatch):
    """The shortest steps, in memory where what nobody has written shows."""
    monkeypatch.setattr("nnk_image.sweeps._PIXELS_PER_STEP", 1)
    for module in ("sweeps", "recurrence"):
        monkeypatch.setattr(f"nnk_image.{module}.np", DirtyNumpy())


@pytest.fixture
def steps_taken(request, monkeypatch):
    """Numbers of the chains whose steps one thread takes, as threads would hardly ever do."""
    choose, rng, taken = POLICIES[request.param], np.random.default_rng(4), []

    def run_chains(self, chains, n_rows, n_threads, evenly=False, then=None):
        left = list(chains)
        while left:
            for chain in choose(rng, left):
                if chain.claim():
                    break
            else:
                pytest.fail("every chain waits for another")
            chain.take_step()
            taken.append(chains.index(chain))
            left = [chain for chain in left if not chain.finished]

    monkeypatch.setattr(Bands, "run_chains", run_chains)
    return taken


@pytest.mark.parametrize("steps_taken", POLICIES, indirect=True)
@pytest.mark.parametrize("method", ["analyze", "synthesize"])
@pytest.mark.parametrize("strip", [16, 1024])
@pytest.mark.parametrize(
    ("n_jobs", "window", "order"), [(2, 5, 1), (2, 5, 30), (2, 11, 9), (4, 3, 17), (3, 7, 4)]
)
def test_bits_do_not_depend_on_who_is_ahead(
    steps_taken, method, strip, n_jobs, window, order, steps_of_a_row, monkeypatch
):
    height, width = 97, 45
    graph = random_graph(height, width, window, dtype=np.float32, mask=True)
    coefficients = random_bank(2, order)
    lead = 1 if method == "analyze" else 2
    values = np.random.default_rng(2).standard_normal((lead, height * width))

    def result(n_jobs):
        operator = next(both_layouts(graph, "regularized", np.float32))
        return run(operator, method, values, coefficients, n_jobs)

    expected = result(1)
    n_groups = len(set(steps_taken))  # one after the other on one thread
    steps_taken.clear()
    monkeypatch.setattr("nnk_image.sweeps._STRIP", strip)
    np.testing.assert_array_equal(result(n_jobs), expected)
    assert len(set(steps_taken)) == n_groups * n_jobs * max(1, round(width / strip))


@pytest.mark.parametrize("order", range(1, 34))
def test_bits_of_any_order_and_number_of_threads(order, steps_of_a_row):
    graph = random_graph(130, 20, 5)
    values = np.random.default_rng(2).standard_normal((2, 2600))
    for method, lead in (("analyze", 1), ("synthesize", 2)):
        one, *others = (
            run(
                next(both_layouts(graph, "random_walk")),
                method,
                values[:lead],
                random_bank(2, order),
                n_jobs,
            )
            for n_jobs in (1, 2, 3, 7)
        )
        for other in others:
            np.testing.assert_array_equal(other, one)


@pytest.mark.parametrize("n_jobs", [3, 4, 7])
def test_bits_where_the_work_is_in_few_rows(n_jobs, steps_of_a_row):
    image, valid = np.random.default_rng(3).random((150, 40)), np.zeros((150, 40), bool)
    valid[70:76] = True
    graph = bilateral_graph(image, 7, sigma_f=0.3, mask=valid)
    values = np.random.default_rng(2).standard_normal((1, 6000))
    one, other = (
        run(next(both_layouts(graph, "regularized")), "analyze", values, random_bank(2, 8), n)
        for n in (1, n_jobs)
    )
    np.testing.assert_array_equal(other, one)
