"""What a denoising method provides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nnk_image.base.reach import Reach
from nnk_image.noise.model import NoiseModel


@dataclass(frozen=True)
class Method:
    """A denoising method; docs/inside.md says what each function must do."""

    denoise: Callable[..., Any]
    """``denoise(image, noise, options, executor)`` returns the (H, W, C) pixels of an `Image`
    without its noise, which has variance 1 and is a `UnitNoise`; the `Options` hold spacing and
    guide."""
    progress_units: Callable[[tuple[int, ...], int, bool], float]
    """``progress_units(shape, channels, white)`` returns how many times all rows are processed."""
    reach: Callable[..., Reach]
    """``reach(shape, channels, spacing)`` returns the overlap of tiles and where they may begin."""
    bytes_per_pixel: Callable[[int, int, int], float]
    """``bytes_per_pixel(channels, itemsize, axes)`` returns the measured peak memory."""
    uneven: bool = True  # whether it supports noise levels that differ across the image

    def supported_noise(self, noise: NoiseModel) -> NoiseModel:
        """Return the noise, without its curve if the method assumes one level, that of `sigma`."""
        return noise if self.uneven else replace(noise, curve=None)
