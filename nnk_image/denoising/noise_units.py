"""An image in units of its noise, and back: what a method sees has noise of variance 1.

That makes every method equivariant: adding a constant, or scaling image and noise together, does
the same to the result, in any range of values.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import distance_transform_edt

from nnk_image.base.color import opponent_matrix
from nnk_image.denoising.low_counts import denoise_counts, effective_counts, rounds_for
from nnk_image.noise.checks import root_mean_square
from nnk_image.noise.standard import WHITE, StandardNoise, regularized

LEAST_NOISE = 1e-6
"""Noise below this share of half the image's range is left alone."""

UNEVEN = 2.0
"""Channels whose white noise differs by more than this factor are denoised one by one."""


_LEAST_GAIN = 1e-6
"""Over the read noise: a channel of less is denoised as if it had so much."""


@dataclass(frozen=True)
class NoiseUnits:
    """Brings an image to unit noise, and results back to its units.

    Attributes
    ----------
    noise : NoiseModel
    image : Image
    limits : (float, float)
        Smallest and largest value of the whole image, of which `image` may be a part.
    means : tuple of float, optional
        Mean of each channel of the whole image; by default that of `image`.
    """

    noise: object
    image: object
    limits: tuple[float, float]
    means: tuple[float, ...] | None = None

    def denoise(self, method, denoise_unit):
        """The denoised (H, W, C) pixels in the image's units.

        Channels without noise and absent pixels are as they came.

        Parameters
        ----------
        method : str
        denoise_unit : function
            ``denoise_unit(image, standard, method)`` denoises an `Image` whose noise is the
            `StandardNoise`, and returns its pixels.
        """
        if self._of_channels("gain")[self._noisy()].any():
            return self._denoise_photons(method, denoise_unit)
        parts = self.standardize()
        return self.restore([denoise_unit(part, standard, method) for part, standard in parts])

    def runs(self, method):
        """What `denoise` calls `denoise_unit` for, in order: a list of (method, (H, W, C))."""
        numbers = np.flatnonzero(self._noisy())
        shape, n = self.image.shape, len(numbers)
        if self._of_channels("gain")[numbers].any():
            rounds = self._rounds(method, numbers, *self._photons(numbers))
            return [(r.method, (*(-(-side // r.side) for side in shape), n)) for r in rounds]
        if n and self._uneven(numbers):
            return [(method, (*shape, 1))] * n
        return [(method, (*shape, n))] if n else []

    def standard(self):
        """The `StandardNoise` if all channels are denoised together as they are, else None."""
        numbers = np.flatnonzero(self._noisy())
        apart = len(numbers) < self.image.channels or self._uneven(numbers)
        return None if apart or self._of_channels("gain").any() else self._standard(numbers)

    def standardize(self):
        """The noisy channels, centred and in units of their noise.

        Returns
        -------
        list of (Image, StandardNoise)
            To be denoised one by one: one image, or one per channel where the channels' noise
            is too uneven; none where there is no noise.  Absent pixels have the values of the
            nearest ones that are there.
        """
        noisy = self._noisy()
        numbers = np.flatnonzero(noisy)
        if not len(numbers):
            return []
        pixels, dtype = self.image.pixels, self.image.dtype
        units = np.empty((*self.image.shape, len(numbers)), dtype)
        for place, scale in enumerate(self._scales(numbers)):
            units[..., place] = scale.forward(pixels[..., numbers[place]])
        if self.image.valid is not None:
            units = _fill_absent(units, self.image.valid)
        if not self._uneven(numbers):
            return [(self._image_of(units), self._standard(numbers))]
        return [
            (
                self._image_of(units[..., place : place + 1]),
                self._standard(numbers[place : place + 1]),
            )
            for place in range(len(numbers))
        ]

    def restore(self, results):
        """The denoised (H, W, C) pixels in the image's units.

        `results` are the denoised pixels of what `standardize` returned.  Channels without noise
        and absent pixels are as they came.
        """
        image = self.image
        pixels = image.pixels.astype(image.dtype)
        if not results:
            return pixels
        numbers = np.flatnonzero(self._noisy())
        denoised = results[0] if len(results) == 1 else np.concatenate(results, axis=-1)
        for place, scale in enumerate(self._scales(numbers)):
            self._put(pixels, numbers[place], scale.inverse(denoised[..., place]))
        return pixels

    def _denoise_photons(self, method, denoise_unit):
        """The same for noise that grows with the intensity."""
        image, numbers = self.image, np.flatnonzero(self._noisy())
        noisy, noises = self._photons(numbers)
        rounds = self._rounds(method, numbers, noisy, noises)
        if image.valid is not None:
            noisy = _fill_absent(noisy, image.valid)
        standard = self._standard(numbers)

        def unit(pixels, name):
            if pixels.shape == noisy.shape:
                return denoise_unit(self._image_of(pixels), standard, name)
            coarse = replace(self._image_of(pixels), valid=None)
            return denoise_unit(coarse, WHITE, name)

        denoised = denoise_counts(noisy, noises, rounds, unit, image.valid)
        pixels = image.pixels.astype(image.dtype)
        for place, number in enumerate(numbers):
            self._put(pixels, number, denoised[..., place])
        return pixels

    def _photons(self, numbers):
        """The pixels of the noisy channels, and (gain, sigma, offset) of each."""
        noisy = self.image.pixels[..., numbers].astype(self.image.dtype)
        gains, sigmas, offsets = (
            self._of_channels(name)[numbers] for name in ("gain", "sigma", "offset")
        )
        gains = np.maximum(gains, _LEAST_GAIN * sigmas)
        return noisy, list(zip(gains.tolist(), sigmas.tolist(), offsets.tolist(), strict=True))

    def _rounds(self, method, numbers, noisy, noises):
        """The rounds that suit the channel of the fewest counts."""
        light = noisy if self.image.valid is None else noisy[self.image.valid]
        if self.means is not None:
            light = np.array([self.means])[:, numbers]
        counts = [effective_counts(light[..., c], *noise) for c, noise in enumerate(noises)]
        return rounds_for(method, min(counts))

    def _put(self, pixels, number, values):
        """Write one channel of the result, but for absent pixels."""
        if self.image.valid is None:
            pixels[..., number] = values
        else:
            pixels[self.image.valid, number] = values[self.image.valid]

    def _noisy(self):
        """Which channels are noisy: less noise than the rounding of the values is none."""
        half_range = self.limits[1] / 2 - self.limits[0] / 2
        least = max(LEAST_NOISE * half_range, float(np.finfo(self.image.dtype).tiny))
        sigmas, gains = (self._of_channels(name) for name in ("sigma", "gain"))
        with np.errstate(under="ignore"):
            photons = np.sqrt(gains) * np.sqrt(half_range)
        return ((sigmas > least) | (photons > least)) & (half_range > 0)

    def _of_channels(self, name):
        return self.noise.of_channels(name, self.image.channels)

    def _scales(self, numbers):
        """What brings each noisy channel to unit noise and back."""
        dtype, (low, high) = self.image.dtype, self.limits
        centre = dtype.type(low / 2 + high / 2)
        sigmas = self._of_channels("sigma")[numbers]
        if self._is_joint():  # channels keep their proportions
            sigmas = np.full(len(numbers), np.sqrt(np.mean(sigmas**2)))
        most = float(np.finfo(dtype).max) / 16
        return [_Linear(centre, dtype.type(min(s, most))) for s in sigmas]

    def _uneven(self, numbers):
        if self._is_joint():
            return False
        sigmas = self._of_channels("sigma")[numbers]
        return sigmas.max() / UNEVEN > sigmas.min()

    def _is_joint(self):
        """Whether the covariance of each channel with each is known."""
        correlation = self.noise.correlation
        return correlation is not None and correlation.ndim == 4

    def _standard(self, numbers):
        """The noise of the standardised channels of these numbers."""
        noise, variances = self.noise, None
        if noise.is_uneven:
            variances = (noise.levels / root_mean_square(noise.levels)) ** 2
        if noise.correlation is None:
            return StandardNoise(variances=variances)
        if noise.correlation.ndim < 4:
            same = np.stack([regularized(noise.correlation)] * len(numbers))
            return StandardNoise(self._in_all_axes(same), variances)
        rotation = opponent_matrix(len(numbers))
        sigmas = (
            self._of_channels("sigma")[numbers] if not any(noise.gain) else np.ones(len(numbers))
        )
        sigmas = sigmas / np.sqrt(np.mean(sigmas**2))
        mixed = rotation * sigmas
        among = noise.correlation[np.ix_(numbers, numbers)]
        own = np.einsum("kc,kd,cdyx->kyx", mixed, mixed, among)
        middle = own[:, own.shape[1] // 2, own.shape[2] // 2]
        correlations = np.stack([regularized(c / m) for c, m in zip(own, middle, strict=True)])
        return StandardNoise(self._in_all_axes(correlations), variances, np.sqrt(middle))

    def _in_all_axes(self, correlations):
        """Correlations (C, ...) by offset along all axes; there is none along those not known."""
        missing = len(self.image.shape) + 1 - correlations.ndim
        return correlations.reshape(len(correlations), *(1,) * missing, *correlations.shape[1:])

    def _image_of(self, units):
        """The image with other pixels."""
        low, high = float(units.min()), float(units.max())
        return replace(self.image, pixels=np.ascontiguousarray(units), low=low, high=high)


@dataclass(frozen=True)
class _Linear:
    """Values minus `centre`, over `scale`; both are numbers of the image's dtype."""

    centre: np.floating
    scale: np.floating

    def forward(self, values):
        units = np.subtract(values, self.centre, dtype=self.scale.dtype)
        units /= self.scale
        return units

    def inverse(self, units):
        return units * self.scale + self.centre


def _fill_absent(pixels, valid):
    """Absent pixels take the values of the nearest ones that are there."""
    nearest = distance_transform_edt(~valid, return_distances=False, return_indices=True)
    return pixels[tuple(nearest)]
