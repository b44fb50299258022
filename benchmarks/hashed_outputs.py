"""Print hashes of some 700 outputs, to check that a change of the code does not change results.

The script uses only public names, so it runs with two versions of the library. Compare their
hashes, with the same versions of all other packages. `docs/stability.md` lists what may differ
between machines.

    python benchmarks/hashed_outputs.py > before.txt
    python benchmarks/hashed_outputs.py > after.txt      # with the other version installed
    diff before.txt after.txt
"""

import hashlib
import itertools

import numpy as np
from scipy.sparse import coo_array

import nnk_image
from nnk_image import learning

SHAPES = ((1, 1), (1, 9), (7, 1), (5, 3), (33, 65), (70, 129), (97, 40))
DTYPES = ("float32", "float64", "uint8", "uint16", "bool")
LAPLACIANS = ("combinatorial", "normalized", "random_walk", "regularized")
METHODS = ("fast", "best", "sgw")
DESIGNS = ("abspline", "mexican_hat", "meyer", "itersine", "simple_tight", "half_cosine", "heat")
LARGE = (1500, 1536)
"""Shape of an image so large that the matrix of its graph is computed where it is used."""


def digest(*parts):
    """Return a short hash of arrays and numbers: their dtypes, shapes and bytes."""
    sums = hashlib.blake2b(digest_size=12)
    for part in parts:
        if part is None or isinstance(part, str):
            sums.update(repr(part).encode())
            continue
        array = np.ascontiguousarray(part)
        sums.update(f"{array.dtype.str}{array.shape}".encode())
        sums.update(array.tobytes())
    return sums.hexdigest()


def graph_digest(graph):
    """Return a hash of the content of an `ImageGraph`."""
    matrix = graph.adjacency
    facts = graph.kind, graph.window, graph.sigma_d, graph.sigma_f, graph.directed
    return digest(matrix.indptr, matrix.indices, matrix.data, graph.valid, repr(facts))


def triangle_wave(x):
    """Return a triangle wave of period 1 between -1 and 1.

    Its bits are the same on all machines, unlike those of a sine.
    """
    return 4 * abs(x % 1 - 0.5) - 1


def picture(shape, dtype="float64", channels=None, seed=0):
    """Return a test image of waves, an edge and noise, with values from 0 to 255, or bool."""
    random = np.random.default_rng([seed, *shape])
    y, x = np.mgrid[: shape[0], : shape[1]]
    gray = 110 + 60 * triangle_wave(x / 57) * triangle_wave(y / 44) + 50 * (x > 0.6 * shape[1])
    values = gray[..., None] + random.normal(0, 12, (*shape, channels or 1))
    values = np.clip(values, 0, 255)
    values = values if channels else values[..., 0]
    return values > 128 if dtype == "bool" else values.astype(dtype)


def graphs():
    """Yield (name, hash) of image graphs and their Laplacians."""
    for shape, dtype in itertools.product(SHAPES, DTYPES):
        image = picture(shape, dtype)
        for window in (3, 11):
            given = {"window": window, "sigma_f": 0.3 if dtype == "bool" else 25}
            graph = nnk_image.image_graph(image, **given)
            yield f"nnk {shape} {dtype} {window}", graph_digest(graph)
    for window, sigma_f, sigma_d in itertools.product((5, 7, 13, 21), (4, 30), (1.0, 3.0)):
        image = picture((60, 90), "float32")
        graph = nnk_image.image_graph(image, window, sigma_d, sigma_f)
        yield f"nnk window {window} {sigma_f} {sigma_d}", graph_digest(graph)
    for dtype, channels, directed in itertools.product(DTYPES[:4], (None, 2, 3, 5), (False, True)):
        image = picture((40, 70), dtype, channels)
        axis = None if channels is None else -1
        graph = nnk_image.image_graph(image, sigma_f=20, channel_axis=axis, directed=directed)
        yield f"nnk {dtype} channels {channels} directed {directed}", graph_digest(graph)
    for dtype, weights, window in itertools.product(DTYPES[:3], ("kernel", "nnk"), (3, 7, 11)):
        image = picture((30, 44), dtype)
        mask = picture((30, 44), seed=4) > 90
        graph = nnk_image.image_graph(image, window, sigma_f=20, mask=mask, weights=weights)
        yield f"nnk masked {dtype} {weights} {window}", graph_digest(graph)
    for shape, dtype, window in itertools.product(SHAPES, DTYPES[:3], (3, 9)):
        graph = nnk_image.bilateral_graph(picture(shape, dtype), window, sigma_f=25)
        yield f"bilateral {shape} {dtype} {window}", graph_digest(graph)
    sizes = (200, 210), (511, 300)
    for n_jobs, dtype, size in itertools.product((1, 2, 3, 4), DTYPES[:3], sizes):
        graph = nnk_image.image_graph(picture(size, dtype), sigma_f=25, n_jobs=n_jobs)
        yield f"nnk {size} {dtype} jobs {n_jobs}", graph_digest(graph)
    for name in ("camera", "brick", "grass", "text", "cell"):
        graph = nnk_image.image_graph(nnk_image.standard_image(name), sigma_f=10, n_jobs=2)
        yield f"nnk {name}", graph_digest(graph)
        yield f"degrees {name}", digest(graph.degrees, graph.neighbor_counts)
        for kind in LAPLACIANS:
            matrix = graph.laplacian(kind)
            yield f"laplacian {name} {kind}", digest(matrix.indptr, matrix.indices, matrix.data)


