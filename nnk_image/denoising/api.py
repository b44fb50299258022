"""denoise(): one entrance for all methods.

Every method sees an `Image` that is centred and in units of the noise, so that
results are equivariant: adding a constant or scaling image and sigma together does
the same to the result, in any data range.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.ndimage import distance_transform_edt

from nnk_image.base import memory
from nnk_image.base.checks import check_positive
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import balanced, best, fast, wavelet_lowpass
from nnk_image.denoising.noise_estimation import noise_levels
from nnk_image.graph.pixel_graph import ImageGraph

LEAST_NOISE = 1e-6
"""Noise below this share of half the image's range is left alone."""

UNEVEN = 2.0
"""Channels whose noise differs by more than this factor are denoised one by one."""

FLOATS_PER_PIXEL = 9
"""What every method holds at the least at its peak, per channel (measured)."""

METHODS = {"sgw": wavelet_lowpass, "fast": fast, "balanced": balanced, "best": best}
"""Method name -> module with ``denoise(image, executor)`` and ``stages(image)``."""


def denoise(
    image,
    sigma=None,
    *,
    method="fast",
    channel_axis=None,
    mask=None,
    tune=None,
    guide=None,
    n_jobs=None,
    progress=False,
):
    """Remove white Gaussian noise from an image.

    Parameters
    ----------
    image : (H, W) array_like, or 3 axes with `channel_axis`
        Grey or colour image of any real dtype; never modified.
    sigma : float or sequence of one float per channel, optional
        Standard deviation of the noise, in the image's own units (25 for values from 0
        to 255, 25/255 for values from 0 to 1).  Default: estimated from the image, per
        channel.  0, or less than a millionth of half the image's range, leaves a channel
        as it is.
    method : {'fast', 'balanced', 'best', 'sgw'}
        'fast', 'balanced' and 'best' filter groups of similar patches, each on its own
        graph, with growing effort; 'fast' ends with a light smoothing on the NNK graph.
        'sgw' keeps the 3 lowest of 7 spectral graph wavelet bands on the NNK graph of
        the noisy image.
    channel_axis : int, optional
        Axis of the channels of a colour image, which are denoised jointly: in opponent
        colour with patches matched on luminance, or ('sgw') on the graph of colours.
    mask : (H, W) bool array_like, optional
        True for the pixels that take part; the others are returned as they came, and
        may be NaN.
    tune : {'sure'}, optional
        For 'sgw': choose graph width and cut-off by Stein's unbiased risk estimate, at
        some eight times the cost.
    guide : ImageGraph, optional
        For 'sgw': the graph to filter on, made from another image of the same scene (less
        noisy, in colour, of another sensor).  Default: the graph of `image`.
    n_jobs : int, optional
        Threads at most, fewer for small images; None is 1, -1 all.  The result does not
        depend on it, bit for bit.
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
    MemoryError
        The image is too large; raised before memory is taken, with the figures.

    References
    ----------
    'sgw': thesis section 3.1.3.2.  Beyond it: the Laplacian is regularised, ``(D + tau
    I)^-1 (D - W)`` with tau the mean degree (T. Qin, K. Rohe, "Regularized spectral
    clustering under the degree-corrected stochastic blockmodel", 2013), and the polynomial
    is Jackson-damped.  The others: S. Herbreteau, C. Kervrann, "Unsupervised linear and
    iterative combinations of patches for image denoising", arXiv 2212.00422.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    >>> denoised = nnk_image.denoise(noisy, 25)
    >>> bool(np.mean((denoised - clean) ** 2) < 0.1 * np.mean((noisy - clean) ** 2))
    True
    """
    module = _module(method, tune, guide)
    memory.require_per_pixel(
        image,
        channel_axis,
        lambda itemsize, channels: FLOATS_PER_PIXEL * itemsize * channels,
        f"denoise(method={method!r})",
    )
    image = check_image(image, channel_axis, mask)
    sigmas = _sigmas(sigma, image)
    height = image.shape[0]
    run = module.denoise_tuned if tune else module.denoise
    if guide is not None:
        run = partial(run, guide=_check_guide(guide, image))
    with RowExecutor(n_jobs, progress, height * module.stages(image), "denoise") as executor:
        return image.restore(_denoise_scaled(image, sigmas, run, executor))


def _check_guide(guide, image):
    if not isinstance(guide, ImageGraph):
        raise TypeError(
            f"guide must be an ImageGraph, as from image_graph, not {type(guide).__name__}"
        )
    if guide.shape != image.shape:
        raise ValueError(f"guide has shape {guide.shape}, the image {image.shape}: they must agree")
    return guide


def _module(method, tune, guide):
    if method not in METHODS:
        raise ValueError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    if tune not in (None, "sure"):
        raise ValueError(f"tune={tune!r} must be 'sure' or None")
    if tune and method != "sgw":
        raise ValueError(f"tune={tune!r} is for method='sgw', not {method!r}: leave it out")
    if guide is not None and method != "sgw":
        raise ValueError(f"guide is for method='sgw', not {method!r}: leave it out")
    return METHODS[method]


def _sigmas(sigma, image):
    """Noise level per channel: given or estimated."""
    if sigma is None:
        return noise_levels(image)
    values = np.atleast_1d(sigma).tolist() if isinstance(sigma, np.ndarray) else sigma
    values = list(values) if isinstance(values, list | tuple) else [values]
    if len(values) not in (1, image.channels) or np.ndim(sigma) > 1:
        raise ValueError(
            f"sigma has {len(values)} values, the image {image.channels} channels: give one "
            "number, or one per channel"
        )
    what = "standard deviation of the noise"
    checked = [check_positive("sigma", s, what, zero_allowed=True) for s in values]
    return np.array(checked * (1 if len(checked) > 1 else image.channels))


def _denoise_scaled(image, sigmas, run, executor):
    """Centre, divide by sigma, denoise, undo; absent pixels and clean channels as they came."""
    half_range = image.high / 2 - image.low / 2
    # Less noise than the values' own rounding is none.
    limits = np.finfo(image.dtype)
    noisy = sigmas > max(LEAST_NOISE * half_range, float(limits.tiny))
    if half_range == 0 or not noisy.any():
        return image.pixels.astype(image.dtype)
    centre = image.dtype.type(image.low / 2 + image.high / 2)
    scale = np.minimum(sigmas[noisy], float(limits.max) / 16).astype(image.dtype)
    chosen = image.pixels if noisy.all() else image.pixels[..., noisy]
    units = np.subtract(chosen, centre, dtype=image.dtype)
    units /= scale
    if image.valid is not None:
        units = _fill_absent(units, image.valid)
    uneven = sigmas[noisy].max() / UNEVEN > sigmas[noisy].min()
    parts = np.split(units, units.shape[2], axis=2) if uneven else [units]
    results = [run(_image_of(image, part), executor) for part in parts]
    denoised = np.concatenate(results, axis=2) if uneven else results[0]
    denoised *= scale
    denoised += centre
    if image.valid is not None:
        denoised[~image.valid] = chosen[~image.valid]
    if noisy.all():
        return denoised
    pixels = image.pixels.astype(image.dtype)
    pixels[..., noisy] = denoised
    return pixels


def _image_of(image, units):
    """`image` with other pixels."""
    low, high = float(units.min()), float(units.max())
    return replace(image, pixels=np.ascontiguousarray(units), low=low, high=high)


def _fill_absent(pixels, valid):
    """Absent pixels take the values of the nearest valid one."""
    rows, columns = distance_transform_edt(~valid, return_distances=False, return_indices=True)
    return pixels[rows, columns]
