"""Tests of energy compaction, against direct computations and the published experiment."""

from functools import cache

import dense
import numpy as np
import pytest
from numpy.polynomial import chebyshev

from nnk_image import (
    bilateral_graph,
    block_gft,
    energy_compaction,
    image_graph,
    standard_image,
)
from nnk_image.graph.laplacian import KINDS
from nnk_image.wavelets.filter_bank import design

RNG = np.random.default_rng(11)
IMAGE = RNG.random((9, 8))
COLOR = RNG.random((9, 8, 3))
VOLUME = RNG.random((4, 5, 3))
BUILDS = {"bilateral": bilateral_graph, "nnk": image_graph}

# Gray photographs, textures and micrographs of 256 x 256; binary images are left out.
PHOTOGRAPHS = (
    "camera",
    "gravel",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("astronaut_grey", "cell", "chelsea_grey", "coffee_grey", "retina")
    ),
)


def energies_by_eigenvectors(adjacency, kind, lmax, signal, order):
    """Return energies by eigenvectors and numpy's interpolation, without a recurrence."""
    values, right, left = dense.spectrum(adjacency.toarray(), kind)
    bank = design("abspline", 6, lmax)
    result = []
    for band in range(7):
        series = chebyshev.chebinterpolate(
            lambda t, b=band: bank.evaluate((t + 1) * lmax / 2)[b], order
        )
        filtered = right * chebyshev.chebval(2 * values / lmax - 1, series) @ (left @ signal)
        result.append((filtered**2).sum() / (signal**2).sum())
    return result


def graphs_of(image, window=5, sigma_f=0.3, **options):
    return {
        name: build(image, window, sigma_f=sigma_f, **options) for name, build in BUILDS.items()
    }


# --- energies ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("image", "channel_axis"),
    [(IMAGE, None), (COLOR, -1), (VOLUME, None)],
    ids=["gray", "color", "volume"],
)
def test_energies_match_those_by_eigenvectors(image, channel_axis, kind):
    """Channels count together, after the mean of each is subtracted."""
    given = {"channel_axis": channel_axis}
    graphs = graphs_of(image, **given, **({"spacing": 1} if image is VOLUME else {}))
    result = energy_compaction(image, graphs, orders=(3, 8), laplacian=kind, lmax=40.0, **given)
    assert (result.orders, result.lmax) == ((3, 8), dict.fromkeys(graphs, 40.0))
    for name, graph in graphs.items():
        assert result.n_edges[name] == graph.n_edges
        pixels = image.reshape(graph.n_nodes, -1)
        signal = pixels - pixels.mean(axis=0)
        for order, energy in zip((3, 8), result.energy[name], strict=True):
            expected = energies_by_eigenvectors(graph.adjacency, kind, 40.0, signal, order)
            np.testing.assert_allclose(energy, expected, rtol=1e-10, atol=1e-14)


def assert_same(one, two):
    """Check that two results agree bit for bit."""
    assert (one.orders, one.n_edges, one.lmax) == (two.orders, two.n_edges, two.lmax)
    for name, energy in one.energy.items():
        np.testing.assert_array_equal(energy, two.energy[name], strict=True)


def test_shares_add_up_and_lmax_is_1_percent_above_the_largest_eigenvalue():
    graphs = graphs_of(IMAGE)
    result = energy_compaction(IMAGE, graphs)
    for name, graph in graphs.items():
        values, *_ = dense.spectrum(graph.adjacency.toarray(), "combinatorial")
        assert result.lmax[name] == pytest.approx(1.01 * values[-1], rel=2e-3)
    assert result.reduction == 1 - result.n_edges["nnk"] / result.n_edges["bilateral"]
    for name, energy in result.energy.items():
        shares = energy / energy.sum(axis=1)[:, None]
        np.testing.assert_allclose(result.normalized[name], shares)
        np.testing.assert_allclose(result.cumulative[name], np.cumsum(shares, axis=1))


# --- the published experiment ------------------------------------------------------------


@cache
def default_result(name):
    return energy_compaction(standard_image(name))


