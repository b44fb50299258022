"""Tasks on image graphs beside scikit-image: segmentation, inpainting, colourisation.

Quality and processor time of both in one run.  The methods are those of `docs/image_tasks.md`.
"""

import time
import warnings
from statistics import fmean

import numpy as np
from scipy import ndimage
from scipy.sparse import csr_array
from skimage import color, data
from skimage import graph as region_graph
from skimage.restoration import inpaint_biharmonic
from skimage.segmentation import random_walker, slic
from skimage.transform import resize
from sklearn.cluster import SpectralClustering

import nnk_image
from benchmarks.image_masks import half_size, scenes
from benchmarks.timing import Table
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate, label_propagation

SEED_DRAWS = 3
BETAS = (130, 1000, 5000)
WIDTHS = (10, 5, 20)
"""Settings tried, the default first: beta of random_walker, sigma_f of our graph in grey levels."""


def tables(options):
    """Segmentation by seeds and by superpixels, inpainting, colourisation."""
    yield seeds_table()
    yield more_seeds_table()
    yield superpixels_table()
    yield inpainting_table()
    yield colour_table()


def timed(function, *arguments):
    """What a function gives, and its processor time in seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tolerances, parts without a seed
        start = time.process_time()
        found = function(*arguments)
        return found, time.process_time() - start


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
            "NNK: label_propagation on image_graph, sigma_f=10 grey levels (times the root of the "
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


def more_seeds_table(count=24):
    """The same from more discs, by the default settings."""
    table = Table(
        f"Segmentation from {count} discs per class, IoU of the front, {SEED_DRAWS} draws",
        {"": "", "random walker": ".3f", "NNK": ".3f", "s walker": ".2f", "s NNK": ".2f"},
    )
    for name, scene in scenes().items():
        seeds = [draw_seeds(scene, number, count) for number in range(SEED_DRAWS)]
        walker = _scored(walk, scene, seeds, scene.image, BETAS[0])
        ours = _scored(propagate, scene, seeds, scene.image, WIDTHS[0])
        row = {"": name + "*" * scene.exact, "random walker": walker[0], "NNK": ours[0]}
        table.rows.append(row | {"s walker": walker[1], "s NNK": ours[1]})
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


# --- segmentation by superpixels ---------------------------------------------------------


def superpixels_table():
    """Normalised cuts and NNK with spectral clusters, of the same superpixels."""
    table = Table(
        "Segmentation of SLIC superpixels without seeds, best possible IoU of the front",
        {"": "", "superpixels": "d", "segments": "d", "cut_normalized": ".3f", "NNK": ".3f"}
        | {"kNN": ".3f", "k-means": ".3f", "s cut": ".2f", "s NNK": ".2f"},
        notes=(
            "Each segment counts as front if most of it is: the score is of the borders found.",
            "cut_normalized: scikit-image's, on rag_mean_color(mode='similarity'), its defaults.",
            "NNK: nnk_graph of the mean colours, touching superpixels and those that touch these",
            "as candidates, symmetrize='max'; SpectralClustering, as many as cut_normalized found.",
            "kNN: the same with all candidates as neighbours. k-means: of the same mean colours.",
            "Times without SLIC's.",
        ),
    )
    for name, scene in scenes().items():
        pixels = scene.image / 255
        axis = -1 if pixels.ndim == 3 else None
        parts = slic(pixels, 400, compactness=10 if axis else 0.1, channel_axis=axis, start_label=0)
        colours = np.atleast_3d(pixels)
        cut, cut_s = timed(normalized_cuts, colours, parts)
        count = len(np.unique(cut))
        plain, _ = timed(kmeans_segments, colours, parts, count)
        ours, ours_s = timed(graph_segments, colours, parts, count)
        every, _ = timed(graph_segments, colours, parts, count, "knn")
        table.rows.append(
            {
                "": name + "*" * scene.exact,
                "superpixels": int(parts.max()) + 1,
                "segments": count,
                "cut_normalized": overlap(_best_labels(cut, scene), scene),
                "NNK": overlap(_best_labels(ours, scene), scene),
                "kNN": overlap(_best_labels(every, scene), scene),
                "k-means": overlap(_best_labels(plain, scene), scene),
                "s cut": cut_s,
                "s NNK": ours_s,
            }
        )
    names = ("cut_normalized", "NNK", "kNN", "k-means", "s cut", "s NNK")
    mean = {name: fmean(row[name] for row in table.rows) for name in names}
    table.rows.append({"": "mean"} | mean)
    return table


def normalized_cuts(colours, parts):
    """scikit-image's normalised cuts."""
    similar = np.repeat(colours, 3, axis=-1) if colours.shape[-1] == 1 else colours
    regions = region_graph.rag_mean_color(255 * similar, parts, mode="similarity")
    return region_graph.cut_normalized(parts, regions, rng=0)


def mean_colours(colours, parts):
    """(n, C) mean colours of the superpixels."""
    count = np.bincount(parts.ravel())
    channels = colours.reshape(-1, colours.shape[-1]).T
    return np.stack([np.bincount(parts.ravel(), c) / count for c in channels], axis=1)


