"""`denoise_tiles`: images that are larger than memory."""

from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

import nnk_image
from nnk_image.base import memory
from nnk_image.base.checks import check_positive, working_dtype
from nnk_image.base.image import MOST_AXES, relative_spacing, spatial_shape
from nnk_image.base.parallel import RowExecutor
from nnk_image.base.tile_plan import plan_tiles
from nnk_image.denoising import tiles
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import plan
from nnk_image.denoising.statistics import Statistics
from nnk_image.io.arrays import open_source, open_target
from nnk_image.noise.model import NoiseModel, given_noise

_BESIDE = 2
"""Numbers of the image's type for each value of a tile that is held beside the method."""


def denoise_tiles(
    source,
    target,
    sigma=None,
    *,
    method="fast",
    channel_axis=None,
    spacing=None,
    strength=1.0,
    max_memory="1GiB",
    n_jobs=None,
    progress=False,
    resume=True,
):
    """Denoise an image that is larger than memory, tile by tile.

    With a sigma that is told, or white noise, the result is that of `denoise` on the whole image
    bit for bit, whatever the tiles; for `method='best'`, and for noise that grows with the
    brightness or is correlated between channels, it differs by less than .01 dB.

    Parameters
    ----------
    source : path or array_like
        A file (.npy, .zarr, or TIFF, the first level of a pyramid), or anything with `shape`,
        `dtype` and slices: a memory map, a zarr or HDF5 array.
    target : path or array_like
        A file (.npy, .zarr, .tif) that is made, or anything of the shape of `source` that takes
        values in slices.  Integers are rounded, and clipped to their range.
    sigma : float, sequence of one float per channel, or NoiseModel, optional
        As for `denoise`, but no map.  Default: what `estimate_noise` finds in 16 squares of
        512 x 512 pixels all over the image.
    method, channel_axis, spacing, strength
        As for `denoise`.
    max_memory : int or str
        Bytes that the tiles may take, such as 2**30 or '4GiB'.  Of more the work is hardly faster.
    n_jobs, progress
        As for `denoise`.
    resume : bool
        Go on where a call with the same arguments was interrupted: a file that is not finished
        stands beside `target`.  False begins anew.

    Returns
    -------
    NoiseModel
        The noise that was removed, before `strength`.

    Raises
    ------
    TypeError, ValueError
        As `denoise`; a file that cannot be read or written; an interrupted call had other
        arguments.
    MemoryError
        `max_memory` is too little for the smallest tiles.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(np.float32)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 20, clean.shape).astype(np.float32)
    >>> result = np.empty_like(noisy)
    >>> model = nnk_image.denoise_tiles(noisy, result, 20, method="sgw", max_memory="3MiB")
    >>> bool((result == nnk_image.denoise(noisy, 20, method="sgw")).all())
    True
    """
    with ExitStack() as last, open_source(source) as image:
        work = TiledDenoising(image, method, channel_axis, spacing, sigma, strength, max_memory)
        told = {**work.arguments, "source": image.fingerprint, "noise": _text_of(sigma)}
        result = last.enter_context(  # closed after the source, whose file it may replace
            open_target(
                target,
                image,
                image.stored if image.stored.kind in "bui" else work.dtype,
                work.plan.side,
                channel_axis,
                told,
                resume,
            )
        )
        work.run(result, n_jobs, progress)
    return work.noise


