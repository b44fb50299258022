"""Tasks on image graphs beside scikit-image: segmentation, colorization.

Quality and processor time of both in one run.  The methods are those of `docs/image_tasks.md`.
"""

import warnings
from statistics import fmean

import numpy as np
from scipy import ndimage
from skimage import color, data
from skimage.restoration import inpaint_biharmonic
from skimage.segmentation import random_walker

import nnk_image
from benchmarks.image_masks import half_size, scenes
from benchmarks.noise_scores import cpu, psnr
from benchmarks.timing import Table
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate, label_propagation

SEED_DRAWS = 3
BETAS = (130, 1000, 5000)
WIDTHS = (10, 5, 20)
"""Settings tried, the default first: beta of random_walker, sigma_f of our graph in gray levels."""


def tables(options):
    """Segmentation by seeds, colorization."""
    yield seeds_table()
    yield color_table()


def timed(function, *arguments):
    """What a function gives, and its processor time in seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tolerances, parts without a seed
        return cpu(function, *arguments)


# --- segmentation by seeds ---------------------------------------------------------------


def seeds_table():
    """Two classes from a few discs: label propagation and random walker."""
    table = Table(
        f"Segmentation from 6 discs per class (radius 2), IoU of the front, {SEED_DRAWS} draws",
        {"": "", "random walker": ".3f", "NNK": ".3f", "NNK features": ".3f"}
        | {"random walker, best": ".3f", "NNK, best": ".3f", "s walker": ".2f", "s NNK": ".2f"},
        notes=(
            "random walker: scikit-image's, beta=130, mode='cg_j'; best: the best of beta "
            f"{sorted(BETAS)}, chosen for each image by its truth.",
            "NNK: label_propagation on image_graph, sigma_f=10 gray levels (times the root of the "
            f"channels); best: of {sorted(WIDTHS)}, likewise.",
            "NNK features: the default graph on local means and deviations instead of pixels.",
            "s: processor time at the default, the graph included. * exact masks, others by hand.",
        ),
    )
    for name, scene in scenes().items():
        seeds = [draw_seeds(scene, number) for number in range(SEED_DRAWS)]
        walker = {beta: _scored(walk, scene, seeds, scene.image, beta) for beta in BETAS}
        ours = {width: _scored(propagate, scene, seeds, scene.image, width) for width in WIDTHS}
        features = _scored(propagate, scene, seeds, local_features(scene.image), WIDTHS[0])
        table.rows.append(
            {
                "": name + "*" * scene.exact,
                "random walker": walker[BETAS[0]][0],
                "NNK": ours[WIDTHS[0]][0],
                "NNK features": features[0],
                "random walker, best": max(score for score, _ in walker.values()),
                "NNK, best": max(score for score, _ in ours.values()),
                "s walker": walker[BETAS[0]][1],
                "s NNK": ours[WIDTHS[0]][1],
            }
        )
    table.rows.append(_means(table.rows))
    return table


def draw_seeds(scene, number, count=6, radius=2, margin=4):
    """(H, W) int: 1 and 0 in discs of front and back, `margin` inside at least; -1 elsewhere."""
    rng = np.random.default_rng(number)
    labels = np.full(scene.front.shape, -1)
    y, x = np.indices(labels.shape)
    for label, region in ((0, ~scene.front), (1, scene.front)):
        region = region & scene.scored
        inner = ndimage.binary_erosion(region, iterations=margin)
        for pixel in rng.choice(np.flatnonzero(inner), count, replace=False):
            cy, cx = divmod(int(pixel), labels.shape[1])
            labels[((y - cy) ** 2 + (x - cx) ** 2 <= radius**2) & region] = label
    return labels


def walk(labels, image, beta):
    """scikit-image's random walker."""
    axis = -1 if image.ndim == 3 else None
    found = random_walker(image / 255, labels + 1, beta=beta, mode="cg_j", channel_axis=axis)
    return found == 2


def propagate(labels, image, width):
    """Label propagation on the NNK graph."""
    axis = -1 if image.ndim == 3 else None
    channels = 1 if axis is None else image.shape[-1]
    graph = nnk_image.image_graph(image, sigma_f=width * np.sqrt(channels), channel_axis=axis)
    return label_propagation(graph, labels.ravel()).reshape(labels.shape) == 1


