"""Dask arrays in, Dask arrays out: images of any size, on one machine or many.

Nothing is computed before ``.compute()``: the noise, the numbers of the whole image and its tiles
are tasks of one graph.  The chunks of the input do not matter; each task reads the pixels that its
tile needs.  This module needs dask: ``pip install "nnk_image[dask]"``.
"""

import copy
from functools import reduce
from operator import add

from dask import array as da
from dask import delayed

from nnk_image.base.image import MOST_AXES, check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import tiles
from nnk_image.denoising.large import TiledDenoising
from nnk_image.wavelets import TiledWavelets

__all__ = ["analyze", "denoise", "filter", "graph_rows"]


def denoise(
    image,
    sigma=None,
    *,
    method="fast",
    channel_axis=None,
    spacing=None,
    strength=1.0,
    max_memory="512MiB",
):
    """Denoise a Dask array, lazily.

    The result is that of `nnk_image.denoise_tiles`: for a sigma that is told that of
    `nnk_image.denoise` on the whole image, bit for bit.

    Parameters
    ----------
    image : dask.array.Array
        (H, W), one axis more with `channel_axis`, or a volume, with any chunks.
    sigma, method, channel_axis, spacing, strength
        As for `nnk_image.denoise_tiles`.
    max_memory : int or str
        Bytes that one task may take.  Larger tiles are faster, for tiles overlap.  Each task works
        on one thread.

    Returns
    -------
    dask.array.Array
        Of the shape and chunks of `image`: float32 for float16 and float32 images, else float64.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `nnk_image.denoise_tiles`.  What is wrong with values is told when they are computed.

    Examples
    --------
    >>> import dask.array as da, numpy as np, nnk_image, nnk_image.dask
    >>> image = nnk_image.standard_image("camera").astype(np.float32)
    >>> lazy = nnk_image.dask.denoise(da.from_array(image, chunks=100), 10, method="sgw")
    >>> bool((lazy.compute() == nnk_image.denoise(image, 10, method="sgw")).all())
    True
    """
    _check_lazy(image)
    work = TiledDenoising(image, method, channel_axis, spacing, sigma, strength, max_memory)
    noise, whole = _whole(image, work)
    parts = {
        tuple(part.start for part in tile.core): _denoised(image, work, tile, noise, whole)
        for tile in work.plan
    }
    after_channels = len(work.shape) if work.axis is None else work.axis
    whole = _assembled(parts, work.plan, lambda axis: axis + (axis >= after_channels))
    return whole.rechunk(image.chunks)


def analyze(image, sigma_f, **options):
    """Coefficients of graph wavelets of a Dask array, lazily.

    The result is that of `SpectralGraphWavelets` on the graph of the whole image, bit for bit.

    Parameters
    ----------
    image : dask.array.Array
        (H, W), one axis more with `channel_axis`, or a volume, with any chunks.
    sigma_f : float
        Intensity width of the kernel, in the image's units.
    **options
        As for `nnk_image.wavelets.TiledWavelets`; `max_memory` is that of one task, on one thread.

    Returns
    -------
    dask.array.Array
        (n_bands, H, W[, C]), in chunks of tiles.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `TiledWavelets`.

    Examples
    --------
    >>> import dask.array as da, nnk_image, nnk_image.dask
    >>> image = nnk_image.standard_image("camera")
    >>> bands = nnk_image.dask.analyze(da.from_array(image, chunks=100), 10, window=3, order=20)
    >>> bands.shape
    (7, 256, 256)
    """
    tiled = _tiled(image, sigma_f, options)
    bound = _bound(image, tiled)
    n_bands = tiled.n_bands
    parts = {
        tuple(part.start for part in tile.core): da.from_delayed(
            delayed(_bands)(image[tiled.slices(tile.padded)], tiled, bound, tile),
            (n_bands, *_shape_of(tile, tiled)),
            tiled.dtype,
        )
        for tile in tiled.plan
    }
    return _assembled(parts, tiled.plan, lambda axis: axis + 1)


def filter(image, response, sigma_f, **options):
    """One function of the Laplacian on a Dask array, lazily.

    Parameters
    ----------
    image, sigma_f, **options
        As for `analyze`.
    response : callable
        As for `SpectralGraphWavelets.filter`; it must be possible to pickle it, if workers are
        processes.

    Returns
    -------
    dask.array.Array
        (H, W[, C]), in chunks of tiles.

    Examples
    --------
    >>> import dask.array as da, numpy as np, nnk_image, nnk_image.dask
    >>> image = da.from_array(nnk_image.standard_image("camera"), chunks=100)
    >>> nnk_image.dask.filter(image, lambda x: np.exp(-x), 10, window=3, order=20).shape
    (256, 256)
    """
    tiled = _tiled(image, sigma_f, options)
    bound = _bound(image, tiled)
    parts = {
        tuple(part.start for part in tile.core): da.from_delayed(
            delayed(_filtered)(image[tiled.slices(tile.padded)], tiled, bound, tile, response),
            _shape_of(tile, tiled),
            tiled.dtype,
        )
        for tile in tiled.plan
    }
    return _assembled(parts, tiled.plan, lambda axis: axis)


