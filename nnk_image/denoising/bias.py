"""Correct the bias that clipping and a camera's tone curve leave in a denoised image.

Denoising averages noisy values, and their mean is the true value only if noise was added to the
values as they are. A camera adds noise to the light and then applies a tone curve, which is
concave: the mean of the results is too dark. Values below black are clipped: the mean is too
bright. How far depends only on the standard deviation of the noisy values relative to their mean.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from nnk_image.base.image import check_image, spatial_shape
from nnk_image.noise.clipping import Extremes

GAMMA = 2.2
"""Of a tone curve: values grow as the light to the power of 1 / 2.2, much as those of sRGB do."""

_SKEWED = 1 / 3  # of the skewness that the tone curve predicts, from which its bias counts fully
_FEW_CLIPPED = 0.03  # share of clipped values that does not change the skewness much
_NEGLIGIBLE = 0.01  # bias, relative to the standard deviation of the noise
_BINS, _KNOTS = 16, 257  # of brightness: measured, and of the curve that is added
_MOST_PIXELS = 1 << 18  # that are measured


def correct_bias(
    image: npt.ArrayLike,
    denoised: npt.ArrayLike,
    *,
    channel_axis: int | None = None,
    mask: npt.ArrayLike | None = None,
) -> npt.NDArray[np.floating]:
    """Correct the brightness of a denoised image for clipping and for a camera's tone curve.

    Noisy photographs are darker than photographs without noise of the same scene, except near
    black, where noise can only add light; denoising preserves the mean. `denoise` makes this
    correction if it estimates the noise itself, except for Poisson noise. Call it for results with
    noise that you specified, and for those of other methods.

    Parameters
    ----------
    image, denoised : (H, W) array_like, one axis more with `channel_axis`, or volumes
        The noisy image and the result, of the same shape and units, of any real dtype. Values are
        those that were stored: black is 0, and values were clipped, if at all, to a range.
    channel_axis : int, optional
        Axis of the channels of a color image. Default: the image has no channels. An array of three
        axes is then a volume.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others are ignored, and those of `denoised` are returned as they
        are. Default: all are valid.

    Returns
    -------
    ndarray
        A new array of the image's shape and units: float32 if `denoised` has float16 or float32,
        else float64. The same values as `denoised` if the noise is not skewed and nothing is
        clipped.

    Raises
    ------
    TypeError, ValueError
        If an image or the mask is invalid, or if the shapes differ.

    Notes
    -----
    Variance and skewness of what was removed are measured at each brightness. Noise that a tone
    curve with gamma 2.2 has been applied to is skewed towards black. The more of the predicted
    skewness there is, the more of the predicted bias is corrected; noise without skewness is not.
    Clipping shows itself by many values at the limits; the corrected value is the mean of the
    normal distribution that, once clipped, has the observed mean and variance [1]_. Images with
    fewer than 64 different values are counts, whose zeros are not clipped. Do not use it for
    counts of light, for which `denoise` has exact unbiased inverses.

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
    checked = [check_image(a, channel_axis, mask) for a in (image, denoised)]
    spatial_shape(image, channel_axis, checked[0].shape[-1] > 4)
    if checked[0].pixels.shape != checked[1].pixels.shape:
        shapes = " and ".join(str(np.shape(a)) for a in (image, denoised))
        raise ValueError(f"image and denoised must have the same shape, not {shapes}")
    pixels = checked[1].pixels.astype(checked[1].dtype)
    remove_bias(checked[0], pixels)
    return checked[1].restore(pixels)


def remove_bias(image, pixels):
    """Correct the denoised (..., C) pixels of a checked image, in place."""
    size = max(abs(image.low), abs(image.high))
    if size == 0:
        return
    inside = ... if image.valid is None else image.valid
    noisy, found = (a[inside].reshape(-1, image.channels) for a in (image.pixels, pixels))
    step = 1 + noisy.size // _MOST_PIXELS
    noisy, found = (a[::step].astype(np.float64) / size for a in (noisy, found))
    extremes = Extremes.of(image.pixels[inside].reshape(-1, image.channels))
    limits, clipped = extremes.values / size, extremes.clipped / size
    measured = [_measured(*own) for own in zip(noisy.T, found.T, limits.T, strict=True)]
    share = _share_of_curve(measured) if image.low >= 0 else 0.0
    for channel, (means, deviations, *_) in enumerate(measured):
        low, high = clipped[:, channel]
        values = pixels[..., channel][inside] / size
        knots = np.linspace(values.min(), values.max(), _KNOTS)
        noise = np.interp(knots, means, deviations)
        change = share * _change(knots, noise, GAMMA)
        if low > -np.inf:
            change += (1 - share) * _change(knots - low, noise, 1)
        if high < np.inf:
            change -= _change(high - knots, noise, 1)
        if (abs(change) > _NEGLIGIBLE * noise).any():
            pixels[..., channel][inside] += size * np.interp(values, knots, change)


def _measured(noisy, found, limits):
    """Return what was removed from a channel, by brightness: (4, B) numbers.

    Mean of the values that were found, standard deviation and skewness of the noise, and share of
    clipped values.
    """
    span = max(np.ptp(found), 1e-12)
    levels = np.rint(65535 / span * (found - found.min())).astype(
        np.uint16
    )  # sorted 20 times faster
    order = np.argsort(levels, kind="stable")
    noise, found = (noisy - found)[order], found[order]
    clipped = ((noisy <= limits[0]) | (noisy >= limits[1]))[order]
    rows, edges = [], np.linspace(0, len(found), min(_BINS, len(found)) + 1).astype(int)
    for own in map(slice, edges[:-1], edges[1:]):
        rest = noise[own] - noise[own].mean()
        square = rest * rest
        deviation = np.sqrt(square.mean())
        skewness = (square @ rest) / len(rest) / max(deviation**3, 1e-24)
        rows.append((found[own].mean(), deviation, skewness, clipped[own].mean()))
    return np.array(rows).T


def _share_of_curve(measured):
    """Return how far the skewness of the noise is that of a tone curve, 0 to 1."""
    means, deviations, skewness, clipped = np.concatenate(measured, axis=1)
    usable = (clipped < _FEW_CLIPPED) & (means > 0) & (deviations > 1e-6)
    ratios, _, predicted = _table(GAMMA)
    expected = np.interp(deviations[usable] / means[usable], ratios, predicted)
    slope = skewness[usable] @ expected / max(expected @ expected, 1e-24)
    return float(np.clip(slope / _SKEWED, 0, 1))


def _change(values, noise, gamma):
    """Return what is to be added to mean values with such standard deviations of the noise."""
    ratios, factors, _ = _table(gamma)
    values = np.maximum(values, 0)
    ratio = noise / np.maximum(values, 1e-3 * noise + 1e-12)
    return values * (np.interp(ratio, ratios, factors) - 1)


@cache
def _table(gamma):
    """Return what normal noise in the light does to values: (3, n) numbers.

    Values are the light to the power of ``1 / gamma``, and 0 where that is negative. The rows are
    their standard deviation over their mean, which rises; the value without noise over the mean;
    and the skewness of the values.
    """
    light = np.append(np.geomspace(1e3, 1e-2, 400), 0)[:, None]
    noise = ndtri((np.arange(400) + 0.5) / 400)
    values = np.maximum(light + noise, 0) ** (1 / gamma)
    means = values.mean(axis=1, keepdims=True)
    deviations = values.std(axis=1)
    skewness = ((values - means) ** 3).mean(axis=1) / deviations**3
    clean = light ** (1 / gamma) / means
    return np.stack([deviations / means[:, 0], clean[:, 0], skewness])
