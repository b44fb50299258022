"""Speed and peak memory from commit to commit, for asv (airspeed velocity); see README.md."""

import numpy as np

import nnk_image

SIGMA, SIGMA_F = 20.0, 30.0
DTYPES = ["float32", "float64"]


def noisy_camera(side, dtype="float32"):
    """Tiles of the camera picture with noise."""
    tile = nnk_image.standard_image("camera_512").astype(float)
    clean = np.tile(tile, [-(-side // 512)] * 2)[:side, :side]
    return (clean + np.random.default_rng(0).normal(0, SIGMA, clean.shape)).astype(dtype)


class ImageGraph:
    """The NNK graph and the bilateral graph it is pruned from."""

    params = (DTYPES, [5, 11])
    param_names = ("dtype", "window")

    def setup(self, dtype, window):
        """Make the image; not timed."""
        self.image = noisy_camera(512, dtype)

    def time_image_graph(self, dtype, window):
        """Build the NNK graph on one thread."""
        nnk_image.image_graph(self.image, window, sigma_f=SIGMA_F)

    def time_bilateral_graph(self, dtype, window):
        """Build the bilateral graph on one thread."""
        nnk_image.bilateral_graph(self.image, window, sigma_f=SIGMA_F)

    def peakmem_image_graph(self, dtype, window):
        """Peak memory of the whole process."""
        nnk_image.image_graph(self.image, window, sigma_f=SIGMA_F)


class Wavelets:
    """Seven bands of order 30 on the NNK graph of window 11."""

    params = (DTYPES,)
    param_names = ("dtype",)

    def setup(self, dtype):
        """Make image, graph and transform; not timed."""
        self.image = noisy_camera(512, dtype)
        self.graph = nnk_image.image_graph(self.image, sigma_f=SIGMA_F)
        self.wavelets = nnk_image.SpectralGraphWavelets(self.graph)

    def time_set_up(self, dtype):
        """From the graph, with the default lmax."""
        nnk_image.SpectralGraphWavelets(self.graph)

    def time_analyze(self, dtype):
        """All bands."""
        self.wavelets.analyze(self.image)

    def time_filter(self, dtype):
        """One polynomial."""
        self.wavelets.filter(self.image, lambda x: np.exp(-x))

    def peakmem_analyze(self, dtype):
        """Peak memory of the whole process, from the graph."""
        nnk_image.SpectralGraphWavelets(self.graph).analyze(self.image)


class Denoise:
    """From noisy image to result."""

    params = (DTYPES, ["sgw", "fast"])
    param_names = ("dtype", "method")

    def setup(self, dtype, method):
        """Make the image; not timed."""
        self.image = noisy_camera(512, dtype)

    def time_denoise(self, dtype, method):
        """One thread."""
        nnk_image.denoise(self.image, SIGMA, method=method)

    def peakmem_denoise(self, dtype, method):
        """Peak memory of the whole process."""
        nnk_image.denoise(self.image, SIGMA, method=method)


class Large:
    """Float32 images of several sizes on one and two threads: time and peak memory."""

    params = ([1024, 2048, 4096], [1, 2])
    param_names = ("side", "n_jobs")
    number, rounds, repeat = 1, 1, 3
    timeout = 600

    def setup(self, side, n_jobs):
        """Make the image; not timed."""
        self.image = noisy_camera(side)

    def time_image_graph(self, side, n_jobs):
        """Build the NNK graph."""
        nnk_image.image_graph(self.image, sigma_f=SIGMA_F, n_jobs=n_jobs)

    def time_sgw(self, side, n_jobs):
        """Denoise with 'sgw'."""
        nnk_image.denoise(self.image, SIGMA, method="sgw", n_jobs=n_jobs)

    def peakmem_image_graph(self, side, n_jobs):
        """Peak memory of the whole process."""
        nnk_image.image_graph(self.image, sigma_f=SIGMA_F, n_jobs=n_jobs)

    def peakmem_sgw(self, side, n_jobs):
        """Peak memory of the whole process."""
        nnk_image.denoise(self.image, SIGMA, method="sgw", n_jobs=n_jobs)


class Points:
    """NNK graphs of points in 16 dimensions."""

    params = ([2000, 10_000],)
    param_names = ("n_points",)

    def setup(self, n_points):
        """Make the points; not timed."""
        self.points = np.random.default_rng(0).standard_normal((n_points, 16))

    def time_nnk_graph(self, n_points):
        """30 candidates, one thread."""
        nnk_image.nnk_graph(self.points, 30)
