"""Pictures hold the numbers they are of, and leave matplotlib's global state alone."""

import builtins
import io

import numpy as np
import pytest

from nnk_image import energy_compaction, image_graph
from nnk_image.plotting import new_figure, plot_compaction, plot_images

RNG = np.random.default_rng(12)
IMAGE = RNG.random((12, 10))
GREY, COLOUR = RNG.random((4, 5)), RNG.random((4, 5, 3))


def saved(figure):
    """The figure as PNG: drawn completely, warnings being errors."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


@pytest.fixture
def figure():
    figure = new_figure(figsize=(6, 3))
    yield figure
    assert saved(figure).startswith(b"\x89PNG")


def test_figure_is_not_registered_with_pyplot():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    new_figure(figsize=(2, 1)).subplots(1, 2)
    assert pyplot.get_fignums() == before


def test_without_matplotlib_the_cure_is_named(monkeypatch):
    original = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'nnk_image\[plot\]'"):
        new_figure()


# --- energy compaction -------------------------------------------------------------------


def test_compaction_shows_what_is_left_above_each_band(figure):
    result = energy_compaction(IMAGE, window=5, orders=[4, 9])
    axes = figure.subplots(1, 2)
    lines = plot_compaction([result], axes)
    assert len(lines) == 4
    expected = [(graph, i) for i in range(2) for graph in result.graphs]
    for line, (graph, i) in zip(lines, expected, strict=True):
        assert line.axes is axes[i]
        assert line.get_label() == graph.kind
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
        left = np.cumsum(graph.orders[i].normalized[::-1])[::-1][1:]
        np.testing.assert_allclose(line.get_ydata(), left, rtol=1e-9, atol=1e-15)
    assert [ax.get_title() for ax in axes] == ["order 4", "order 9"]
    assert [ax.get_yscale() for ax in axes] == ["log", "log"]
    labels = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert labels == ["bilateral", "nnk"]
    assert lines[0].get_color() != lines[1].get_color()


def test_compaction_of_several_images_is_their_mean(figure):
    images = [RNG.random((9, 9)) for _ in range(3)]
    results = [energy_compaction(image, window=5, orders=[5]) for image in images]
    lines = plot_compaction(results, [figure.subplots()])
    for line, kind in zip(lines, ("bilateral", "nnk"), strict=True):
        shares = np.mean([r[kind].orders[0].cumulative_normalized for r in results], axis=0)
        np.testing.assert_allclose(line.get_ydata(), 1 - shares[:-1], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_compaction_of_one_graph_on_any_number_of_axes(figure, n_axes):
    graph = image_graph(IMAGE, 5)
    result = energy_compaction(IMAGE, graph, orders=[4, 6])
    axes = figure.subplots(1, n_axes, squeeze=False)[0]
    lines = plot_compaction([result], axes)
    assert [line.get_label() for line in lines] == ["nnk"] * min(n_axes, 2)
    assert not any(ax.lines for ax in axes[2:])


@pytest.mark.parametrize("filters", ["heat", "regular"])
def test_compaction_of_few_bands(figure, filters):
    result = energy_compaction(IMAGE, window=5, orders=[4], filters=filters)
    lines = plot_compaction([result], [figure.subplots()])
    assert {len(line.get_xdata()) for line in lines} == {0 if filters == "heat" else 1}


def test_compaction_of_an_image_without_high_bands(figure):
    """Nothing left is drawn at the resolution of float64, for a log scale has no 0."""
    image = np.add.outer(np.arange(16.0), np.zeros(16)) // 8
    result = energy_compaction(image, window=3, sigma_f=0.01, orders=[4], n_scales=2)
    for line in plot_compaction([result], [figure.subplots()]):
        assert (line.get_ydata() >= 1e-16).all()


# --- images ------------------------------------------------------------------------------


def test_images_share_the_range_of_the_first(figure):
    pictures = {"clean": GREY, "noisy": 2 * GREY - 0.5}
    kept = {title: picture.copy() for title, picture in pictures.items()}
    axes = figure.subplots(1, 2)
    artists = plot_images(pictures, axes)
    assert [ax.get_title() for ax in axes] == ["clean", "noisy"]
    assert not any(ax.axison for ax in axes)
    for artist, picture in zip(artists, pictures.values(), strict=True):
        assert artist.get_clim() == (GREY.min(), GREY.max())
        np.testing.assert_array_equal(artist.get_array(), picture)
    for title, picture in pictures.items():
        np.testing.assert_array_equal(picture, kept[title])


def test_given_range_wins(figure):
    (artist,) = plot_images({"image": GREY}, [figure.subplots()], value_range=(0, 255))
    assert artist.get_clim() == (0, 255)


@pytest.mark.parametrize(("scale", "dtype"), [(1, float), (255, float), (255, np.uint8)])
def test_colour_images_are_scaled_to_what_matplotlib_takes(figure, scale, dtype):
    picture = (scale * COLOUR).astype(dtype)
    first, second = plot_images(
        {"a": picture, "b": 2.0 * picture}, figure.subplots(1, 2), value_range=(0, scale)
    )
    np.testing.assert_allclose(first.get_array(), picture / scale, rtol=1e-15)
    np.testing.assert_allclose(second.get_array(), np.minimum(2.0 * picture / scale, 1), rtol=1e-15)


@pytest.mark.parametrize("picture", [np.full((4, 5), 3.0), np.full((4, 5, 3), 3.0)])
def test_constant_image_can_be_shown(figure, picture):
    (artist,) = plot_images({"flat": picture}, [figure.subplots()])
    assert np.isfinite(artist.get_array()).all()


def test_fewer_axes_show_the_first_images(figure):
    artists = plot_images({"a": GREY, "b": GREY, "c": COLOUR}, figure.subplots(1, 2))
    assert len(artists) == 2
