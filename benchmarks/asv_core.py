"""Speed and peak memory from commit to commit, for asv (airspeed velocity); see README.md."""

import numpy as np

import nnk_image
from benchmarks.graph import SIGMA_F, noisy_camera

DTYPES = ["float32", "float64"]
WINDOWS = [5, 11, 21]
SMALL_WINDOWS = [5, 11]  # a bilateral graph of window 21 takes gigabytes
SIGMA = 20.0


class ImageGraph:
    """The NNK graph."""

    params = (DTYPES, WINDOWS)
    param_names = ("dtype", "window")

    def setup(self, dtype, window):
        """The picture, not counted."""
        self.image = noisy_camera().astype(dtype)

    def time_image_graph(self, dtype, window):
        """One thread."""
        nnk_image.image_graph(self.image, window, sigma_f=SIGMA_F)

    def peakmem_image_graph(self, dtype, window):
        """Of the whole process."""
        nnk_image.image_graph(self.image, window, sigma_f=SIGMA_F)


class BilateralGraph:
    """The graph it is pruned from."""

    params = (DTYPES, SMALL_WINDOWS)
    param_names = ("dtype", "window")

    def setup(self, dtype, window):
        """The picture, not counted."""
        self.image = noisy_camera().astype(dtype)

    def time_bilateral_graph(self, dtype, window):
        """One thread."""
        nnk_image.bilateral_graph(self.image, window, sigma_f=SIGMA_F)

    def peakmem_bilateral_graph(self, dtype, window):
        """Of the whole process."""
        nnk_image.bilateral_graph(self.image, window, sigma_f=SIGMA_F)


class Wavelets:
    """Seven bands of order 30 on the NNK graph."""

    params = (DTYPES, SMALL_WINDOWS)
    param_names = ("dtype", "window")

    def setup(self, dtype, window):
        """Picture, graph and transform, not counted."""
        self.image = noisy_camera().astype(dtype)
        self.graph = nnk_image.image_graph(self.image, window, sigma_f=SIGMA_F)
        self.wavelets = nnk_image.SpectralGraphWavelets(self.graph)

    def time_set_up(self, dtype, window):
        """From the graph, with the default lmax."""
        nnk_image.SpectralGraphWavelets(self.graph)

    def time_analyze(self, dtype, window):
        """All bands."""
        self.wavelets.analyze(self.image)

    def time_filter(self, dtype, window):
        """One polynomial."""
        self.wavelets.filter(self.image, _heat)

    def peakmem_set_up(self, dtype, window):
        """Of the whole process, graph included."""
        nnk_image.SpectralGraphWavelets(self.graph)

    def peakmem_analyze(self, dtype, window):
        """Of the whole process, graph included."""
        self.wavelets.analyze(self.image)

    def peakmem_filter(self, dtype, window):
        """Of the whole process, graph included."""
        self.wavelets.filter(self.image, _heat)


class Denoise:
    """From noisy image to result; the methods choose their windows."""

    params = (DTYPES, ["sgw", "fast"])
    param_names = ("dtype", "method")

    def setup(self, dtype, method):
        """The picture, not counted."""
        self.image = noisy_camera().astype(dtype)

    def time_denoise(self, dtype, method):
        """One thread."""
        nnk_image.denoise(self.image, SIGMA, method=method)

    def peakmem_denoise(self, dtype, method):
        """Of the whole process."""
        nnk_image.denoise(self.image, SIGMA, method=method)


def _heat(x):
    return np.exp(-x)
