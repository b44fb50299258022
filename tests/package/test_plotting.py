"""Plots show the right values on the right axes."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy.signal import correlate2d

from nnk_image import (
    NoiseModel,
    SpectralGraphWavelets,
    bilateral_graph,
    energy_compaction,
    image_graph,
    plotting,
)
from nnk_image.plotting import graphs, plot_compaction, plot_comparison, plot_neighbors
from nnk_image.plotting.figures import COLORS, new_figure

RNG = np.random.default_rng(12)
IMAGE = RNG.random((12, 10))
GRAY, COLOR = RNG.random((4, 5)), RNG.random((4, 5, 3))


def saved(figure):
    """Return the figure as PNG, which draws it completely; warnings are errors."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


@pytest.fixture
def figure():
    figure = new_figure(figsize=(6, 3))
    yield figure
    assert saved(figure).startswith(b"\x89PNG")


def test_figure_is_not_registered_with_pyplot():
    before = plt.get_fignums()
    new_figure(figsize=(2, 1)).subplots(1, 2)
    assert plt.get_fignums() == before


# --- energy compaction -------------------------------------------------------------------


def test_compaction_shows_the_energy_above_each_band(figure):
    graphs = {"bilateral": bilateral_graph(IMAGE, 5), "nnk": image_graph(IMAGE, 5)}
    result = energy_compaction(IMAGE, graphs, orders=[4, 9])
    axes = figure.subplots(1, 2)
    assert plot_compaction([result], axes) == list(axes)
    lines = [line for ax in axes for line in ax.lines]
    assert len(lines) == 4
    expected = [(name, i) for i in range(2) for name in graphs]
    for line, (name, i) in zip(lines, expected, strict=True):
        assert line.axes is axes[i]
        assert line.get_label() == name
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
        left = np.cumsum(result.normalized[name][i, ::-1])[::-1][1:]
        np.testing.assert_allclose(line.get_ydata(), left, rtol=1e-9, atol=1e-15)
    assert [ax.get_title() for ax in axes] == ["order 4", "order 9"]
    assert [ax.get_yscale() for ax in axes] == ["log", "log"]
    labels = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert labels == ["bilateral", "nnk"]
    assert lines[0].get_color() != lines[1].get_color()


def test_compaction_of_one_graph_on_too_many_or_too_few_axes(figure):
    result = energy_compaction(IMAGE, image_graph(IMAGE, 5), orders=[4, 6])
    axes = figure.subplots(1, 3)
    shown = plot_compaction(result, axes)  # needs no list
    assert [line.get_label() for ax in shown for line in ax.lines] == ["nnk"] * 2
    assert not axes[2].lines
    with pytest.raises(ValueError, match="2 axes are needed, got 1"):
        plot_compaction([result], axes[:1])


def test_compaction_of_several_images_is_their_mean_in_bands_and_blocks(figure):
    results = [energy_compaction(RNG.random((9, 9)), orders=[4], block_size=3) for _ in range(3)]
    results = [r.with_klt(results[:i] + results[i + 1 :]) for i, r in enumerate(results)]
    axes = figure.subplots(1, 3)
    assert plot_compaction(results, axes) == list(axes[:2])
    for line, name in zip(axes[0].lines, ("bilateral", "nnk"), strict=True):
        shares = np.mean([result.cumulative[name][0] for result in results], axis=0)
        np.testing.assert_allclose(line.get_ydata(), 1 - shares[:-1], rtol=1e-9, atol=1e-15)
    for line, name in zip(axes[1].lines, ("dct", "bilateral", "nnk", "klt"), strict=True):
        gain = np.mean([result.coding_gain[name] for result in results])
        assert line.get_label() == f"{name}, {gain:.1f} dB"
        np.testing.assert_allclose(line.get_xdata(), np.arange(1, 9) / 9)
        left = [result.blocks[name][::-1].cumsum()[::-1][1:] for result in results]
        np.testing.assert_allclose(line.get_ydata(), np.mean(left, axis=0), rtol=1e-9)


# --- images ------------------------------------------------------------------------------


def test_images_share_the_range_of_the_first(figure):
    pictures = {"clean": GRAY, "noisy": 2 * GRAY - 0.5}
    axes = figure.subplots(1, 2)
    assert plot_comparison(pictures, axes) == list(axes)
    artists = [ax.images[0] for ax in axes]
    assert [ax.get_title() for ax in axes] == ["clean", "noisy"]
    assert not any(ax.axison for ax in axes)
    for artist, picture in zip(artists, pictures.values(), strict=True):
        assert artist.get_clim() == (GRAY.min(), GRAY.max())
        np.testing.assert_array_equal(artist.get_array(), picture)


