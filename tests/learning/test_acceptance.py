"""Results on known data sets, compared with the numbers of the papers."""

import numpy as np
import pytest
from sklearn import datasets

from nnk_image.learning import lle_embedding, manifold_metrics, nalac, nnk_distance
from nnk_image.neighbors import nnk_graph, nnk_neighbors

DIGITS, DIGIT = datasets.load_digits(return_X_y=True)


def edges(X, k, **options):
    return nnk_graph(X, k, **options).nnz // 2


# --- numbers of edges --------------------------------------------------------------------


@pytest.mark.parametrize(("make", "expected"), [("make_circles", 1000), ("make_moons", 998)])
def test_graphs_of_noise_free_curves_follow_the_curves(make, expected):
    X, y = getattr(datasets, make)(1000)
    graph = nnk_graph(X, 5)
    assert graph.nnz == 2 * expected
    assert graph.sum(axis=1).min() > 0
    row, column = graph.nonzero()
    np.testing.assert_array_equal(y[row], y[column])


def test_edges_of_the_swiss_roll_hardly_grow_with_the_candidates():
    X = datasets.make_swiss_roll(5000, random_state=0)[0]
    counts = [edges(X, k, symmetrize="min_error_onesided") for k in (10, 20, 40)]
    np.testing.assert_allclose(counts, [10158, 10877, 10937], rtol=0.01)
    assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("k", "of_roll", "of_digits"), [(10, 2.31, 3.03), (30, 2.84, 7.81), (100, 2.94, 13.96)]
)
def test_number_of_edges_per_point(k, of_roll, of_digits):
    """The tolerances allow for any choice among equally distant candidates."""
    roll = datasets.make_swiss_roll(5000, noise=0.3, random_state=0)[0]
    assert edges(roll, k) / 5000 == pytest.approx(of_roll, rel=0.01)
    ours = edges(DIGITS, k) / len(DIGITS)
    assert ours == pytest.approx(of_digits, abs=0.0101)
    assert ours < edges(DIGITS, k, method="mutual_knn", symmetrize="max") / len(DIGITS)


# --- distances ---------------------------------------------------------------------------


def test_nnk_distances_between_sets_of_digits():
    A, B = DIGITS[DIGIT < 5], DIGITS[DIGIT >= 5]
    sub = A[np.random.default_rng(0).choice(len(A), 300, replace=False)]
    assert nnk_distance(A, A, 10, sigma=30) == 0
    assert nnk_distance(sub, A, 10, sigma=30) == 0
    assert nnk_distance(A, sub, 10, sigma=30) == pytest.approx(0.129, abs=0.01)
    assert nnk_distance(A, B, 10, sigma=30) == pytest.approx(0.498, abs=0.0006)


# --- local non-negative pursuit ----------------------------------------------------------


def knot(t):
    x, y, z = np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)
    return np.column_stack([x, y, z])


def lifted(points, seed=0, noise=0.01):
    """Return points of a few dimensions, embedded in 100 dimensions with noise."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((100, points.shape[1])))[0]
    return points @ axes.T + noise * rng.standard_normal((len(points), 100))


def test_a_trefoil_knot_is_recognized_as_a_curve():
    X = lifted(knot(np.linspace(0, 2 * np.pi, 110, endpoint=False)))
    for k in (5, 10, 30):
        near = nnk_neighbors(X, n_neighbors=k, method="lnp")
        dev = manifold_metrics(X, near).dimension_vector
        assert np.argmax(-np.diff(dev)) == 1
        np.testing.assert_allclose(dev[:3], [0.515, 0.485, 0], atol=0.0055)
        assert near.weights.min() > 0
        np.testing.assert_allclose(near.to_csr().sum(axis=1), 1, rtol=1e-15)
    # Its embedding is a ring, with nearly the same neighbors.
    Y = lle_embedding(nnk_neighbors(X, n_neighbors=10, method="lnp"), 2)
    angle = np.unwrap(np.arctan2(Y[:, 1], Y[:, 0]))
    assert (np.diff(angle) * np.sign(angle[-1])).min() > 0
    near_X, near_Y = (nnk_neighbors(P, n_neighbors=10, method="lnp") for P in (X, Y))
    assert nalac(X, Y, near_X, near_Y) > 0.8
    assert nalac(X, Y, near_X, near_Y, soft=True) > 0.9


# --- manifold metrics --------------------------------------------------------------------


def test_intrinsic_dimension_of_lines_and_normal_samples():
    """1024 points in 128 dimensions, with the cosine kernel and 50 candidates."""
    rng = np.random.default_rng(0)
    step = np.linspace(0, 5, 128)[:, None]
    direction = rng.standard_normal(128)
    direction /= np.linalg.norm(direction)
    axes = np.linalg.qr(rng.standard_normal((128, 10)))[0]
    sets = {
        "lines": np.concatenate([x + step * direction for x in rng.standard_normal((8, 128))]),
        "10-d": rng.standard_normal((1024, 10)) @ axes.T,
        "128-d": rng.standard_normal((1024, 128)),
    }
    near = {n: nnk_neighbors(X, n_neighbors=50, kernel="cosine") for n, X in sets.items()}
    mean = {name: found.n_kept.mean() for name, found in near.items()}
    assert mean["lines"] == pytest.approx(1.98, abs=0.05)
    assert mean["10-d"] == pytest.approx(10, abs=0.05)
    assert mean["128-d"] == pytest.approx(44.5, abs=0.5)
    lines = manifold_metrics(sets["lines"], near["lines"])
    assert lines.affinity.mean() > 0.99
    assert lines.diameter.mean() < 0.1
