"""What a denoising method provides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nnk_image.base.reach import Reach
from nnk_image.noise.model import NoiseModel


@dataclass(frozen=True)
class Method:
    """A denoising method.

    Attributes
    ----------
    denoise : callable
        ``denoise(image, noise, statistics, executor)`` returns the (H, W, C) pixels of an `Image`
        without its noise, as float32 or float64. The noise has variance 1 and is otherwise
        described by a `StandardNoise`; masked pixels are filled. It is a pure function: same input,
        same bits, for every number of threads. A part of an image, with the `Statistics` of the
        whole, is treated as in the whole.
    progress_units : callable
        ``progress_units(shape, channels, white)`` returns how many times it processes all rows of
        an image, given whether its noise is white.
    reach : callable
        ``reach(shape, channels, spacing)`` returns the `Reach`: the overlap that a tile needs,
        and where tiles may begin.
    bytes_per_pixel : callable
        ``bytes_per_pixel(channels, itemsize, axes)`` returns the measured peak memory in bytes,
        without the image itself, given the bytes of a value of the image with unit noise.
    uneven : bool
        Whether it supports noise levels that differ across the image.
    """

    denoise: Callable[..., Any]
    progress_units: Callable[[tuple[int, ...], int, bool], float]
    reach: Callable[..., Reach]
    bytes_per_pixel: Callable[[int, int, int], float]
    uneven: bool = True

    def supported_noise(self, noise: NoiseModel) -> NoiseModel:
        """Return noise without a curve if the method assumes one level, which is its `sigma`."""
        return noise if self.uneven else replace(noise, curve=None)
