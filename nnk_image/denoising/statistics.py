"""Statistics of a whole image, which every tile of it needs to be denoised like the whole."""

from dataclasses import dataclass

import numpy as np

from nnk_image.base.channels import channel_keys
from nnk_image.base.image import Image
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.noise.model import NoiseModel

_FAR = 5.0  # distance below the offset, in units of the noise there, see `_moments`


@dataclass(frozen=True)
class Statistics:
    """Statistics and options of a whole image, given to a method with the image or a part of it.

    Attributes
    ----------
    limits : (float, float)
        Smallest and largest value, in the image's own units.
    spacing : tuple of float or None
        Distance of pixels along each axis, 1 along the finest; None if all are equal.
    guide : ImageGraph or None
        Graph for 'sgw', by default that of the image.
    means, squares : tuple of float
        Mean of each channel and of its squares, in the image's own units; used for Poisson noise.
    keys : tuple of (bool, float)
        One per channel, which say what channels are constant or equal, see `channel_keys`.
    clipped : (2, C) ndarray or None
        Limits at which the values of each channel were clipped, see `unclip`; only for tiles.
    """

    limits: tuple[float, float]
    spacing: tuple[float, ...] | None = None
    guide: ImageGraph | None = None
    means: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()
    keys: tuple[tuple[bool, float], ...] = ()
    clipped: np.ndarray | None = None

    @classmethod
    def of(cls, image: Image, noise: NoiseModel, spacing=None, guide=None):
        """Return the statistics of a whole image; `noise` has one value per channel."""
        values = image.pixels if image.valid is None else image.pixels[image.valid]
        of_channels = zip(noise.gain, noise.sigma, noise.offset, strict=True)
        moments = [_moments(values[..., c], *own) for c, own in enumerate(of_channels)]
        means, squares = zip(*moments, strict=True)
        keys = tuple(channel_keys(values))
        return cls((image.low, image.high), spacing, guide, means, squares, keys)


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
