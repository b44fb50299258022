"""Random numbered cases, to check that results do not depend on how they are computed.

Each case computes a result of a random image, volume or set of points in the simplest way, and
again with other SIMD variants, numbers of threads, memory layouts, byte orders and dtypes: all
bits must agree. Graphs of small images are compared with brute force, too.
"""

from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import whole_chain  # noqa: F401  # gives threads to small images
from graph_checks import assert_matches_brute_force
from volume_cases import assert_volume_matches_brute_force

import nnk_image
from nnk_image import _core, neighbors
from nnk_image.denoising.methods import METHODS
from nnk_image.graph.laplacian import KINDS

_INTEGERS = ("uint8", "int16", "uint16", "int32", "uint64", ">i2", ">u4")
_OTHERS = 2  # other ways per case


def check(number):
    """Run a case; it fails with an AssertionError or any other error."""
    rng = np.random.default_rng([20261123, number])
    kinds = (_graph, _wavelets, _denoised, _noise, _points, _brute_force)
    rng.choice(kinds, p=(0.25, 0.25, 0.2, 0.05, 0.15, 0.1))(rng, number)


# --- what is computed --------------------------------------------------------------------


def _graph(rng, _):
    image, options = _image(rng)
    mask, weights = options.pop("mask"), str(rng.choice(["kernel", "kernel", "nnk"]))
    options |= _window(rng, options)

    def compute(image, n_jobs):
        given = {"mask": mask, "n_jobs": n_jobs, **options}
        directed = nnk_image.image_graph(image, directed=True, weights=weights, **given)
        undirected = nnk_image.image_graph(image, weights=weights, **given)
        every = nnk_image.bilateral_graph(image, **given)
        return [*_parts(directed), *_parts(undirected), *_parts(every)]

    _compare(rng, image, compute)


def _wavelets(rng, _):
    image, options = _image(rng)
    options |= _window(rng, options)
    about = {
        "filters": str(rng.choice(["abspline", "heat", "itersine"])),
        "n_scales": int(rng.integers(1, 5)),
        "order": int(rng.choice([0, 1, 2, 7, 30])),
        "laplacian": str(rng.choice(KINDS)),
    }

    def compute(image, n_jobs):
        graph = nnk_image.image_graph(image, n_jobs=n_jobs, **options)
        try:
            wavelets = nnk_image.SpectralGraphWavelets(graph, n_jobs=n_jobs, **about)
        except ValueError as error:  # all remaining edges have weights near 0
            if "larger sigma_f" not in str(error):
                raise
            return [np.frombuffer(str(error).encode(), np.uint8)]
        form = _misaligned if n_jobs > 1 else np.copy  # not only images may start anywhere
        bands, matrix = form(wavelets.analyze(image)), graph.adjacency.copy()
        for name in ("data", "indices", "indptr"):
            setattr(matrix, name, form(getattr(matrix, name)))
        graph = replace(graph, edges=matrix)
        of_stored = nnk_image.SpectralGraphWavelets(graph, n_jobs=n_jobs, **about).analyze(image)
        limits = np.array([wavelets.bound, wavelets.lmax])
        return [bands, wavelets.synthesize(bands), of_stored, limits]

    _compare(rng, image, compute)


def _denoised(rng, _):
    image, options = _image(rng)
    channels = image.shape[options["channel_axis"]] if options["channel_axis"] else 1
    options["sigma"] = 12.5 if channels == 1 else rng.uniform(1, 40, channels)
    options["method"] = str(rng.choice([*METHODS]))

    def compute(image, n_jobs):
        return [nnk_image.denoise(image, n_jobs=n_jobs, **options)]

    _compare(rng, image, compute)


def _noise(rng, _):
    """Estimate the noise of an image, and denoise it."""
    image, options = _image(rng, least=8)
    del options["mask"]  # it might leave no complete block

    def compute(image, n_jobs):
        model = nnk_image.estimate_noise(image, **options)
        result = nnk_image.denoise(image, n_jobs=n_jobs, method="fast", **options)
        return [result, np.frombuffer(repr(model).encode(), np.uint8)]

    _compare(rng, image, compute)


def _points(rng, _):
    n, d = int(rng.integers(4, 90)), int(rng.integers(1, 40))
    points = rng.standard_normal((n, d)) if rng.random() < 0.6 else rng.integers(0, 4, (n, d))
    points = points.astype(rng.choice(["float32", "float64"]))
    options = {
        "n_neighbors": int(rng.integers(1, n)),
        "method": str(rng.choice(["nnk", "nnk", "omp", "mp", "knn", "kstar"])),
        "symmetrize": [None, "min_error", "max"][rng.integers(3)],
    }

    candidates = (np.arange(n)[:, None] + np.arange(1, options["n_neighbors"] + 1)) % n
    gram = np.exp(-((points[:, None].astype(float) - points) ** 2).sum(axis=2) / 8)
    kernel = "gaussian" if options["method"] == "kstar" else "precomputed"  # kstar needs points

    def compute(points, n_jobs):
        options["n_jobs"], form = n_jobs, _misaligned if n_jobs > 1 else np.copy
        with ExitStack() as changed:
            if n_jobs > 1:  # make many chunks, even of few points
                changed.enter_context(patch.object(neighbors.model, "_WORK_PER_CHUNK", 8))
            graphs = [
                nnk_image.nnk_graph(points, sigma=2.0, **options),
                nnk_image.nnk_graph(points, sigma=2.0, neighbors=form(candidates), **options),
                nnk_image.nnk_graph(form(gram), kernel=kernel, **options),
            ]
        parts = [part for graph in graphs for part in (graph.indptr, graph.indices, graph.data)]
        return [*parts, nnk_image.nnk_weights(form(gram[:3, :3]), form(gram[3, :3]))]

    _compare(rng, points, compute)


