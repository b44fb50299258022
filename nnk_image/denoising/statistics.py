"""Statistics of a whole image, which every tile of it needs to be denoised like the whole."""

from dataclasses import dataclass

import numpy as np

from nnk_image.base.channels import channel_keys
from nnk_image.base.image import Image
from nnk_image.noise.clipping import Extremes
from nnk_image.noise.model import NoiseModel

_FAR = 5.0  # distance below the offset, in units of the noise there, see `_moments`


@dataclass(frozen=True)
class Statistics:
    """Statistics of a whole image, in its own units, given with each part of it."""

    extremes: Extremes
    means: tuple[float, ...]  # of the channels; like `squares` used for Poisson noise
    squares: tuple[float, ...]  # means of the squares of the channels
    keys: tuple[tuple[bool, float], ...]  # which channels are constant or equal: `channel_keys`

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return float(self.extremes.values[0].min()), float(self.extremes.values[1].max())

    @classmethod
    def of(cls, image: Image, noise: NoiseModel):
        """Return the statistics of a whole image; `noise` has one value per channel."""
        values = image.pixels[image.inside]
        of_channels = zip(noise.gain, noise.sigma, noise.offset, strict=True)
        moments = [_moments(values[..., c], *own) for c, own in enumerate(of_channels)]
        means, squares = zip(*moments, strict=True)
        return cls(Extremes.of(values), means, squares, tuple(channel_keys(values)))


def _moments(values, gain, read, offset):
    """Return the mean of values and that of their squares.

    With Poisson noise, values so far below the offset that noise cannot explain them, such as those
    around a scan, are replaced by the offset: they have no light.
    """
    wide = values.astype(np.float64).ravel()
    if gain > 0:
        wide[wide < offset - _FAR * (gain + read)] = offset
    with np.errstate(over="ignore", invalid="ignore"):  # of sums of very large values
        return float(wide.mean()), float(np.square(wide, out=wide).mean())
