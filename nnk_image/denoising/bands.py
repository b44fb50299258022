"""denoise_bands(): denoise many bands or volumes of one scene by their principal components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice
from nnk_image.base.image import Floats, Image, Layout, check_image
from nnk_image.base.parallel import one_blas_thread, progress_of_part, resolve_n_jobs
from nnk_image.denoising.api import denoise, warn_of_fill_values, warn_of_other_units
from nnk_image.denoising.methods import METHODS
from nnk_image.noise.checks import root_mean_square
from nnk_image.noise.defects import without_defects
from nnk_image.noise.estimation import estimated_noise
from nnk_image.noise.given import given_noise
from nnk_image.noise.magnitudes import magnitudes
from nnk_image.noise.model import LEAST_NOISE, NoiseModel, PerChannel

_LEAST_VARIANCE = 1e-14  # relative to the variance of a band; less may be rounding errors
_ROUNDS = 30  # in which noise levels and components are estimated alternately
_LARGEST_RANGE = 1e140  # value range up to which sums of products of values are finite
_ROUGHNESS = 2.0  # variance of differences of neighbors over the variance, of white noise
_SMOOTH = 0.8  # roughness of a residual, relative to the median band; less has signal of its own


@one_blas_thread
def denoise_bands(
    cube: npt.ArrayLike,
    sigma: PerChannel | NoiseModel | None = None,
    *,
    axis: int = -1,
    method: str = "fast",
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    return_info: bool = False,
) -> Any:
    """Remove noise from many bands of one scene, such as a hyperspectral image or diffusion MRI.

    The bands are reduced to a few principal components, which are denoised and transformed back.

    Parameters
    ----------
    cube : (H, W, B) or (D, H, W, B) array_like
        At least 2 bands B of an image or volume, of any real dtype, with more valid pixels than
        bands; never modified.
    sigma : float, sequence of one float per band, ndarray or NoiseModel, optional
        Standard deviation of the noise in the cube's own units; an array of the shape without
        bands gives that of each pixel, for all bands. The noise must be independent from band to
        band. Bands of sigma 0 are returned unchanged. A `NoiseModel` may have `levels`, `rician`
        and a `correlation` of pixels, but no `gain`, `curve`, `rows` or `columns`. Default: one
        value per band is estimated, and isolated pixels and pixels without data are returned
        unchanged, as by `denoise`. For magnitude images of MRI give ``estimate_noise(cube,
        channel_axis=-1, kind="rician")``, which estimates one value for all bands.
    axis : int
        Axis of the bands, the last one by default.
    method, spacing, n_jobs
        As in `denoise`, which is applied to each component image; `spacing` has no entry for the
        axis of the bands.
    mask : bool array_like of the cube's shape without bands, optional
        True for valid pixels; the others are ignored, returned unchanged, and may be NaN. Default:
        all are valid.
    progress : bool or callable
        True shows a progress bar per component; a callable is called with ``(done, total)`` for
        all components together; default False.
    return_info : bool
        True also returns a dict; default False.

    Returns
    -------
    denoised : ndarray
        A new array of the cube's shape and units: float32 for float16 and float32 cubes, float64
        for all others.
    info : dict
        Only with `return_info`: 'sigma', the standard deviation of the noise of each band in the
        cube's units, a (B,) ndarray of float64, and 'components', their number, an int.

    Raises
    ------
    TypeError, ValueError
        If the cube, sigma or an option is invalid; the message names it and says what to do.
    MemoryError
        If the cube is too large; raised before memory is allocated.

    Warns
    -----
    UserWarning
        If `sigma` seems to be in other units than the cube, or counts as 0, as in `denoise`.

    Notes
    -----
    :doc:`/volumes` describes the steps, those of [2]_, and the memory needed. The components kept
    have eigenvalues above those of noise alone, at most ``(1 + sqrt(B / N))^2`` for N pixels [1]_.

    The estimate of sigma starts from the residual of the regression of each band on all others
    [3]_. Then sigma and components are estimated alternately, as in factor analysis. If the
    residual of a band is smoother than those of the others, the band has signal of its own, such as
    the only image without diffusion weighting: its sigma is at most the median of the others. With
    too few bands for this (Ledermann's bound), or signal of their own in most bands, each band is
    measured by itself, as by `estimate_noise` for white noise. So are copies and sums of others.

    References
    ----------
    .. [1] J. Veraart et al., "Denoising of diffusion MRI using random matrix theory", 2016.
    .. [2] L. Zhuang, J. M. Bioucas-Dias, "Fast hyperspectral image denoising and inpainting based
       on low-rank and sparse representations", 2018 (FastHyDe).
    .. [3] J. M. Bioucas-Dias, J. M. P. Nascimento, "Hyperspectral subspace identification", 2008.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> rng = np.random.default_rng(0)
    >>> clean = nnk_image.standard_image("camera")[:128, :128, None] * rng.uniform(0.2, 1, 30)
    >>> noisy = clean + rng.normal(0, 20, clean.shape)
    >>> denoised, info = nnk_image.denoise_bands(noisy, return_info=True)
    >>> info["components"], bool(abs(info["sigma"] - 20).max() < 1)
    (1, True)
    >>> bool(np.mean((denoised - clean) ** 2) < 0.01 * np.mean((noisy - clean) ** 2))
    True
    """
    chosen = METHODS[check_choice("method", method, METHODS)]
    resolve_n_jobs(n_jobs)
    cubes = 1 + bool(getattr(sigma, "rician", 0))
    if np.ndim(cube) == 2:
        raise ValueError(
            f"a cube has at least 3 axes, one of them of its bands, not shape {np.shape(cube)}"
        )
    own = chosen.bytes_per_pixel(1, 8, np.ndim(cube) - 1)
    Layout.of(cube, axis).require(lambda b, n: b * (cubes * n + 2) + own, "denoise_bands")
    image = check_image(cube, axis, mask)
    image = without_defects(image) if sigma is None else image
    noise = None if sigma is None else _given(sigma, image)
    # With a spacing, a component of shape (D, H, 3) is a volume and not taken for a color image.
    options: dict[str, Any] = {"spacing": 1.0 if spacing is None else spacing, "mask": image.valid}
    options |= {"method": method, "n_jobs": n_jobs}
    if noise is not None and noise.rician:
        pixels, info = _denoised_magnitudes(image, noise, progress, options)
    else:
        pixels, info = _denoised(image, noise, progress, options)
    result = image.restore(pixels)
    return (result, info) if return_info else result


def _denoised(
    image: Image, noise: NoiseModel | None, progress: Any, options: dict[str, Any]
) -> tuple[Floats, dict[str, Any]]:
    """Return pixels without their Gaussian noise, and the `info` of `denoise_bands`."""
    n, mean, covariance, differences = _moments(image)
    given, noise = noise, noise or _estimated(image, n, covariance, differences)
    levels = np.array(noise.sigma)
    levels[levels <= LEAST_NOISE * np.sqrt(np.diagonal(covariance))] = 0
    if given is not None and any(given.sigma) and not levels.any():
        warn_of_fill_values(noise, image.low, image.high)
    vectors = _signal(covariance, levels, n)[1]
    basis = vectors @ np.linalg.eigh(vectors.T @ _divided(differences, levels) @ vectors)[1]
    components = basis.shape[1]

    result = image.pixels.astype(image.dtype, order="C")
    valid = image.mask
    for pixels, noisy in zip(result, valid, strict=True):
        np.copyto(pixels, mean, where=noisy[..., None] & (levels > 0), casting="same_kind")
    unit = replace(noise, sigma=1.0, gain=0.0, offset=0.0)
    for i, vector in enumerate(basis.T):
        component = np.empty(image.shape, image.dtype)
        for y in range(len(component)):
            component[y] = _centered(image, mean, y)[0] @ _divided(vector, levels)
        own = progress_of_part(progress, i, components)
        component = denoise(component, unit, progress=own, **options)
        component[~valid] = 0
        for y in range(len(component)):
            result[y] += component[y, ..., None] * (vector * levels)
    return result, {"sigma": np.array(noise.sigma), "components": components}


def _denoised_magnitudes(
    image: Image, noise: NoiseModel, progress: Any, options: dict[str, Any]
) -> tuple[Floats, dict[str, Any]]:
    """Denoise magnitudes: stabilize their noise to level 1, apply `_denoised`, and invert."""
    table, levels = magnitudes(noise.rician), np.array(noise.sigma)
    some = levels > LEAST_NOISE * image.half_range
    levels = np.where(some, levels, 1)
    if noise.levels is not None:
        levels = levels * (noise.levels / root_mean_square(noise.levels))[..., None]
    levels = np.broadcast_to(levels.astype(image.dtype), image.pixels.shape)
    pixels = np.empty(image.pixels.shape, image.dtype)
    for y, own in enumerate(levels):
        pixels[y] = table.forward(image.pixels[y] / own)
    ends = image.low / levels.max(), image.high / levels.min()
    low, high = (float(table.forward(end)) for end in ends)
    stable = replace(image, pixels=pixels, low=low, high=high)
    unit = replace(noise, sigma=1.0 * some, levels=None, rician=0)
    result, info = _denoised(stable, unit, progress, options)
    for y, own in enumerate(levels):
        inside = some if image.valid is None else some & image.valid[y, ..., None]
        result[y] = np.where(inside, table.inverse(result[y]) * own, image.pixels[y])
    return result, info | {"sigma": np.array(noise.sigma)}


def _given(sigma: Any, image: Image) -> NoiseModel:
    """Return the noise given by the caller, which may differ between bands only in its level."""
    noise = given_noise(sigma, image).for_channels(image.channels)
    rows = noise.has_row_or_column_noise
    if any(noise.gain) or noise.curve is not None or rows or noise.is_joint:
        raise ValueError(
            f"denoise_bands does not support {noise}: noise must not depend on the intensity "
            "or on other bands, nor be shared by rows; stabilize counts first, 2 * sqrt(counts)"
        )
    warn_of_other_units(noise, image.low, image.high, image.pixels.dtype)
    return noise


def _centered(image: Image, mean: Floats, y: int, slices: int = 1) -> Floats:
    """Return slices along the first axis minus the mean in float64; NaN where masked."""
    block = np.subtract(image.pixels[y : y + slices], mean, dtype=np.float64, order="C")
    if image.valid is not None:
        block[~image.valid[y : y + slices]] = np.nan
    return block


def _moments(image: Image) -> tuple[int, Floats, Floats, Floats]:
    """Return the pixel count, mean and covariance of bands, and covariance of pixel differences."""
    n = int(np.count_nonzero(image.mask))
    bands = image.channels
    if not 2 <= bands < n:
        raise ValueError(
            "the cube needs at least 2 bands, and more valid pixels than bands, but the numbers "
            f"are {bands} and {n}: check axis, average bands, or use denoise for each"
        )

    if not 1 / _LARGEST_RANGE < (image.half_range or 1.0) < _LARGEST_RANGE:
        raise ValueError(
            f"the values of the cube, {image.low:g} to {image.high:g}, are too large or too small "
            "for products of bands: divide them by their range"
        )

    def rows(block: Floats) -> Floats:
        block = block.reshape(-1, bands)
        return block[~np.isnan(block[:, 0])]

    first = np.unravel_index(image.mask.argmax(), image.shape)
    origin = image.pixels[first]  # exactly the mean if constant
    mean, covariance, differences = origin.astype(float), *np.zeros((2, bands, bands))
    pairs = 0
    for y in range(len(image.pixels)):
        mean += rows(_centered(image, origin, y)).sum(axis=0) / n
    for y in range(len(image.pixels)):
        block = _centered(image, mean, y, 2)
        part = rows(block[0])
        covariance += part.T @ part / n
        within = [np.diff(block[0], axis=axis) for axis in range(block.ndim - 2)]
        for part in map(rows, [np.diff(block, axis=0), *within]):
            differences += part.T @ part
            pairs += len(part)
    return n, mean, covariance, differences / max(pairs, 1)


def _divided(numbers: Floats, levels: Floats) -> Floats:
    """Divide a vector by levels, or a covariance by their products; 0 where levels are 0."""
    inverse = np.divide(1, levels, where=levels > 0, out=np.zeros(len(levels)))
    return numbers * inverse if numbers.ndim == 1 else numbers * inverse * inverse[:, None]


def _signal(covariance: Floats, levels: Floats, n: int) -> tuple[Floats, Floats]:
    """Return eigenvalues above those of noise, of bands divided by levels, and eigenvectors."""
    values, vectors = np.linalg.eigh(_divided(covariance, levels))
    kept = values > (1 + np.sqrt(len(levels) / n)) ** 2
    return values[kept], vectors[:, kept]


def _estimated(image: Image, n: int, covariance: Floats, differences: Floats) -> NoiseModel:
    """Estimate the noise level of each band."""
    variances, bands = np.diagonal(covariance), len(covariance)
    levels = _unpredicted_levels(covariance, n)
    predicted = levels <= LEAST_NOISE * np.sqrt(variances)
    if predicted.all():
        return NoiseModel(levels)
    for band in np.flatnonzero(predicted & (variances > 0)).tolist():  # copies or means of others
        levels[band] = _white_level(image, band)
    vectors = _signal(covariance, levels, n)[1]
    outside = np.eye(bands) - vectors @ vectors.T
    change = np.diagonal(outside @ _divided(differences, levels) @ outside)
    rest = np.diagonal(outside @ _divided(covariance, levels) @ outside)
    roughness = change / np.where(rest > 0, rest, np.inf)
    varying = np.count_nonzero(variances)
    middle = int(np.argsort(roughness)[bands - 1 - varying // 2])
    typical = max(float(roughness[middle]), _LEAST_VARIANCE)
    alone = vectors.shape[1] > (2 * varying + 1 - np.sqrt(8 * varying + 1)) / 2  # Ledermann's bound
    if not alone and typical < _SMOOTH * _ROUGHNESS:  # correlated noise, or signals of all bands
        own = estimated_noise(_slices(image, middle))[0]
        alone = own.sigma[0] < _SMOOTH * levels[middle]
    if alone:
        return NoiseModel([_white_level(image, band) for band in range(bands)])
    share = np.maximum(roughness, 0) / typical
    at_most = np.minimum(levels * np.sqrt(share), np.median(levels[variances > 0]))
    return NoiseModel(np.where(share < _SMOOTH, np.minimum(levels, at_most), levels))


def _unpredicted_levels(covariance: Floats, n: int) -> Floats:
    """Return the level of what the other bands do not predict, by regression, then iteration.

    Components follow from the levels, and the levels from what the components leave.
    """
    variances, bands = np.diagonal(covariance), len(covariance)
    values, vectors = np.linalg.eigh(_divided(covariance, np.sqrt(variances)))
    unpredicted = 1 / (vectors**2 @ (1 / np.maximum(values, _LEAST_VARIANCE)))
    levels = np.sqrt(variances * np.minimum(unpredicted * n / (n - bands), 1))
    for _ in range(_ROUNDS):
        values, vectors = _signal(covariance, levels, n)
        signal = vectors**2 @ (values - 1) * levels**2
        levels = np.sqrt(np.maximum(variances - signal, _LEAST_VARIANCE * variances))
    return np.asarray(levels)


def _white_level(image: Image, band: int) -> float:
    """Return the level of white noise of a band; row and column noise counts too."""
    noise, _ = estimated_noise(_slices(image, band), "white")
    return float(np.linalg.norm([*noise.sigma, noise.rows, noise.columns]))


def _slices(image: Image, band: int) -> Image:
    """Return the band of this number, with the shortest axis first, as a volume of slices."""
    short = int(np.argmin(image.shape))
    valid = None if image.valid is None else np.moveaxis(image.valid, short, 0)
    return check_image(np.moveaxis(image.pixels[..., band], short, 0), mask=valid)
