"""Correct the bias that clipping and a camera's tone curve leave in a denoised image.

Step 7 in docs/estimation.md explains this bias. Its size depends only on the standard deviation of
the noisy values relative to their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from nnk_image.base.image import Layout
from nnk_image.denoising.residual import checked_pair
from nnk_image.noise.clipping import Extremes

GAMMA = 2.2  # values grow as the light to the power of 1 / 2.2, much as those of sRGB do
_SKEWED = 1 / 3  # share of the predicted skewness from which all of the bias is corrected
_FEW_CLIPPED = 0.03  # largest share of clipped pixels in bins whose skewness is used
_NEGLIGIBLE = 0.01  # a channel with less bias, in standard deviations of the noise, is left alone
_BINS, _KNOTS = 32, 257  # of brightness: where skewness is measured, and knots of the correction
_MOST_PIXELS = 1 << 16  # pixels measured, evenly spread over the image
_TINY = 1e-12  # avoids divisions by 0; values are relative to the largest


def correct_bias(
    image: npt.ArrayLike,
    denoised: npt.ArrayLike,
    *,
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
) -> npt.NDArray[np.floating]:
    """Correct the brightness of a denoised image for clipping and for a camera's tone curve.

    Noisy photographs are darker than photographs of the same scene without noise, except near
    black; denoising preserves the mean. `denoise` makes this correction if it estimates the noise
    and finds neither white, Poisson nor Rician noise. Call it for results with correlated noise
    that you specified, and for those of other programs. Do not call it for results of `denoise`
    with white noise, which inverts clipping by itself, nor for counts or magnitudes.

    Parameters
    ----------
    image, denoised : (H, W) array_like, one axis more with `channel_axis`, or volumes
        The noisy image and the result, of the same shape and units, of any real dtype. Values are
        those that were stored: black is 0, and values were clipped, if at all, to a range.
    channel_axis : int, optional
        Axis of the channels of a color image. Default: the image has no channels.
    spacing : float or sequence of float, optional
        If given, an array of ambiguous shape is a volume and not a color image, as in `denoise`;
        the values do not matter.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others are ignored, and returned as in `denoised`. Default: all.

    Returns
    -------
    ndarray
        A new array of the image's shape and units: float32 if `denoised` has float16 or float32,
        else float64. It equals `denoised` if the noise is not skewed and nothing is clipped.

    Raises
    ------
    TypeError, ValueError
        If an image or the mask is invalid, or if the shapes differ.

    Notes
    -----
    Noise that a tone curve with gamma 2.2 has been applied to is skewed towards black. The closer
    what was removed comes to this skewness, the more of the curve's bias is corrected; see
    :doc:`/estimation`. The rest, and clipping at the largest value, is corrected by the mean of the
    normal distribution that, once clipped, has the observed mean and standard deviation [1]_.
    Images with fewer than 64 different values are counts, which are not clipped.

    References
    ----------
    .. [1] A. Foi, "Clipped noisy images: heteroskedastic modeling and practical denoising", Signal
       Processing 89 (2009).

    Examples
    --------
    Noise in the light, then a tone curve. The mean of each column is the denoised image.

    >>> import numpy as np, nnk_image
    >>> scene = np.linspace(80, 220, 256) * np.ones((256, 1))
    >>> light = (scene / 255) ** 2.2 + np.random.default_rng(0).normal(0, 0.05, scene.shape)
    >>> photo = np.rint(255 * np.clip(light, 0, 1) ** (1 / 2.2))
    >>> denoised = photo.mean(axis=0) * np.ones((256, 1))
    >>> corrected = nnk_image.correct_bias(photo, denoised)
    >>> bool(abs((corrected - scene).mean()) < 0.2 * abs((denoised - scene).mean()))
    True
    """
    Layout.of(image, channel_axis, spacing is not None)  # refuses what may be a color image
    noisy, clean = checked_pair(image, denoised, channel_axis, mask)
    pixels = clean.pixels.astype(clean.dtype)
    remove_bias(noisy, pixels)
    return clean.restore(pixels)


def remove_bias(image, pixels):
    """Correct the denoised (..., C) pixels of a checked image, in place."""
    inside = image.inside
    noisy, denoised = (a[inside].reshape(-1, image.channels) for a in (image.pixels, pixels))
    size = max(abs(image.low), abs(image.high), float(abs(denoised).max()))
    if size == 0:
        return
    extremes = Extremes.of(noisy)
    limits, clipped = extremes.values / size, extremes.clipped / size
    bins = min(_BINS, len(noisy))
    number = bins * (min(len(noisy), _MOST_PIXELS) // bins)
    chosen = np.linspace(0, len(noisy) - 1, number).astype(int)
    noisy, denoised = (
        np.array(a[chosen].T, np.float64, order="C") / size for a in (noisy, denoised)
    )
    order = np.argsort(denoised, axis=1, kind="stable")
    noisy, denoised = (np.take_along_axis(a, order, axis=1) for a in (noisy, denoised))
    by_bin = (image.channels, bins, -1)
    outside = (noisy <= limits[0][:, None]) | (noisy >= limits[1][:, None])
    unclipped = outside.reshape(by_bin).mean(axis=2) < _FEW_CLIPPED
    means = denoised.reshape(by_bin).mean(axis=2)
    removed = (noisy - denoised).reshape(by_bin)
    deviations = removed.std(axis=2)
    share = _share_of_curve(removed, deviations, means, unclipped) if image.low >= 0 else 0.0
    if share is None:
        return
    for channel, values in enumerate(denoised):
        knots = np.unique(values[np.linspace(0, len(values) - 1, _KNOTS).astype(int)])
        noise = np.interp(knots, means[channel], deviations[channel])
        low, high = clipped[:, channel]
        change = share * _correction(knots, noise, GAMMA)
        if low > -np.inf:
            change += (1 - share) * _correction(knots - low, noise, 1)
        if high < np.inf:
            change -= _correction(high - knots, noise, 1)
        if (abs(change) > _NEGLIGIBLE * noise).any():
            values = pixels[..., channel][inside] / size
            pixels[..., channel][inside] += size * np.interp(values, knots, change)


def _share_of_curve(removed, deviations, means, unclipped):
    """Return the share of the tone curve's bias to correct, 0 to 1, from the skewness of the noise.

    It grows with the ratio of measured to predicted skewness, less two standard errors for normal
    noise. `removed`, (C, bins, n), was removed where the denoised values have the (C, bins) means.
    None if too many pixels are clipped to measure the skewness.
    """
    usable = unclipped & (means > 0) & (deviations > 1e-6)
    if not usable.any():
        return None
    removed, deviations = removed[usable], deviations[usable]
    centered = removed - removed.mean(axis=1, keepdims=True)
    measured = (centered * centered**2).mean(axis=1) / deviations**3  # a power of 3 is slow
    ratios, _, predicted = _table(GAMMA)
    expected = np.interp(deviations / means[usable], ratios, predicted)
    square = max(expected @ expected, _TINY)
    slope, error = measured @ expected / square, np.sqrt(6 / removed.shape[1] / square)
    return float(np.clip((slope - 2 * error) / _SKEWED, 0, 1))


def _correction(means, deviations, gamma):
    """Return what to add to means of noisy values, with these deviations, to remove their bias."""
    ratios, factors, _ = _table(gamma)
    means = np.maximum(means, 0)
    ratio = deviations / np.maximum(means, 1e-3 * deviations + _TINY)
    return means * (np.interp(ratio, ratios, factors) - 1)


@cache
def _table(gamma):
    """Return (3, n) numbers: what normal noise in the light does to values behind a tone curve.

    Values are the light to the power of ``1 / gamma``, and 0 for negative light. The rows are the
    standard deviation of the values over their mean, in increasing order; the value without noise
    over the mean; and the skewness of the values.
    """
    light = np.append(np.geomspace(1e3, 1e-2, 400), 0)[:, None]
    noise = ndtri((np.arange(400) + 0.5) / 400)
    values = np.maximum(light + noise, 0) ** (1 / gamma)
    means = values.mean(axis=1, keepdims=True)
    deviations = values.std(axis=1)
    skewness = ((values - means) ** 3).mean(axis=1) / deviations**3
    clean = light ** (1 / gamma) / means
    return np.stack([deviations / means[:, 0], clean[:, 0], skewness])
