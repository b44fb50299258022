"""Draw docs/graphs.png: ``python docs/make_pictures.py`` (needs matplotlib and scikit-learn)."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image
from scipy.sparse import triu
from sklearn.datasets import make_moons

import nnk_image

CROP = np.s_[52:80, 112:140]
"""The photographer's face."""


def main():
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.05, 1])
    draw_crop(left.subplots(1, 2))
    draw_points(right.subplots(1, 2))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(128)
    picture.save(Path(__file__).with_name("graphs.png"), optimize=True)


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


if __name__ == "__main__":
    main()
