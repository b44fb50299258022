"""Tests of image graphs against the NNK authors' code, and of Algorithm 4 by brute force."""

import golden_data
import numpy as np
import pytest
from graph_checks import (
    COLOR,
    GRAY,
    assert_canonical,
    assert_equal,
    assert_matches_brute_force,
    assert_symmetric,
    every_image,
    every_kind,
)
from hypothesis import given, settings
from random_images import masked_images, options, sigmas_d, sigmas_f, windows

from nnk_image import bilateral_graph, image_graph

GOLDEN_IMAGES = ("camera", "camera_ns", "coins", "brick", "const", "ramp", "noise", "noise_u8")


# --- the authors' code -------------------------------------------------------------------


def golden_cases(name):
    for (sigma_d, sigma_f255), half_windows in golden_data.HALF_WINDOWS.items():
        for r in half_windows:
            yield 2 * r + 1, golden_data.graph(name, r, sigma_d, sigma_f255)


def assert_golden(adjacency, golden):
    golden.sort_indices()
    assert (adjacency.astype(bool) != golden.astype(bool)).nnz == 0
    np.testing.assert_allclose(adjacency.data, golden.data, rtol=1e-14)
    assert_canonical(adjacency)


@pytest.mark.parametrize("name", GOLDEN_IMAGES)
def test_nnk_graphs_match_the_authors_code(name, simd):
    image = golden_data.image_float(name)
    for window, golden in golden_cases(name):
        parameters = image, window, golden.sigma_d, golden.sigma_f
        assert_golden(image_graph(*parameters, directed=True).adjacency, golden.directed)
        undirected = image_graph(*parameters).adjacency
        assert_golden(undirected, golden.undirected)
        assert_symmetric(undirected)


@pytest.mark.parametrize("name", GOLDEN_IMAGES)
def test_bilateral_graphs_match_the_authors_code(name, simd):
    image = golden_data.image_float(name)
    height, width = image.shape
    for window, golden in golden_cases(name):
        graph = bilateral_graph(image, window, golden.sigma_d, golden.sigma_f)
        r = window // 2
        found = graph.adjacency.tocoo()
        dy = found.col // width - found.row // width
        dx = found.col % width - found.row % width
        assert np.maximum(abs(dy), abs(dx)).max() <= r
        reach = np.arange(-r, r + 1)
        pairs = (height - abs(reach)).sum() * (width - abs(reach)).sum()
        assert found.nnz == pairs - height * width
        assert_canonical(graph.adjacency)
        assert_symmetric(graph.adjacency)
        weights = np.asarray(graph.adjacency[golden.kernel.row, golden.kernel.col]).ravel()
        np.testing.assert_allclose(weights, golden.kernel.data, rtol=1e-14)


# --- Algorithm 4 by brute force ----------------------------------------------------------


@settings(max_examples=200)
@given(masked_images(heights=(1, 12), widths=(1, 18)), windows, sigmas_d, sigmas_f)
def test_random_images_match_brute_force(masked, window, sigma_d, sigma_f):
    image, valid = masked
    assert_matches_brute_force(image, window, sigma_d, sigma_f, valid)


@pytest.mark.parametrize("window", [11, 13, 15, 21])
def test_large_windows_match_brute_force(window):
    rng = np.random.default_rng(window)
    image = rng.integers(0, 12, (15, 23)) * 20
    assert_matches_brute_force(image.astype(np.uint8), window, 2.0, 10.0)
    assert_matches_brute_force(image + rng.normal(0, 9, image.shape), window, 3.0, 30.0)
    noise = rng.normal(0, 20, (15, 23, 5))  # many far neighbors remain, and prune each other
    assert_matches_brute_force(noise, window, 8.0, 70.0)


# --- invariants --------------------------------------------------------------------------

