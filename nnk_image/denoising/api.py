"""denoise(): one entrance for all methods.

Every method sees an `Image` that is centred and in units of the noise, so that
results are equivariant: adding a constant or scaling image and sigma together does
the same to the result, in any data range.
"""

import warnings
from dataclasses import replace

import numpy as np
from skimage.restoration import estimate_sigma

from nnk_image.bands import Bands
from nnk_image.denoising import sgw
from nnk_image.image import check_image, check_positive

METHODS = {"sgw": sgw}
"""Method name -> module with ``denoise_<name>(image, bands)`` and ``stages(image)``."""


def denoise(
    image,
    sigma=None,
    *,
    method="sgw",
    channel_axis=None,
    mask=None,
    n_jobs=None,
    progress=False,
):
    """Remove white Gaussian noise from an image.

    Parameters
    ----------
    image : (H, W) array_like, or 3 axes with `channel_axis`
        Grey or colour image of any real dtype; never modified.  Channels are denoised
        jointly: pixels are compared as vectors.
    sigma : float, optional
        Standard deviation of the noise, in the image's own units (25 for values from 0
        to 255, 25/255 for values from 0 to 1).  Default: estimated from the image.
        0 returns a copy.
    method : {'sgw'}
        'sgw' keeps the 3 lowest of 7 spectral graph wavelet bands on the NNK graph of
        the noisy image.
    channel_axis : int, optional
        Axis of the channels of a colour image.
    mask : (H, W) bool array_like, optional
        True for the pixels that take part; the others are returned as they came, and
        may be NaN.
    n_jobs : int, optional
        Threads; None is 1, -1 all.  The result does not depend on it, bit for bit.
    progress : bool or callable
        True shows a progress bar (needs tqdm); a callable gets ``(done, total)``.

    Returns
    -------
    ndarray
        A new array of the image's shape and units: float32 for float16 and float32
        images, float64 for all others.  Values are not clipped to the data range.

    Raises
    ------
    TypeError, ValueError
        Bad image, sigma or option; the message names it and says what to do.

    References
    ----------
    Thesis section 3.1.3.2.  Beyond it: the Laplacian is regularised, ``(D + tau I)^-1
    (D - W)`` with tau the mean degree (T. Qin, K. Rohe, "Regularized spectral clustering
    under the degree-corrected stochastic blockmodel", 2013), and the polynomial is
    Jackson-damped.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    >>> denoised = nnk_image.denoise(noisy, 25)
    >>> bool(np.mean((denoised - clean) ** 2) < 0.25 * np.mean((noisy - clean) ** 2))
    True
    """
    if method not in METHODS:
        raise ValueError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    if sigma is not None:
        check_positive("sigma", sigma, "standard deviation of the noise", zero_allowed=True)
    image = check_image(image, channel_axis, mask)
    if sigma is None:
        sigma = estimate_noise(image)
    height, module = image.shape[0], METHODS[method]
    with Bands(n_jobs, progress, height * module.stages(image), "denoise") as bands:
        return image.restore(_denoise_scaled(image, float(sigma), module, bands))


def _denoise_scaled(image, sigma, module, bands):
    """Centre, divide by sigma, denoise, undo; absent pixels as they came."""
    pixels = image.pixels.astype(image.dtype)
    half_range = image.high / 2 - image.low / 2
    if sigma <= np.finfo(image.dtype).eps * half_range or half_range == 0:
        return pixels  # less than the values' own rounding, or nothing to smooth
    centre = image.dtype.type(image.low / 2 + image.high / 2)
    scale = image.dtype.type(sigma)
    units = (pixels - centre) / scale
    if image.valid is not None:
        units[~image.valid] = 0
    low, high = float(units.min()), float(units.max())
    in_units = replace(image, pixels=units, low=low, high=high)
    denoised = getattr(module, f"denoise_{module.__name__.rpartition('.')[2]}")(in_units, bands)
    denoised *= scale
    denoised += centre
    if image.valid is not None:
        denoised[~image.valid] = pixels[~image.valid]
    return denoised


def estimate_noise(image):
    """Standard deviation of the noise of a checked image, in its own units.

    scikit-image's estimator: the median of the finest wavelet details.
    """
    if image.low == image.high:
        return 0.0
    pixels = image.pixels.astype(image.dtype)
    if image.valid is not None:
        pixels = _fill_absent(pixels, image.valid)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        sigma = estimate_sigma(pixels, channel_axis=-1, average_sigmas=True)
    if not np.isfinite(sigma):
        height, width = image.shape
        raise ValueError(f"the noise of a {height}x{width} image cannot be estimated; pass sigma=")
    return float(sigma)


def _fill_absent(pixels, valid):
    """Nearest valid values: flat areas, whose zero details the estimator leaves out."""
    from scipy.ndimage import distance_transform_edt

    rows, columns = distance_transform_edt(~valid, return_distances=False, return_indices=True)
    return pixels[rows, columns]
