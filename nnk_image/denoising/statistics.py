"""Numbers that belong to a whole image and decide how each part of it is treated."""

from dataclasses import dataclass

import numpy as np

from nnk_image.base.image import Image

_BITS_OF_PART = 16  # 2^16 degrees below 2^10 in units of 2^-20, or 2^-52, are sums below 2^53


@dataclass(frozen=True)
class Statistics:
    """Numbers of a whole image, given to a method with the image or a part of it.

    What is None is computed from the image that the method gets. So a part of an image is treated
    as in the whole if all of them are given.

    Attributes
    ----------
    limits : (float, float)
        Smallest and largest value, in the image's own units.
    spacing : tuple of float or None
        Distance of pixels along each axis, 1 along the finest; None if all are equal.
    means, squares : tuple of float
        Mean of each channel and of its squares, in the image's own units; used for Poisson noise.
    spread : float or None
        Range of the opponent channels, in units of the noise. Stays None where channels are
        denoised one by one.
    tau, bound : float or None
        Regularization and largest possible eigenvalue of the graph Laplacian of 'sgw'.
    clipped : (2, C) ndarray or None
        Limits at which the values of each channel were clipped, see `unclip`. Only for parts.
    """

    limits: tuple[float, float]
    spacing: tuple[float, ...] | None = None
    means: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()
    spread: float | None = None
    tau: float | None = None
    bound: float | None = None
    clipped: np.ndarray | None = None

    @classmethod
    def of(cls, image: Image, spacing=None):
        """Return the statistics of a whole image."""
        values = image.pixels if image.valid is None else image.pixels[image.valid]
        moments = [moments_of(values[..., c]) for c in range(image.channels)]
        means, squares = zip(*moments, strict=True)
        return cls((image.low, image.high), spacing, means, squares)

    def spread_of(self, channels):
        """Return `spread`, or if it is None that of (C, H, W) opponent channels."""
        return float(np.ptp(channels)) if self.spread is None else self.spread


def moments_of(values):
    """Return the mean of values and that of their squares."""
    wide = values.astype(np.float64).ravel()
    with np.errstate(over="ignore", invalid="ignore"):  # sums of the largest numbers
        return float(wide.mean()), float(np.square(wide, out=wide).mean())


def sum_of_degrees(degrees):
    """Return sum, number and largest of the degrees above 0; sums of parts add up exactly.

    Parameters
    ----------
    degrees : ndarray of float32 or float64
        Below 1000.

    Returns
    -------
    total : int
        In units of 2^-52, to which each degree is rounded.
    number : int
    largest : float
    """
    total = 0
    for part in np.array_split(degrees.ravel(), max(1, degrees.size >> _BITS_OF_PART)):
        fraction, whole = np.modf(part.astype(np.float64) * 2.0**20)
        total += (int(whole.sum()) << 32) + int(np.rint(fraction * 2.0**32).sum())
    return total, int(np.count_nonzero(degrees)), float(degrees.max())


def mean_degree(sums):
    """Return the mean of the degrees above 0 from the `sum_of_degrees` of all parts."""
    total, number = (sum(part[i] for part in sums) for i in (0, 1))
    return total / (number << 52) if number else 0.0