def graph_rows(image, sigma_f, **options):
    """Rows of the adjacency of a Dask array's NNK graph, lazily.

    Parameters
    ----------
    image, sigma_f, **options
        As for `analyze`.

    Returns
    -------
    list of dask.delayed.Delayed
        One per tile: what `TiledWavelets.rows` returns.
    """
    tiled = _tiled(image, sigma_f, options)
    return [delayed(_rows)(image[tiled.slices(tile.padded)], tiled, tile) for tile in tiled.plan]


def _check_lazy(image):
    if not isinstance(image, da.Array):
        raise TypeError(
            f"image must be a dask array, not {type(image).__name__}: use dask.array.from_array, "
            "or the function of nnk_image"
        )


def _tiled(image, sigma_f, options):
    """`TiledWavelets` that know the image by its shape only; tasks give them its parts."""
    _check_lazy(image)
    options = {"max_memory": "512MiB", **options}
    return TiledWavelets(_Part(image.shape, image.dtype), sigma_f, **options)


def _bound(image, tiled):
    largest = [
        delayed(_largest)(image[tiled.slices(tile.padded)], tiled, tile)
        for tile in tiled.tiles_of_bound
    ]
    return delayed(tiled.bound_of)(largest)


def _shape_of(tile, tiled):
    """Of the results of a tile, channels last."""
    shape = tuple(part.stop - part.start for part in tile.core)
    return shape if tiled.axis is None else (*shape, tiled.image.shape[tiled.axis])


def _whole(image, work):
    """Return the `NoiseModel` and the `Statistics`, as tasks."""
    noise = work.told_noise
    if noise is None:
        sample = tiles.sample(lambda part: image[work.slices(part)], work.shape, work.axis)
        noise = delayed(tiles.noise_of_sample)(sample, work.method)
    cores = (image[work.slices(tile.core)] for tile in work.plan)
    noise = delayed(_scaled)(noise, work.strength)
    measured = [delayed(_measured)(pixels, work.axis, noise) for pixels in cores]
    image_like = work.shape, work.channels, work.dtype
    whole = delayed(_added_up)(measured, image_like, noise, work.spacing)
    if work.method != "sgw":
        return noise, whole
    sums = [
        delayed(_degrees)(image[work.slices(tile.padded)], work.axis, noise, whole, tile.inside)
        for tile in work.plan_of_degrees()
    ]
    return noise, delayed(tiles.with_degrees)(whole, sums, work.dtype)


def _denoised(image, work, tile, noise, whole):
    """The denoised core of a tile, as an array of one chunk."""
    pixels = image[work.slices(tile.padded)]
    task = delayed(_denoise)(pixels, work.axis, noise, whole, work.method, tile.inside)
    shape = [part.stop - part.start for part in tile.core]
    if work.axis is not None:
        shape.insert(work.axis, work.channels)
    return da.from_delayed(task, shape, work.dtype)


def _assembled(parts, plan, axis_of):
    """One array of parts, told by where they begin; `axis_of` tells which axis is one of space."""

    def joined(start):
        axis = len(start)
        if axis == len(plan.shape):
            return parts[start]
        starts = range(0, plan.shape[axis], plan.side[axis])
        return da.concatenate([joined((*start, at)) for at in starts], axis_of(axis))

    return joined(())


# --- tasks: functions of arrays and plain values, which workers get by name ------------------


def _scaled(noise, strength):
    return noise.scaled(strength)


def _measured(pixels, axis, noise):
    return tiles.measure(check_image(pixels, axis, None, MOST_AXES), noise)


def _added_up(measured, image_like, noise, spacing):
    image = tiles.empty_image(*image_like)  # made here: pickled, it would hold all its zeros
    return tiles.whole_statistics(reduce(add, measured), image, noise, spacing)


def _degrees(pixels, axis, noise, whole, inside):
    with RowExecutor() as executor:
        image = check_image(pixels, axis, None, MOST_AXES)
        return tiles.degrees_of_part(image, noise, whole, inside, executor)


def _denoise(pixels, axis, noise, whole, method, inside):
    with RowExecutor() as executor:
        image = check_image(pixels, axis, None, MOST_AXES)
        return image.restore(tiles.denoise_tile(image, noise, whole, method, inside, executor))


class _Part:
    """A part of an image that knows the shape of the whole."""

    def __init__(self, shape, dtype, pixels=None):
        self.shape, self.dtype, self._pixels = shape, dtype, pixels

    def __getitem__(self, slices):
        return self._pixels


def _on(pixels, tiled):
    """`tiled` with the pixels of one of its tiles."""
    tiled = copy.copy(tiled)
    tiled.image = _Part(tiled.image.shape, tiled.image.dtype, pixels)
    return tiled


def _largest(pixels, tiled, tile):
    return _on(pixels, tiled).largest_in(tile)


def _bands(pixels, tiled, bound, tile):
    tiled = _on(pixels, tiled)
    tiled.bound = bound
    return tiled.analyze(tile)


def _filtered(pixels, tiled, bound, tile, response):
    tiled = _on(pixels, tiled)
    tiled.bound = bound
    return tiled.filter(tile, response)


def _rows(pixels, tiled, tile):
    return _on(pixels, tiled).rows(tile)
