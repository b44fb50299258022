"""denoise(): check the image, estimate the noise where it is not given, and run the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice, warn
from nnk_image.base.image import Array, Image, Layout, check_image
from nnk_image.base.parallel import one_blas_thread, progress_of_part
from nnk_image.denoising.bias import remove_bias
from nnk_image.denoising.methods import METHODS
from nnk_image.denoising.pipeline import Options, denoise_image
from nnk_image.denoising.residual import checked_residual, is_noise
from nnk_image.graph.pixel_graph import ImageGraph
from nnk_image.noise.clipping import Extremes, unclip
from nnk_image.noise.defects import without_defects
from nnk_image.noise.estimation import estimated_noise
from nnk_image.noise.given import given_noise, many_below_offset
from nnk_image.noise.model import LEAST_NOISE, NoiseModel, PerChannel
from nnk_image.noise.trust import CLEAR


def denoise(
    image: npt.ArrayLike,
    sigma: PerChannel | NoiseModel | None = None,
    *,
    method: str = "fast",
    channel_axis: int | None = None,
    channels: str = "colors",
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
    strength: float = 1.0,
    guide: ImageGraph | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], Any] = False,
) -> npt.NDArray[np.floating[Any]]:
    """Remove noise from an image, a volume or a sequence.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        Image of any real dtype; never modified. All axes but `channel_axis` are of space or time:
        (D, H, W) is a volume or a sequence, (T, D, H, W) a sequence of volumes. If the first of
        three axes, or the last of three or four, has length 3 or 4, it could be color: give
        `channel_axis` or `spacing` to decide.
    sigma : float, sequence of one float per channel, ndarray or NoiseModel, optional
        Standard deviation of the noise, in the image's own units (25 for values from 0 to 255,
        25/255 for values from 0 to 1). A channel with 0 is returned unchanged. An array of the
        image's shape without channels gives the value at each pixel, for all channels: above 0
        unless masked, and equal everywhere for method 'sgw'. A `NoiseModel` describes Poisson,
        correlated, or row and column noise. Default: estimated, see Notes.
    method : {'fast', 'best', 'sgw'}
        'fast' (default) and 'best' filter groups of similar patches [1]_; 'best' takes three to
        five times as long, three times for volumes, and is mostly about 0.1 dB better. 'sgw' links
        each pixel to similar ones nearby and keeps only the smooth part of the image on this graph,
        the 3 lowest of 7 spectral graph wavelet bands. :doc:`/denoising` describes them.
    channel_axis : int, optional
        Axis of the channels, such as -1 for RGB. Default: the image has no channels. Constant
        channels, such as alpha, are returned unchanged; if all others are equal, as in a gray image
        stored in color, they are denoised as one. Leave out an alpha channel that is not constant.
    channels : {'colors', 'independent'}
        'colors' (default) denoises the channels together, because they show the same edges.
        'independent' denoises each by itself, such as the stains of a microscope; it needs
        `channel_axis`.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels, such as the size of a voxel: one number, or one for
        each axis but `channel_axis`. Only ratios matter. Default: all equal.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others are ignored, returned unchanged, and may be NaN. So are
        masked entries of a masked array. Default: all are valid.
    strength : float
        Factor of the standard deviation of the noise, above 0, 1 by default: larger values give a
        smoother image, smaller ones keep more grain.
    guide : ImageGraph, optional
        Undirected graph to filter on, for method 'sgw' only, made by `image_graph` from another
        image of the same scene and shape, such as one with less noise. Default: the graph of
        `image`.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all. The result does not depend on it.
    progress : bool or callable
        True shows a progress bar; a callable is called with ``(done, total)``, two ints in the same
        unit of work; default False. It restarts if the image is denoised twice, see Notes.
        Independent channels have a bar each.

    Returns
    -------
    ndarray
        A new array of the image's shape and units: float32 for float16 and float32 images,
        float64 for all others, and never a masked array. Values are not clipped to the data range.

    Raises
    ------
    TypeError, ValueError
        If image, sigma or an option is invalid; the message names it and says what to do.
    MemoryError
        If the image is too large; raised before most of the memory is allocated. Use
        `denoise_tiles` instead.

    Warns
    -----
    UserWarning
        If `sigma` exceeds the range of the image's values, is 1 or more for floats within about 0
        to 1, or counts as 0 because of an extreme value, as for missing data.

    See Also
    --------
    estimate_noise : The estimate that is used by default.
    correct_bias : Correct the brightness of photographs denoised with correlated noise.
    denoise_bands : For many bands or volumes of one scene.
    denoise_tiles : For images larger than memory.

    Notes
    -----
    By default, the noise is estimated by `estimate_noise`. If what is removed does not look like
    noise to `check_residual`, the image is denoised again as if the noise were uncorrelated, and
    then as if it were white. If that does not look like noise either, only row and column noise is
    removed. With a `strength` above 1, which removes more than noise, the first result is returned.
    If the noise is neither white, Poisson nor Rician, the result is corrected by `correct_bias`.
    Isolated pixels, such as hot ones, and pixels without data, whose value is far from all others,
    are returned unchanged.

    'sgw' follows [2]_, section 3.1.3.2, with four changes, one of them the Laplacian [3]_.

    A sigma below a millionth of half the image's range counts as 0. If the noise is white, and
    values are clipped at the limits of a channel, results there are the mean before clipping [4]_,
    within these limits; :doc:`/noise` says when.

    References
    ----------
    .. [1] S. Herbreteau, C. Kervrann, "Unsupervised linear and iterative combinations of patches
       for image denoising", arXiv 2212.00422.
    .. [2] S. Shekkizhar, "Neighborhood and graph constructions using non-negative kernel
       regression", PhD thesis, 2023.
    .. [3] T. Qin, K. Rohe, "Regularized spectral clustering under the degree-corrected stochastic
       blockmodel", 2013.
    .. [4] A. Foi, "Clipped noisy images: heteroskedastic modeling and practical denoising", Signal
       Processing 89 (2009).

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    >>> denoised = nnk_image.denoise(noisy, 25)
    >>> bool(np.mean((denoised - clean) ** 2) < 0.1 * np.mean((noisy - clean) ** 2))
    True
    """
    options: dict[str, Any] = {"method": method, "channel_axis": channel_axis, "spacing": spacing}
    options |= {"mask": mask, "strength": strength, "guide": guide, "n_jobs": n_jobs}
    if check_choice("channels", channels, ("colors", "independent")) == "independent":
        return _denoise_each_channel(image, sigma, progress, options)
    return denoise_and_report(image, sigma, progress=progress, **options)[0]


@one_blas_thread
def denoise_and_report(
    image: npt.ArrayLike,
    sigma: PerChannel | NoiseModel | None = None,
    *,
    method: str = "fast",
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
    strength: float = 1.0,
    guide: ImageGraph | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], Any] = False,
) -> tuple[npt.NDArray[np.floating[Any]], NoiseModel]:
    """Return what `denoise` returns, and the noise that was given or estimated."""
    layout = Layout.of(image, channel_axis, spacing is not None)
    options = Options.of(method, spacing, strength, guide, layout.shape)
    chosen, axes = METHODS[method], len(layout.shape)
    what = f"denoise(method={method!r})"
    layout.require(lambda _, n: chosen.bytes_per_pixel(n, 4, axes), what)
    checked = check_image(image, channel_axis, mask)
    checked = without_defects(checked) if sigma is None else checked

    def remove(noise: NoiseModel) -> Array:
        return denoise_image(checked, noise, options, n_jobs, progress)

    if sigma is None:
        noise, pixels = _remove_estimated_noise(checked, remove, check=strength <= 1)
    else:
        noise = given_noise(sigma, checked)
        _warn_of_offset(noise, checked)
        warn_of_other_units(noise, checked.low, checked.high, checked.pixels.dtype)
        _warn_of_fill_values(noise, checked)
        if noise.is_uneven and not chosen.uneven:
            raise ValueError(
                f"method={method!r} assumes noise of one level: use 'fast' or 'best' for "
                "levels that differ across the image"
            )
        pixels = remove(noise)
    if chosen.supported_noise(noise).is_white:
        limits = Extremes.of(checked.pixels[checked.inside]).clipped
        unclip(pixels, limits, noise.for_channels(checked.channels).sigma, checked.valid)
    elif sigma is None and not (any(noise.gain) or noise.rician):
        remove_bias(checked, pixels)
    return checked.restore(pixels), noise


def _remove_estimated_noise(
    image: Image, remove: Callable[[NoiseModel], Array], check: bool
) -> tuple[NoiseModel, Array]:
    """Return the estimated noise, and the result of ``remove(noise)``.

    If a `check` of the result shows that texture was removed, it is that of weaker noise.
    """
    noise, trust = estimated_noise(image)
    pixels = remove(noise)
    if not check or trust == np.inf:
        return noise, pixels
    # Noise that is clearly there may be stronger in structured areas, if these are brighter.
    clear = trust > CLEAR or any(noise.gain)
    if checked_residual(image, pixels, noise, even=not clear).is_noise:
        return noise, pixels
    if noise.correlation is not None:
        noise, _ = estimated_noise(image, correlated=False)
        pixels = remove(noise)
        found = checked_residual(image, pixels, noise)
        # Texture was removed before, so `structure` would fail again: the kurtosis decides.
        if is_noise(found._replace(structure=np.nan), noise):
            return noise, pixels
    if noise.curve is not None or any(noise.gain):
        noise, _ = estimated_noise(image, kind="white")
        pixels = remove(noise)
        if checked_residual(image, pixels, noise).is_noise:
            return noise, pixels
    noise = NoiseModel([0.0] * image.channels, rows=noise.rows, columns=noise.columns)
    return noise, remove(noise)


def _denoise_each_channel(
    image: Any, sigma: Any, progress: Any, options: dict[str, Any]
) -> npt.NDArray[np.floating[Any]]:
    """Denoise each channel as an image by itself."""
    axis, spacing = options["channel_axis"], options["spacing"]
    if axis is None:
        raise ValueError("channels='independent' needs channel_axis, the axis of the channels")
    checked = check_image(image, axis, options["mask"])
    noise = None if sigma is None else given_noise(sigma, checked)
    n = checked.channels
    # With a spacing, a channel of shape (D, H, 3) is a volume and not taken for a color image.
    spacing = 1.0 if spacing is None else spacing
    options = options | {"channel_axis": None, "spacing": spacing, "mask": checked.valid}
    results = [
        denoise(
            checked.pixels[..., c],
            None if noise is None else noise.of_channel(c, n),
            progress=progress_of_part(progress, c, n),
            **options,
        )
        for c in range(n)
    ]
    return np.stack(results, axis=axis)


def warn_of_other_units(noise: NoiseModel, low: float, high: float, dtype: npt.DTypeLike) -> None:
    """Warn if the level does not fit an image with values from `low` to `high`, and erases it."""
    level = min(noise.sigma)
    up_to_1 = np.dtype(dtype).kind == "f" and level >= 1 and -1 <= low < high <= 2
    if up_to_1 or level > high - low > 0:
        example = f": {level:g}/255 if 1 is white" if up_to_1 else ""
        warn(
            f"sigma={level:g} is more than the whole range of the image, {low:.4g} to {high:.4g}; "
            f"give sigma in the units of the image{example}",
        )


def _warn_of_offset(noise: NoiseModel, image: Image) -> None:
    if many_below_offset(noise, image):
        offset = ", ".join(f"{value:g}" for value in noise.offset)
        warn(
            f"many pixels, down to {image.low:.4g}, are far below the offset={offset} of the noise "
            "model, and become at least that; give the value of a pixel without light in this "
            "image, which is 0 only if it was subtracted before; if these pixels have no data, "
            "leave them out with mask=",
        )


def counts_as_0(noise: NoiseModel, low: float, high: float) -> bool:
    """Return whether noise is too weak to be removed from an image with these extreme values."""
    half_range = high / 2 - low / 2
    shot = np.sqrt(max(noise.gain)) * np.sqrt(half_range)
    return 0 < max(max(noise.sigma), shot) <= LEAST_NOISE * half_range


def _warn_of_fill_values(noise: NoiseModel, image: Image) -> None:
    low, high, pixels = image.low, image.high, image.pixels
    if counts_as_0(noise, low, high):
        others = pixels[(pixels > low) & (pixels < high)]
        if others.size and not counts_as_0(noise, others.min(), others.max()):
            warn_of_fill_values(noise, low, high)


def warn_of_fill_values(noise: NoiseModel, low: float, high: float) -> None:
    """Warn that noise counts as 0 because of a value that means missing data, such as -3.4e38."""
    name, level = ("gain", max(noise.gain)) if any(noise.gain) else ("sigma", max(noise.sigma))
    warn(
        f"{name}={level:g} counts as 0, and nothing is removed, because the noise is less than a "
        f"millionth of the range of the image, {low:.4g} to {high:.4g}; if these values mean that "
        "data are missing, replace them, or leave them out with mask= where a mask is accepted",
    )
