"""Images larger than memory: denoising and graph wavelets in overlapping tiles, with dask and zarr.

Each tile is read with the overlap that makes its result equal that for the whole image, bit for
bit. Numbers of the whole image, such as its range, are computed first, from all tiles.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.base import lazy
from nnk_image.base.checks import check_number
from nnk_image.base.image import Image, Layout
from nnk_image.base.lazy import da, dask, delayed
from nnk_image.base.parallel import Progress, RowExecutor, resolve_n_jobs
from nnk_image.base.reach import Reach, Slices, Tile, cut, largest_side
from nnk_image.denoising.api import counts_as_0, warn_of_fill_values, warn_of_other_units
from nnk_image.denoising.parts import TiledDenoising
from nnk_image.graph.build import build_graph
from nnk_image.graph.pruning import GraphSpec
from nnk_image.graph.window import sides_of
from nnk_image.io import arrays
from nnk_image.noise.model import NoiseModel
from nnk_image.spectral.chebyshev import GridRecurrence
from nnk_image.spectral.operator import N_PRODUCTS, bound_of, bound_statistic
from nnk_image.wavelets.transform import SpectralGraphWavelets

__all__ = ["analyze", "denoise", "filter"]

_BYTES_PER_PIXEL, _BYTES_PER_BAND = 300, 8  # memory of wavelets per pixel: graph, each band


def denoise_tiles(
    source: Any,
    target: Any,
    sigma: float | Sequence[float] | NoiseModel | None = None,
    *,
    method: str = "fast",
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    strength: float = 1.0,
    max_memory: int | str = "1GiB",
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], Any] = False,
) -> NoiseModel:
    """Denoise an image that is larger than memory, tile by tile.

    If the given noise is white or correlated, the result equals that of `denoise` for the whole
    image bit for bit. For Poisson noise it differs by less than 0.02 dB.

    Parameters
    ----------
    source : path or array_like
        Image to read: a .npy, .zarr or TIFF file (of a pyramid the first level), or any object with
        `shape`, `dtype` and slices, such as a memory map or a zarr, HDF5 or dask array. Integers of
        at most 16 bits in files are processed as float32, which represents them exactly.
    target : path or array_like
        Where to write the result: name of a .zarr file, which gets the integer type of the source
        if it has one; or any object of the shape of `source` whose slices can be assigned. For
        integer types values are rounded and clipped.
    sigma : float, sequence of one float per channel, or NoiseModel, optional
        As for `denoise`, but without per-pixel levels and without row and column noise. Default:
        estimated from 16 squares of 512 x 512 pixels, in volumes of five slices each.
    method, channel_axis, spacing, strength
        As for `denoise`. Default: the channel axis, and the spacing of a volume, that a TIFF or
        OME-Zarr file states.
    max_memory : int or str
        Largest memory in bytes for all tiles in progress, such as 2**30 or '4GiB'; default 1 GiB.
    n_jobs : int, optional
        Tiles processed at a time, each on one thread; None (default) is 1, -1 one per processor.
    progress : bool or callable
        True shows a progress bar; a callable is called with ``(done, total)`` rows of tiles.

    Returns
    -------
    NoiseModel
        The noise that was given or estimated, before it is multiplied by `strength`.

    Raises
    ------
    TypeError, ValueError
        As `denoise`; also if a file cannot be read, `source` has masked entries, or `target` shares
        its memory or file, or is a file that was not begun by a call with the same arguments.
    MemoryError
        If `max_memory` is too small for the smallest tiles.

    Warns
    -----
    UserWarning
        If `sigma` exceeds the range of the image's values or counts as 0, as for `denoise`, or if
        the memory is so small that the overlap of the tiles takes most of the time.

    Notes
    -----
    If a call that writes a file is interrupted, even by SIGKILL, the same call resumes the work:
    only tiles with missing chunks are processed.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera_512").astype(np.float32)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 20, clean.shape).astype(np.float32)
    >>> result = np.empty_like(noisy)
    >>> model = nnk_image.denoise_tiles(noisy, result, 20, method="sgw", max_memory="16MiB")
    >>> bool((result == nnk_image.denoise(noisy, 20, method="sgw")).all())
    True
    """
    threads = resolve_n_jobs(n_jobs)
    _refuse_mask(source)
    with arrays.open_source(source) as image:
        image = image if hasattr(image, "dtype") else np.asarray(image)
        if channel_axis is None:
            channel_axis = getattr(image, "channel_axis", None)
        if spacing is None and isinstance(image, arrays.FileArray):
            volume = len(image.shape) - (channel_axis is not None) == len(image.spacing or ())
            spacing = image.spacing if volume else None
        most = max(1, lazy.bytes_of(max_memory) // threads)
        job = TiledDenoising(image, sigma, method, channel_axis, spacing, strength, most)
        scheduler = "threads" if threads > 1 else "synchronous"
        with dask.config.set(scheduler=scheduler, num_workers=threads):
            array, noise, left = _target(target, image, job)
            _write_tiles(array, noise, left, job, progress)
    return noise


def _write_tiles(
    array: Any, noise: NoiseModel, tiles: list[Tile], job: TiledDenoising, progress: Progress
) -> None:
    """Denoise tiles, and write each into the array as soon as it is done."""
    if not tiles:
        return
    (statistics,) = dask.compute(job.statistics())
    low, high = statistics.limits
    if job.given is not None:
        warn_of_other_units(job.given, low, high, job.image.dtype)
    if counts_as_0(noise, low, high):
        warn_of_fill_values(noise, low, high)
    rows_of_task, tasks = {}, []
    for tile in tiles:
        result, slices = job.denoised(tile, noise, statistics), job.layout.slices(tile.core)
        tasks.append(delayed(arrays.write)(array, slices, result))
        rows_of_task[tasks[-1].key] = tile.core[-2].stop - tile.core[-2].start
    with (
        RowExecutor(None, progress, sum(rows_of_task.values()), "denoise") as report,
        dask.callbacks.Callback(posttask=lambda key, *_: report.advance(rows_of_task.get(key, 0))),
    ):
        dask.compute(*tasks, optimize_graph=False)


def _target(target: Any, image: Any, job: TiledDenoising) -> tuple[Any, NoiseModel, list[Tile]]:
    """Return the array to write to, the noise, and the tiles that are still to be denoised."""
    if not isinstance(target, str | os.PathLike):
        _check_target(target, image)
        return target, dask.compute(job.noise)[0], job.tiles
    path, layout, options = Path(target), job.layout, job.options
    place = arrays.storage_location(image)
    if place is not None and Path(place).is_relative_to(os.path.realpath(path)):
        raise ValueError(f"{path}: is the source, which is not replaced; choose another name")
    version = arrays.version_of(image) or dask.base.tokenize(image)
    given = None if job.given is None else job.given.to_json()
    arguments = {
        "version": nnk_image.__version__,
        "source": [version, str(image.dtype), list(image.shape)],
        "noise": [given, options.method, options.strength],
        "axes": [layout.axis, options.spacing and list(options.spacing)],
        "tiles": list(job.side),
    }
    begun = arrays.resume(path, arguments)
    if begun is not None:
        array, note = begun
        left = [t for t in job.tiles if not arrays.is_written(array, path, layout.slices(t.core))]
        return array, NoiseModel.from_json(note["noise"]), left
    (noise,) = dask.compute(job.noise)
    stored = np.dtype(getattr(image, "stored", image.dtype))
    dtype = stored if stored.kind in "bui" else layout.dtype
    sides = tuple(map(arrays.chunk_side, job.side, layout.shape))
    chunks = layout.with_channels(sides, layout.channels)
    note = {"arguments": arguments, "noise": noise.to_json()}
    array = arrays.create(path, note, chunks, shape=image.shape, dtype=dtype)
    return array, noise, job.tiles


def _check_target(target: Any, image: Any) -> None:
    """Raise TypeError or ValueError unless `target` is an array that tiles can be written to."""
    if not hasattr(target, "shape") or isinstance(target, da.Array):
        raise TypeError(
            "target must be a path that ends in .zarr, or an array of the image's shape, not "
            f"{type(target).__name__}; nnk_image.tiled.denoise returns a dask array"
        )
    if tuple(target.shape) != tuple(image.shape):
        raise ValueError(f"target has shape {tuple(target.shape)}, the image {image.shape}")
    if getattr(target.dtype, "kind", "f") not in "buif":  # other libraries have their own dtypes
        raise TypeError(f"target must hold real numbers, not {target.dtype}")
    in_memory = isinstance(target, np.ndarray) and isinstance(image, np.ndarray)
    shared = target is image or (in_memory and np.may_share_memory(image, target))
    place = arrays.storage_location(target)
    stored = place is not None and place == arrays.storage_location(image)
    if shared or stored or _maps_the_file_of(image, target):
        raise ValueError("target and source share memory, but tiles read parts of other tiles")
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise ValueError("target is read-only: open the memory map with mode 'r+' or 'w+'")


def _maps_the_file_of(image: Any, target: Any) -> bool:
    """Return whether the target is a memory map of the file that the image is read from."""
    read = getattr(image, "filename", None) or getattr(image, "path", None)  # of a `FileArray`
    if not (isinstance(target, np.memmap) and target.filename and read):
        return False
    same = os.path.realpath(target.filename) == os.path.realpath(read)
    # Two parts of a raw file differ in their offsets.
    return same and getattr(image, "offset", target.offset) == target.offset


def denoise(
    image: da.Array,
    sigma: float | Sequence[float] | NoiseModel | None = None,
    *,
    method: str = "fast",
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    strength: float = 1.0,
    max_memory: int | str = "512MiB",
) -> da.Array:
    """Denoise a dask array lazily, tile by tile.

    Nothing is computed before ``compute``. The result is then that of `nnk_image.denoise_tiles`.

    Parameters
    ----------
    image : dask.array.Array
        (H, W), one axis more with `channel_axis`, or a volume, with any chunks.
    sigma, method, channel_axis, spacing, strength
        As for `nnk_image.denoise_tiles`.
    max_memory : int or str
        Largest memory in bytes for one dask task, which uses one thread; default 512 MiB.

    Returns
    -------
    dask.array.Array
        Of the shape and chunks of `image`: float32 for float16 and float32 images, else float64.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `nnk_image.denoise_tiles`; errors in the values are raised when they are computed.

    Warns
    -----
    UserWarning
        As `nnk_image.denoise_tiles`.

    Examples
    --------
    >>> import dask.array as da, numpy as np, nnk_image, nnk_image.tiled
    >>> image = nnk_image.standard_image("camera").astype(np.float32)
    >>> lazy = nnk_image.tiled.denoise(da.from_array(image, chunks=100), 10, method="sgw")
    >>> bool((lazy.compute() == nnk_image.denoise(image, 10, method="sgw")).all())
    True
    """
    _check_lazy(image)
    most = lazy.bytes_of(max_memory)
    job = TiledDenoising(image, sigma, method, channel_axis, spacing, strength, most)
    statistics, layout = job.statistics(), job.layout
    blocks = []
    for tile in job.tiles:
        shape = layout.with_channels([s.stop - s.start for s in tile.core], layout.channels)
        result = job.denoised(tile, job.noise, statistics)
        blocks.append(da.from_delayed(result, shape, layout.dtype))
    spatial = [axis for axis in range(image.ndim) if axis != layout.axis]
    return lazy.assembled(blocks, layout.shape, job.side, spatial).rechunk(image.chunks)


def analyze(
    image: da.Array, sigma_f: float, *, max_memory: int | str = "512MiB", **options: Any
) -> da.Array:
    """Compute spectral graph wavelet coefficients of a dask array lazily, tile by tile.

    Nothing is computed before ``compute``. The result then equals
    ``SpectralGraphWavelets(image_graph(image, ...), ...).analyze(image)`` bit for bit.

    Parameters
    ----------
    image, max_memory
        As for `denoise`.
    sigma_f : float
        Width of the kernel in intensity, in the image's own units, as for `image_graph`.
    **options
        `window`, `sigma_d`, `channel_axis` and `spacing` as for `image_graph`; all others as for
        `SpectralGraphWavelets`. `lmax` must be a number or None, and `tau` is required for the
        regularized Laplacian. Without `lmax` and `bound`, a bound is computed from all tiles first.

    Returns
    -------
    dask.array.Array
        (n_bands, H, W[, C]), one chunk per tile.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `image_graph` and `SpectralGraphWavelets`; if tiles need more than `max_memory`.

    Examples
    --------
    >>> import dask.array as da, nnk_image, nnk_image.tiled
    >>> image = da.from_array(nnk_image.standard_image("camera"), chunks=100)
    >>> nnk_image.tiled.analyze(image, 10, window=3, order=20).shape
    (7, 256, 256)
    """
    return _transformed(image, None, sigma_f, max_memory, options)


def filter(
    image: da.Array,
    response: Callable[[npt.NDArray[Any]], npt.ArrayLike],
    sigma_f: float,
    *,
    max_memory: int | str = "512MiB",
    **options: Any,
) -> da.Array:
    """Filter a dask array in the frequency domain of its graph lazily, tile by tile.

    It computes what `SpectralGraphWavelets.filter` does.

    Parameters
    ----------
    image, sigma_f, max_memory, **options
        As for `analyze`.
    response : callable
        Function that takes an array of eigenvalues of the Laplacian and returns a factor for each.

    Returns
    -------
    dask.array.Array
        (H, W), or of the axes of a volume, and last (C,) if the image has channels; one chunk per
        tile. float32 for float16 and float32 images, else float64.

    Examples
    --------
    >>> import dask.array as da, numpy as np, nnk_image, nnk_image.tiled
    >>> image = da.from_array(nnk_image.standard_image("camera"), chunks=100)
    >>> nnk_image.tiled.filter(image, lambda x: np.exp(-x), 10, window=3, order=20).shape
    (256, 256)
    """
    if not callable(response):
        raise TypeError(f"response must be a function of the eigenvalues, not {response!r}")
    return _transformed(image, response, sigma_f, max_memory, options)[0]


def _refuse_mask(image: Any) -> None:
    if np.ma.is_masked(image) or np.ma.isMaskedArray(getattr(image, "_meta", None)):
        raise ValueError(
            "masked arrays are not supported in tiles: fill them first, as by numpy.ma.filled"
        )


def _check_lazy(image: Any) -> None:
    if not isinstance(image, da.Array):
        raise TypeError(
            f"image must be a dask array, not {type(image).__name__}: use dask.array.from_array, "
            "or the functions of nnk_image for arrays in memory"
        )
    _refuse_mask(image)
    if np.isnan(image.shape).any():
        raise ValueError("the shape of image is not known yet: call image.compute_chunk_sizes()")


def _transformed(
    image: Any, response: Any, sigma_f: float, max_memory: int | str, options: dict[str, Any]
) -> da.Array:
    """Return the bands of an image, or the filtered image as a single band."""
    _check_lazy(image)
    sigma_f = check_number("sigma_f", sigma_f, "intensity width in the image's units")
    defaults = {"sigma_d": 2.0, "window": None, "spacing": None}
    graph = {"sigma_f": sigma_f} | {key: options.pop(key, value) for key, value in defaults.items()}
    layout = Layout.of(image, options.pop("channel_axis", None), graph["spacing"] is not None)
    axes = len(layout.shape)
    if isinstance(options.get("lmax"), str):
        raise ValueError(f"lmax={options['lmax']!r} must be a number or None in tiles")
    # Check the arguments by building wavelets on a single pixel.
    pixel = np.zeros((1,) * axes, layout.dtype)
    with RowExecutor() as executor:
        edges = build_graph(GraphSpec(pixel, **graph), executor)
    wavelets = SpectralGraphWavelets(edges, **options)
    kind, tau = wavelets.laplacian, options.get("tau")
    if kind == "regularized" and tau is None:
        raise ValueError(
            "laplacian='regularized' in tiles needs tau, such as the mean degree of the whole image"
        )
    n_bands = wavelets.n_bands if response is None else 1
    sides = sides_of(edges.window, axes)
    reach = Reach.of_polynomial(wavelets.order, sides, kind)
    per_pixel = _BYTES_PER_PIXEL + _BYTES_PER_BAND * n_bands
    side = largest_side(layout.shape, reach, lazy.bytes_of(max_memory), per_pixel)
    bound = options.pop("bound", None)
    if bound is None and options.get("lmax") is None:
        tiles = cut(layout.shape, side, Reach.of_polynomial(N_PRODUCTS + 1, sides))
        largest = [
            lazy.task(_largest, image, layout, t.padded, graph, kind, t.inside) for t in tiles
        ]
        bound = delayed(bound_of)(delayed(max)(largest), kind, tau, layout.dtype)
    channels = () if layout.axis is None else (layout.channels,)
    blocks = []
    for tile in cut(layout.shape, side, reach):
        given = graph, options, bound, response, tile.inside
        shape = (n_bands, *(part.stop - part.start for part in tile.core), *channels)
        bands = lazy.task(_bands, image, layout, tile.padded, *given)
        blocks.append(da.from_delayed(bands, shape, layout.dtype))
    return lazy.assembled(blocks, layout.shape, side, range(1, axes + 1))


def _largest(
    image: Image, executor: RowExecutor, graph: dict[str, Any], kind: str, inside: Slices
) -> float:
    """Return the `bound_statistic` of the core of a tile, its part without overlap."""
    edges = build_graph(GraphSpec(image, **graph), executor)
    recurrence = GridRecurrence.of_graph(edges, image.dtype, executor, keep=False)
    return bound_statistic(recurrence, kind, executor, inside)


def _bands(
    image: Image,
    executor: RowExecutor,
    graph: dict[str, Any],
    options: dict[str, Any],
    bound: float | None,
    response: Any,
    inside: Slices,
) -> npt.NDArray[Any]:
    edges = build_graph(GraphSpec(image, **graph), executor)
    wavelets = SpectralGraphWavelets(edges, bound=bound, **options)
    signal = image.pixels if image.channel_axis is not None else image.pixels[..., 0]
    if response is None:
        return wavelets.analyze(signal)[:, *inside]
    return wavelets.filter(signal, response)[None, *inside]
