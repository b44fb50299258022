"""Building the graph of an image, beside what else touches every pixel of a window."""

import logging

import numpy as np
from pygsp.graphs import ImgPatches
from scipy.sparse import coo_array, dia_array
from skimage.restoration import denoise_bilateral

import nnk_image
from benchmarks.peers import columns, forward_offsets, pairs
from benchmarks.timing import comparison

SIGMA_D, SIGMA_F, NOISE = 2.0, 30.0, 20.0
WINDOWS = (5, 7, 11, 21)
LARGEST_NUMPY_WINDOW = 11  # its matrix for 21 takes 3 GB
PYGSP_SIDE = 128  # its search tree takes 2 s here and 15 s at 256x256
OURS = {"image_graph float32": "/ float32", "image_graph float64": "/ float64"}
NOTE = "Ratios: time of the row / time of image_graph of that type, median (quartiles) of rounds."


def tables(options):
    """Per image one table per window, with all peers at window 11; then PyGSP's graph."""
    clean = nnk_image.standard_image("camera_512").astype(float)
    noisy = noisy_camera()
    for name, image in (("noisy, sigma 20", noisy), ("clean", clean)):
        _check(image[:64, :80])
        for window in WINDOWS:
            every_peer = window == 11
            yield _table(f"Graph of camera, {name}", image, window, options.rounds, every_peer)
    yield _patches(noisy[192 : 192 + PYGSP_SIDE, 192 : 192 + PYGSP_SIDE], options.rounds)


def noisy_camera():
    """The 512x512 camera picture with noise of standard deviation `NOISE`, float64."""
    clean = nnk_image.standard_image("camera_512").astype(float)
    return clean + np.random.default_rng(0).normal(0, NOISE, clean.shape)


def _table(title, image, window, rounds, every_peer=False):
    single = image.astype(np.float32)
    contenders = {
        "image_graph float32": lambda: _ours(nnk_image.image_graph, single, window),
        "image_graph float64": lambda: _ours(nnk_image.image_graph, image, window),
        "image_graph float32, 2 threads": lambda: _ours(nnk_image.image_graph, single, window, 2),
        "image_graph float64, 2 threads": lambda: _ours(nnk_image.image_graph, image, window, 2),
        "skimage denoise_bilateral float32": lambda: skimage_bilateral(single, window),
        "skimage denoise_bilateral float64": lambda: skimage_bilateral(image, window),
    }
    if window <= LARGEST_NUMPY_WINDOW:
        contenders["numpy + scipy bilateral graph, dia"] = lambda: bilateral_dia(image, window)
    if every_peer:
        contenders |= {
            "numpy + scipy bilateral graph, dia, float32": lambda: bilateral_dia(single, window),
            "numpy + scipy bilateral graph, coo": lambda: bilateral_coo(image, window),
            "bilateral_graph float32": lambda: _ours(nnk_image.bilateral_graph, single, window),
            "bilateral_graph float64": lambda: _ours(nnk_image.bilateral_graph, image, window),
        }
        if img_to_graph := _sklearn():
            contenders["sklearn img_to_graph (4 neighbors)"] = lambda: img_to_graph(image)
    kept = nnk_image.image_graph(image, window, SIGMA_D, SIGMA_F)
    height, width = image.shape
    title = (
        f"{title}: {height}x{width}, window {window}, sigma_d {SIGMA_D:g}, sigma_f {SIGMA_F:g}; "
        f"{kept.adjacency.nnz / kept.n_nodes:.2f} neighbors per pixel; {rounds} rounds"
    )
    return comparison(title, contenders, rounds, OURS, [NOTE])


def _patches(image, rounds):
    """PyGSP's only graph of an image: the 10 nearest patches of 3x3, wherever they are."""
    logging.getLogger("pygsp.graphs.nngraphs.nngraph").setLevel(logging.WARNING)
    single = image.astype(np.float32)
    contenders = {
        "image_graph float32": lambda: _ours(nnk_image.image_graph, single, 11),
        "image_graph float64": lambda: _ours(nnk_image.image_graph, image, 11),
        "PyGSP ImgPatches (10 neighbors)": lambda: ImgPatches(image).W,
    }
    if img_to_graph := _sklearn():
        contenders["sklearn img_to_graph (4 neighbors)"] = lambda: img_to_graph(image)
    height, width = image.shape
    title = f"Graph of the middle of camera, noisy, sigma 20: {height}x{width}, window 11"
    return comparison(f"{title}; {rounds} rounds", contenders, rounds, OURS, [NOTE])


def _ours(build, image, window, n_jobs=None):
    return build(image, window, SIGMA_D, SIGMA_F, n_jobs=n_jobs)


def skimage_bilateral(image, window):
    """In units of 1/255 and from 0 upwards, as it wants; scaling costs it under 1 %."""
    pixels = (image - image.min()) / image.dtype.type(255)
    return denoise_bilateral(pixels, window, sigma_color=SIGMA_F / 255, sigma_spatial=SIGMA_D)


def _sklearn():
    try:
        from sklearn.feature_extraction.image import img_to_graph
    except ImportError:
        return None
    return img_to_graph


def bilateral_dia(image, window):
    """The bilateral graph by its diagonals: the fastest way found with numpy and scipy.

    Each offset is one diagonal of the adjacency; each undirected edge takes one exp.
    """
    height, width = image.shape
    offsets = forward_offsets(window)
    data = np.zeros((2 * len(offsets), height, width), image.dtype)
    for k, (dy, dx) in enumerate(offsets):
        weight = _weights(image, dy, dx)
        first, last = columns(width, dx)
        # scipy keeps the entry (i, j) of a diagonal at j.
        data[len(offsets) + k, dy:, first + dx : last + dx] = weight
        data[len(offsets) - 1 - k, : height - dy, first:last] = weight
    steps = np.array([dy * width + dx for dy, dx in offsets])
    steps = np.concatenate([-steps[::-1], steps])
    matrix = dia_array((data.reshape(len(steps), -1), steps), shape=(image.size, image.size))
    return matrix.tocsr()


def bilateral_coo(image, window):
    """The same by lists of rows, columns and weights: how it is usually written."""
    ids = np.arange(image.size, dtype=np.int32).reshape(image.shape)
    rows, columns, weights = [], [], []
    for dy, dx in forward_offsets(window):
        i, j = pairs(ids, dy, dx)
        rows.append(i.ravel())
        columns.append(j.ravel())
        weights.append(_weights(image, dy, dx).ravel())
    entries = np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))
    half = coo_array(entries, shape=(image.size, image.size)).tocsr()
    return half + half.T.tocsr()


def _weights(image, dy, dx):
    """Bilateral kernel of all pairs at one offset, with one exp each."""
    here, there = pairs(image, dy, dx)
    exponent = here - there
    exponent *= exponent
    exponent *= -1 / (2 * SIGMA_F**2)
    exponent -= (dy**2 + dx**2) / (2 * SIGMA_D**2)
    return np.exp(exponent, out=exponent)


def _check(image):
    """The peers build the very graph they are compared with."""
    ours = nnk_image.bilateral_graph(image, 11, SIGMA_D, SIGMA_F).adjacency
    for peer in (bilateral_dia, bilateral_coo):
        assert abs(peer(image, 11) - ours).max() < 1e-14, peer.__name__