def gains(result):
    """Return how much more energy NNK has in bands 1 to b than bilateral, per order and b."""
    return (result.cumulative["nnk"] - result.cumulative["bilateral"])[:, :-1]


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_nnk_has_more_energy_in_the_low_bands(name):
    """NNK has more at every order and band, except on the two textures tested below."""
    result = default_result(name)
    assert result.reduction > 0.9
    assert gains(result).min() > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brick", "grass"])
def test_on_textures_the_gain_may_vanish_in_single_bands(name):
    for gain in gains(default_result(name)):
        assert gain.min() > -3e-4
        assert gain[:4].max() > 0.002


def test_8_bit_images_give_the_result_of_their_float_copies():
    image = RNG.integers(0, 256, (9, 8), np.uint8)
    graphs = graphs_of(image.astype(float), 11, 10)
    assert_same(energy_compaction(image), energy_compaction(image.astype(float), graphs))


# --- inputs ------------------------------------------------------------------------------


CONSTANT_CHANNELS = np.stack([np.zeros((5, 5)), np.ones((5, 5))], -1)


@pytest.mark.parametrize(
    ("image", "options"),
    [
        (np.full((5, 5), 0.1), {}),
        (np.full((5, 5), 7, np.uint8), {}),
        (np.zeros((1, 1)), {}),
        (CONSTANT_CHANNELS, {"channel_axis": -1}),
    ],
)
def test_constant_images_are_refused(image, options):
    with pytest.raises(ValueError, match="constant"):
        energy_compaction(image, **options)


def test_pixels_masked_in_the_array_or_in_the_graphs_are_ignored():
    hidden = IMAGE > 0.8
    images = [
        np.ma.array(np.where(hidden, value, IMAGE), mask=hidden) for value in (0.5, 1e3, np.nan)
    ]
    expected, *others = [energy_compaction(image, graphs_of(image)) for image in images]
    others += [energy_compaction(image.data, graphs_of(image)) for image in images]
    for other in others:
        for name, energy in expected.energy.items():
            np.testing.assert_allclose(other.energy[name], energy, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"orders": []}, ValueError, "orders is empty"),
        ({"graphs": image_graph(IMAGE), "sigma_f": 0.3}, ValueError, "sigma_f is of the default"),
        ({"orders": [4, 2.5]}, TypeError, r"order must be an integer, not 2\.5"),
        ({"graphs": image_graph(IMAGE.T, 5, sigma_f=0.3)}, ValueError, r"\(8, 9\).*\(9, 8\)"),
        ({"graphs": image_graph(IMAGE, 5, sigma_f=0.3).adjacency}, TypeError, "ImageGraph"),
        (
            {"graphs": image_graph(IMAGE, 7, sigma_f=0.05, directed=True)},
            ValueError,
            "directed=False",
        ),
        ({"lmax": 0.1}, ValueError, "below the largest eigenvalue"),
        ({"graphs": {}}, TypeError, "at least one by name"),
        ({"graphs": {"a": IMAGE}}, TypeError, r"graphs\['a'\] must be an ImageGraph, not ndarray"),
        ({"filters": "haar"}, ValueError, "'haar' is unknown"),
        ({"channel_axis": 0}, ValueError, "channel_axis=0"),
        ({"block_size": 65}, ValueError, "block_size=65 must be from 2 to 64"),
        ({"block_size": 16}, ValueError, "no block of 16 x 16"),
    ],
)
def test_bad_option_is_refused(options, error, says):
    with pytest.raises(error, match=says):
        energy_compaction(IMAGE, **options)


def test_sigma_f_of_the_default_graphs_and_a_single_order():
    graphs = {"bilateral": bilateral_graph(IMAGE, sigma_f=0.3)}
    graphs["nnk"] = image_graph(IMAGE, sigma_f=0.3)
    found = energy_compaction(IMAGE * 1000, sigma_f=300, orders=5)
    expected = energy_compaction(IMAGE, graphs, orders=[5])
    assert found.orders == (5,)
    for name, energy in expected.energy.items():
        np.testing.assert_allclose(found.energy[name], energy, rtol=1e-9)


