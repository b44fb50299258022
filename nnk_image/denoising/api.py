"""denoise(): one entrance for all methods.

An image goes one way: it is checked, brought to unit noise (`NoiseModel`), denoised by the method,
and brought back to its own units and axes.
"""

from dataclasses import replace

from nnk_image.base import memory
from nnk_image.base.checks import check_positive
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.denoising import balanced, best, fast, quick, stripes, wavelet_lowpass
from nnk_image.denoising.noise_estimation import noise_of
from nnk_image.denoising.noise_model import NoiseModel
from nnk_image.denoising.noise_units import NoiseUnits
from nnk_image.denoising.statistics import WholeImage
from nnk_image.graph.pixel_graph import ImageGraph

FLOATS_PER_PIXEL = {"sgw": 9, "quick": 4, "fast": 9, "balanced": 9, "best": 9}
"""What a method holds at the least at its peak, per channel, in the image's type (measured)."""

METHODS = {
    "sgw": wavelet_lowpass,
    "quick": quick,
    "fast": fast,
    "balanced": balanced,
    "best": best,
}
"""Name of a method -> its module, which has

- ``denoise(image, whole, executor)``, which gets an `Image` whose noise has standard deviation 1,
  the numbers of the `WholeImage` and a `RowExecutor`, and returns (H, W, C) pixels;
- ``progress_units(image)``, which says how many times that goes over all rows.

A new method is a file with these two functions, and a line here.
"""


EVEN_ONLY = ("quick", "sgw")
"""Methods that know one level of noise for the whole image."""


def denoise(
    image,
    sigma=None,
    *,
    method="fast",
    channel_axis=None,
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
    image : (H, W) array_like, or 3 axes with `channel_axis`
        Grey or colour image of any real dtype; never modified.
    sigma : float, sequence of one float per channel, (H, W) ndarray or NoiseModel, optional
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
    mask : (H, W) bool array_like, optional
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
    run = module.denoise_tuned if tune else module.denoise
    strength = check_positive("strength", strength, "1 is as told, more removes more")
    memory.require_per_pixel(
        image,
        channel_axis,
        lambda itemsize, channels: FLOATS_PER_PIXEL[method] * itemsize * channels,
        f"denoise(method={method!r})",
    )
    image = check_image(image, channel_axis, mask)
    noise = NoiseModel.of(sigma, image, noise_of).scaled(strength)
    noise = noise.without_curve() if method in EVEN_ONLY else noise
    if noise.is_uneven and method in EVEN_ONLY:
        raise ValueError(
            f"method={method!r} takes noise of one level: use 'fast', 'balanced' or 'best' for "
            "levels that change across the image"
        )
    if guide is not None and guide.shape != image.shape:
        raise ValueError(f"guide has shape {guide.shape}, the image {image.shape}: they must agree")
    options = {} if guide is None else {"guide": guide}
    with RowExecutor(n_jobs, progress, _rows(image, noise, module), "denoise") as executor:
        if noise.has_stripes:
            image = stripes.remove(
                image,
                noise,
                lambda part, model: _denoise(part, model, "fast", fast.denoise, executor),
            )
            noise = noise.with_stripes(0.0, 0.0)
        return image.restore(_denoise(image, noise, method, run, executor, **options))


def _denoise(image, noise, method, run, executor, **options):
    """(H, W, C) pixels of a checked image without its noise, which has no stripes.

    `run` denoises by `method` what has been brought to unit noise.
    """
    noise = noise.on(image)
    whole = WholeImage(noise, (image.low, image.high))
    units = NoiseUnits(noise, image, whole.limits)

    def denoise_unit(part, standard, name):
        chosen = run if name == method else METHODS[name].denoise
        return chosen(part, replace(whole, standard=standard), executor, **options)

    return units.denoise(method, denoise_unit)


def _rows(image, noise, module):
    """How many rows all stages go over, for progress reports."""
    units = module.progress_units(image)
    if noise.has_stripes:
        units += len(stripes.ROUNDS) * fast.progress_units(image)
    return image.shape[0] * units


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