def _brute_force(rng, number):
    """Compare the graphs of a small image or volume with brute force."""
    if rng.random() < 0.5:
        # Each 15th case is large and takes long.
        assert_volume_matches_brute_force(number if number % 15 else number + 1)
        return
    shape = tuple(rng.integers(1, 9, 2))
    image = _values(rng, shape, () if rng.random() < 0.6 else (3,))
    valid = _mask(rng, shape)
    sigmas = float(rng.choice([0.4, 1.0, 2.0, 20.0])), float(rng.choice([0.9, 10.0, 400.0]))
    assert_matches_brute_force(image, int(rng.choice([3, 5, 9])), *sigmas, valid)


# --- random cases, and other ways to compute them ----------------------------------------


def _image(rng, least=1):
    """Return an image with 2 to 4 axes, and options that fit it."""
    axes = int(rng.choice([2, 2, 3, 4]))
    most = {2: 40, 3: 12, 4: 6}[axes]
    shape = tuple(int(n) for n in rng.integers(least, max(most, least + 4), axes))
    if least == 1 and rng.random() < 0.1:  # lines longer than SIMD vectors
        shape = (*(min(n, 3) for n in shape[:-1]), int(rng.integers(60, 200)))
    color = rng.random() < 0.3
    image = _values(rng, shape, (int(rng.integers(1, 5)),) if color else ())
    options = {
        "channel_axis": axes if color else None,
        "spacing": rng.choice([1.0, 0.5, 3.0], axes) if rng.random() < 0.3 else np.ones(axes),
        "mask": _mask(rng, shape),
    }
    options["spacing"] = tuple(options["spacing"].tolist())
    return image, options


def _values(rng, shape, colors):
    """Return values from 0 to 255, many of them equal; sometimes a (nearly) constant image."""
    step = rng.choice([1, 7, 51, 127])  # few levels give many exact ties
    values = rng.integers(0, 256, shape + colors) // step * step
    if rng.random() < 0.1:
        values = values * 0 + 7
    dtype = np.dtype(rng.choice(["uint8", "float32", "float64"]))
    noise = rng.choice([0, 1e-9, 5]) if dtype.kind == "f" else 0
    return (values + rng.normal(0, noise, values.shape)).astype(dtype)


def _mask(rng, shape):
    share = rng.choice([1, 1, 0.8, 0.1])
    if share == 1:
        return None
    valid = rng.random(shape) < share
    valid.flat[rng.integers(valid.size)] = True
    return valid


def _window(rng, options):
    axes = len(options["spacing"])
    sides = {2: [3, 5, 7, 11, 21], 3: [3, 5], 4: [3]}[axes]
    window = int(rng.choice(sides))
    if rng.random() < 0.2:
        window = (*(int(n) for n in rng.choice([1, 3, 5], axes - 1)), 3)
    return {"window": window, "sigma_f": float(rng.choice([0.9, 10.0, 400.0]))}


def _compare(rng, image, compute):
    """Compute in the simplest way and in some others; all must give the same bits."""
    original = image.copy()
    _core.use_simd(_core.simd_variants()[0])
    try:
        expected = compute(image, 1)
        for _ in range(_OTHERS):
            _core.use_simd(str(rng.choice(_core.simd_variants())))
            other = _in_another_way(rng, image)
            found = compute(other, int(rng.integers(1, 5)))
            for one, two in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, two, strict=True)
    finally:
        _core.use_simd()
    np.testing.assert_array_equal(image, original, strict=True)


def _of_larger(image):
    larger = np.zeros([2 * n + 1 for n in image.shape], image.dtype)
    part = larger[tuple(slice(1, None, 2) for _ in image.shape)]
    part[...] = image
    return part


def _misaligned(image):
    buffer = np.zeros(image.nbytes + 1, np.uint8)
    copy = buffer[1:].view(image.dtype).reshape(image.shape)
    copy[...] = image
    return copy


def _read_only(image):
    copy = image.copy()
    copy.flags.writeable = False
    return copy


_WAYS = (  # in this order: each numbered case draws one of them
    np.asfortranarray,
    lambda image: np.flip(np.flip(image).copy()),
    _of_larger,
    lambda image: image.astype(image.dtype.newbyteorder()),
    _misaligned,
    _read_only,
    np.ndarray.copy,
)


def _in_another_way(rng, image):
    """Return the same values in another memory layout, byte order, alignment or dtype."""
    if image.dtype == np.uint8 and rng.random() < 0.3:
        image = image.astype(rng.choice([*_INTEGERS, "float64"]))
    return rng.choice(_WAYS)(image)


def _parts(graph):
    matrix = graph.adjacency
    return matrix.indptr, matrix.indices, matrix.data
