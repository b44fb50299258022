"""What a denoising method provides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nnk_image.base.reach import Reach
from nnk_image.noise.model import NoiseModel


@dataclass(frozen=True)
class Method:
    """A denoising method."""

    denoise: Callable[..., Any]
    """``denoise(image, noise, plan, executor)`` returns the (H, W, C) pixels of an `Image` without
    its noise, as float32 or float64. The noise has variance 1 and is otherwise described by a
    `StandardNoise`; masked pixels are filled. The `Plan` holds the spacing of the pixels and the
    guide. The result has the same bits for every number of threads, and in a part of an image as in
    the whole."""
    progress_units: Callable[[tuple[int, ...], int, bool], float]
    """``progress_units(shape, channels, white)`` returns how many times all rows of an image are
    processed, given whether its noise is white."""
    reach: Callable[..., Reach]
    """``reach(shape, channels, spacing)`` returns the overlap of tiles and where they may begin."""
    bytes_per_pixel: Callable[[int, int, int], float]
    """``bytes_per_pixel(channels, itemsize, axes)`` returns the measured peak memory in bytes,
    without the image itself, given the bytes of a value of the image with unit noise."""
    uneven: bool = True  # whether it supports noise levels that differ across the image

    def supported_noise(self, noise: NoiseModel) -> NoiseModel:
        """Return the noise, without its curve if the method assumes one level, that of `sigma`."""
        return noise if self.uneven else replace(noise, curve=None)
