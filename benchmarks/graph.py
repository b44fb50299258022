"""Time to build the graph of an image, compared with programs that also visit every window."""

import logging

import numpy as np
from pygsp.graphs import ImgPatches
from scipy.sparse import coo_array, dia_array
from skimage.restoration import denoise_bilateral
from sklearn.feature_extraction.image import img_to_graph

import nnk_image
from benchmarks.peers import column_range, forward_offsets, neighbor_pairs
from benchmarks.pictures import noisy_camera
from benchmarks.timing import comparison

SIGMA_D, SIGMA_F = 2.0, 30.0
WINDOWS = (5, 7, 11, 21)
LARGEST_NUMPY_WINDOW = 11  # the matrix for window 21 takes 3 GB
PYGSP_SIDE = 128  # height and width in pixels; takes 2 s, and 15 s at 256x256
OURS = {"image_graph float32": "/ float32", "image_graph float64": "/ float64"}
NOTE = "Ratios: time of the row / time of image_graph in that type; median (quartiles) of rounds."


def tables(options):
    """Yield a table per image and window, with more contenders at window 11; then PyGSP's graph."""
    clean = nnk_image.standard_image("camera_512").astype(float)
    noisy = noisy_camera()
    for name, image in (("noisy, sigma 20", noisy), ("clean", clean)):
        _check_peers(image[:64, :80])
        for window in WINDOWS:
            all_peers = window == 11
            yield _table(f"Graph of camera, {name}", image, window, options.rounds, all_peers)
    yield _patches(noisy[192 : 192 + PYGSP_SIDE, 192 : 192 + PYGSP_SIDE], options.rounds)


def _table(title, image, window, rounds, all_peers=False):
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
    if all_peers:
        contenders |= {
            "numpy + scipy bilateral graph, dia, float32": lambda: bilateral_dia(single, window),
            "numpy + scipy bilateral graph, coo": lambda: bilateral_coo(image, window),
            "bilateral_graph float32": lambda: _ours(nnk_image.bilateral_graph, single, window),
            "bilateral_graph float64": lambda: _ours(nnk_image.bilateral_graph, image, window),
        }
        contenders["sklearn img_to_graph (4 neighbors)"] = lambda: img_to_graph(image)
    graph = nnk_image.image_graph(image, window, SIGMA_D, SIGMA_F)
    height, width = image.shape
    title = (
        f"{title}: {height}x{width}, window {window}, sigma_d {SIGMA_D:g}, sigma_f {SIGMA_F:g}; "
        f"{graph.adjacency.nnz / graph.n_nodes:.2f} neighbors per pixel; {rounds} rounds"
    )
    return comparison(title, contenders, rounds, OURS, [NOTE])


def _patches(image, rounds):
    """Return the table of PyGSP's only image graph: the 10 nearest patches in the whole image."""
    logging.getLogger("pygsp.graphs.nngraphs.nngraph").setLevel(logging.WARNING)
    single = image.astype(np.float32)
    contenders = {
        "image_graph float32": lambda: _ours(nnk_image.image_graph, single, 11),
        "image_graph float64": lambda: _ours(nnk_image.image_graph, image, 11),
        "PyGSP ImgPatches (10 neighbors)": lambda: ImgPatches(image).W,
        "sklearn img_to_graph (4 neighbors)": lambda: img_to_graph(image),
    }
    height, width = image.shape
    title = f"Graph of the middle of camera, noisy, sigma 20: {height}x{width}, window 11"
    return comparison(f"{title}; {rounds} rounds", contenders, rounds, OURS, [NOTE])


def _ours(build, image, window, n_jobs=None):
    return build(image, window, SIGMA_D, SIGMA_F, n_jobs=n_jobs)


def skimage_bilateral(image, window):
    """Filter with scikit-image; shifting and scaling the values takes under 1 % of the time."""
    pixels = (image - image.min()) / image.dtype.type(255)
    return denoise_bilateral(pixels, window, sigma_color=SIGMA_F / 255, sigma_spatial=SIGMA_D)


def bilateral_dia(image, window):
    """Build the bilateral graph from diagonals, the fastest way found with numpy and scipy.

    Each offset is a diagonal of the adjacency matrix. Each undirected edge takes one exponential.
    """
    height, width = image.shape
    offsets = forward_offsets(window)
    data = np.zeros((2 * len(offsets), height, width), image.dtype)
    for k, (dy, dx) in enumerate(offsets):
        weight = _weights(image, dy, dx)
        first, last = column_range(width, dx)
        # scipy stores the entry (i, j) of a diagonal at index j.
        data[len(offsets) + k, dy:, first + dx : last + dx] = weight
        data[len(offsets) - 1 - k, : height - dy, first:last] = weight
    steps = np.array([dy * width + dx for dy, dx in offsets])
    steps = np.concatenate([-steps[::-1], steps])
    matrix = dia_array((data.reshape(len(steps), -1), steps), shape=(image.size, image.size))
    return matrix.tocsr()


def bilateral_coo(image, window):
    """Build the bilateral graph from lists of rows, columns and weights, the usual way."""
    ids = np.arange(image.size, dtype=np.int32).reshape(image.shape)
    rows, columns, weights = [], [], []
    for dy, dx in forward_offsets(window):
        i, j = neighbor_pairs(ids, dy, dx)
        rows.append(i.ravel())
        columns.append(j.ravel())
        weights.append(_weights(image, dy, dx).ravel())
    entries = np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))
    half = coo_array(entries, shape=(image.size, image.size)).tocsr()
    return half + half.T.tocsr()


def _weights(image, dy, dx):
    """Return the bilateral kernel of all pairs at one offset, with one exponential each."""
    here, there = neighbor_pairs(image, dy, dx)
    exponent = here - there
    exponent *= exponent
    exponent *= -1 / (2 * SIGMA_F**2)
    exponent -= (dy**2 + dx**2) / (2 * SIGMA_D**2)
    return np.exp(exponent, out=exponent)


def _check_peers(image):
    """Check that the other programs build the same bilateral graph."""
    ours = nnk_image.bilateral_graph(image, 11, SIGMA_D, SIGMA_F).adjacency
    for peer in (bilateral_dia, bilateral_coo):
        assert abs(peer(image, 11) - ours).max() < 1e-14, peer.__name__