class TiledDenoising:
    """One image to be denoised in tiles: its plan, and the numbers of the whole.

    Parameters
    ----------
    image : array_like
        With `shape`, `dtype` and slices.
    method, channel_axis, spacing, sigma, strength, max_memory
        As for `denoise_tiles`.

    Attributes
    ----------
    shape : tuple of int
        Of the image, without channels.
    axis : int or None
        Of the channels, not negative.
    empty : Image
        Of the shape, channels and type of the image, without pixels.
    told_noise : NoiseModel or None
        None if the noise is to be found.
    plan : TilePlan
    dtype : numpy.dtype
        Of the results.
    noise : NoiseModel
        Before `strength`; known after `prepare`.
    arguments : dict
        What decides the result, as plain values.
    """

    def __init__(self, image, method, channel_axis, spacing, sigma, strength, max_memory):
        if method not in METHODS:
            raise ValueError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
        self._image, self.method, self.noise = image, method, None
        self.shape = spatial_shape(image, channel_axis, spacing is not None)
        self.axis = None if channel_axis is None else channel_axis % len(image.shape)
        if 1 in self.shape[:-2]:
            raise ValueError(
                f"the image has shape {self.shape}: leave out axes of one pixel before the last "
                "two, such as image[0]"
            )
        self.channels = 1 if channel_axis is None else image.shape[self.axis]
        self.spacing = relative_spacing(spacing, len(self.shape))
        self.strength = check_positive("strength", strength, "1 is as told, more removes more")
        self.dtype = working_dtype(np.dtype(image.dtype))
        self.empty = tiles.empty_image(self.shape, self.channels, self.dtype)
        self.told_noise = None if sigma is None else _checked_noise(sigma, self.empty, method)
        reach = METHODS[method].reach(self.shape, self.channels, self.spacing)
        self.plan = plan_tiles(self.shape, reach, self._most_pixels(max_memory))
        self.arguments = {
            "version": nnk_image.__version__,
            "method": method,
            "strength": self.strength,
            "spacing": self.spacing,
            "channel_axis": self.axis,
            "shape": list(image.shape),
            "read as": str(image.dtype),
            "side": list(self.plan.side),
        }

    def run(self, result, n_jobs=None, progress=False):
        """Denoise all tiles that `result` does not have yet."""
        with RowExecutor(n_jobs) as executor:
            whole = self.prepare(executor)
        left = [tile for tile in self.plan if tile.number not in result.finished]
        with RowExecutor(n_jobs, progress, sum(map(self._rows, left)), "denoise") as executor:
            for tile in left:
                pixels = self.denoise(tile, whole, executor)
                result.write(tile.number, self.slices(tile.core), pixels)

    def prepare(self, executor):
        """Find the noise, if it is not told, and the numbers of the whole image."""
        self.noise = self.find_noise()
        noise = self.noise.scaled(self.strength)
        measured = reduce(add, (tiles.measure(self.part(tile.core), noise) for tile in self.plan))
        whole = tiles.whole_statistics(measured, self.empty, noise, self.spacing)
        if self.method == "sgw":
            plan = self.plan_of_degrees()
            sums = [self.degrees(tile, whole, executor) for tile in plan]
            whole = tiles.with_degrees(whole, sums, self.dtype)
        return whole

    def find_noise(self):
        """The `NoiseModel` that is told, or found in a sample."""
        if self.told_noise is not None:
            return self.told_noise
        return tiles.noise_of_sample(tiles.sample(self.read, self.shape, self.axis), self.method)

    def plan_of_degrees(self):
        """The tiles in which the degrees of the pixels are found, for 'sgw'."""
        reach = tiles.reach_of_degrees(len(self.shape))
        return plan_tiles(self.shape, reach, self.plan.padded_pixels)

    def degrees(self, tile, whole, executor):
        """`degrees_of_part` of a tile of that plan."""
        noise = self.noise.scaled(self.strength)
        return tiles.degrees_of_part(self.part(tile.padded), noise, whole, tile.inside, executor)

    def denoise(self, tile, whole, executor):
        """The denoised core of a tile, with its channels where the image has them."""
        image = self.part(tile.padded)
        noise = self.noise.scaled(self.strength)
        pixels = tiles.denoise_tile(image, noise, whole, self.method, tile.inside, executor)
        return image.restore(pixels)

    def part(self, slices):
        """The `Image` of a part."""
        return tiles.checked_part(self.read, slices, self.axis, MOST_AXES)

    def read(self, slices):
        """The pixels of a part."""
        return np.asarray(self._image[self.slices(slices)])

    def slices(self, slices):
        """Slices of all axes, from those without the axis of channels."""
        if self.axis is None:
            return slices
        return (*slices[: self.axis], slice(None), *slices[self.axis :])

    def _rows(self, tile):
        shape = tuple(part.stop - part.start for part in tile.padded)
        noise = self.noise.for_channels(self.channels)
        whole = Statistics((0.0, 1.0), means=(1.0,) * self.channels)
        return plan(noise, self.dtype, self.method, whole).rows(shape)

    def _most_pixels(self, max_memory):
        numbers = METHODS[self.method].numbers_per_pixel(self.channels, white=False)
        numbers += _BESIDE * self.channels
        return int(memory.bytes_of_text(max_memory) // (numbers * self.dtype.itemsize))


def _checked_noise(sigma, image, method):
    """The `NoiseModel` that is told of an image, if it can be removed in tiles."""
    if np.ndim(sigma) > 1 or getattr(sigma, "levels", None) is not None:
        raise ValueError("denoise_tiles takes no map of the noise: give a number or a curve")
    noise = given_noise(sigma, image)
    if noise.has_row_or_column_noise:
        raise ValueError(
            f"row and column noise (rows={noise.rows:g}, columns={noise.columns:g}) cannot be "
            "removed in tiles: remove it before, or leave it out of the noise model"
        )
    return noise if METHODS[method].uneven else replace(noise, curve=None)


def _text_of(sigma):
    """What the noise is told to be, as a text."""
    return sigma.to_json() if isinstance(sigma, NoiseModel) else repr(sigma)
