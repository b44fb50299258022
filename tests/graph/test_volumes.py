"""Graphs of volumes and sequences, beside a brute force over all candidates in plain Python."""

import itertools

import numpy as np
import pytest

import nnk_image
from nnk_image import ImageGraph, SpectralGraphWavelets, bilateral_graph, image_graph, plotting
from nnk_image.graph.summary import summary

RADII = (1, 3, 5, 7)


def neighbours(values, sides, sigma_d, sigma_f, spacing, mask):
    """Directed edges of Algorithm 4 among (*shape, C) values, as pairs of node numbers."""
    shape, mu = values.shape[:-1], (sigma_f / sigma_d) ** 2
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    reach = itertools.product(*(range(-(s // 2), s // 2 + 1) for s in sides))
    offsets = [np.array(o) for o in reach if any(o)]
    offsets.sort(key=lambda o: (o * spacing) @ (o * spacing))
    found = set()
    for pixel in itertools.product(*map(range, shape)):
        if not mask[pixel]:
            continue
        kept = []
        for offset in offsets:
            there = tuple(int(n) for n in pixel + offset)
            inside = all(0 <= n < size for n, size in zip(there, shape, strict=True))
            if not inside or not mask[there]:
                continue
            d_k, o_k = values[there] - values[pixel], offset * spacing
            factors = [((o_k - o_j) @ o_j, (d_j - d_k) @ d_j) for o_j, d_j in kept]
            if not any(
                delta > -1e-9 and product <= mu * delta + 1e-9 for delta, product in factors
            ):
                kept.append((o_k, d_k))
                found.add((int(np.dot(pixel, strides)), int(np.dot(there, strides))))
    return found


def edges(graph):
    row, column = graph.adjacency.nonzero()
    return set(zip(row.tolist(), column.tolist(), strict=True))


def random_case(number):
    """A volume or a sequence of volumes with its options, each unlike the others."""
    rng = np.random.default_rng(number)
    axes = 4 if number % 4 == 3 else 3
    largest = (3, 4, 4, 5) if axes == 4 else (9, 17, 33) if number % 15 == 0 else (5, 6, 9)
    shape = tuple(int(rng.integers(1, n + 1)) for n in largest)
    sides = tuple(int(s) for s in rng.choice(RADII if number % 15 else RADII[1:3], axes))
    sides = sides if max(sides) > 1 else (3,) * axes
    spacing = rng.choice([0.5, 1.0, 1.7, 3.0], axes) if number % 2 else np.ones(axes)
    dtype = [np.uint8, np.float64, np.uint16, np.int16, np.float64][number % 5]
    colours = (3,) if number % 3 == 0 else ()
    values = rng.normal(100, 30, shape + colours).clip(0, 255).astype(dtype)
    mask = rng.random(shape) > (0.2 if number % 7 == 0 else -1)
    mask.flat[0] = True
    return values, sides, tuple(spacing.tolist()), mask, -1 if colours else None


@pytest.mark.parametrize("number", range(60))
def test_brute_force_finds_the_same_edges(number):
    values, sides, spacing, mask, channel_axis = random_case(number)
    options = {"channel_axis": channel_axis, "mask": mask, "spacing": spacing}
    graph = image_graph(values, sides, 1.5, 30.0, directed=True, **options)
    plain = values.astype(float) if channel_axis else values.astype(float)[..., None]
    assert graph.n_underflow == 0
    assert edges(graph) == neighbours(plain, sides, 1.5, 30.0, np.array(spacing), mask)
    undirected = image_graph(values, sides, 1.5, 30.0, **options)
    both_ways = edges(graph) | {(j, i) for i, j in edges(graph)}
    assert edges(undirected) == both_ways


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 7), (7, 1, 1), (1, 7, 1), (2, 1, 2, 1)])
def test_thin_volumes(shape):
    values = np.random.default_rng(0).normal(size=shape)
    ones = (1,) * len(shape)
    graph = image_graph(values, sigma_f=1, spacing=ones, directed=True)
    sides = (5 if len(shape) == 3 else 3,) * len(shape)
    everywhere = np.ones(shape, bool)
    assert edges(graph) == neighbours(
        values[..., None], sides, 2.0, 1.0, np.ones(len(shape)), everywhere
    )


def test_a_single_slice_has_the_graph_of_the_image():
    image = nnk_image.standard_image("camera")
    flat = image_graph(image, sigma_f=10)
    for axis in range(3):
        sides = tuple(np.insert([11, 11], axis, 5).tolist())
        volume = np.expand_dims(image, axis)
        graph = image_graph(volume, sides, sigma_f=10, spacing=(1, 1, 1))
        assert (graph.adjacency != flat.adjacency).nnz == 0
    assert graph.degrees.shape == (256, 256, 1)


def test_weights_are_the_kernel_in_units_of_the_spacing():
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    spacing = np.array([2.0, 1.0, 0.5])
    graph = bilateral_graph(values, (3, 3, 5), 1.2, 0.7, spacing=spacing)
    places = np.argwhere(np.ones(values.shape)) * spacing
    steps = np.argwhere(np.ones(values.shape))
    for i, j in itertools.product(range(60), repeat=2):
        near = (abs(steps[i] - steps[j]) <= [1, 1, 2]).all() and i != j
        square = ((places[i] - places[j]) ** 2).sum() / (2 * 1.2**2)
        square += (values.flat[i] - values.flat[j]) ** 2 / (2 * 0.7**2)
        assert graph.adjacency[i, j] == pytest.approx(np.exp(-square) if near else 0, rel=1e-12)


def test_threads_and_layouts_do_not_matter(simd):
    volume = np.random.default_rng(0).integers(0, 256, (12, 20, 70), np.uint8)
    graph = image_graph(volume, spacing=(1, 1, 1)).adjacency
    others = [
        image_graph(volume, spacing=(1, 1, 1), n_jobs=3),
        image_graph(volume.astype(float), sigma_f=10, spacing=(1, 1, 1)),
        image_graph(np.asfortranarray(volume), spacing=(1, 1, 1)),
        image_graph(volume[::-1][::-1], 5),
    ]
    for other in others:
        assert (other.adjacency != graph).nnz == 0


def test_files_keep_volumes(tmp_path):
    volume = np.random.default_rng(0).normal(size=(4, 5, 6))
    mask = volume > -1
    graph = image_graph(volume, (3, 5, 5), sigma_f=1, spacing=(2, 1, 1), mask=mask)
    graph.save(tmp_path / "graph.npz")
    read = ImageGraph.load(tmp_path / "graph.npz")
    assert (read.shape, read.window, read.spacing) == ((4, 5, 6), (3, 5, 5), (2.0, 1.0, 1.0))
    np.testing.assert_array_equal(read.valid, mask)
    assert (read.adjacency != graph.adjacency).nnz == 0
    assert "4x5x6" in repr(read)
    coordinates = read.to_pygsp().coords
    np.testing.assert_array_equal(coordinates[37], [1, -1, 2])


@pytest.mark.parametrize("laplacian", ["combinatorial", "normalized", "random_walk", "regularized"])
def test_wavelets_of_a_volume(laplacian):
    volume = np.random.default_rng(0).normal(size=(4, 5, 6))
    graph = image_graph(volume, 3, sigma_f=1, spacing=(1, 1, 1))
    wavelets = SpectralGraphWavelets(graph, laplacian=laplacian)
    bands = wavelets.analyze(volume)
    interval = {"lmax": wavelets.lmax, "bound": wavelets.bound}
    plain = SpectralGraphWavelets(graph.adjacency, laplacian=laplacian, **interval)
    assert bands.shape == (7, 4, 5, 6)
    np.testing.assert_allclose(bands.reshape(7, -1), plain.analyze(volume.ravel()), atol=1e-12)
    np.testing.assert_allclose(wavelets.reconstruct(bands), volume, atol=1e-8)


def test_exact_weights_of_a_volume():
    volume = np.random.default_rng(0).normal(size=(3, 4, 5))
    graph = image_graph(volume, 3, sigma_f=1, spacing=(1, 2, 1), weights="nnk")
    assert graph.shape == volume.shape
    assert 0 < graph.n_edges <= image_graph(volume, 3, sigma_f=1, spacing=(1, 2, 1)).n_edges


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ((5, 6, 3), {}, "may be a colour image or a volume"),
        ((4, 5, 6), {}, "may be a colour image or a volume"),
        ((5, 6, 7), {"spacing": (1, 1)}, "must be 3 numbers, one for each axis"),
        ((5, 6, 7), {"spacing": 2.0}, "must be 3 numbers, one for each axis"),
        ((5, 6, 7), {"spacing": (1, 0, 1)}, "spacing=0 must be"),
        ((5, 6, 7), {"window": (3, 3)}, "window has 2 sides, the image 3 axes"),
        ((5, 6, 7), {"window": 17}, "holds 4913 pixels"),
        ((5, 6, 7), {"mask": np.ones((5, 6), bool)}, "mask has shape"),
    ],
)
def test_errors_teach(shape, options, says):
    with pytest.raises(ValueError, match=says):
        image_graph(np.zeros(shape), **{"sigma_f": 1} | options)


