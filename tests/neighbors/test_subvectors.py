"""Subvector spaces: which properties of the parts hold for all features together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from nnk_image import nnk_graph, nnk_neighbors, nnk_weights
from nnk_image.neighbors import kernel_ratio_test, subvector_neighbors


def gaussian(a, b, sigma=1.0):
    return np.exp(-0.5 * cdist(a, b, "sqeuclidean") / sigma**2)


RNG = np.random.default_rng(0)


def pairs(rng, n, n_features):
    """Return kernels (K, b) of n queries with two candidates each."""
    candidates = rng.standard_normal((n, 2, n_features))
    scale = -0.5 / rng.uniform(0.3, 3, (n, 1)) ** 2
    apart = np.square(candidates[:, 0] - candidates[:, 1]).sum(axis=1)
    K = np.exp(scale[..., None] * apart[:, None, None] * (1 - np.eye(2)))
    return K, np.exp(scale * np.square(candidates).sum(axis=2))


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (2, 2), (1, 4), (2, 3)])
def test_propositions_hold_for_two_candidates(sizes):
    """Candidates hidden in both parts are hidden together; those hidden in neither part are not.

    The Gaussian kernels of the parts, of any widths, multiply to the kernel of all features.
    """
    (K1, b1), (K2, b2) = (pairs(RNG, 100_000, size) for size in sizes)
    first, second = kernel_ratio_test(K1, b1), kernel_ratio_test(K2, b2)
    hidden, free = first & second, ~(first | second).any(axis=2)
    assert hidden.sum() > 2000
    assert free.sum() > 2000
    together = kernel_ratio_test(K1 * K2, b1 * b2)
    theta = nnk_weights(K1 * K2, b1 * b2)
    assert together[hidden].all()
    assert not theta[hidden.any(axis=2)].any()  # Proposition 2.6
    assert not together[free].any()
    assert (theta[free] > 0).all()  # Proposition 2.5


def weights(points):
    """Return the weights of points for a query at the origin, with a Gaussian kernel of width 1."""
    return nnk_weights(gaussian(points, points), gaussian(points, 0 * points[:1])[:, 0])


def test_a_neighbor_in_both_parts_may_have_no_weight_together():
    """Proposition 2.5 does not hold for three candidates."""
    A = np.array([[-0.8, 1.2], [0.0, -2.6], [-0.3, -0.3]])
    B = np.array([[-1.8, 1.5], [0.3, 0.1], [-0.1, 0.7]])
    np.testing.assert_allclose(weights(A), [0.0998, 0, 0.8853], atol=5e-5)
    np.testing.assert_allclose(weights(B), [0.0098, 0.8672, 0.1085], atol=5e-5)
    np.testing.assert_allclose(weights(np.hstack([A, B])), [0, 0, 0.7118], atol=5e-5)


def test_a_candidate_hidden_in_both_parts_may_have_weight_together():
    """Proposition 2.6 does not hold for four candidates; the third is hidden behind the second."""
    A = np.array([[0.3, 0.5], [0.8, -1.1], [1.5, -0.6], [-0.5, -0.6]])
    B = np.array([[0.9, 1.2], [0.0, 0.0], [0.9, -0.1], [-0.2, 0.3]])
    for points in (A, B, np.hstack([A, B])):
        K, b = gaussian(points, points), gaussian(points, 0 * points[:1])[:, 0]
        assert kernel_ratio_test(K, b)[2, 1]
    np.testing.assert_allclose(weights(A), [0.6469, 0.0649, 0, 0.4560], atol=5e-5)
    np.testing.assert_allclose(weights(B), [0, 1, 0, 0], atol=5e-5)
    together = weights(np.hstack([A, B]))
    np.testing.assert_allclose(together, [0.1680, 0.1404, 0.0546, 0.6129], atol=5e-5)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_joint_neighbors_are_chosen_from_those_of_the_parts(seed, n_parts):
    rng = np.random.default_rng(seed)
    Xs = [rng.standard_normal((40, rng.integers(1, 4))) for _ in range(n_parts)]
    found = subvector_neighbors(Xs, 8, sigma=1.5)
    union = np.zeros((40, 40), bool)
    for X, part in zip(Xs, found.parts, strict=True):
        near = nnk_neighbors(X, 8, sigma=1.5)
        np.testing.assert_array_equal(part.weights, near.weights)
        union |= near.to_csr().toarray() > 0
    union |= union.T
    whole, joint = np.hstack(Xs), found.joint.to_csr().toarray()
    assert not joint[~union].any()
    for i in range(0, 40, 7):  # the exact weights of these candidates
        near = np.flatnonzero(union[i])
        K, b = gaussian(whole[near], whole[near], 1.5), gaussian(whole[near], whole[[i]], 1.5)
        np.testing.assert_allclose(joint[i, near], nnk_weights(K, b[:, 0]), atol=1e-9)
    candidates = nnk_graph(whole, 39, sigma=1.5, neighbors=csr_array(union * 1.0))
    np.testing.assert_allclose(found.graph.toarray(), candidates.toarray(), atol=1e-12)


def test_a_single_part_gives_the_ordinary_weights():
    X = np.random.default_rng(3).random((80, 3))
    found = subvector_neighbors([X], 80 - 1, sigma=0.2)
    near = nnk_neighbors(X, 79, sigma=0.2)
    np.testing.assert_array_equal(found.parts[0].weights, near.weights)
    np.testing.assert_array_equal(found.joint.indices, near.indices)
    np.testing.assert_allclose(found.joint.weights, near.weights, rtol=1e-9)


def test_units_of_a_part_do_not_matter_if_sigma_follows_a_rule():
    rng = np.random.default_rng(4)
    A, B = rng.random((60, 2)), rng.random((60, 3))
    for sigma in ("kth", "median", "local"):
        found = subvector_neighbors([A, B], 10, sigma=sigma)
        other = subvector_neighbors([A, 1024 * B], 10, sigma=sigma)
        assert (found.joint.to_csr() != other.joint.to_csr()).nnz == 0


def test_parts_as_an_array_and_threads_give_the_same_graph():
    X = np.random.default_rng(5).random((3, 50, 4))
    one, two = subvector_neighbors(X, 10), subvector_neighbors(list(X), 10, n_jobs=2)
    assert (one.graph != two.graph).nnz == 0


def test_few_points_warn():
    X = np.random.default_rng(6).random((5, 2))
    with pytest.warns(UserWarning, match="there are 4 other points") as caught:
        subvector_neighbors([X], 30)
    assert (len(caught), caught[0].filename) == (1, __file__)


@pytest.mark.parametrize(
    ("Xs", "options", "error", "message"),
    [
        ([], {}, ValueError, "Xs is empty"),
        (3, {}, TypeError, "Xs must be a sequence .* not one int"),
        (np.eye(4), {}, TypeError, "Xs must be a sequence .* not one ndarray"),
        ([np.ones((4, 2)), np.ones((5, 2))], {}, ValueError, r"Xs\[1\] holds 5 points, Xs\[0\] 4"),
        ([np.ones(4)], {}, ValueError, r"Xs\[0\] must have shape \(n, d\)"),
        ([np.full((4, 2), np.nan)], {}, ValueError, r"Xs\[0\]"),
        ([np.eye(4)], {"symmetrize": "sum"}, ValueError, "symmetrize='sum' is unknown"),
        ([np.eye(4)], {"sigma": "wide"}, ValueError, "sigma='wide' is unknown"),
    ],
)
def test_invalid_input_is_refused(Xs, options, error, message):
    with pytest.raises(error, match=message):
        subvector_neighbors(Xs, 3, **options)
