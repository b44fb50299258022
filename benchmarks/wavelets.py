"""The 7-band graph wavelet transform, a single filter and setting up, beside PyGSP and scipy."""

from dataclasses import replace

import numpy as np
from pygsp import filters as pygsp_filters
from scipy.sparse import csr_array, eye_array

import nnk_image
from benchmarks.graph import SIGMA_F, noisy_camera
from benchmarks.timing import comparison
from nnk_image.graph.planes import StoredEdges

ORDER, BANDS = 30, 7
OURS = {"analyze float32": "/ float32", "analyze float64": "/ float64"}
NOTE = "Ratios: time of the row / time of our {} in that type, median (quartiles) of rounds."


def tables(options):
    """Transform on both graphs, then one filter and setting up on the NNK graph."""
    image = noisy_camera()
    for build in (nnk_image.image_graph, nnk_image.bilateral_graph):
        work = _Work(build(image, sigma_f=SIGMA_F), image)
        yield work.transform(options.rounds)
        if build is nnk_image.image_graph:
            yield work.one_filter(options.rounds)


def _in_type(graph, dtype):
    return replace(graph, edges=StoredEdges(graph.adjacency.astype(dtype)))


class _Work:
    """One graph, made ready for every contender with the same lmax."""

    def __init__(self, graph, image):
        self.graph, self.image = graph, image
        self.single = image.astype(np.float32)
        self.lmax = 1.01 * nnk_image.SpectralGraphWavelets(graph, lmax="lanczos").lmax
        self.ours = {
            dtype: nnk_image.SpectralGraphWavelets(
                _in_type(graph, dtype), order=ORDER, lmax=self.lmax
            )
            for dtype in (np.float32, np.float64)
        }
        self.ours_on_two = {
            dtype: nnk_image.SpectralGraphWavelets(
                _in_type(graph, dtype), order=ORDER, lmax=self.lmax, n_jobs=2
            )
            for dtype in (np.float32, np.float64)
        }
        self.pygsp = graph.to_pygsp()
        self.pygsp._lmax = self.lmax  # it offers no other way to give it
        self.abspline = pygsp_filters.Abspline(self.pygsp, Nf=BANDS)
        self.heat = pygsp_filters.Heat(self.pygsp, scale=10)
        self.shifted = {dtype: self._twice_shifted(dtype) for dtype in self.ours}
        self.title = (
            f"{{}}: {graph.kind} graph of camera {graph.shape[0]}x{graph.shape[1]}, noisy, window "
            f"{graph.window}, {graph.adjacency.nnz / graph.n_nodes:.2f} neighbours per pixel"
        )

    def transform(self, rounds):
        """Analysis with a bank of filters; all that can be prepared is not counted."""
        contenders = {
            "analyze float32": lambda: self.ours[np.float32].analyze(self.single),
            "analyze float64": lambda: self.ours[np.float64].analyze(self.image),
            "analyze float32, 2 threads": lambda: self.ours_on_two[np.float32].analyze(self.single),
            "analyze float64, 2 threads": lambda: self.ours_on_two[np.float64].analyze(self.image),
            "PyGSP Abspline.filter": lambda: self._pygsp(self.abspline),
            "scipy CSR loop, float64": lambda: self._scipy(np.float64, self.image),
            "scipy CSR loop, float32": lambda: self._scipy(np.float32, self.single),
        }
        expected = self.ours[np.float64].analyze(self.image)
        largest = abs(expected).max()
        differences = [
            abs(contenders[name]().reshape(expected.shape) - expected).max() / largest
            for name in contenders
        ]
        agreement = "Largest difference from analyze float64, over the largest coefficient: "
        agreement += ", ".join(f"{difference:.1e}" for difference in differences) + "."
        title = self.title.format(f"{BANDS}-band abspline transform of order {ORDER}")
        notes = [NOTE.format("analyze"), agreement]
        return comparison(title + f", {rounds} rounds", contenders, rounds, OURS, notes)

    def one_filter(self, rounds):
        """One polynomial: what denoising and smoothing need."""

        def response(x):
            return np.exp(-10 * x / self.lmax)

        contenders = {
            "filter float32": lambda: self.ours[np.float32].filter(self.single, response),
            "filter float64": lambda: self.ours[np.float64].filter(self.image, response),
            "filter float32, 2 threads": lambda: self.ours_on_two[np.float32].filter(
                self.single, response
            ),
            "filter float64, 2 threads": lambda: self.ours_on_two[np.float64].filter(
                self.image, response
            ),
            "PyGSP Heat.filter": lambda: self._pygsp(self.heat),
        }
        ours = {"filter float32": "/ float32", "filter float64": "/ float64"}
        title = self.title.format(f"One filter (heat) of order {ORDER}")
        notes = [NOTE.format("filter")]
        return comparison(title + f", {rounds} rounds", contenders, rounds, ours, notes)

    def _pygsp(self, bank):
        result = bank.filter(self.image.ravel(), method="chebyshev", order=ORDER)
        return result.T  # (N, bands) there, bands first here; a view

    def _twice_shifted(self, dtype):
        """``2 X`` with ``X = (2 / lmax) L - I``, the matrix of the recurrence."""
        n = self.graph.n_nodes
        matrix = (4 / self.lmax) * self.graph.laplacian() - 2 * eye_array(n, format="csr")
        return csr_array(matrix.astype(dtype))

    def _scipy(self, dtype, image):
        """The recurrence with scipy's product, then all bands in one matrix product."""
        twice, coefficients = self.shifted[dtype], self.ours[dtype].coefficients
        terms = np.empty((ORDER + 1, image.size), dtype)
        terms[0] = image.ravel()
        terms[1] = (twice @ terms[0]) / 2
        for k in range(2, ORDER + 1):
            np.subtract(twice @ terms[k - 1], terms[k - 2], out=terms[k])
        return coefficients.astype(dtype) @ terms