def test_cards_and_plots_of_volumes():
    volume = np.random.default_rng(0).normal(size=(5, 20, 30))
    graph = image_graph(volume, 3, sigma_f=1)
    assert "5x20x30, 3,000 nodes" in graph._repr_html_()
    whole = bilateral_graph(volume, 3, sigma_f=1)
    assert summary(whole)["reduction"] == 0
    assert 0.3 < summary(graph)["reduction"] < 0.7
    for plot in (plotting.plot_degrees, lambda g: plotting.plot_graph(volume[0], g, np.s_[:5, :5])):
        with pytest.raises(ValueError, match="is of a volume of shape"):
            plot(graph)


def test_other_functions_take_images_of_two_axes():
    volume = np.zeros((5, 6, 7))
    for function in (nnk_image.denoise, nnk_image.energy_compaction, nnk_image.estimate_sigma):
        with pytest.raises(ValueError, match="2 axes"):
            function(volume)
    assert SpectralGraphWavelets.of_image(volume, 3, sigma_f=1).shape == (5, 6, 7)


def test_where_a_value_is_not_finite():
    volume = np.zeros((5, 6, 7))
    volume[1, 2, 3] = np.inf
    with pytest.raises(ValueError, match=r"the first at \(1, 2, 3\)"):
        image_graph(volume, sigma_f=1)
