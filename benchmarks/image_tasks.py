"""Segmentation and colorization on image graphs, compared with scikit-image.

`docs/image_tasks.md` describes the methods.
"""

import warnings
from functools import partial
from statistics import fmean

import numpy as np
from scipy import ndimage
from skimage import color, data
from skimage.restoration import inpaint_biharmonic
from skimage.segmentation import random_walker

import nnk_image
from benchmarks.image_masks import half_size, scenes
from benchmarks.machine import timed_call
from benchmarks.peers import channel_axis_of
from benchmarks.pictures import shrink
from benchmarks.scores import column_means, psnr
from benchmarks.timing import Table
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate, label_propagation

SEED_DRAWS = 3
BETAS = (130, 1000, 5000)
WIDTHS = (10, 5, 20)
"""Settings, the default first: beta of random_walker; sigma_f of image_graph, in gray levels."""


def tables(options):
    """Yield the tables of segmentation from seeds and of colorization."""
    yield segmentation_table()
    yield colorization_table()


def quiet_timed_call(function, *arguments):
    """Return the result and the processor time in seconds of a call, whose warnings are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tolerances, components without a seed
        return timed_call(function, *arguments)


# --- segmentation from seeds -------------------------------------------------------------


def segmentation_table():
    """Return the table of two classes from a few discs: label propagation and random walker."""
    table = Table(
        "Segmentation from 6 discs per class (radius 2 pixels): IoU of the foreground, mean over "
        f"{SEED_DRAWS} draws of the discs",
        {"": "", "random walker": ".3f", "NNK": ".3f", "NNK features": ".3f"}
        | {"random walker, best": ".3f", "NNK, best": ".3f", "s walker": ".2f", "s NNK": ".2f"},
        notes=(
            "random walker: scikit-image's, beta=130, mode='cg_j'; best: the best of beta "
            f"{sorted(BETAS)} for each image.",
            "NNK: label_propagation on image_graph, sigma_f=10 gray levels times the root of the "
            f"number of channels; best: the best of {sorted(WIDTHS)} for each image.",
            "NNK features: the default graph of local means and standard deviations.",
            "s: processor time with the default, including the graph. *: the mask is exact; the "
            "others were drawn by hand.",
        ),
    )
    for name, scene in scenes().items():
        seeds = [draw_seeds(scene, number) for number in range(SEED_DRAWS)]
        walker = {beta: _mean_score(random_walk, scene, seeds, scene.image, beta) for beta in BETAS}
        ours = {width: _mean_score(propagate, scene, seeds, scene.image, width) for width in WIDTHS}
        features = _mean_score(propagate, scene, seeds, local_features(scene.image), WIDTHS[0])
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
    table.rows.append(column_means(table.rows) | {"": "mean"})
    return table


def draw_seeds(scene, seed, count=6, radius=2, margin=4):
    """Draw discs of known labels at random places in the foreground and the background.

    Centers are at least `margin` pixels inside. The result is an (H, W) int array: 1 in discs of
    the foreground, 0 in discs of the background, -1 elsewhere.
    """
    rng = np.random.default_rng(seed)
    labels = np.full(scene.foreground.shape, -1)
    for label, region in ((0, ~scene.foreground), (1, scene.foreground)):
        region = region & scene.scored
        inner = ndimage.binary_erosion(region, iterations=margin)
        for pixel in rng.choice(np.flatnonzero(inner), count, replace=False):
            labels[_disc(labels.shape, pixel, radius) & region] = label
    return labels


def _disc(shape, pixel, radius):
    """Return the bool mask of a disc around a pixel, which is given by its flat index."""
    y, x = np.indices(shape)
    center_y, center_x = divmod(int(pixel), shape[1])
    return (y - center_y) ** 2 + (x - center_x) ** 2 <= radius**2


def random_walk(labels, image, beta):
    """Return the foreground by scikit-image's random walker, as a bool mask."""
    found = random_walker(
        image / 255, labels + 1, beta=beta, mode="cg_j", channel_axis=channel_axis_of(image)
    )
    return found == 2


def propagate(labels, image, width):
    """Return the foreground by label propagation on the NNK graph, as a bool mask."""
    axis = channel_axis_of(image)
    channels = 1 if axis is None else image.shape[-1]
    graph = nnk_image.image_graph(image, sigma_f=width * np.sqrt(channels), channel_axis=axis)
    return label_propagation(graph, labels.ravel()).reshape(labels.shape) == 1