def transforms():
    """Yield (name, hash) of wavelet transforms, filters and energy compaction."""
    for dtype, kind, order in itertools.product(("float32", "float64"), LAPLACIANS, (0, 1, 5, 30)):
        image = picture((90, 130), dtype)
        wavelets = nnk_image.SpectralGraphWavelets(
            nnk_image.image_graph(image, 7, sigma_f=25), order=order, laplacian=kind
        )
        bands = wavelets.analyze(image)
        numbers = np.array([wavelets.lmax, wavelets.bound])
        yield f"analyze {dtype} {kind} {order}", digest(bands, wavelets.coefficients, numbers)
        yield f"synthesize {dtype} {kind} {order}", digest(wavelets.synthesize(bands))
        response = wavelets.filter(image, lambda x: np.exp(-x))
        yield f"filter {dtype} {kind} {order}", digest(response)
        if order == 30:
            yield f"reconstruct {dtype} {kind}", digest(wavelets.reconstruct(bands))
    sizes = (300, 310), (520, 257), (150, 1400), (90, 2500)
    for size, n_jobs, dtype, order in itertools.product(sizes, (1, 2, 3), DTYPES[:2], (9, 30)):
        image = picture(size, dtype)
        graph = nnk_image.image_graph(image, sigma_f=25, n_jobs=n_jobs)
        wavelets = nnk_image.SpectralGraphWavelets(graph, order=order, n_jobs=n_jobs)
        bands = wavelets.analyze(image)
        yield f"of_image {size} jobs {n_jobs} {dtype} {order}", digest(bands, wavelets.bound)
        yield f"back {size} jobs {n_jobs} {dtype} {order}", digest(wavelets.synthesize(bands))
    for n_jobs, dtype in itertools.product((1, 2, 4), ("float32", "float64")):
        image = picture(LARGE, dtype)
        graph = nnk_image.image_graph(image, sigma_f=25, n_jobs=n_jobs)
        wavelets = nnk_image.SpectralGraphWavelets(graph, order=20, n_scales=2, n_jobs=n_jobs)
        bands = wavelets.analyze(image)
        yield f"large {n_jobs} {dtype}", digest(bands, wavelets.bound)
        yield f"large back {n_jobs} {dtype}", digest(wavelets.synthesize(bands))
    image = picture((64, 80))
    graph = nnk_image.image_graph(image, sigma_f=25)
    for design, way in itertools.product(DESIGNS, ("interpolation", "projection", "jackson")):
        wavelets = nnk_image.SpectralGraphWavelets(graph, design, 4, 24, approximation=way)
        yield f"design {design} {way}", digest(wavelets.analyze(image), *wavelets.frame_bounds())
    for lmax, tau in ((None, None), ("lanczos", None), (30.0, None), (None, 2.5)):
        kind = "combinatorial" if tau is None else "regularized"
        wavelets = nnk_image.SpectralGraphWavelets(graph, lmax=lmax, laplacian=kind, tau=tau)
        yield f"lmax {lmax} {tau}", digest(wavelets.analyze(image), wavelets.lmax, wavelets.bound)
    for channels, dtype in itertools.product((1, 3), ("float32", "float64")):
        image = picture((50, 61), dtype, channels)
        graph = nnk_image.image_graph(image, sigma_f=25, channel_axis=-1)
        wavelets = nnk_image.SpectralGraphWavelets(graph)
        bands = wavelets.analyze(image)
        yield f"channels {channels} {dtype}", digest(bands, wavelets.reconstruct(bands))
    for seed, dtype, kind in itertools.product(range(3), ("float32", "float64"), LAPLACIANS):
        random = np.random.default_rng(seed)
        at = random.integers(0, 200, (2, 900))
        matrix = coo_array((random.uniform(0.1, 1, 900), (at[0], at[1])), shape=(200, 200)).tocsr()
        matrix.setdiag(0)
        matrix = (matrix + matrix.T).astype(dtype)
        signal = random.normal(size=200).astype(dtype)
        wavelets = nnk_image.SpectralGraphWavelets(matrix, laplacian=kind, order=15)
        bands = wavelets.analyze(signal)
        yield f"plain {seed} {dtype} {kind}", digest(bands, wavelets.synthesize(bands))
    for name in ("camera", "coffee_grey"):
        results = nnk_image.energy_compaction(nnk_image.standard_image(name)[:100, :120])
        energies = [order for energy in results.energy.values() for order in energy]
        yield f"compaction {name}", digest(*energies)


