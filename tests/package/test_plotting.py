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
from nnk_image.plotting import graphs, plot_compaction, plot_comparison
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


@pytest.mark.parametrize(("filters", "n_points"), [("heat", 0), ("regular", 1)])
def test_compaction_of_few_bands(figure, filters, n_points):
    result = energy_compaction(IMAGE, image_graph(IMAGE, 5), orders=[4], filters=filters)
    (ax,) = plot_compaction([result], [figure.subplots()])
    assert {len(line.get_xdata()) for line in ax.lines} == {n_points}


def test_compaction_of_an_image_without_high_bands(figure):
    """Zero is drawn at the resolution of float64, because a log scale has no 0."""
    image = np.add.outer(np.arange(16.0), np.zeros(16)) // 8
    graph = image_graph(image, 3, sigma_f=0.01)
    result = energy_compaction(image, graph, orders=[4], n_scales=2)
    for line in plot_compaction([result], [figure.subplots()])[0].lines:
        assert (line.get_ydata() >= 1e-16).all()


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


def test_no_results_and_results_that_differ_in_kind_are_refused():
    nnk, bilateral = image_graph(IMAGE, 5), bilateral_graph(IMAGE, 5)
    kinds = (nnk, {}), (bilateral, {}), (nnk, {"n_scales": 3}), (nnk, {"block_size": 2})
    kinds += ((nnk, {"block_size": 3}),)
    one, *others = (
        energy_compaction(IMAGE, graph, orders=[4], **options) for graph, options in kinds
    )
    for results in ([], *([one, other] for other in others), others[2:]):
        with pytest.raises(ValueError, match="the same orders, graphs, bands and blocks"):
            plot_compaction(results)


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


@pytest.mark.parametrize(("shape", "value"), [((4, 5), 3), ((4, 5, 3), 3), ((3, 4), np.nan)])
def test_images_without_contrast_can_be_shown(figure, shape, value):
    (ax,) = plot_comparison({"flat": np.full(shape, value)}, [figure.subplots()])
    shown = ax.images[0]
    assert np.isfinite(shown.get_array()).all() or shown.get_clim() == (0, 1)


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
    plotting.plot_neighbors(noisy, graph, (0, 0), first, radius=9)
    for ax in (first, difference):
        shown = np.ma.filled(ax.images[-1].get_array(), np.nan)
        assert not np.isfinite(shown[1, 2]).any()
        if picture.ndim == 2:
            limits = picture[~mask].min() + 0.1, picture[~mask].max() + 0.1
            assert ax.images[-1].get_clim() == limits


def test_an_image_or_a_band_without_a_finite_value_is_blank(figure):
    """Without a warning, too: they are errors here."""
    nothing = np.full(COLOR.shape, np.nan)
    axes = figure.subplots(1, 4)
    plot_comparison({"failed": nothing}, axes[:2], clean=COLOR, difference=True)
    plotting.plot_bands([GRAY, GRAY - np.inf], axes[2:])
    figure.canvas.draw()
    assert axes[0].get_title() == "failed: error nan"
    assert axes[3].get_title() == "band 2\nvariance nan"


def test_difference_without_a_clean_image_is_what_was_removed(figure):
    images = {"before": GRAY, "after": 0.5 * GRAY}
    axes = plot_comparison(images, figure.subplots(1, 3), difference=True)
    artists = [ax.images[0] for ax in axes]
    np.testing.assert_allclose(artists[2].get_array(), 0.5 * GRAY)
    assert [artist.axes.get_title() for artist in artists] == ["before", "after", "removed"]
    axes = plot_comparison({"same": GRAY}, figure.subplots(1, 2), difference=True)
    assert not axes[1].images[0].get_array().any()


@pytest.mark.parametrize(
    ("images", "n_axes", "error", "says"),
    [
        *(
            ({"volume": np.zeros(shape)}, 1, ValueError, r"shape \(H, W\), or \(H, W, 3\) in color")
            for shape in ((4, 5, 1), (4, 5, 2), (4, 5, 6), (2, 4, 5, 3), (4,))
        ),
        ({"a": GRAY, "b": GRAY.T}, 3, ValueError, r"same shape, got \(4, 5\) and \(5, 4\)"),
        ({"a": GRAY, "b": GRAY}, 2, ValueError, "3 axes are needed, got 2"),
        *((images, 1, TypeError, "images must be a dictionary") for images in ({}, [GRAY], GRAY)),
    ],
)
def test_bad_images_are_refused(figure, images, n_axes, error, says):
    with pytest.raises(error, match=says):
        plot_comparison(images, figure.subplots(1, n_axes), difference=n_axes > 1)


@pytest.mark.parametrize(
    ("image", "says"),
    [
        (None, "an array of real numbers, not object"),
        (IMAGE * 1j, "an array of real numbers, not complex128"),
    ],
)
def test_what_is_no_image_is_refused(figure, image, says):
    ax = figure.subplots()
    with pytest.raises(TypeError, match=says):
        plot_comparison({"a": image}, [ax])
    with pytest.raises(TypeError, match=says):
        plotting.plot_graph(image, image_graph(IMAGE, 3), ax=ax)
    with pytest.raises(TypeError, match=r"model must be a NoiseModel, .* not 3\.0"):
        plotting.plot_noise(3.0)


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
    assert plotting.plot_neighbors(image, graph, pixel, ax) is ax
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
    plotting.plot_neighbors(IMAGE, NNK, (6, 1), ax, radius=radius)
    (picture,) = ax.images
    r = 4 if radius is None else radius
    np.testing.assert_array_equal(picture.get_array(), IMAGE[6 - r : 7 + r, : 2 + r])
    assert picture.get_extent() == [-0.5, 1.5 + r, 6.5 + r, 5.5 - r]


