"""Draw the docs' pictures: ``python docs/make_pictures.py`` (needs matplotlib and scikit-learn)."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image, ImageDraw, ImageFont
from scipy.sparse import triu
from sklearn.datasets import make_moons

import nnk_image

CROP = np.s_[52:80, 112:140]
"""The photographer's face."""

PHOTO_CROPS = [(30, 20), (150, 180), (40, 390)]
"""Upper left corners of parts of the portrait: flag, eye, backdrop."""

PHOTO_SIDE, ZOOM = 100, 3
"""Pixels of those parts each way, and of the picture for each of them."""

ROOMS = {
    (4, 36): ("base", "an array, checked: Image"),
    (32, 36): ("graph", "window, pruning: edges"),
    (60, 36): ("graph", "weights, CSR: ImageGraph"),
    (32, 20): ("spectral", "SIMD blocks: operator"),
    (60, 20): ("wavelets", "filter bank: bands"),
    (4, 4): ("denoising", "units of noise: sigma is 1"),
    (32, 4): ("denoising", "a method, one file each"),
    (60, 4): ("denoising", "back in its own units"),
}
"""Lower left corner -> name of a room, and what the picture becomes there."""

WAYS = {
    "tab:red": ("image_graph", (84, 40), [((25.6, 41), (31.4, 41)), ((53.6, 41), (59.4, 41))]),
    "tab:blue": (
        "SpectralGraphWavelets.of_image",
        (84, 24),
        [((25.6, 39), (31.4, 39)), ((41, 35.4), (41, 28.6)), ((53.6, 24), (59.4, 24))],
    ),
    "tab:green": (
        "denoise",
        (84, 8),
        [
            ((14, 35.4), (14, 12.6)),
            ((25.6, 8), (31.4, 8)),
            ((53.6, 8), (59.4, 8)),
            ((44, 12.6), (44, 19.4)),
        ],
    ),
}
"""Colour -> a public function, where its name stands, and its arrows (start, end)."""


def main():
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.05, 1])
    draw_crop(left.subplots(1, 2))
    draw_points(right.subplots(1, 2))
    save(figure, "graphs.png")
    save(draw_rooms(), "rooms.png")
    draw_photo().save(Path(__file__).with_name("photo.png"), optimize=True)


def save(figure, name):
    """Write a figure beside this file, in few colours."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(128)
    picture.save(Path(__file__).with_name(name), optimize=True)


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
        ax.set_title(f"{name}: {per_pixel:.0f} neighbours a pixel", fontsize=14)


def draw_points(axes):
    """Two moons, linked to their nearest neighbours and by NNK."""
    points, _ = make_moons(150, noise=0.08, random_state=0)
    for ax, method, name in zip(axes, ("knn", "nnk"), ("10 nearest", "NNK"), strict=True):
        graph = nnk_image.nnk_graph(points, 10, method=method, symmetrize="max")
        draw_links(ax, points, graph)
        ax.plot(*points.T, ".", color="black", markersize=4)
        ax.set_title(f"{name}: {graph.nnz // 2} edges", fontsize=14)


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


def draw_rooms():
    """Through which rooms of the code a picture goes on its ways, for inside.md."""
    figure = Figure(figsize=(11, 4.6))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 112), ylim=(0, 47))
    ax.set_axis_off()
    for (x, y), (room, what) in ROOMS.items():
        ax.add_patch(FancyBboxPatch((x, y), 21, 8, "round,pad=0.6", fc="#e8eef7", ec="#333344"))
        ax.text(x + 10.5, y + 5.6, room, ha="center", va="center", fontsize=13, weight="bold")
        ax.text(x + 10.5, y + 2, what, ha="center", va="center", fontsize=10)
    for color, (name, place, arrows) in WAYS.items():
        for start, end in arrows:
            form = {"arrowstyle": "-|>", "color": color, "lw": 2, "mutation_scale": 18}
            ax.annotate("", end, start, arrowprops=form)
        ax.text(*place, name, color=color, fontsize=11, va="center")
    return figure


def draw_photo():
    """Parts of a real photograph as it came, and below them as `denoise` returns it, unasked."""
    photo = nnk_image.standard_image("hopper")
    denoised = nnk_image.denoise(photo, channel_axis=-1)
    rows = {"as it came": photo, "denoise(photo, channel_axis=-1)": denoised}
    side, gap, line = ZOOM * PHOTO_SIDE, 8, 24
    width = len(PHOTO_CROPS) * (side + gap) - gap
    sheet = Image.new("RGB", (width, len(rows) * (line + side) + gap), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for row, (name, pixels) in enumerate(rows.items()):
        y = row * (line + side + gap)
        draw.text((0, y), name, fill="black", font=font)
        pixels = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
        for column, (top, left) in enumerate(PHOTO_CROPS):
            part = pixels[top : top + PHOTO_SIDE, left : left + PHOTO_SIDE]
            part = Image.fromarray(part).resize((side, side), Image.Resampling.NEAREST)
            sheet.paste(part, (column * (side + gap), y + line))
    return sheet


if __name__ == "__main__":
    main()