@pytest.mark.parametrize(("scale", "dtype"), [(1, float), (255, float), (255, np.uint8)])
def test_color_images_are_scaled_to_the_range_of_matplotlib(figure, scale, dtype):
    picture = (scale * COLOR).astype(dtype)
    pictures = {"a": picture, "b": 2.0 * picture, "gray": picture[..., 0]}
    axes = plot_comparison(pictures, figure.subplots(1, 3), value_range=np.array([0, scale]))
    first, second, gray = (ax.images[0] for ax in axes)
    np.testing.assert_allclose(first.get_array(), picture / scale, rtol=1e-15)
    np.testing.assert_allclose(second.get_array(), np.minimum(2.0 * picture / scale, 1), rtol=1e-15)
    assert gray.get_clim() == (0, scale)


def test_a_constant_color_image_is_black(figure):
    (ax,) = plot_comparison({"flat": np.full((4, 5, 3), 3)}, [figure.subplots()])
    assert not ax.images[0].get_array().any()


@pytest.mark.parametrize("clean", [GRAY, COLOR], ids=["gray", "color"])
def test_difference_from_a_clean_image(figure, clean):
    noise = RNG.normal(size=clean.shape)
    images = {"before": clean + noise, "after": clean + 0.1 * noise}
    axes = plot_comparison(images, figure.subplots(1, 3), clean=clean, difference=True)
    artists = [ax.images[0] for ax in axes]
    error = 0.1 * noise if clean.ndim == 2 else 0.1 * noise.mean(axis=2)
    np.testing.assert_allclose(artists[2].get_array(), error, atol=1e-12)
    rms = np.sqrt(np.mean(noise**2))
    np.testing.assert_allclose(artists[2].get_clim(), (-1.5 * rms, 1.5 * rms))
    titles = [artist.axes.get_title() for artist in artists]
    assert titles == [f"before: error {rms:.3g}", f"after: error {rms / 10:.3g}", "error left"]
    if clean.ndim == 2:
        assert artists[0].get_clim() == artists[1].get_clim() == (clean.min(), clean.max())


HIDE = {
    "nan": lambda image, mask: np.where(mask, np.nan, image),
    "infinite": lambda image, mask: np.where(mask, np.inf, image),
    "masked": lambda image, mask: np.ma.array(np.where(mask, 1e6, image), mask=mask),
}


@pytest.mark.parametrize("picture", [GRAY, COLOR], ids=["gray", "color"])
@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
def test_hidden_pixels_are_blank_and_not_counted_as_errors(figure, picture, hide):
    mask = np.zeros(picture.shape, bool)
    mask[1, 2] = True
    noisy = hide(picture + 0.1, mask)
    axes = figure.subplots(1, 4)
    first, _, difference = plot_comparison(
        {"noisy": noisy, "same": noisy}, axes[:3], clean=picture, difference=True
    )
    assert first.get_title() == "noisy: error 0.1"
    np.testing.assert_allclose(difference.images[0].get_clim(), (-0.15, 0.15))
    (ax,) = plot_comparison({"noisy": picture}, axes[3:], clean=hide(picture, mask))
    assert ax.get_title() == "noisy: error 0"
    graph = image_graph(GRAY, 3, sigma_f=0.5)
    plotting.plot_graph(noisy, graph, ax=difference)
    plot_neighbors(noisy, graph, (0, 0), first, radius=9)
    for ax in (first, difference):
        shown = np.ma.filled(ax.images[-1].get_array(), np.nan)
        assert not np.isfinite(shown[1, 2]).any()
        if picture.ndim == 2:
            limits = picture[~mask].min() + 0.1, picture[~mask].max() + 0.1
            assert ax.images[-1].get_clim() == limits


def test_difference_without_a_clean_image_is_what_was_removed(figure):
    images = {"before": GRAY, "after": 0.5 * GRAY}
    axes = plot_comparison(images, figure.subplots(1, 3), difference=True)
    artists = [ax.images[0] for ax in axes]
    np.testing.assert_allclose(artists[2].get_array(), 0.5 * GRAY)
    assert [artist.axes.get_title() for artist in artists] == ["before", "after", "removed"]
    axes = plot_comparison({"same": GRAY}, figure.subplots(1, 2), difference=True)
    assert not axes[1].images[0].get_array().any()


