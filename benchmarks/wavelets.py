"""Time of the graph wavelet transform with 7 bands, compared with PyGSP and scipy."""

from dataclasses import replace

import numpy as np
from pygsp import filters as pygsp_filters
from scipy.sparse import csr_array, eye_array

import nnk_image
from benchmarks.graph import SIGMA_F
from benchmarks.pictures import noisy_camera
from benchmarks.timing import comparison

ORDER, BANDS = 30, 7
OURS = {"analyze float32": "/ float32", "analyze float64": "/ float64"}
NOTE = "Ratios: time of the row / time of analyze in that type; median (quartiles) of rounds."


def tables(options):
    """Yield the tables of the NNK and the bilateral graph."""
    image = noisy_camera()
    for build in (nnk_image.image_graph, nnk_image.bilateral_graph):
        yield _table(build(image, sigma_f=SIGMA_F), image, options.rounds)


def _table(graph, image, rounds):
    """Return the table of one graph; the times exclude all that can be prepared."""
    lmax = 1.01 * nnk_image.SpectralGraphWavelets(graph, lmax="lanczos").lmax
    contenders = {}
    for n_jobs, name in ((1, "analyze {}"), (2, "analyze {}, 2 threads")):
        for dtype in ("float32", "float64"):
            own = replace(graph, edges=graph.adjacency.astype(dtype))
            options = {"order": ORDER, "lmax": lmax, "n_jobs": n_jobs}
            ours, pixels = nnk_image.SpectralGraphWavelets(own, **options), image.astype(dtype)
            contenders[name.format(dtype)] = lambda ours=ours, pixels=pixels: ours.analyze(pixels)
    contenders["PyGSP Abspline.filter"] = _by_pygsp(graph, lmax, image)
    for dtype in ("float64", "float32"):
        contenders[f"scipy CSR loop, {dtype}"] = _by_scipy(
            graph, lmax, image.astype(dtype), ours.coefficients
        )
    expected = contenders["analyze float64"]()
    largest = abs(expected).max()
    differences = [
        abs(function().reshape(expected.shape) - expected).max() / largest
        for function in contenders.values()
    ]
    agreement = "Largest difference from analyze float64, relative to the largest coefficient: "
    agreement += ", ".join(f"{difference:.1e}" for difference in differences) + "."
    title = (
        f"{BANDS}-band abspline transform of order {ORDER}: {graph.kind} graph of camera "
        f"{graph.shape[0]}x{graph.shape[1]}, noisy, window {graph.window}, "
        f"{graph.adjacency.nnz / graph.n_nodes:.2f} neighbors per pixel, {rounds} rounds"
    )
    return comparison(title, contenders, rounds, OURS, [NOTE, agreement])


def _by_pygsp(graph, lmax, image):
    """Return a function for the transform by PyGSP with the same largest eigenvalue."""
    theirs = graph.to_pygsp()
    theirs._lmax = lmax  # there is no public way to set it
    bank, signal = pygsp_filters.Abspline(theirs, Nf=BANDS), image.ravel()
    # Transposed (a view), because bands are the last axis in PyGSP and the first one here.
    return lambda: bank.filter(signal, method="chebyshev", order=ORDER).T


def _by_scipy(graph, lmax, image, coefficients):
    """Return a function for the transform by scipy: the recurrence, then one product for all."""
    matrix = (4 / lmax) * graph.laplacian() - 2 * eye_array(graph.n_nodes, format="csr")
    twice = csr_array(matrix.astype(image.dtype))  # 2 X with X = (2 / lmax) L - I
    coefficients = coefficients.astype(image.dtype)

    def run():
        terms = np.empty((ORDER + 1, image.size), image.dtype)
        terms[0] = image.ravel()
        terms[1] = (twice @ terms[0]) / 2
        for k in range(2, ORDER + 1):
            np.subtract(twice @ terms[k - 1], terms[k - 2], out=terms[k])
        return coefficients @ terms

    return run
