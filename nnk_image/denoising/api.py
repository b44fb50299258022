"""denoise(): one entrance for all methods.

An image goes one way: it is checked, brought to unit noise (`NoiseModel`), denoised by the method,
and brought back to its own units and axes.
"""

from dataclasses import replace

import numpy as np

from nnk_image.base import memory
from nnk_image.base.checks import check_positive
from nnk_image.base.image import MOST_AXES, check_image, spatial_shape
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import fast
from nnk_image.denoising.large import denoise_into_array
from nnk_image.denoising.methods import (
    EVEN_ONLY,
    FLOATS_PER_PIXEL,
    METHODS,
    denoise_checked,
    progress_rows,
    relative_spacing,
)
from nnk_image.denoising.statistics import WholeImage
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.noise import stripes
from nnk_image.noise.estimation import noise_of
from nnk_image.noise.model import NoiseModel

_SHARE = 0.75
"""Of the memory that is free, which tiles and result may take where the whole does not fit."""


def denoise(
    image,
    sigma=None,
    *,
    method="fast",
    channel_axis=None,
    spacing=None,
    mask=None,
    strength=1.0,
    tune=None,
    guide=None,
    n_jobs=None,
    progress=False,
):
    """Remove noise from an image.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        Of any real dtype; never modified.  All axes but `channel_axis` are of space, or time:
        (D, H, W) is a volume or a sequence, (T, D, H, W) a sequence of volumes.  Three axes of
        which the first or the last has 3 or 4 pixels need either `channel_axis` or `spacing`.
    sigma : float, sequence of one float per channel, ndarray or NoiseModel, optional
        Standard deviation of the noise, in the image's own units (25 for values from 0
        to 255, 25/255 for values from 0 to 1); of each pixel, if it is an array of the image's
        shape.  0, or less than a millionth of half the image's range, leaves a channel as it
        is.  A `NoiseModel` says more: noise that grows with the intensity, or is correlated.
        Default: what `estimate_noise` finds.
    method : {'fast', 'quick', 'balanced', 'best', 'sgw'}
        'quick', 'fast', 'balanced' and 'best' filter groups of similar patches, each on its
        own graph, with growing effort; 'fast' ends with a light smoothing on the NNK graph.
        'quick' is for large photographs, and computes in float32.
        'sgw' keeps the 3 lowest of 7 spectral graph wavelet bands on the NNK graph of
        the noisy image.
    channel_axis : int, optional
        Axis of the channels of a colour image, which are denoised jointly: in opponent
        colour with patches matched on luminance, or ('sgw') on the graph of colours.
    spacing : float or sequence of float, optional
        Distance of neighbouring pixels along each axis, such as the size of a voxel; only
        their ratios count.  Default: all equal.
    mask : bool array_like of the image's shape, optional
        True for the pixels that take part; the others are returned as they came, and
        may be NaN.
    strength : float
        What the standard deviation of the noise is multiplied by: above 1 for a smoother
        picture, below 1 for one that keeps more of its grain.
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
        The image is too large; raised before memory is taken, with the figures.  Where tiles fit
        the image is denoised in tiles, as by `denoise_tiles`; with a mask, a map, `tune` or
        `guide` it is not.

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
    run, progress_units = (
        (module.denoise_tuned, module.tuned_progress_units)
        if tune
        else (module.denoise, module.progress_units)
    )
    strength = check_positive("strength", strength, "1 is as told, more removes more")
    spatial_shape(image, channel_axis, spacing is not None)
    try:
        _require_memory(image, channel_axis, method, sigma)
    except MemoryError as error:
        if np.ndim(sigma) > 1 or any(option is not None for option in (mask, tune, guide)):
            raise
        told = {"method": method, "channel_axis": channel_axis, "spacing": spacing}
        told |= {"sigma": sigma, "strength": strength}
        try:
            most = int(_SHARE * memory.available())
            return denoise_into_array(image, most, n_jobs, progress, **told)
        except MemoryError:
            raise error from None
    given = check_image(image, channel_axis, mask, MOST_AXES)
    spacing = relative_spacing(spacing, len(given.shape))
    noise = NoiseModel.of(sigma, given, noise_of).scaled(strength)
    _require_memory(image, channel_axis, method, noise)
    noise = noise.without_curve() if method in EVEN_ONLY else noise
    if noise.is_uneven and method in EVEN_ONLY:
        raise ValueError(
            f"method={method!r} takes noise of one level: use 'fast', 'balanced' or 'best' for "
            "levels that change across the image"
        )
    if guide is not None and guide.shape != given.shape:
        raise ValueError(f"guide has shape {guide.shape}, the image {given.shape}: they must agree")
    options = {} if guide is None else {"guide": guide}
    image, noise, spacing = _without_single(given, noise.on(given), spacing)
    whole = WholeImage(noise, (image.low, image.high), spacing=spacing)
    rows = progress_rows(image, whole, method, progress_units)
    with RowExecutor(n_jobs, progress, rows, "denoise") as executor:
        if noise.has_stripes:
            image = _without_stripes(image, noise, executor)
            noise = noise.with_stripes(0.0, 0.0)
            whole = replace(whole, noise=noise, limits=(image.low, image.high))
        pixels = denoise_checked(image, whole, method, run, executor, **options)
        return given.restore(pixels.reshape(given.pixels.shape))


def _require_memory(image, channel_axis, method, noise):
    """Raise MemoryError if denoising cannot fit; `noise` as far as it is known."""
    is_model = isinstance(noise, NoiseModel)
    white = noise.is_white if is_model else getattr(noise, "ndim", 0) < 2
    with_stripes = is_model and noise.has_stripes and method in EVEN_ONLY
    holds_most = "fast" if with_stripes else method  # 'fast' tells stripes from the rest
    of_pixel, of_channel, not_white = FLOATS_PER_PIXEL[holds_most]
    of_channel += 0 if white else not_white
    memory.require_per_pixel(
        image,
        channel_axis,
        lambda itemsize, channels: (of_pixel + of_channel * channels) * itemsize,
        f"denoise(method={method!r})",
    )


def _without_stripes(image, noise, executor):
    def denoise_part(part, model):
        whole = WholeImage(model, (part.low, part.high))
        return denoise_checked(part, whole, "fast", fast.denoise, executor)

    return stripes.remove(image, noise, denoise_part)


def _without_single(image, noise, spacing):
    """An image without axes of a single pixel, but for the last two, its noise and its spacing.

    A volume of one slice is so the image that it is.
    """
    axes = len(image.shape)
    single = tuple(axis for axis in range(axes - 2) if image.shape[axis] == 1)
    if not single:
        return image, noise, spacing
    valid = None if image.valid is None else np.squeeze(image.valid, single)
    kept = None if spacing is None else [s for axis, s in enumerate(spacing) if axis not in single]
    return (
        replace(image, pixels=np.squeeze(image.pixels, single), valid=valid),
        noise.without_axes(single, axes),
        None if kept is None else relative_spacing(kept, len(kept)),
    )


def _module(method, tune, guide):
    """The module of a method, if the options go with it."""
    if method not in METHODS:
        raise ValueError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    if tune not in (None, "sure"):
        raise ValueError(f"tune={tune!r} must be 'sure' or None")
    if tune and method != "sgw":
        raise ValueError(f"tune={tune!r} is for method='sgw', not {method!r}: leave it out")
    if guide is not None and method != "sgw":
        raise ValueError(f"guide is for method='sgw', not {method!r}: leave it out")
    if guide is not None and not isinstance(guide, ImageGraph):
        raise TypeError(
            f"guide must be an ImageGraph, as from image_graph, not {type(guide).__name__}"
        )
    return METHODS[method]
