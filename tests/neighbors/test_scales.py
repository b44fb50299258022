"""Scales of points: properties of merged points, and the dimension of known shapes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.datasets import make_swiss_roll

from nnk_image import nnk_graph, nnk_neighbors
from nnk_image.learning import intrinsic_dimension
from nnk_image.neighbors import nnk_scales


def noisy(points, noise, rng):
    return points + noise * rng.standard_normal(points.shape)


def circle(n, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    return noisy(np.column_stack([np.cos(t), np.sin(t), np.zeros(n)]), noise, rng)


def trefoil(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    knot = np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)
    return noisy(np.column_stack(knot) / 3, noise, rng)


def sphere(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, 3))
    return noisy(points / np.linalg.norm(points, axis=1, keepdims=True), noise, rng)


def roll(n, noise, seed=0):
    points = make_swiss_roll(n, random_state=seed)[0] / 10
    return noisy(points, noise, np.random.default_rng(seed))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(3, 60), st.integers(1, 20), st.floats(0.05, 0.95))
def test_merging_keeps_counts_means_and_nesting(seed, n, d, max_coherence):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).round(rng.integers(0, 3))  # rounded: ties and equal points
    scales = nnk_scales(X, 8, sigmas=[0.1, 0.5, 1.0, 3.0], max_coherence=max_coherence)
    for scale in scales:
        m = len(scale)
        assert scale.points.shape == (m, d)
        assert scale.counts.sum() == n
        np.testing.assert_array_equal(np.bincount(scale.labels, minlength=m), scale.counts)
        means = [X[scale.labels == i].mean(axis=0) for i in range(m)]
        np.testing.assert_allclose(scale.points, means, atol=1e-12)
        largest = np.exp(-0.5 * (pdist(scale.points).min() / scale.sigma) ** 2)
        assert scale.coherence == pytest.approx(largest, rel=1e-12, abs=1e-300)
        assert scale.coherence <= max_coherence
        assert scale.graph.shape == (m, m)
    for fine, coarse in pairwise(scales):  # merged points stay merged
        assert len(np.unique(np.stack([fine.labels, coarse.labels]), axis=1).T) == len(fine)


@pytest.mark.parametrize("symmetrize", ["max", None])
def test_neighborhoods_and_graphs_are_those_of_the_merged_points(symmetrize):
    for scale in nnk_scales(circle(400, 0.05), n_neighbors=6, symmetrize=symmetrize):
        k = min(6, len(scale) - 1)
        near = nnk_neighbors(scale.points, k, sigma=scale.sigma)
        np.testing.assert_array_equal(scale.neighborhoods.indices, near.indices)
        np.testing.assert_array_equal(scale.neighborhoods.weights, near.weights)
        graph = nnk_graph(scale.points, k, sigma=scale.sigma, symmetrize=symmetrize)
        assert (scale.graph != graph).nnz == 0


def test_distant_points_stay_separate_and_default_scales_end():
    X = np.arange(10.0).reshape(-1, 1)
    (scale,) = nnk_scales(X, sigmas=[0.5])
    np.testing.assert_array_equal(scale.points, X)
    np.testing.assert_array_equal(scale.labels, np.arange(10))
    assert scale.coherence == np.exp(-2)
    scales = nnk_scales(X)
    assert 3 <= len(scales[-1]) < len(scales[0])
    assert all(b.sigma == pytest.approx(a.sigma * 2**0.5) for a, b in pairwise(scales))
    assert nnk_scales(X, sigmas=[100.0]) == []  # all points are merged


def test_grids_with_many_ties_are_merged():
    x, y = np.meshgrid(np.arange(12.0), np.arange(12.0))
    X = np.column_stack([x.ravel(), y.ravel()])
    scale = nnk_scales(np.repeat(X, 12, axis=0), sigmas=[0.4])[0]
    np.testing.assert_array_equal(scale.counts, np.full(144, 12))  # only equal points are merged
    coarse = nnk_scales(X, sigmas=[2.0])[0]
    assert len(coarse) < 60
    assert pdist(coarse.points).min() >= 2 * (2 * np.log(2)) ** 0.5


def test_threads_and_dtype_do_not_change_the_scales():
    X = (100 * circle(700, 0.02)).round()
    ones, twos = nnk_scales(X), nnk_scales(X.astype(np.float32), n_jobs=2)
    for one, two in zip(ones, twos, strict=True):
        np.testing.assert_array_equal(one.points, two.points)
        np.testing.assert_array_equal(one.neighborhoods.weights, two.neighborhoods.weights)


@pytest.mark.parametrize(
    ("shape", "noise_scale", "sigmas", "dimension"),
    [
        (circle(2000, 0.02), 0.03, [0.08, 0.12, 0.17], 1),
        (trefoil(4000, 0.01), 0.015, [0.05, 0.07, 0.09], 1),
        (roll(6000, 0.01), 0.03, [0.07, 0.1, 0.12], 2),
        (sphere(4000, 0.02), 0.04, [0.12, 0.14, 0.16], 2),
    ],
    ids=["circle", "trefoil", "swiss roll", "sphere"],
)
def test_dimension_is_correct_between_noise_and_curvature(shape, noise_scale, sigmas, dimension):
    at_noise_scale, *scales = (
        np.average(intrinsic_dimension(s.neighborhoods, s.points), weights=s.counts)
        for s in nnk_scales(shape, sigmas=[noise_scale, *sigmas])
    )
    assert at_noise_scale > dimension + 0.15
    np.testing.assert_allclose(scales, dimension, atol=0.1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sigmas": [0.2, 0.1]}, ValueError, "must be one or more numbers in ascending order"),
        ({"sigmas": []}, ValueError, "must be one or more numbers in ascending order"),
        ({"sigmas": [0.0, 1.0]}, ValueError, "sigma=0.0 must be a finite number > 0"),
        ({"sigmas": ["kth"]}, TypeError, "sigma must be a number"),
        ({"sigmas": 0.5}, ValueError, "sigmas=0.5 must be a sequence of numbers"),
        ({"sigmas": "kth"}, ValueError, "sigmas='kth' must be a sequence of numbers"),
        ({"sigmas": [-1.0]}, ValueError, "sigma=-1.0 must be a finite number > 0"),
        ({"max_coherence": 1.0}, ValueError, "max_coherence=1 must lie between 0 and 1"),
        ({"max_coherence": 0.0}, ValueError, "max_coherence=0 must lie between 0 and 1"),
        ({"symmetrize": "sum"}, ValueError, "symmetrize='sum' is unknown"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 must be at least 1"),
    ],
)
def test_invalid_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        nnk_scales(circle(20), **options)


def test_equal_points_need_sigmas():
    with pytest.raises(ValueError, match="give sigmas"):
        nnk_scales(np.ones((5, 2)))


def test_two_points_are_refused_and_huge_distances_accepted():
    with pytest.raises(ValueError, match="X holds 2 points; at least 3 are needed"):
        nnk_scales([[0.0], [1.0]])
    (scale,) = nnk_scales(1e149 * np.arange(5.0).reshape(-1, 1), sigmas=[1e-100])
    assert scale.coherence == 0
    assert len(scale) == 5