# --- graphs ------------------------------------------------------------------------------

COLOR_IMAGE = RNG.random((12, 10, 3))
GRAPHS = {
    "nnk": (IMAGE, image_graph(IMAGE, 5)),
    "bilateral": (IMAGE, bilateral_graph(IMAGE, 5)),
    "directed": (IMAGE, image_graph(IMAGE, 5, directed=True)),
    "color": (COLOR_IMAGE, image_graph(COLOR_IMAGE, 5, channel_axis=-1)),
}
NNK = GRAPHS["nnk"][1]
every_graph = pytest.mark.parametrize(("image", "graph"), GRAPHS.values(), ids=GRAPHS)


def edges_of(lines):
    """Return the drawn lines as pairs of nodes: the pixels at their ends."""
    ends = np.array(lines.get_segments()).reshape(-1, 2, 2)
    return [tuple(int(y) * 10 + int(x) for x, y in pair) for pair in ends]


@every_graph
@pytest.mark.parametrize("pixel", [(6, 5), (0, 0), (11, 9)])
def test_drawn_neighbors_are_those_of_the_graph(figure, image, graph, pixel):
    ax = figure.subplots()
    assert plot_neighbors(image, graph, pixel, ax) is ax
    lines = ax.collections[-1]
    node = pixel[0] * 10 + pixel[1]
    row = graph.adjacency[[node]].tocoo()
    assert edges_of(lines) == [(node, other) for other in row.col.tolist()]
    np.testing.assert_allclose(
        lines.get_alpha(), np.maximum(0.05, np.sqrt(row.data / max(row.data)))
    )
    assert ax.get_title() == f"{graph.kind}: {row.nnz} neighbors"
    assert {tuple(c) for c in lines.get_colors()[:, :3]} == {to_rgb(COLORS[graph.kind])}


@pytest.mark.parametrize("radius", [None, 2])
def test_neighbors_are_drawn_on_the_matching_part_of_the_image(figure, radius):
    ax = figure.subplots()
    plot_neighbors(IMAGE, NNK, (6, 1), ax, radius=radius)
    (picture,) = ax.images
    r = 4 if radius is None else radius
    np.testing.assert_array_equal(picture.get_array(), IMAGE[6 - r : 7 + r, : 2 + r])
    assert picture.get_extent() == [-0.5, 1.5 + r, 6.5 + r, 5.5 - r]


@every_graph
@pytest.mark.parametrize("crop", [np.s_[2:9, 3:8], np.s_[:, :], np.s_[8:99, :4]], ids=str)
def test_edges_of_a_crop_are_drawn_once(figure, image, graph, crop):
    shown = None if crop == np.s_[:, :] else crop  # None: everything
    lines = plotting.plot_graph(image, graph, shown, figure.subplots()).collections[-1]
    inside = set(np.arange(120).reshape(12, 10)[crop].ravel().tolist())
    matrix = graph.adjacency.tocoo()
    entries = zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)
    expected = {frozenset(pair) for pair in entries if inside.issuperset(pair)}
    drawn = [frozenset(pair) for pair in edges_of(lines)]
    assert set(drawn) == expected
    assert len(drawn) == len(expected)


def test_too_many_edges_are_refused(monkeypatch):
    monkeypatch.setattr(graphs, "_MAX_LINKS", 100)
    with pytest.raises(ValueError, match=r"12x10 pixels holds .* choose a smaller one"):
        plotting.plot_graph(IMAGE, NNK)


@every_graph
def test_degrees_and_numbers_of_neighbors_are_drawn(figure, image, graph):
    weights, counts = figure.subplots(1, 2)
    shown = plotting.plot_degrees(graph, weights).images[0]
    np.testing.assert_array_equal(shown.get_array(), graph.degrees)
    assert shown.colorbar is not None
    shown = plotting.plot_degrees(graph, counts, count=True).images[0]
    expected = [graph.adjacency[[i]].nnz for i in range(120)]
    np.testing.assert_array_equal(shown.get_array().ravel(), expected)


