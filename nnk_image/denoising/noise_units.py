"""The noise of an image, and the image in units of it: everything a method sees has noise 1.

That makes every method equivariant: adding a constant, or scaling image and sigma together, does
the same to the result, in any range of values.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import distance_transform_edt

from nnk_image.base.checks import check_positive
from nnk_image.denoising.noise_estimation import noise_levels

LEAST_NOISE = 1e-6
"""Noise below this share of half the image's range is left alone."""

UNEVEN = 2.0
"""Channels whose noise differs by more than this factor are denoised one by one."""


@dataclass(frozen=True)
class NoiseModel:
    """What the noise of an image is; brings the image to unit noise, and results back.

    Attributes
    ----------
    sigmas : tuple of float
        Standard deviation of white Gaussian noise in each channel, in the image's own units.
    """

    sigmas: tuple[float, ...]

    @classmethod
    def of(cls, sigma, image):
        """The noise that the caller gave, or that of the image itself where `sigma` is None.

        Parameters
        ----------
        sigma : None, float or sequence of one float per channel
        image : Image

        Raises
        ------
        TypeError, ValueError
            `sigma` is no such thing; the message says what to give.
        """
        if sigma is None:
            return cls(tuple(noise_levels(image).tolist()))
        values = np.atleast_1d(sigma).tolist() if isinstance(sigma, np.ndarray) else sigma
        values = list(values) if isinstance(values, list | tuple) else [values]
        if len(values) not in (1, image.channels) or np.ndim(sigma) > 1:
            raise ValueError(
                f"sigma has {len(values)} values, the image {image.channels} channels: give one "
                "number, or one per channel"
            )
        what = "standard deviation of the noise"
        checked = [check_positive("sigma", s, what, zero_allowed=True) for s in values]
        return cls(tuple(checked * (1 if len(checked) > 1 else image.channels)))

    def standardize(self, image, limits):
        """The noisy channels of an image, centred and in units of their noise.

        Parameters
        ----------
        image : Image
        limits : (float, float)
            Smallest and largest value of the whole image.

        Returns
        -------
        list of Image
            To be denoised one by one: one image, or one per channel where the channels' noise
            is too uneven; none where there is no noise.  Absent pixels have the values of the
            nearest ones that are there.
        """
        noisy, centre, scale = self._units(image.dtype, limits)
        if not noisy.any():
            return []
        units = np.subtract(_channels(image, noisy), centre, dtype=image.dtype)
        units /= scale
        if image.valid is not None:
            units = _fill_absent(units, image.valid)
        parts = np.split(units, units.shape[2], axis=2) if self._uneven(noisy) else [units]
        return [_image_of(image, part) for part in parts]

    def restore(self, image, limits, results):
        """The denoised (H, W, C) pixels of `image`, from what became of its standardised parts.

        The arguments are those of `standardize`, and the denoised pixels of what it returned.
        Channels without noise and absent pixels are as they came.
        """
        if not results:
            return image.pixels.astype(image.dtype)
        noisy, centre, scale = self._units(image.dtype, limits)
        denoised = results[0] if len(results) == 1 else np.concatenate(results, axis=2)
        denoised *= scale
        denoised += centre
        if image.valid is not None:
            denoised[~image.valid] = _channels(image, noisy)[~image.valid]
        if noisy.all():
            return denoised
        pixels = image.pixels.astype(image.dtype)
        pixels[..., noisy] = denoised
        return pixels

    def _units(self, dtype, limits):
        """Which channels are noisy; what to subtract from them, and what to divide them by."""
        sigmas, (low, high) = np.array(self.sigmas), limits
        half_range = high / 2 - low / 2
        # Less noise than the rounding of the values is none.
        noisy = sigmas > max(LEAST_NOISE * half_range, float(np.finfo(dtype).tiny))
        if half_range == 0:
            noisy[:] = False
        centre = dtype.type(low / 2 + high / 2)
        scale = np.minimum(sigmas[noisy], float(np.finfo(dtype).max) / 16).astype(dtype)
        return noisy, centre, scale

    def _uneven(self, noisy):
        sigmas = np.array(self.sigmas)[noisy]
        return sigmas.max() / UNEVEN > sigmas.min()


def _channels(image, noisy):
    return image.pixels if noisy.all() else image.pixels[..., noisy]


def _image_of(image, units):
    """`image` with other pixels."""
    low, high = float(units.min()), float(units.max())
    return replace(image, pixels=np.ascontiguousarray(units), low=low, high=high)


def _fill_absent(pixels, valid):
    """Absent pixels take the values of the nearest ones that are there."""
    rows, columns = distance_transform_edt(~valid, return_distances=False, return_indices=True)
    return pixels[rows, columns]
