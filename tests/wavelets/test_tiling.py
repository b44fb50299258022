"""Tiles with the published border equal the whole image, for every Laplacian."""

import numpy as np
import pytest

from nnk_image import SpectralGraphWavelets, halo, image_graph, standard_image
from nnk_image.graph.laplacian import KINDS, regularization

ORDER, WINDOW = 6, 5


def picture():
    noise = np.random.default_rng(3).normal(0, 15, (96, 88))
    return standard_image("camera")[100:196, 60:148] + noise


def wavelets_of(image, kind, **options):
    graph = image_graph(image, WINDOW, sigma_f=25)
    return SpectralGraphWavelets(graph, order=ORDER, laplacian=kind, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", ["bound", "lmax"])
@pytest.mark.parametrize(("rows", "columns"), [((40, 60), (37, 51)), ((0, 9), (70, 88))])
def test_a_tile_equals_the_whole(kind, given, rows, columns):
    """With the whole's bound, lmax is the whole's of itself; lmax alone ends the interval too."""
    image = picture()
    whole = wavelets_of(image, kind)
    options = {given: whole.bound}
    if kind == "regularized":
        options["tau"] = float(regularization(image_graph(image, WINDOW, sigma_f=25).degrees))
    if given == "lmax":
        whole = wavelets_of(image, kind, **options)
    expected = whole.analyze(image)
    border = halo(ORDER, WINDOW, kind)
    top, left = max(0, rows[0] - border), max(0, columns[0] - border)
    tile = image[top : rows[1] + border, left : columns[1] + border]
    assert tile.shape != image.shape
    of_tile = wavelets_of(tile, kind, **options)
    assert (of_tile.bound, of_tile.lmax) == (whole.bound, whole.lmax)
    bands = of_tile.analyze(tile)
    inside = bands[:, rows[0] - top :, columns[0] - left :]
    inside = inside[:, : rows[1] - rows[0], : columns[1] - columns[0]]
    part = expected[:, rows[0] : rows[1], columns[0] : columns[1]]
    np.testing.assert_allclose(inside, part, rtol=0, atol=1e-13 * abs(expected).max())


@pytest.mark.parametrize(
    ("order", "window", "kind", "pixels"),
    [
        (30, 5, "combinatorial", 62),
        (30, 5, "random_walk", 62),
        (16, 11, "regularized", 85),
        (30, 5, "normalized", 64),
        (0, 3, "combinatorial", 1),
    ],
)
def test_halo(order, window, kind, pixels):
    assert halo(order, window, kind) == pixels


def test_halo_of_bad_numbers():
    with pytest.raises(ValueError, match="window=4 must be odd"):
        halo(3, 4)
    with pytest.raises(TypeError, match="order must be an integer"):
        halo(2.5, 5)
    with pytest.raises(ValueError, match="laplacian 'other' is unknown"):
        halo(3, 5, "other")


def test_tau_is_for_the_regularised_laplacian():
    graph = image_graph(picture(), WINDOW, sigma_f=25)
    with pytest.raises(
        ValueError, match=r"tau=2 is for laplacian='regularized', not 'random_walk'"
    ):
        SpectralGraphWavelets(graph, laplacian="random_walk", tau=2)
    with pytest.raises(ValueError, match="tau=-1 must be a finite number > 0"):
        SpectralGraphWavelets(graph, laplacian="regularized", tau=-1)
    mean = float(regularization(graph.degrees))
    given, default = (
        SpectralGraphWavelets(graph, laplacian="regularized", tau=tau) for tau in (mean, None)
    )
    np.testing.assert_allclose(given.analyze(picture()), default.analyze(picture()), rtol=1e-12)