def test_a_pixel_without_neighbors_has_no_lines(figure):
    mask = np.ones(IMAGE.shape, bool)
    mask[3, 4] = False
    graph = image_graph(IMAGE, 5, mask=mask)
    ax = plotting.plot_neighbors(IMAGE, graph, (3, 4), figure.subplots())
    assert not ax.collections[-1].get_segments()


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


@pytest.mark.parametrize("crop", [5, np.s_[2:5], np.s_[5:5, :], np.s_[::2, :], np.s_[20:30, :]])
def test_invalid_crops_are_refused(crop):
    with pytest.raises(ValueError, match="crop="):
        plotting.plot_graph(IMAGE, NNK, crop)


def test_too_many_edges_are_refused(monkeypatch):
    monkeypatch.setattr(graphs, "_MAX_LINKS", 100)
    with pytest.raises(ValueError, match=r"12x10 pixels holds .* choose a smaller one"):
        plotting.plot_graph(IMAGE, NNK)


@pytest.mark.parametrize(
    ("image", "graph", "error", "says"),
    [
        (NNK, IMAGE, TypeError, "graph must be an ImageGraph, .* the first argument"),
        (IMAGE.T, NNK, ValueError, r"the graph \(12, 10\)"),
        (COLOR_IMAGE.transpose(2, 0, 1), NNK, ValueError, r"the graph \(12, 10\)"),
    ],
)
def test_other_graphs_and_images_of_another_shape_are_refused(image, graph, error, says):
    with pytest.raises(error, match=says):
        plotting.plot_neighbors(image, graph, (3, 3))
    with pytest.raises(error, match=says):
        plotting.plot_graph(image, graph, np.s_[:5, :5])


def test_bad_pixels_and_radii_are_refused():
    for pixel in ((12, 0), (0, 10), (-1, 0)):
        with pytest.raises(ValueError, match="pixel="):
            plotting.plot_neighbors(IMAGE, NNK, pixel)
    for pixel in (5, (1.5, 2), (1, 2, 3), "ab"):
        with pytest.raises(TypeError, match=r"pixel must be \(row, column\)"):
            plotting.plot_neighbors(IMAGE, NNK, pixel)
    with pytest.raises(ValueError, match="radius=-1"):
        plotting.plot_neighbors(IMAGE, NNK, (3, 3), radius=-1)


@every_graph
def test_degrees_and_numbers_of_neighbors_are_drawn(figure, image, graph):
    weights, counts = figure.subplots(1, 2)
    shown = plotting.plot_degrees(graph, weights).images[0]
    np.testing.assert_array_equal(shown.get_array(), graph.degrees)
    assert shown.colorbar is not None
    shown = plotting.plot_degrees(graph, counts, count=True).images[0]
    expected = [graph.adjacency[[i]].nnz for i in range(120)]
    np.testing.assert_array_equal(shown.get_array().ravel(), expected)


def test_degrees_of_single_and_of_masked_pixels(figure):
    single, masked = figure.subplots(1, 2)
    plotting.plot_degrees(image_graph([[1.0]]), single)
    assert not single.images[0].get_array().any()
    mask = IMAGE > 0.3
    plotting.plot_degrees(image_graph(IMAGE, 5, mask=mask), masked)
    np.testing.assert_array_equal(masked.images[0].get_array().mask, ~mask)


# --- wavelets ----------------------------------------------------------------------------


def test_bands_show_their_variances(figure):
    bands = SpectralGraphWavelets(NNK).analyze(IMAGE)
    artists = [ax.images[0] for ax in plotting.plot_bands(bands, figure.subplots(1, 7))]
    for number, (artist, band) in enumerate(zip(artists, bands, strict=True), start=1):
        np.testing.assert_array_equal(artist.get_array(), band)
        assert artist.axes.get_title() == f"band {number}\nvariance {band.var():.2g}"
        low, high = artist.get_clim()
        top = np.percentile(abs(band), 99)
        assert (low, high) == ((band.min(), band.max()) if number == 1 else (-top, top))


@pytest.mark.parametrize("hide", HIDE.values(), ids=HIDE)
def test_hidden_pixels_of_bands_are_left_out(figure, hide):
    bands = RNG.normal(size=(2, 6, 7))
    mask = np.broadcast_to(np.arange(42).reshape(6, 7) == 17, bands.shape)
    axes = plotting.plot_bands(hide(bands, mask), figure.subplots(1, 2))
    for ax, band in zip(axes, bands, strict=True):
        seen = np.delete(band, 17)
        assert ax.get_title().endswith(f"variance {seen.var():.2g}")
    assert axes[1].images[0].get_clim()[1] == np.percentile(abs(seen), 99)


@pytest.mark.parametrize("limits", [None, [1, 2]])
def test_limits_of_bands_are_given_or_in_the_range_of_their_dtype(figure, limits):
    bands = np.full((2, 12, 13), 60000, np.float16)
    axes = plotting.plot_bands(bands, figure.subplots(1, 2), limits=limits)
    top = 2 if limits else 60000
    assert axes[1].images[0].get_clim() == (-top, top)


@pytest.mark.parametrize(
    ("shape", "says"),
    [((7, 4, 5, 3), "one channel"), ((0, 12, 13), r"must have shape \(n_bands, H, W\), got \(0")],
)
def test_arrays_that_are_not_bands_are_refused(shape, says):
    with pytest.raises(ValueError, match=says):
        plotting.plot_bands(np.zeros(shape))


# --- axes --------------------------------------------------------------------------------


def test_plots_without_axes_use_those_of_pyplot():
    image, graph = IMAGE.copy(), image_graph(IMAGE, 5)
    figure, axes = plt.subplots(1, 3)
    one_axes = [
        lambda: plotting.plot_neighbors(image, graph, (3, 3)),
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