def local_features(image, sigma=3.0):
    """(H, W, 2 C): means and standard deviations of the channels around each pixel."""
    channels = np.atleast_3d(image)
    widths = (sigma, sigma, 0)
    mean = ndimage.gaussian_filter(channels, widths)
    square = ndimage.gaussian_filter((channels - mean) ** 2, widths)
    return np.concatenate([mean, np.sqrt(square)], axis=-1)


def overlap(found, scene):
    """Intersection over union of two masks, where pixels are scored."""
    a, b = found[scene.scored], scene.front[scene.scored]
    return float((a & b).sum() / (a | b).sum())


def _scored(method, scene, seeds, *arguments):
    """Mean IoU and mean time over draws of seeds."""
    tries = [timed(method, labels, *arguments) for labels in seeds]
    return fmean(overlap(found, scene) for found, _ in tries), fmean(t for _, t in tries)


def _means(rows):
    """A last row: the mean of each column."""
    names = [name for name in rows[0] if name]
    return {"": "mean"} | {name: fmean(row[name] for row in rows) for name in names}


# --- colorization -----------------------------------------------------------------------


def color_table():
    """Colors from some pixels: on the NNK graph of the lightness, and without looking at it."""
    table = Table(
        "Colorization from the true colors of 60 discs of radius 2",
        {"": "", "known": ".1%", "biharmonic": ".2f", "grid": ".2f", "bilateral": ".2f"}
        | {"NNK": ".2f", "dE biharmonic": ".2f", "dE NNK": ".2f", "s biharmonic": ".2f"}
        | {"s NNK": ".2f"},
        notes=(
            "PSNR in dB of the RGB image; dE: mean CIEDE2000. scikit-image has no colorization:",
            "biharmonic is inpaint_biharmonic of the two color channels (CIELAB), and grid",
            "interpolate on grid_graph; neither sees the lightness. bilateral: interpolate on the",
            "bilateral graph of the lightness with window 3; NNK on image_graph, both sigma_f=4.",
        ),
    )
    for name, image in color_images().items():
        lab = color.rgb2lab(image / 255)
        known = draw_discs(lab.shape[:2], 60)
        graphs = {
            "grid": lambda lab: grid_graph(lab.shape[:2]),
            "bilateral": lambda lab: nnk_image.bilateral_graph(lab[..., 0], 3, sigma_f=4),
            "NNK": lambda lab: nnk_image.image_graph(lab[..., 0], sigma_f=4),
        }
        row = {"": name, "known": known.mean()}
        smooth, row["s biharmonic"] = timed(
            lambda lab, known: inpaint_biharmonic(
                np.where(known[..., None], lab[..., 1:], 0) / 100, ~known, channel_axis=-1
            ),
            lab,
            known,
        )
        found = {"biharmonic": 100 * smooth}
        for method, graph in graphs.items():
            found[method], row[f"s {method}"] = timed(
                lambda graph, lab, known: interpolate(graph(lab), lab[..., 1:], known),
                graph,
                lab,
                known,
            )
        for method, chroma in found.items():
            colored = np.dstack([lab[..., 0], np.clip(chroma, -110, 110)])
            rgb, _ = timed(color.lab2rgb, colored)
            row[method] = psnr(image, 255 * rgb)
            row[f"dE {method}"] = float(color.deltaE_ciede2000(lab, colored).mean())
        table.rows.append(row)
    table.rows.append(_means(table.rows))
    return table


def color_images():
    """Name -> (H, W, 3) image of 0 to 255."""
    found = {name: half_size(name) for name in ("astronaut", "chelsea", "coffee", "hopper")}
    tissue = data.immunohistochemistry().astype(float)
    found["tissue"] = tissue.reshape(256, 2, 256, 2, 3).mean(axis=(1, 3))
    return found


def draw_discs(shape, count, radius=2):
    """(H, W) bool: some discs at random."""
    rng = np.random.default_rng(0)
    y, x = np.indices(shape)
    known = np.zeros(shape, bool)
    for pixel in rng.choice(shape[0] * shape[1], count, replace=False):
        cy, cx = divmod(int(pixel), shape[1])
        known |= (y - cy) ** 2 + (x - cx) ** 2 <= radius**2
    return known
