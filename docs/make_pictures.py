"""Draw the docs' pictures: ``python docs/make_pictures.py`` (needs matplotlib and scikit-learn)."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image, ImageDraw, ImageFont
from scipy.sparse import triu
from sklearn.datasets import load_digits, make_moons

import nnk_image
from nnk_image import plotting
from nnk_image.base.reach import cut, largest_side
from nnk_image.cli.demo import denoised as denoised_by_all
from nnk_image.denoising.methods import METHODS

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # for the charts beside this file, and the camera

import charts  # noqa: E402

from benchmarks import cameras, magnitudes, noises  # noqa: E402

CROP = np.s_[52:80, 112:140]
"""The photographer's face."""

LIGHT = 120
"""Counts of a white pixel in the simulated photograph of the landing page: dim light."""

HERO, HERO_WIDTH, LABEL = np.s_[0:210, 130:326], 1200, 40
"""Part of that photograph for the README, width of the picture, height of its letters."""

WIDE = np.s_[0:384]
"""Rows of that photograph for the slider of the landing page."""

AMPLIFIED = 3
"""Factor by which a difference is multiplied to be seen."""

DEMO = np.s_[40:104, 96:160]
"""Part of the photograph of ``nnk-image demo`` that is enlarged."""

GAP = 8
"""Pixels between pictures side by side."""

FACE, CELL = np.s_[90:190, 160:260], np.s_[125:215, 165:255]
"""Parts of that photograph and of the cell, for the guide."""

PIXELS = {"edge of the coat": (80, 30), "leg of the tripod": (195, 171)}
"""Pixels of the photographer whose neighbors are drawn."""

DOUBTFUL = (1632, 1729, 378)
"""Digits on which classes compete."""

TILED = 3000  # pixels a side
"""Pixels of a side of the image that is shown in tiles."""


def main():
    for name, draw in {"graphs_image.png": draw_crop, "graphs_points.png": draw_points}.items():
        figure = Figure(figsize=(6.6, 3.4), layout="constrained")
        draw(figure.subplots(1, 2))
        save(figure, name)
    save(draw_tile(), "tile.png")
    for data_set in ("CC", "SIDD"):
        save(charts.draw_photographs(data_set), f"chart_{data_set.lower()}.png", dpi=160)
    save(charts.draw_white_noise(), "chart_set12.png", dpi=160)
    before, after = dim_light()
    draw_hero(before, after).save(HERE / "hero.png", optimize=True)
    for name, photo in {"before": before, "after": after}.items():
        Image.fromarray(photo[WIDE]).save(HERE / f"_static/{name}.jpg", quality=90)
    draw_demo().save(HERE / "demo.png", optimize=True)
    guide = HERE / "guide"
    draw_strengths(before).save(guide / "photographer.png", optimize=True)
    draw_frame().save(guide / "microscopist.png", optimize=True)
    draw_scan().save(guide / "scanner.png", optimize=True)
    save(draw_signal(), "guide/graph_researcher.png")
    save(draw_digits(), "guide/machine_learning.png")


def save(figure, name, dpi=100):
    """Write a figure below the folder of this file, in few colors."""
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(128)
    picture.save(HERE / name, optimize=True)


def draw_crop(axes):
    """Links within a part of an image, that of the bilateral filter and NNK."""
    image = nnk_image.standard_image("camera")
    rows, columns = CROP
    inside = np.arange(image.size).reshape(image.shape)[CROP].ravel()
    y, x = np.divmod(inside, image.shape[1])
    for ax, graph in zip(
        axes, (nnk_image.bilateral_graph(image), nnk_image.image_graph(image)), strict=True
    ):
        extent = (columns.start - 0.5, columns.stop - 0.5, rows.stop - 0.5, rows.start - 0.5)
        ax.imshow(image[CROP], cmap="gray", vmin=0, vmax=255, extent=extent)
        draw_links(ax, np.column_stack([x, y]), graph.adjacency[inside][:, inside])
        per_pixel = graph.adjacency.nnz / graph.n_nodes
        name = {"nnk": "NNK", "bilateral": "bilateral"}[graph.kind]
        ax.set_title(f"{name}: {per_pixel:.0f} neighbors a pixel", fontsize=15)


def draw_points(axes):
    """Two moons, linked to their nearest neighbors and by NNK."""
    points, _ = make_moons(150, noise=0.08, random_state=0)
    for ax, method, name in zip(axes, ("knn", "nnk"), ("10 nearest", "NNK"), strict=True):
        graph = nnk_image.nnk_graph(points, 10, method=method, symmetrize="max")
        draw_links(ax, points, graph)
        ax.plot(*points.T, ".", color="black", markersize=4)
        ax.set_title(f"{name}: {graph.nnz // 2} edges", fontsize=15)