def local_features(image, sigma=3.0):
    """Return local means and standard deviations of the channels, shape (H, W, 2 C)."""
    channels = np.atleast_3d(image)
    widths = (sigma, sigma, 0)
    mean = ndimage.gaussian_filter(channels, widths)
    square = ndimage.gaussian_filter((channels - mean) ** 2, widths)
    return np.concatenate([mean, np.sqrt(square)], axis=-1)


def intersection_over_union(found, scene):
    """Return the intersection over union of a mask and the foreground, in scored pixels."""
    a, b = found[scene.scored], scene.foreground[scene.scored]
    return float((a & b).sum() / (a | b).sum())


def _mean_score(method, scene, seeds, *arguments):
    """Return the mean IoU and the mean time of a method over draws of seeds."""
    tries = [quiet_timed_call(method, labels, *arguments) for labels in seeds]
    scores = [intersection_over_union(found, scene) for found, _ in tries]
    return fmean(scores), fmean(seconds for _, seconds in tries)


# --- colorization -----------------------------------------------------------------------


def colorization_table():
    """Return the table of colors from a few pixels, on graphs of the lightness and without it."""
    table = Table(
        "Colorization from the true colors in 60 discs of radius 2 pixels",
        {"": "", "known": ".1%", "biharmonic": ".2f", "grid": ".2f", "bilateral": ".2f"}
        | {"NNK": ".2f", "dE biharmonic": ".2f", "dE NNK": ".2f", "s biharmonic": ".2f"}
        | {"s NNK": ".2f"},
        notes=(
            "PSNR in dB of the RGB image; dE: mean CIEDE2000; s: processor time.",
            "scikit-image has no colorization. Two methods do not use the lightness: biharmonic is",
            "inpaint_biharmonic of the two color channels (CIELAB), grid is interpolate on",
            "grid_graph. bilateral: interpolate on the bilateral graph of the lightness with",
            "window 3; NNK: on image_graph; both with sigma_f=4.",
        ),
    )
    for name, image in color_images().items():
        lab = color.rgb2lab(image / 255)
        known = draw_discs(lab.shape[:2], 60)
        graphs = {
            "grid": lambda lightness: grid_graph(lightness.shape),
            "bilateral": partial(nnk_image.bilateral_graph, window=3, sigma_f=4),
            "NNK": partial(nnk_image.image_graph, sigma_f=4),
        }
        row = {"": name, "known": known.mean()}
        found = {}
        found["biharmonic"], row["s biharmonic"] = quiet_timed_call(_biharmonic, lab, known)
        for method, build in graphs.items():
            found[method], row[f"s {method}"] = quiet_timed_call(_colorize, build, lab, known)
        for method, chroma in found.items():
            colored = np.dstack([lab[..., 0], np.clip(chroma, -110, 110)])
            rgb, _ = quiet_timed_call(color.lab2rgb, colored)
            row[method] = psnr(image, 255 * rgb)
            row[f"dE {method}"] = float(color.deltaE_ciede2000(lab, colored).mean())
        table.rows.append(row)
    table.rows.append(column_means(table.rows) | {"": "mean"})
    return table


def _biharmonic(lab, known):
    """Return the color channels by biharmonic inpainting."""
    chroma = np.where(known[..., None], lab[..., 1:], 0) / 100
    return 100 * inpaint_biharmonic(chroma, ~known, channel_axis=-1)


def _colorize(build, lab, known):
    """Return the color channels by harmonic interpolation on a graph of the lightness."""
    return interpolate(build(lab[..., 0]), lab[..., 1:], known)


def color_images():
    """Return a dict from name to (H, W, 3) image with values from 0 to 255."""
    found = {name: half_size(name) for name in ("astronaut", "chelsea", "coffee", "hopper")}
    return found | {"tissue": shrink(data.immunohistochemistry(), 2)}


def draw_discs(shape, count, radius=2):
    """Return the bool mask of discs at random places."""
    rng = np.random.default_rng(0)
    known = np.zeros(shape, bool)
    for pixel in rng.choice(shape[0] * shape[1], count, replace=False):
        known |= _disc(shape, pixel, radius)
    return known
