"""Subvector spaces: which properties of the parts hold for all features together."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from nnk_image import nnk_weights
from nnk_image.neighbors import kernel_ratio_test


def gaussian(a, b):
    return np.exp(-0.5 * cdist(a, b, "sqeuclidean"))


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