def test_masked_pixels_have_no_lines_and_no_degree(figure):
    mask = IMAGE > 0.3
    graph, (links, degrees) = image_graph(IMAGE, 5, mask=mask), figure.subplots(1, 2)
    plot_neighbors(IMAGE, graph, np.argwhere(~mask)[0], links)
    assert not links.collections[-1].get_segments()
    plotting.plot_degrees(graph, degrees)
    np.testing.assert_array_equal(degrees.images[0].get_array().mask, ~mask)


# --- wavelets ----------------------------------------------------------------------------


def test_bands_show_their_variances(figure):
    """Values that are not finite are left out."""
    bands = SpectralGraphWavelets(NNK).analyze(IMAGE)
    bands[:, 2, 3] = np.nan
    artists = [ax.images[0] for ax in plotting.plot_bands(bands, figure.subplots(1, 7))]
    for number, (artist, band) in enumerate(zip(artists, bands, strict=True), start=1):
        np.testing.assert_array_equal(artist.get_array().filled(np.nan), band)
        assert artist.axes.get_title() == f"band {number}\nvariance {np.nanvar(band):.2g}"
        top = np.nanpercentile(abs(band), 99)
        first = np.nanmin(band), np.nanmax(band)
        assert artist.get_clim() == (first if number == 1 else (-top, top))
    axes = plotting.plot_bands(bands, [artist.axes for artist in artists], limits=range(7))
    assert axes[6].images[-1].get_clim() == (-6, 6)


# --- axes --------------------------------------------------------------------------------


def test_plots_without_axes_use_those_of_pyplot():
    image, graph = IMAGE.copy(), image_graph(IMAGE, 5)
    figure, axes = plt.subplots(1, 3)
    one_axes = [
        lambda: plot_neighbors(image, graph, (3, 3)),
        lambda: plotting.plot_graph(image, graph, np.s_[:5, :5]),
        lambda: plotting.plot_degrees(graph),
    ]
    for ax, plot in zip(axes, one_axes, strict=True):
        plt.sca(ax)
        assert plot() is ax
        assert ax.images
    bands = SpectralGraphWavelets(graph, order=5).analyze(image)
    several_axes = [
        lambda: plotting.plot_bands(bands),
        lambda: plot_comparison({"a": image, "b": image}),
        lambda: plotting.plot_noise(NoiseModel(3.0)),
        lambda: plot_compaction([energy_compaction(image, orders=[4])]),
    ]
    for plot in several_axes:
        drawn = plot()
        assert {ax.figure for ax in drawn} == {plt.gcf()} != {figure}
        assert all(ax.images or ax.lines for ax in drawn)
        assert saved(plt.gcf())
    plt.close("all")
    np.testing.assert_array_equal(image, IMAGE)


# --- noise -------------------------------------------------------------------------------


def test_noise_is_drawn_by_brightness_and_frequency(figure):
    model = NoiseModel([3.0, 4.0, 5.0], gain=[0.5, 0.0, 1.0], offset=10.0)
    curve, field = plotting.plot_noise(model, figure.subplots(1, 2), value_range=(0, 100))
    lines, (spectrum,) = curve.lines, field.images
    intensity = lines[0].get_xdata()
    assert (intensity[0], intensity[-1]) == (0, 100)
    for line, sigma, gain in zip(lines, (3, 4, 5), (0.5, 0, 1), strict=True):
        expected = sigma**2 + gain * np.maximum(intensity - 10, 0)
        np.testing.assert_allclose(line.get_ydata() ** 2, expected)
    nearly_equal, _ = plotting.plot_noise(NoiseModel([7.3, 6.9, 7.54]), figure.subplots(1, 2))
    assert nearly_equal.get_ylim()[1] > 1.04 * 7.54  # the highest line is not on the frame
    np.testing.assert_array_equal(spectrum.get_array(), 1)


def test_correlated_noise_is_drawn_as_its_spectrum(figure):
    kernel = np.outer([1.0, 2.0, 1.0], [0.0, 1.0, 0.0])  # smooth from row to row
    model = NoiseModel.from_autocovariance(correlate2d(kernel, kernel))
    _, field = plotting.plot_noise(model, figure.subplots(1, 2))
    power = np.asarray(field.images[0].get_array())
    down = (2 + 2 * np.cos(2 * np.pi * np.arange(-32, 33) / 65)) ** 2 / 6
    np.testing.assert_allclose(power, np.broadcast_to(down[:, None], power.shape), atol=1e-12)


