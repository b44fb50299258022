"""Tests of `block_gft` against dense eigenvectors, and of its exact inverse."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from nnk_image import bilateral_graph, block_gft, image_graph

RNG = np.random.default_rng(35)
IMAGE = RNG.random((12, 18))
GRAPHS = {
    "nnk": image_graph(IMAGE, 5, sigma_f=0.3),
    "bilateral": bilateral_graph(IMAGE, 5, sigma_f=0.3),
    "exact": image_graph(IMAGE, 5, sigma_f=0.3, weights="nnk"),
    "parts": image_graph(np.round(IMAGE), 5, sigma_f=0.05),  # connected only by the added grid
    "masked": image_graph(IMAGE, 5, sigma_f=0.3, mask=IMAGE > 0.4),
    "no edges": image_graph(IMAGE, 5, sigma_f=0.3, mask=IMAGE.max() == IMAGE),
}


def basis_of(graph, size):
    """Return the k-th basis image of each block at [row, column, k], by inverting unit vectors."""
    rows, columns = (n // size for n in graph.shape)
    pictures = []
    for k in range(size**2):
        unit = np.zeros((rows, columns, size**2))
        unit[..., k] = 1
        picture = block_gft(unit, graph, size, inverse=True)
        pictures.append(picture.reshape(rows, size, columns, size).swapaxes(1, 2))
    return np.stack(pictures, axis=2).reshape(rows, columns, size**2, size**2)


def laplacian_by_hand(graph, y, x, size):
    """Return the Laplacian of a block; adjacent pixels get an added link of 0.01 of the maximum."""
    rows, columns = np.divmod(np.arange(size**2), size)
    nodes = (y + rows) * graph.shape[1] + x + columns
    steps = abs(rows[:, None] - rows) + abs(columns[:, None] - columns)
    adjacency = graph.adjacency.toarray()
    weights = adjacency[np.ix_(nodes, nodes)] + 0.01 * (adjacency.max() or 1) * (steps == 1)
    return np.diag(weights.sum(axis=1)) - weights


@pytest.mark.parametrize("name", GRAPHS)
def test_basis_of_each_block_is_its_eigenvectors_in_ascending_order(name):
    graph, size = GRAPHS[name], 6
    basis = basis_of(graph, size)
    for row in range(2):
        for column in range(3):
            matrix = laplacian_by_hand(graph, size * row, size * column, size)
            vectors = basis[row, column]
            expected = np.diag(eigvalsh(matrix))
            np.testing.assert_allclose(vectors @ matrix @ vectors.T, expected, atol=1e-12)
            np.testing.assert_allclose(vectors @ vectors.T, np.eye(size**2), atol=1e-13)
            np.testing.assert_allclose(vectors[0], 1 / size, rtol=1e-9)


def test_signs_do_not_follow_from_rounding():
    """Mirrored columns are the same image, whose eigenvectors are even or odd, with ties."""
    left = RNG.random((6, 3))
    even = np.hstack([left, left[:, ::-1]])
    vectors = basis_of(image_graph(even, 5, sigma_f=0.3), 6)[0, 0]
    odd = abs(vectors.reshape(-1, 6, 6).sum(axis=2)).max(axis=1) < 1e-9
    assert odd.sum() == 18
    largest = abs(vectors) > abs(vectors).max(axis=1, keepdims=True) - 1e-9
    assert (largest.sum(axis=1) > 1).all()
    assert (vectors[range(36), largest.argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("size", [2, 3, 6])
def test_energy_is_kept_and_the_inverse_is_exact(name, size):
    coefficients = block_gft(IMAGE, GRAPHS[name], size)
    assert coefficients.shape == (12 // size, 18 // size, size**2)
    np.testing.assert_allclose((coefficients**2).sum(), (IMAGE**2).sum(), rtol=1e-13)
    back = block_gft(coefficients, GRAPHS[name], size, inverse=True)
    np.testing.assert_allclose(back, IMAGE, atol=1e-13)
    means = IMAGE.reshape(12 // size, size, 18 // size, size).mean(axis=(1, 3))
    np.testing.assert_allclose(coefficients[..., 0], size * means, rtol=1e-10)


def test_channels_are_transformed_one_by_one():
    color = RNG.random((12, 18, 3))
    coefficients = block_gft(color, GRAPHS["nnk"], 6)
    for channel in range(3):
        alone = block_gft(color[..., channel], GRAPHS["nnk"], 6)
        np.testing.assert_allclose(coefficients[..., channel], alone, atol=1e-14)
    back = block_gft(coefficients, GRAPHS["nnk"], 6, inverse=True)
    np.testing.assert_allclose(back, color, atol=1e-13)


def test_incomplete_blocks_are_left_out():
    coefficients = block_gft(IMAGE, GRAPHS["nnk"], 5)
    assert coefficients.shape == (2, 3, 25)
    back = block_gft(coefficients, GRAPHS["nnk"], 5, inverse=True)
    np.testing.assert_allclose(back, IMAGE[:10, :15], atol=1e-13)


@pytest.mark.parametrize("size", [3, 6])
def test_results_are_the_same_on_any_number_of_threads(size):
    one, *others = (block_gft(IMAGE, GRAPHS["nnk"], size, n_jobs=n) for n in (1, 2, 3, -1))
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_dtypes():
    whole = (255 * IMAGE).astype(np.uint8)
    graph = image_graph(whole)
    expected = block_gft(whole.astype(float), graph, 6)
    np.testing.assert_array_equal(block_gft(whole, graph, 6), expected)
    half = image_graph(IMAGE.astype(np.float32))
    back = block_gft(block_gft(IMAGE, half, 6), half, 6, inverse=True)
    np.testing.assert_allclose(back, IMAGE, atol=1e-13)


@pytest.mark.parametrize(
    ("values", "graph", "options", "error", "says"),
    [
        (IMAGE, GRAPHS["nnk"].adjacency, {}, TypeError, "must be an ImageGraph, not csr_array"),
        (IMAGE, GRAPHS["nnk"], {"size": 13}, ValueError, "has no block of 13 x 13"),
        (IMAGE, GRAPHS["nnk"], {"size": 1}, ValueError, "size=1 must be from 2 to 64"),
        (IMAGE, GRAPHS["nnk"], {"size": 4.0}, TypeError, "size must be an integer"),
        (IMAGE, GRAPHS["nnk"], {"n_jobs": 0}, ValueError, "n_jobs=0"),
        (IMAGE.T, GRAPHS["nnk"], {}, ValueError, r"must have shape \(12, 18\)"),
        (IMAGE, GRAPHS["nnk"], {"inverse": True}, ValueError, r"must have shape \(1, 2, 64\)"),
        (IMAGE * np.nan, GRAPHS["nnk"], {}, ValueError, "finite, also at masked pixels"),
        (IMAGE * 1j, GRAPHS["nnk"], {}, TypeError, "complex128 are not real"),
        (IMAGE, image_graph(IMAGE, directed=True), {}, ValueError, "not symmetric"),
        (np.zeros((9, 9, 9)), image_graph(np.zeros((9, 9, 9))), {}, ValueError, "has no block"),
    ],
)
def test_bad_input_is_refused(values, graph, options, error, says):
    with pytest.raises(error, match=says):
        block_gft(values, graph, **options)
