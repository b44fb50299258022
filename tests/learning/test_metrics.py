"""Distances, alignment, manifold metrics and dimension, compared with brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from exact import nnls_weights
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from nnk_image.learning import intrinsic_dimension, manifold_metrics, nalac, nnk_distance
from nnk_image.neighbors import nnk_neighbors

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((40, 6))
NEAR = nnk_neighbors(POINTS, n_neighbors=12)
ROWS = [NEAR.neighbors(i)[0] for i in range(40)]


def random_rows(draw, n):
    """Return random neighborhoods, some empty, as a sparse matrix and as lists."""
    links = draw(st.integers(0, 2 ** (n * n) - 1))  # a bit for each pair
    rows = [[j for j in range(n) if j != i and links >> (n * i + j) & 1] for i in range(n)]
    matrix = np.zeros((n, n))
    for i, row in enumerate(rows):
        matrix[i, row] = 1 + np.arange(len(row))
    return sp.csr_array(matrix), rows


# --- distance of data sets ---------------------------------------------------------------


def distance_by_nnls(A, B, k, sigma):
    """Return the mean squared residual in kernel space (Definition 3.2), by scipy's NNLS."""
    result = []
    for a in A:
        d2 = ((B - a) ** 2).sum(axis=1)
        S = np.argsort(d2, kind="stable")[:k]
        b = np.exp(-d2[S] / (2 * sigma**2))
        K = np.exp(-((B[S][:, None] - B[S]) ** 2).sum(axis=2) / (2 * sigma**2))
        theta = nnls_weights(K, b)
        result.append(1 - 2 * theta @ b + theta @ K @ theta)
    return np.mean(result)


def test_distance_equals_its_definition():
    A, B = RNG.standard_normal((15, 3)), RNG.standard_normal((30, 3)) + 0.5
    for one, other in ((A, B), (B, A)):
        ours = nnk_distance(one, other, 8, sigma=1.3)
        assert ours == pytest.approx(distance_by_nnls(one, other, 8, 1.3), rel=1e-9)
    assert nnk_distance(A, B, 8, sigma=1.3) != pytest.approx(nnk_distance(B, A, 8, sigma=1.3))


def test_distance_is_zero_for_contained_points_and_at_most_one():
    assert nnk_distance(POINTS[3:9], POINTS, 10, sigma=2.0) == 0
    assert nnk_distance(POINTS, POINTS, 10) == 0
    assert 0 < nnk_distance(POINTS, POINTS[3:9], 6, sigma=2.0) < 1
    assert nnk_distance(POINTS + 1e6, POINTS, 5, sigma=1.0) == 1


def test_distance_by_a_precomputed_kernel_needs_its_diagonal():
    A, B = POINTS[:15], POINTS[15:]
    given = (A @ B.T, B @ B.T, 8)
    with pytest.raises(ValueError, match=r"kernel_params={'diagonal': ...}"):
        nnk_distance(*given, kernel="precomputed")
    params = {"diagonal": (A**2).sum(axis=1)}
    found = nnk_distance(*given, kernel="precomputed", kernel_params=params)
    assert found == pytest.approx(nnk_distance(A, B, 8, kernel="linear"))
    cubic = {"kernel": "polynomial", "kernel_params": {"degree": 3}}
    assert nnk_distance(A, B, 8, **cubic) == nnk_distance(A, B, 8, kernel="polynomial")


# --- alignment ---------------------------------------------------------------------------


@given(st.data(), st.integers(2, 7))
def test_alignment_equals_its_definition(data, n):
    X, Y = (np.random.default_rng(seed).random((n, 2)) for seed in (1, 2))
    (first, a), (second, b) = (random_rows(data.draw, n) for _ in range(2))
    hard, soft = [], []
    for i in range(n):
        one = sorted(a[i], key=lambda j: np.linalg.norm(X[i] - X[j]))
        two = sorted(b[i], key=lambda j: np.linalg.norm(Y[i] - Y[j]))
        if not one or not two:
            hard.append(float(one == two))
            soft.append(float(one == two))
            continue
        shorter = min(len(one), len(two))
        hard.append(sum(one[p] == two[p] for p in range(shorter)) / shorter)
        soft.append(len(set(one) & set(two)) / max(len(one), len(two)))
    assert nalac(X, Y, first, second) == pytest.approx(np.mean(hard))
    assert nalac(X, Y, first, second, soft=True) == pytest.approx(np.mean(soft))


# --- manifold metrics --------------------------------------------------------------------


def test_dimension_and_diameter_by_brute_force():
    counts = manifold_metrics(POINTS, NEAR).dimension
    np.testing.assert_array_equal(counts, [len(row) for row in ROWS])
    for normalize in (True, False):
        X = POINTS / np.linalg.norm(POINTS, axis=1)[:, None] if normalize else POINTS
        expected = [max(np.linalg.norm(X[j] - X[k]) for j in row for k in row) for row in ROWS]
        ours = manifold_metrics(POINTS, NEAR, normalize=normalize).diameter
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
        assert ours.max() <= 2 or not normalize


