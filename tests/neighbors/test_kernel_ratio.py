"""The kernel ratio test, compared with scipy's NNLS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from nnk_image import nnk_weights
from nnk_image.neighbors import kernel_ratio_test


def features(rng, k):
    """Return feature vectors of k candidates and a query; inner products may be negative.

    All lengths vary, that of the query too: the test does not depend on them (Remarks 2.1, 2.2).
    """
    vectors = rng.standard_normal((k + 1, k + 2)) * rng.uniform(0.2, 3, (k + 1, 1))
    if rng.random() < 0.5:
        vectors = np.abs(vectors)  # a kernel without negative values
    return vectors[:k], vectors[k]


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_kernel_ratio_test_decides_problems_of_two_candidates(seed, k):
    candidates, query = features(np.random.default_rng(seed), k)
    hidden = kernel_ratio_test(candidates @ candidates.T, candidates @ query)
    for i in range(k):
        for j in range(i + 1, k):
            pair = candidates[[i, j]]
            weights, _ = nnls(pair.T, query)
            np.testing.assert_array_equal(weights == 0, [hidden[i, j], hidden[j, i]])
            ours = nnk_weights(pair @ pair.T, pair @ query)
            np.testing.assert_array_equal(ours == 0, weights == 0)


def test_stacked_problems_with_equal_and_zero_candidates():
    rng = np.random.default_rng(2)
    K, b = np.empty((3, 4, 4)), np.empty((3, 4))
    for K_one, b_one in zip(K, b, strict=True):
        candidates, query = features(rng, 4)
        candidates[3], candidates[2] = candidates[0], 0
        K_one[:], b_one[:] = candidates @ candidates.T, candidates @ query
    hidden = kernel_ratio_test(K, b)
    for K_one, b_one, one in zip(K, b, hidden, strict=True):
        np.testing.assert_array_equal(kernel_ratio_test(K_one, b_one), one)
        assert one[[0, 3], [3, 0]].all()  # equal
        np.testing.assert_array_equal(one[:2, 2], b_one[:2] <= 0)  # a zero candidate hides nothing
        assert not np.diagonal(one).any()


@pytest.mark.parametrize(
    ("K", "b", "message"),
    [
        ([[1.0, 0.5], [0.4, 1.0]], [1.0, 1.0], "not symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], [1.0, 1.0], "not finite"),
        (np.eye(3), [1.0, 1.0], "do not fit"),
    ],
)
def test_invalid_input_is_refused(K, b, message):
    with pytest.raises(ValueError, match=message):
        kernel_ratio_test(K, b)