def test_bad_images_are_refused():
    with pytest.raises(ValueError, match="row 2, column 3"):
        energy_compaction(np.where(np.arange(72).reshape(9, 8) == 19, np.nan, IMAGE))
    with pytest.raises(ValueError, match=r"channel_axis= .* graphs=image_graph\(image, spacing="):
        energy_compaction(COLOR)


# --- blocks ------------------------------------------------------------------------------


def complete_blocks(image, size):
    """Return the complete blocks of an image of one channel, of shape (blocks, size**2)."""
    height, width = (n // size for n in image.shape)
    whole = image[: height * size, : width * size]
    return whole.reshape(height, size, width, size).swapaxes(1, 2).reshape(-1, size**2)


def cosine_products(size):
    """Return products of two cosines, one per row, in order of increasing frequency."""
    k, n = np.arange(size)[:, None], np.arange(size)
    one = np.cos(np.pi * k * (2 * n + 1) / (2 * size)) * np.sqrt(np.where(k, 2, 1) / size)
    both = sorted((u * u + v * v, u, v) for u in range(size) for v in range(size))
    return np.array([np.outer(one[u], one[v]).ravel() for _, u, v in both])


@pytest.mark.parametrize("channels", [1, 3])
def test_block_energies_match_direct_transforms(channels):
    """Channels count together."""
    image = RNG.random((13, 9, channels))
    graphs = graphs_of(image, channel_axis=-1)
    result = energy_compaction(image, graphs, channel_axis=-1, orders=[4], block_size=4)
    assert list(result.blocks) == ["dct", "bilateral", "nnk"]
    assert repr(result).endswith("block transforms dct, bilateral, nnk>")
    signal = image - image.mean(axis=(0, 1))
    pixels = np.concatenate([complete_blocks(channel, 4) for channel in np.moveaxis(signal, -1, 0)])
    power = (pixels**2).sum()
    expected = ((pixels @ cosine_products(4).T) ** 2).sum(axis=0) / power
    np.testing.assert_allclose(result.blocks["dct"], expected, rtol=1e-10)
    for name, graph in graphs.items():
        expected = (block_gft(signal, graph, 4) ** 2).sum(axis=(0, 1, 3)) / power
        np.testing.assert_allclose(result.blocks[name], expected, rtol=1e-9)
    np.testing.assert_allclose(result.moments, pixels.T @ pixels / power, rtol=1e-10, atol=1e-15)
    for name, shares in result.blocks.items():
        assert shares.sum() == pytest.approx(1)
        gain = shares.mean() / np.prod(shares) ** (1 / 16)
        assert result.coding_gain[name] == pytest.approx(10 * np.log10(gain))


def test_klt_is_fitted_to_the_other_images():
    results = [energy_compaction(RNG.random((12, 12)), orders=[4], block_size=3) for _ in range(3)]
    fitted = results[0].with_klt(results[1:])
    _, vectors = np.linalg.eigh(results[1].moments + results[2].moments)
    expected = np.diag(vectors.T @ results[0].moments @ vectors)[::-1]
    np.testing.assert_allclose(fitted.blocks["klt"], expected, rtol=1e-9)
    assert "klt" not in results[0].blocks


@pytest.mark.parametrize("name", ["camera", "brick"])
def test_no_fixed_transform_beats_the_klt_of_the_image_itself(name):
    result = energy_compaction(standard_image(name), orders=[4], block_size=4)
    gain = result.with_klt([result]).coding_gain
    assert gain["klt"] > gain["dct"] > 0
    assert gain["nnk"] > gain["klt"]  # one basis per block, which a decoder would need


def test_the_klt_needs_blocks_of_one_size():
    results = [energy_compaction(IMAGE, orders=[4], block_size=n) for n in (None, 2, 4)]
    for result, others in [(results[0], results[:1]), (results[1], results[1:]), (results[1], [])]:
        with pytest.raises(ValueError, match=r"with_klt needs .* same block_size"):
            result.with_klt(others)