def denoised():
    """Yield (name, hash) of denoised images and estimated noise levels."""
    for method, dtype, sigma in itertools.product(METHODS, DTYPES[:4], (None, 5, 25, 60)):
        image = picture((48, 71), dtype)
        yield f"{method} {dtype} {sigma}", digest(nnk_image.denoise(image, sigma, method=method))
    for method, shape in itertools.product(METHODS, ((1, 1), (1, 30), (3, 5), (9, 8), (20, 90))):
        image = picture(shape, "float32")
        yield f"{method} {shape}", digest(nnk_image.denoise(image, 20, method=method))
    sigmas = (20, (20, 22, 18), (5, 40, 12), (0, 20, 20))
    for method, dtype, sigma in itertools.product(METHODS, ("float32", "uint8"), sigmas):
        image = picture((40, 52), dtype, 3)
        result = nnk_image.denoise(image, sigma, method=method, channel_axis=-1)
        yield f"{method} color {dtype} {sigma}", digest(result)
    for method, dtype in itertools.product(METHODS, ("float32", "float64")):
        image, mask = picture((45, 60), dtype), picture((45, 60), seed=4) > 80
        given = {"method": method, "mask": mask}
        yield f"{method} masked {dtype}", digest(nnk_image.denoise(image, 20, **given))
        image[~mask] = np.nan
        yield f"{method} masked nan {dtype}", digest(nnk_image.denoise(image, **given))
        wide = picture((45, 60), dtype) * 1000
        yield f"{method} wide range {dtype}", digest(nnk_image.denoise(wide, 30, method=method))
    for method, n_jobs, dtype in itertools.product(METHODS, (1, 2, 3), ("float32", "float64")):
        image = picture((210, 230), dtype)
        result = nnk_image.denoise(image, 25, method=method, n_jobs=n_jobs)
        yield f"{method} jobs {n_jobs} {dtype}", digest(result)
    for n_jobs in (1, 2):
        image = picture(LARGE, "float32")
        result = nnk_image.denoise(image, 20, method="sgw", n_jobs=n_jobs)
        yield f"sgw large jobs {n_jobs}", digest(result)
    image = picture((60, 66))
    guide = nnk_image.image_graph(picture((60, 66), seed=2), sigma_f=20)
    yield "guide", digest(nnk_image.denoise(image, 20, method="sgw", guide=guide))
    for dtype, sigma in itertools.product(DTYPES[:4], (0, 3, 20)):
        noisy = picture((80, 90), dtype) + np.random.default_rng(1).normal(0, sigma, (80, 90))
        found = nnk_image.estimate_noise(noisy, kind="white").sigma[0]
        yield f"sigma {dtype} {sigma}", digest(found)
    color = picture((60, 70), "float32", 3)
    levels = np.array(nnk_image.estimate_noise(color, channel_axis=-1, kind="white").sigma)
    yield "sigma color", digest(levels)


def points():
    """Yield (name, hash) of graphs of general data, and of estimators that use them."""
    random = np.random.default_rng(3)
    for n, kernel, dtype in itertools.product((60, 300), ("gaussian", "cosine"), ("f4", "f8")):
        data = random.normal(size=(n, 5)).astype(dtype)
        graph = nnk_image.nnk_graph(data, n_neighbors=12, kernel=kernel)
        yield f"points {n} {kernel} {dtype}", digest(graph.indptr, graph.indices, graph.data)
        found = nnk_image.nnk_neighbors(data, n_neighbors=9, kernel=kernel, n_jobs=2).to_csr()
        yield f"neighbors {n} {kernel} {dtype}", digest(found.indptr, found.indices, found.data)
    data = random.normal(size=(150, 4))
    graph = nnk_image.nnk_graph(data, n_neighbors=10)
    labels = np.full(150, -1)
    labels[:20] = np.arange(20) % 3
    yield "labels", digest(learning.label_propagation(graph, labels))
    found = nnk_image.nnk_neighbors(data, n_neighbors=10)
    yield "dimension", digest(found.n_kept)
    y = (data[:, 0] > 0).astype(int)
    model = nnk_image.NNKClassifier(n_neighbors=8).fit(data, y)
    yield "classifier", digest(model.predict_proba(data + 0.1))
    model = nnk_image.NNKRegressor(n_neighbors=8).fit(data, data[:, 1])
    yield "regressor", digest(model.predict(data + 0.1))
    model = nnk_image.NNKMeans(12, random_state=0).fit(data)
    yield "means", digest(model.transform(data).toarray())


if __name__ == "__main__":
    for family in (graphs, transforms, denoised, points):
        for name, value in family():
            print(f"{value}  {name}", flush=True)