def graph_segments(colours, parts, count, method="nnk"):
    """Spectral clusters of a graph of the superpixels.

    Of two weights the larger ('max'), for a graph that falls into parts has clusters of one node.
    """
    graph = nnk_image.nnk_graph(
        mean_colours(colours, parts),
        30,
        method=method,
        neighbors=touching(parts, 2),
        symmetrize="max",
    )
    clusters = SpectralClustering(count, affinity="precomputed", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs in several parts
        return clusters.fit_predict(graph)[parts]


def touching(parts, rings=1):
    """Sparse matrix that links superpixels that touch, or are linked by few that do."""
    pairs = np.concatenate(
        [
            np.stack([parts[:-1].ravel(), parts[1:].ravel()]),
            np.stack([parts[:, :-1].ravel(), parts[:, 1:].ravel()]),
        ],
        axis=1,
    )
    n = int(parts.max()) + 1
    one = csr_array((np.ones(pairs.shape[1]), tuple(pairs)), (n, n))
    one = one + one.T
    found = one
    for _ in range(rings - 1):
        found = found + found @ one
    found.setdiag(0)
    found.eliminate_zeros()
    return csr_array(found)


def kmeans_segments(colours, parts, count):
    """k-means of the mean colours."""
    from sklearn.cluster import KMeans

    model = KMeans(count, n_init=10, random_state=0)
    return model.fit_predict(mean_colours(colours, parts))[parts]


def _best_labels(segments, scene):
    """The segments of which most is in front."""
    _, number = np.unique(segments, return_inverse=True)
    number, scored = number.reshape(segments.shape), scene.scored
    share = np.bincount(number[scored], scene.front[scored].astype(float), number.max() + 1)
    size = np.bincount(number[scored], minlength=number.max() + 1)
    return (share > size / 2)[number]


# --- inpainting --------------------------------------------------------------------------

IMAGES = ("camera", "astronaut_grey", "coffee_grey", "chelsea_grey", "brick", "cell")


def inpainting_table():
    """Missing pixels: the NNK graph of patches beside biharmonic inpainting."""
    table = Table(
        "Inpainting, PSNR in dB",
        {"": "", "missing": ".0%", "biharmonic": ".2f", "grid": ".2f", "NNK": ".2f"}
        | {"NNK from biharmonic": ".2f", "gain": "+.2f", "s biharmonic": ".2f", "s NNK": ".2f"},
        notes=(
            "biharmonic: skimage.restoration.inpaint_biharmonic. grid: interpolate on grid_graph.",
            "NNK: three times interpolate on image_graph of the 5 x 5 patches (sigma_f=50,",
            "sigma_d=3, window 11), first of what grid gives; or of what biharmonic gives.",
            "gain: NNK from biharmonic over biharmonic. s NNK: of NNK from grid.",
        ),
    )
    for name in IMAGES:
        image = nnk_image.standard_image(name).astype(float)
        for kind, missing in holes(image.shape).items():
            smooth, smooth_s = timed(inpaint_biharmonic, np.where(missing, 0, image) / 255, missing)
            smooth = 255 * smooth
            grid, grid_s = timed(interpolate, grid_graph(image.shape), image, ~missing)
            ours, ours_s = timed(fill_by_patches, image, ~missing, grid)
            refined, _ = timed(fill_by_patches, image, ~missing, smooth)
            row = {"": f"{name}, {kind}", "missing": missing.mean()}
            results = {"biharmonic": smooth, "grid": grid, "NNK": ours}
            results["NNK from biharmonic"] = refined
            row |= {method: psnr(image, found) for method, found in results.items()}
            row["gain"] = row["NNK from biharmonic"] - row["biharmonic"]
            table.rows.append(row | {"s biharmonic": smooth_s, "s NNK": grid_s + ours_s})
    for kind in holes((256, 256)):
        rows = [row for row in table.rows if row[""].endswith(kind)]
        table.rows.append(_means(rows) | {"": f"mean, {kind}"})
    return table


def holes(shape):
    """Name -> mask of missing pixels."""
    rng = np.random.default_rng(0)
    dots = rng.random(shape)
    letters = nnk_image.standard_image("text")[:, :256] / 255
    letters = resize(letters, shape, anti_aliasing=True) < 0.35
    return {"half": dots < 0.5, "four fifths": dots < 0.8, "letters": letters}


def fill_by_patches(image, known, start, side=5, rounds=3):
    """Interpolate on the NNK graph of the patches of what has been found so far."""
    found = start
    for _ in range(rounds):
        padded = np.pad(found, side // 2, mode="reflect")
        patches = np.lib.stride_tricks.sliding_window_view(padded, (side, side))
        patches = patches.reshape(*image.shape, side**2)
        graph = nnk_image.image_graph(patches, 11, 3.0, 10.0 * side, channel_axis=-1)
        found = interpolate(graph, image, known)
    return found


def psnr(image, found):
    """Peak signal to noise ratio, of 255 grey levels."""
    return float(10 * np.log10(255**2 / np.mean((image - found) ** 2)))


# --- colourisation -----------------------------------------------------------------------


def colour_table():
    """Colours from some pixels: on the NNK graph of the lightness, and without looking at it."""
    table = Table(
        "Colourisation from the true colours of 60 discs of radius 2",
        {"": "", "known": ".1%", "biharmonic": ".2f", "grid": ".2f", "bilateral": ".2f"}
        | {"NNK": ".2f", "dE biharmonic": ".2f", "dE NNK": ".2f", "s biharmonic": ".2f"}
        | {"s NNK": ".2f"},
        notes=(
            "PSNR in dB of the RGB image; dE: mean CIEDE2000. scikit-image has no colourisation:",
            "biharmonic is inpaint_biharmonic of the two colour channels (CIELAB), and grid",
            "interpolate on grid_graph; neither sees the lightness. bilateral: interpolate on the",
            "bilateral graph of the lightness with window 3; NNK on image_graph, both sigma_f=4.",
        ),
    )
    for name, image in colour_images().items():
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
            coloured = np.dstack([lab[..., 0], np.clip(chroma, -110, 110)])
            rgb, _ = timed(color.lab2rgb, coloured)
            row[method] = psnr(image, 255 * rgb)
            row[f"dE {method}"] = float(color.deltaE_ciede2000(lab, coloured).mean())
        table.rows.append(row)
    table.rows.append(_means(table.rows))
    return table


def colour_images():
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