MOVES = {
    "transpose": lambda a: a.swapaxes(0, 1),
    "left-right": lambda a: a[:, ::-1],
    "quarter turn": np.rot90,
    "half turn": lambda a: np.rot90(a, 2),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@every_kind
@every_image
def test_moving_the_image_permutes_the_graph(image, build, move):
    still = build(image, 7, 2.0, 30.0, **options(image)).adjacency
    moved = build(move(image), 7, 2.0, 30.0, **options(image)).adjacency
    nodes = move(np.arange(image.shape[0] * image.shape[1]).reshape(image.shape[:2])).ravel()
    assert (moved != still[nodes][:, nodes]).nnz == 0


@every_kind
@pytest.mark.parametrize("window", [5, 11, 13])
@pytest.mark.parametrize("width", [2, 8, 9, 17, 32])
def test_strip_has_the_same_graph_as_within_a_wide_image(build, window, width):
    """In narrow images several rows are pruned at once, in wide images one row at a time."""
    rng = np.random.default_rng([window, width])
    wide = np.cumsum(rng.normal(0, 9, (37, 90)), axis=0)
    mask = np.zeros(wide.shape, bool)
    mask[:, 40 : 40 + width] = rng.random((37, width)) < 0.95
    part = np.s_[:, 40 : 40 + width]
    nodes = np.arange(wide.size).reshape(wide.shape)[part].ravel()
    for image in (wide, np.float32(wide)):
        found = build(image[part], window, sigma_f=20.0, mask=mask[part]).adjacency
        expected = build(image, window, sigma_f=20.0, mask=mask).adjacency
        assert_equal(found, expected[nodes][:, nodes])
        assert found.nnz > 37 * width


@every_kind
@every_image
def test_signs_offsets_and_scales_do_not_matter(image, build):
    def adjacency(image, sigma_f=20.0):
        return build(image, 7, 2.0, sigma_f, **options(image)).adjacency

    plain = adjacency(image)
    if image.dtype.kind == "f":
        assert_equal(adjacency(-image), plain)
        assert_equal(adjacency(image * 8, 160.0), plain)
        assert_equal(adjacency(image / 1024, 20 / 1024), plain)
    else:
        signed = image.astype(np.int16)
        for other in (-signed, 255 - image, signed + 1000, 255 - signed):
            assert_equal(adjacency(other), plain)
        assert_equal(adjacency(signed * 16, 320.0), plain)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("window", [3, 9, 13, 33, 63])
def test_a_constant_image_gives_the_grid(window, dtype):
    y, x = np.divmod(np.arange(54), 9)
    grid = abs(y[:, None] - y) + abs(x[:, None] - x) == 1
    for directed in (True, False):
        image = np.full((6, 9), 7, dtype)
        adjacency = image_graph(image, window, 1.5, 10.0, directed=directed).adjacency
        np.testing.assert_array_equal(adjacency.toarray() > 0, grid)
        eps = np.finfo(adjacency.dtype).eps
        np.testing.assert_allclose(adjacency.data, np.exp(-1 / 4.5), rtol=eps)


# --- masked pixels -----------------------------------------------------------------------


@pytest.mark.parametrize("image", [GRAY / 2, (GRAY / 3).astype(np.float32), COLOR / 4])
def test_masked_pixels_may_hold_anything(image):
    valid = np.random.default_rng(5).random(image.shape[:2]) < 0.7
    hole = image.copy()
    hole[~valid] = np.resize([np.nan, np.inf, -np.inf], hole[~valid].shape)
    for build in (image_graph, bilateral_graph):
        expected = build(image, 7, 2.0, 20.0, mask=valid, **options(image))
        found = build(hole, 7, 2.0, 20.0, mask=valid, **options(image))
        assert_equal(found.adjacency, expected.adjacency)
        np.testing.assert_array_equal(found.valid, valid)
        assert (found.degrees[~valid] == 0).all()


def test_masked_arrays_hide_their_pixels():
    valid = np.random.default_rng(6).random(GRAY.shape) < 0.8
    expected = image_graph(GRAY, mask=valid)
    hidden = np.ma.masked_array(GRAY, ~valid)
    assert_equal(image_graph(hidden).adjacency, expected.adjacency)
    rows = np.broadcast_to(np.arange(12)[:, None] % 3 > 0, GRAY.shape)
    both = image_graph(hidden, mask=rows)
    np.testing.assert_array_equal(both.valid, valid & rows)
    assert image_graph(np.ma.masked_array(GRAY)).adjacency.nnz == image_graph(GRAY).adjacency.nnz
    hidden = np.zeros(COLOR.shape, bool)
    hidden[3, 4, 1] = hidden[7, 0, 2] = True  # in one channel only
    graph = image_graph(np.ma.masked_array(COLOR, hidden), channel_axis=-1)
    expected = image_graph(COLOR, channel_axis=-1, mask=~hidden.any(axis=-1))
    assert_equal(graph.adjacency, expected.adjacency)
