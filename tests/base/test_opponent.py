"""Opponent channels have uncorrelated noise, and their luminance has the least noise."""

import numpy as np
import pytest

from nnk_image.base.channels import from_opponent, opponent_matrix, to_opponent

RNG = np.random.default_rng(0)


def random_covariance(n):
    mixing = RNG.normal(size=(n, n)) / 8 + np.eye(n)
    return mixing @ mixing.T


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_equally_noisy_channels_give_the_luminance_of_the_cosine_transform(n):
    matrix = opponent_matrix(np.eye(n))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(n), atol=1e-12)
    pixels = RNG.normal(size=(4, 5, n))
    np.testing.assert_allclose(to_opponent(pixels)[0], to_opponent(pixels, matrix)[0], rtol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_noise_of_opponent_channels_is_uncorrelated_and_gray_is_only_in_the_luminance(n):
    covariance = random_covariance(n)
    matrix = opponent_matrix(covariance)
    transformed = matrix @ covariance @ matrix.T
    scale = np.sqrt(np.diagonal(transformed))
    np.testing.assert_allclose(transformed / np.outer(scale, scale), np.eye(n), atol=0.1)
    np.testing.assert_allclose(matrix @ np.ones(n), np.sqrt(n) * np.eye(n)[0], atol=1e-12)


def test_luminance_is_the_average_with_the_least_noise():
    covariance = np.diag([9.0, 1.0, 4.0])
    weights = opponent_matrix(covariance)[0] / np.sqrt(3)
    least = weights @ covariance @ weights
    for other in RNG.dirichlet(np.ones(3), 200):
        assert other @ covariance @ other > 0.98 * least


def test_gray_structure_hardly_changes_the_luminance():
    covariance = np.diag([9.0, 1.0, 4.0])
    with_gray = opponent_matrix(covariance + 5)
    np.testing.assert_allclose(with_gray[0], opponent_matrix(covariance)[0], atol=0.25)


@pytest.mark.parametrize(
    "covariance", [np.zeros((3, 3)), np.ones((3, 3)), np.diag([1e-12, 1.0, 1.0]), np.eye(3)]
)
def test_extreme_covariances_give_an_invertible_matrix(covariance):
    matrix, pixels = opponent_matrix(covariance), RNG.normal(size=(3, 4, 3))
    assert np.all(np.isfinite(matrix))
    assert np.all(matrix[0] >= 0)
    np.testing.assert_allclose(from_opponent(to_opponent(pixels, matrix), matrix), pixels)


def test_bits_do_not_depend_on_the_crop():
    matrix, pixels = opponent_matrix(random_covariance(3)), RNG.normal(size=(40, 37, 3))
    whole = to_opponent(pixels, matrix)
    np.testing.assert_array_equal(whole[:, 5:, 8:], to_opponent(pixels[5:, 8:], matrix))