@pytest.mark.parametrize("norm", ["min_rank", "product"])
def test_affinity_is_computed_from_principal_angles(norm):
    X = RNG.standard_normal((40, 15))
    near = nnk_neighbors(X, n_neighbors=4)
    expected = []
    for i in range(40):
        row = near.neighbors(i)[0]
        for j in row:
            other = near.neighbors(j)[0]
            cosines = np.cos(subspace_angles(X[row].T, X[other].T))
            sizes = len(row), len(other)
            divisor = min(sizes) if norm == "min_rank" else np.prod(sizes)
            expected.append(np.sqrt((cosines**2).sum() / divisor))
    np.testing.assert_allclose(manifold_metrics(X, near, norm=norm).affinity, expected, atol=1e-7)


def test_affinity_of_points_in_a_plane_is_1():
    """The rank of the neighbors counts, not their number: three vectors in a plane have rank 2."""
    plane = np.column_stack([POINTS[:, :2], np.zeros((40, 3))])
    matrix = sp.diags_array(np.ones((3, 40)), offsets=[1, 2, 3], shape=(40, 40)).tolil()
    matrix[30:] = 0
    affinity = manifold_metrics(plane, sp.csr_array(matrix)).affinity
    np.testing.assert_allclose(affinity[: 3 * 27], 1, rtol=1e-12)
    assert affinity[-1] == 0  # that neighbor has no neighbors
    assert manifold_metrics(plane, sp.csr_array(matrix), norm="product").affinity.max() < 0.5


@given(st.data(), st.integers(1, 7))
def test_dimension_vector_equals_its_definition(data, n):
    matrix, rows = random_rows(data.draw, n)
    expected = np.sort(matrix.toarray(), axis=1)[:, ::-1].mean(axis=0)
    vector = manifold_metrics(np.ones((n, 2)), matrix).dimension_vector
    m = max(len(row) for row in rows)
    assert len(vector) == m + 1
    np.testing.assert_allclose(vector, np.append(expected, 0)[: m + 1], rtol=1e-12)


# --- local dimension ---------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_dimension_of_flat_data_is_that_of_its_subspace(d):
    rng = np.random.default_rng(d)
    axes = np.linalg.qr(rng.standard_normal((6, 6)))[0][:d]
    X = rng.uniform(-1, 1, (400, d)) @ axes + rng.standard_normal(6)
    near = nnk_neighbors(X, n_neighbors=40, method="knn")
    dimension = intrinsic_dimension(X, near)
    assert dimension.max() == d
    assert np.mean(dimension == d) > 0.9
    assert intrinsic_dimension(X, near, threshold=0).min() >= d


def test_dimension_counts_large_eigenvalues_of_the_weighted_scatter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) * [3, 2, 1, 0.1]
    near = nnk_neighbors(X, n_neighbors=15)
    weights = near.to_csr().toarray()
    expected = []
    for point, row in zip(X, weights, strict=True):
        offsets = X - point
        values = np.linalg.eigvalsh((offsets * row[:, None]).T @ offsets)
        expected.append(np.sum(values > 0.1 * values.max()))
    np.testing.assert_array_equal(intrinsic_dimension(X, near, threshold=0.1), expected)
    other_units = sp.csr_array(2.0**-900 * weights)
    np.testing.assert_array_equal(intrinsic_dimension(X, other_units, threshold=0.1), expected)


# --- invalid input -----------------------------------------------------------------------


ONES = sp.csr_array(np.ones((3, 3)))
INVALID = np.where(np.arange(40)[:, None] == 3, np.nan, POINTS)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nnk_distance(POINTS[:, :2], POINTS), ValueError, "A has 2 features, B has 6"),
        (lambda: nnk_distance(POINTS, POINTS, queries=POINTS), TypeError, "queries is no option"),
        (lambda: nnk_distance(POINTS, INVALID), ValueError, "6 of 240 numbers of B are not finite"),
        (lambda: nalac(POINTS, POINTS[:30], NEAR, nnk_neighbors(POINTS[:30], 5)), ValueError,
         "40 and of 30 points"),
        (lambda: manifold_metrics(POINTS, NEAR, norm="max"), ValueError, "norm='max' is unknown"),
        (lambda: manifold_metrics(POINTS[1:], NEAR), ValueError, "X holds 39 points"),
        (lambda: intrinsic_dimension(POINTS, POINTS), TypeError, "ndarray"),
        (lambda: intrinsic_dimension(POINTS, NEAR, threshold=1), ValueError, "threshold=1"),
        (lambda: intrinsic_dimension(ONES, sp.csr_array((0, 3))), ValueError, "are empty"),
        (lambda: intrinsic_dimension(POINTS, NEAR.to_csr() * np.nan), ValueError, "finite"),
        (lambda: intrinsic_dimension(POINTS, NEAR.to_csr() * 1j), TypeError, "complex"),
        (lambda: intrinsic_dimension(np.eye(4), ONES), ValueError, "X holds 4 points"),
        (lambda: intrinsic_dimension(np.eye(3), -ONES), ValueError, "must be positive, got -1"),
    ],
)  # fmt: skip
def test_invalid_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