def draw_links(ax, positions, adjacency):
    """The links of a graph, strong ones opaque, thin where there are many."""
    links = triu(adjacency).tocoo()
    segments = np.stack([positions[links.row], positions[links.col]], axis=1)
    strength = np.sqrt(links.data / links.data.max())
    width = 0.9 if links.nnz < 10 * len(positions) else 0.15
    ax.add_collection(
        LineCollection(segments, colors="tab:red", linewidths=width, alpha=0.2 + 0.8 * strength)
    )
    ax.set_axis_off()


def draw_tile():
    """A tile of 'fast', the border that it is cut out with, and its way to the result."""
    image = np.tile(nnk_image.standard_image("camera_512"), (6, 6))[:TILED, :TILED]
    noisy = image + np.random.default_rng(0).normal(0, 30, image.shape).astype(np.float32)
    reach = METHODS["fast"].reach(image.shape, 1, None)
    plan = cut(image.shape, largest_side(image.shape, reach, TILED**2 // 2, 1), reach)
    tile = next(t for t in plan if min(a.start for a in t.padded))  # the first with all its border
    clean = nnk_image.denoise(noisy[tile.padded], 30)[tile.inside]
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    whole, part, result = figure.subplots(1, 3)
    frames = {"core": (tile.core, "tab:red"), "padded": (tile.padded, "tab:blue")}
    show(whole, noisy, (slice(0, TILED),) * 2, "the file: its tiles")
    for each in plan:
        frame(whole, each.core, "white", 1)
    show(part, noisy[tile.padded], tile.padded, "read: a tile with its border")
    show(result, clean, tile.core, "written: the tile")
    for ax in (whole, part):
        for slices, color in frames.values():
            frame(ax, slices, color, 2.5)
    border = tile.core[1].start - tile.padded[1].start
    y = (tile.core[0].start + tile.core[0].stop) / 2
    arrow = {"arrowstyle": "<->", "color": "tab:blue", "lw": 2, "shrinkA": 0, "shrinkB": 0}
    part.annotate("", (tile.padded[1].start, y), (tile.core[1].start, y), arrowprops=arrow)
    middle = (tile.padded[1].start + tile.core[1].start) / 2
    box = {"fc": "white", "ec": "none", "pad": 1.5}
    part.text(middle, y - 30, f"{border}", color="tab:blue", ha="center", fontsize=12, bbox=box)
    for ax in (part, result):
        ax.set(xlim=whole.get_xlim(), ylim=whole.get_ylim())
    return figure


def show(ax, pixels, slices, title):
    """A part of an image where it lies in the whole."""
    rows, columns = slices
    extent = (columns.start, columns.stop, rows.stop, rows.start)
    ax.imshow(pixels, cmap="gray", vmin=0, vmax=255, extent=extent)
    ax.set_title(title, fontsize=13)
    ax.set_axis_off()


def frame(ax, slices, color, width):
    """A line around a part of an image."""
    rows, columns = slices
    corner, height = (columns.start, rows.start), rows.stop - rows.start
    size = columns.stop - columns.start, height
    ax.add_patch(Rectangle(corner, *size, fill=False, ec=color, lw=width))


def dim_light():
    """Take a photograph in dim light by the simulated camera; it, and what `denoise` returns."""
    scene = nnk_image.standard_image("astronaut")
    before, _ = cameras.shoot(scene, LIGHT, np.random.default_rng(0))
    return before, to_pixels(nnk_image.denoise(before, channel_axis=-1))


def to_pixels(values):
    """Values as 8 bits."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def draw_hero(before, after):
    """Before, after and their difference, enlarged, with letters that a phone can show."""
    before, after = before[HERO], after[HERO]
    difference = to_pixels(128 + AMPLIFIED * (before.astype(float) - after))
    panels = {"before": before, "after": after, f"difference x {AMPLIFIED}": difference}
    return draw_panels(panels, HERO_WIDTH, LABEL, columns=3)


def draw_demo():
    """What ``nnk-image demo`` compares: the result in the first row, large letters."""
    clean = nnk_image.standard_image("camera").astype(float)
    rows = {row.name: row for row in denoised_by_all(clean, 25.0)}
    shown = {"noisy": "noisy", "nnk_image, fast": "nnk_image", "non-local means": "NLM"}
    panels = {f"{shown[n]}, {rows[n].psnr:.1f} dB": rows[n].image for n in shown}
    panels = {name: to_pixels(image)[DEMO] for name, image in panels.items()}
    return draw_panels(panels | {"original": to_pixels(clean)[DEMO]}, 800, 32, columns=2)


def draw_panels(panels, width, letters, columns):
    """Pictures of one size in rows, enlarged, with titles above them."""
    font, line = ImageFont.load_default(letters), round(1.4 * letters)
    side = (width + GAP) // columns - GAP
    rows, across = next(iter(panels.values())).shape[:2]
    height, n_rows = round(side * rows / across), -(-len(panels) // columns)
    sheet = Image.new("RGB", (width, n_rows * (line + height + GAP) - GAP), "white")
    draw = ImageDraw.Draw(sheet)
    for i, (title, pixels) in enumerate(panels.items()):
        x, y = i % columns * (side + GAP), i // columns * (line + height + GAP)
        draw.text((x, y), title, fill="black", font=font)
        panel = Image.fromarray(pixels).resize((side, height), Image.Resampling.NEAREST)
        sheet.paste(panel.convert("RGB"), (x, y + line))
    return sheet


def draw_strengths(photo):
    """The photograph in dim light denoised with three strengths, for photographer.md."""
    noise = nnk_image.estimate_noise(photo, channel_axis=-1)
    panels = {"as it came": photo[FACE]}
    for strength in (0.5, 1, 1.6):
        clean = nnk_image.denoise(photo, noise, channel_axis=-1, strength=strength)
        panels[f"strength={strength}"] = to_pixels(clean)[FACE]
    return draw_panels(panels, 800, 32, columns=2)


def draw_frame():
    """The frame of microscopist.md denoised as if its noise were white, and as what it is."""
    rng = np.random.default_rng(0)
    photons = nnk_image.standard_image("cell") / 255 * 60
    truth = 8 * photons
    frame = np.rint(500 + 8 * rng.poisson(photons) + rng.normal(0, 20, photons.shape)) - 500
    rms = np.sqrt(np.mean((frame - truth) ** 2))
    pictures = {
        "noisy": frame,
        "as white noise": nnk_image.denoise(frame, rms),
        "as Poisson noise": nnk_image.denoise(frame),
        "truth": truth,
    }
    scale = 255 / truth.max()
    panels = {title: to_pixels(scale * picture[CELL]) for title, picture in pictures.items()}
    return draw_panels(panels, 800, 32, columns=2)


def draw_scan():
    """A slice of a phantom denoised as if its noise were Gaussian, and as what it is."""
    head = magnitudes.phantom()
    head *= 255 / head.max()
    scan = noises.rician(head, 25, 0)
    noise = nnk_image.estimate_noise(scan, kind="rician")
    pictures = {
        "scan": scan,
        "as Gaussian noise": nnk_image.denoise(scan, noise.sigma),
        "as Rician noise": nnk_image.denoise(scan, noise),
        "truth": head,
    }
    panels = {title: to_pixels(picture[24].T) for title, picture in pictures.items()}
    return draw_panels(panels, 800, 32, columns=2)


def draw_signal():
    """Neighbors of two pixels, and four bands, for graph_researcher.md."""
    image = nnk_image.standard_image("camera")
    graph = nnk_image.image_graph(image, sigma_f=10)
    bands = nnk_image.SpectralGraphWavelets(graph).analyze(image)
    figure = Figure(figsize=(6, 9.4), layout="constrained")
    axes = figure.subplots(3, 2).ravel()
    for ax, (name, pixel) in zip(axes, PIXELS.items(), strict=False):
        plotting.plot_neighbors(image, graph, pixel, ax)
        ax.set_title(f"{name}: {graph.neighbor_counts[pixel]} of 120", fontsize=15)
    for ax, band in zip(axes[2:], (1, 3, 5, 7), strict=True):
        values = bands[band - 1]
        limit = np.percentile(abs(values), 99)
        color = {"cmap": "gray"} if band == 1 else {"cmap": "RdBu", "vmin": -limit, "vmax": limit}
        ax.imshow(values, **color)
        ax.set_title(f"band {band} of 7", fontsize=15)
        ax.set_axis_off()
    return figure


def draw_digits():
    """Errors by the number of candidates, and what decided on doubtful digits."""
    digits, truth = load_digits(return_X_y=True)
    figure = Figure(figsize=(8, 6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.3])
    ax = top.subplots()
    candidates = [5, 10, 20, 30, 50, 80]
    for method, name, color in (("knn", "kNN, weighted", "tab:blue"), ("nnk", "NNK", "tab:red")):
        models = [nnk_image.NNKClassifier(k, method=method, sigma_scale=3) for k in candidates]
        errors = [100 * model.fit(digits, truth).leave_one_out_error() for model in models]
        ax.plot(candidates, errors, "o-", color=color, label=name)
    ax.set(xlabel="candidates", ylabel="wrong digits, %", ylim=0)
    ax.legend()
    model = nnk_image.NNKClassifier(30, sigma_scale=3).fit(digits, truth)
    explained, shares = model.neighborhoods(), model.predict_proba(None)
    for row, query in zip(bottom.subplots(3, 8), DOUBTFUL, strict=True):
        near, share = explained.neighbors(query)
        order = np.argsort(-share)[:7]
        titles = [f"{truth[query]}, seen as {shares[query].argmax()}"]
        titles += [f"{truth[near[j]]}: {share[j]:.0%}" for j in order]
        for ax, number, title in zip(row, [query, *near[order]], titles, strict=True):
            ax.imshow(digits[number].reshape(8, 8), cmap="gray_r")
            ax.set_title(title, size=9, color="black" if number == query else "tab:red")
            ax.set_axis_off()
    return figure


if __name__ == "__main__":
    main()
