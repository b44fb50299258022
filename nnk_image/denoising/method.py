"""What a denoising method provides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nnk_image.base.reach import Reach


@dataclass(frozen=True)
class Method:
    """A denoising method.

    Attributes
    ----------
    denoise : callable
        ``denoise(image, noise, statistics, executor)`` returns the (H, W, C) pixels of an `Image`
        without its noise, which has variance 1 and is otherwise described by a `StandardNoise`.
        Masked pixels are filled. It is a pure function: same input, same bits, for every number
        of threads. A part of an image, with the `Statistics` of the whole, is treated as in the
        whole.
    progress_units : callable
        ``progress_units(shape, channels)`` returns how many times it processes all rows at most.
    reach : callable
        ``reach(shape, channels, spacing)`` returns the `Reach`: the overlap that a tile needs,
        and where tiles may begin.
    memory : (float, float, float)
        Numbers held at the peak, beside the image: per pixel, per channel of a pixel, and more
        per channel of a pixel if noise is not white (measured).
    uneven : bool
        Whether it follows levels that differ across the image.
    """

    denoise: Callable[..., Any]
    progress_units: Callable[[tuple[int, ...], int], float]
    reach: Callable[..., Reach]
    memory: tuple[float, float, float]
    uneven: bool = True

    def numbers_per_pixel(self, channels: int, white: bool) -> float:
        """Return the numbers held at the peak for each pixel, beside the image."""
        of_pixel, of_channel, not_white = self.memory
        return of_pixel + (of_channel + (0 if white else not_white)) * channels
