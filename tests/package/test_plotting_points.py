"""Pictures of points hold the numbers they are of."""

import numpy as np
import pytest

from nnk_image import NNKClassifier, plotting
from nnk_image.learning import intrinsic_dimension
from nnk_image.neighbors import kernel_ratio_test, nnk_scales
from nnk_image.plotting import new_figure, plot_explanation, plot_kernel_ratio, plot_scales

RNG = np.random.default_rng(3)


@pytest.fixture
def figure():
    figure = new_figure(figsize=(6, 3))
    yield figure
    figure.canvas.draw()  # completely, warnings being errors


def test_they_are_names_of_the_package_although_loaded_later():
    assert {"plot_scales", "plot_kernel_ratio", "plot_explanation"} <= set(dir(plotting))
    assert set(plotting.__all__) <= set(dir(plotting))
    with pytest.raises(AttributeError, match="has no attribute 'plot_sound'"):
        plotting.plot_sound  # noqa: B018


def test_scales_show_means_over_the_points_given(figure):
    scales = nnk_scales(RNG.standard_normal((200, 3)), sigmas=[0.2, 0.5, 1.0])
    dimension, neighbours = plot_scales(scales, figure.subplots(1, 2), label="cloud")
    assert dimension.get_label() == "cloud"
    for i, scale in enumerate(scales):
        assert dimension.get_xdata()[i] == neighbours.get_xdata()[i] == scale.sigma
        local = intrinsic_dimension(scale.neighborhoods, scale.points)[scale.labels]
        assert dimension.get_ydata()[i] == pytest.approx(local.mean())
        counts = scale.neighborhoods.n_neighbors[scale.labels]
        assert neighbours.get_ydata()[i] == pytest.approx(counts.mean())
    with pytest.raises(ValueError, match="there is no scale to draw"):
        plot_scales([])


@pytest.mark.parametrize("kernel", ["gaussian", "cosine", "linear", "polynomial"])
def test_edges_separate_what_is_hidden(figure, kernel):
    query, neighbours = np.array([1.0, 0.6]), np.array([[1.4, 0.3], [0.6, 1.5]])
    limits = (0.05, 3, 0.05, 2)
    edges = plot_kernel_ratio(
        query, neighbours, figure.subplots(), kernel=kernel, sigma=0.8, limits=limits
    )
    assert len(edges) == 2
    assert edges[0].axes.get_title().startswith(kernel)
    for neighbour, edge in zip(neighbours, edges, strict=True):
        for path in edge.get_paths():
            inner = path.vertices[5:-5:10]
            near = [_hidden(place * [1, 1.05], query, neighbour, kernel) for place in inner]
            far = [_hidden(place / [1, 1.05], query, neighbour, kernel) for place in inner]
            assert len(inner) > 3
            assert np.mean(np.not_equal(near, far)) > 0.9


def _hidden(place, query, neighbour, kernel):
    points = np.array([place, neighbour, query])
    dots = points @ points.T
    squares = np.diagonal(dots)[:, None] - 2 * dots + np.diagonal(dots)
    K = {
        "gaussian": np.exp(-squares / 2 / 0.64),
        "cosine": dots / np.sqrt(np.outer(np.diagonal(dots), np.diagonal(dots))),
        "linear": dots,
        "polynomial": (dots / 2 + 1) ** 3,
    }[kernel]
    return kernel_ratio_test(K[:2, :2], K[2, :2])[0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "lle"}, "kernel='lle' is no function of two points"),
        ({"sigma": 0.0}, "sigma=0.0 must be a positive number"),
        ({"sigma": "kth"}, "sigma='kth' must be a positive number"),
    ],
)
def test_bad_kernels(options, message):
    with pytest.raises(ValueError, match=message):
        plot_kernel_ratio([0, 0], [[1.0, 1.0]], **options)


def test_explanations_show_the_neighbours_by_share(figure):
    images, labels = RNG.random((60, 4, 4)), np.array(["cat", "dog", "sun"])[np.arange(60) % 3]
    model = NNKClassifier(20).fit(images.reshape(60, -1), labels)
    near = model.neighborhoods(images[:2].reshape(2, -1) + 0.2)
    indices, shares = near.neighbors(1)
    order = np.argsort(-shares, kind="stable")
    axes = figure.subplots(1, 4)
    query, *pictures = plot_explanation(images[1], near, 1, images, labels, axes, title="asked")
    assert query.axes.get_title() == "asked"
    assert [p.axes for p in pictures] == list(axes[1:])[: len(order)]
    for picture, j in zip(pictures, order, strict=False):
        np.testing.assert_array_equal(picture.get_array(), images[indices[j]])
        assert picture.axes.get_title() == f"{labels[indices[j]]}: {100 * shares[j]:.0f} %"
    assert len(plot_explanation(images[1], near, 1, images, labels, n_shown=2)) == 3
    with pytest.raises(ValueError, match="there are 59 images for 60 points"):
        plot_explanation(images[1], near, 1, images[1:], labels)
    with pytest.raises(ValueError, match="query=2 must be from 0 to 1"):
        plot_explanation(images[1], near, 2, images, labels)