def test_maps_of_noise_levels_and_the_middle_plane_of_volumes_are_drawn(figure):
    correlation = np.full((3, 3, 3), 0.1)
    correlation[1, 1, 1] = 1
    levels = np.arange(60.0).reshape(3, 4, 5) + 1
    models = [NoiseModel(correlation=c) for c in (correlation, correlation[1])]
    models += [NoiseModel(levels=map_) for map_ in (levels, levels[1])]
    pairs = zip(models, figure.subplots(4, 2), strict=True)
    shown = [plotting.plot_noise(m, row)[1].images[0].get_array() for m, row in pairs]
    np.testing.assert_array_equal(shown[0], shown[1])
    np.testing.assert_array_equal(shown[2], levels[1])
    np.testing.assert_array_equal(shown[3], levels[1])


# --- errors ------------------------------------------------------------------------------

BILATERAL = GRAPHS["bilateral"][1]
SAME = "the same orders, graphs, bands and blocks"


def of(graph, **options):
    return energy_compaction(IMAGE, graph, orders=[4], **options)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda _: plot_compaction([]), ValueError, SAME),
        (lambda _: plot_compaction([of(NNK), of(BILATERAL)]), ValueError, SAME),
        (lambda _: plot_compaction([of(NNK), of(NNK, n_scales=3)]), ValueError, SAME),
        (lambda _: plot_compaction([of(NNK, block_size=n) for n in (2, 3)]), ValueError, SAME),
        *(
            (lambda axes, n=shape: plot_comparison({"a": np.zeros(n)}, axes),
             ValueError, r"shape \(H, W\), or \(H, W, 3\) in color")
            for shape in ((4, 5, 2), (4,))
        ),
        (lambda axes: plot_comparison({"a": GRAY, "b": GRAY.T}, axes, difference=True),
         ValueError, r"same shape, got \(4, 5\) and \(5, 4\)"),
        (lambda axes: plot_comparison({"a": GRAY, "b": GRAY}, axes[:2], difference=True),
         ValueError, "3 axes are needed, got 2"),
        (lambda _: plot_comparison({}), TypeError, "images must be a dictionary"),
        (lambda _: plot_comparison([GRAY]), TypeError, "images must be a dictionary"),
        (lambda axes: plot_comparison({"a": IMAGE * 1j}, axes),
         TypeError, "an array of real numbers, not complex128"),
        (lambda axes: plotting.plot_graph(None, NNK, ax=axes[0]),
         TypeError, "an array of real numbers, not object"),
        (lambda _: plotting.plot_noise(3.0), TypeError, r"a NoiseModel, .* not 3\.0"),
        *(
            (lambda _, crop=crop: plotting.plot_graph(IMAGE, NNK, crop), ValueError, "crop=")
            for crop in (np.s_[2:5], np.s_[::2, :], np.s_[20:30, :])
        ),
        (lambda axes: plotting.plot_graph(NNK, IMAGE, ax=axes[0]),
         TypeError, "graph must be an ImageGraph, .* the first argument"),
        (lambda axes: plotting.plot_graph(IMAGE.T, NNK, ax=axes[0]),
         ValueError, r"the graph \(12, 10\)"),
        (lambda axes: plot_neighbors(COLOR_IMAGE.transpose(2, 0, 1), NNK, (3, 3), axes[0]),
         ValueError, r"the graph \(12, 10\)"),
        (lambda _: plot_neighbors(IMAGE, NNK, (12, 0)), ValueError, "pixel="),
        (lambda _: plot_neighbors(IMAGE, NNK, (-1, 0)), ValueError, "pixel="),
        *(
            (lambda _, at=at: plot_neighbors(IMAGE, NNK, at),
             TypeError, r"pixel must be \(row, column\)")
            for at in (5, (1.5, 2), (1, 2, 3))
        ),
        (lambda _: plot_neighbors(IMAGE, NNK, (3, 3), radius=-1), ValueError, "radius=-1"),
        (lambda _: plotting.plot_bands(np.zeros((7, 4, 5, 3))), ValueError, "one channel"),
        (lambda _: plotting.plot_bands(np.zeros((0, 12, 13))),
         ValueError, r"must have shape \(n_bands, H, W\), got \(0"),
        (lambda axes: plotting.plot_bands([GRAY, GRAY], axes, limits=[1]),
         ValueError, "limits has 1 values: give 2"),
    ],
)  # fmt: skip
def test_invalid_calls_are_explained(call, error, text):
    with pytest.raises(error, match=text):
        call(new_figure().subplots(1, 3))
