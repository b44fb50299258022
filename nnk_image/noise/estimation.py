"""Noise of an image, estimated from the image alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import minimum_filter

from nnk_image.base.channels import channel_keys, channel_sources
from nnk_image.base.checks import check_choice
from nnk_image.base.image import Bools, Floats, Image, Layout, check_image
from nnk_image.base.parallel import one_blas_thread
from nnk_image.noise.blocks import SIDE, Planes, constant_pixels, is_drawing
from nnk_image.noise.clipping import clipped_pixels, few_values
from nnk_image.noise.defects import without_defects
from nnk_image.noise.fit import NEGLIGIBLE, NEGLIGIBLE_IN_VOLUMES, model_of
from nnk_image.noise.levels import estimate_levels
from nnk_image.noise.model import PER_CHANNEL, NoiseModel
from nnk_image.noise.photons import photon_noise
from nnk_image.noise.rician import shows_rician_noise
from nnk_image.noise.row_column import estimate_offsets, row_column_levels, without_offsets
from nnk_image.noise.sample import plane_of, some_slices, stacked
from nnk_image.noise.scale import Scale, scales_of
from nnk_image.noise.slices import SLAB, correlation_across_slices
from nnk_image.noise.trust import MOST_TRUST, MOST_TRUST_IN_DIFFERENCES, trust_in_correlation

KINDS = ("white", "poisson", "correlated", "rician")
"""Kinds of noise that a caller may specify."""


@one_blas_thread
def estimate_noise(
    image: npt.ArrayLike,
    *,
    channel_axis: int | None = None,
    spacing: float | Sequence[float] | None = None,
    mask: npt.ArrayLike | None = None,
    kind: str | None = None,
    uneven: bool = False,
) -> NoiseModel:
    """Estimate the kind and the level of the noise of an image.

    By default, the kind is estimated too: whether the noise of neighboring pixels is correlated,
    whether it depends on the brightness, and whether rows or columns have offsets. Counts of
    photons, and grayscale images whose variance grows linearly with the brightness, get a model of
    Poisson (shot) noise.

    Parameters
    ----------
    image : (H, W) array_like, one axis more with `channel_axis`, or a volume
        Image of any real dtype, at least 8 pixels high and wide, unless constant; far more for a
        reliable result. For a volume, slices along its last two axes are used, or, if one of these
        is shorter than 8, along the two longest of the last three. Row and column noise is not
        estimated then, and correlation across slices only without channels.
    channel_axis : int, optional
        Axis of the channels of a color image. Default: the image has no channels.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each axis. If given, an array of ambiguous shape
        is a volume and not a color image, as in `image_graph`; the values do not matter.
    mask : bool array_like of the image's shape without channels, optional
        True for valid pixels; the others are ignored, and may be NaN. So are masked entries of a
        masked array. Default: all are valid.
    kind : {"white", "poisson", "correlated", "rician"}, optional
        Kind of the noise, if known. "white": the same everywhere and independent from pixel to
        pixel; "poisson": independent, with a variance that grows linearly with the intensity, in
        each channel with its own `gain`; "correlated": all variation in the flattest blocks
        counts as noise, not as texture; "rician": magnitudes of complex values, as in magnetic
        resonance imaging, one level for all channels. Default: estimated, "rician" only if the
        image has places without signal, which show it.
    uneven : bool
        True if the standard deviation of white or Rician noise changes smoothly across the image,
        as in parallel MRI: the model then has `levels`, one value per pixel for all channels.
        Default False.

    Returns
    -------
    NoiseModel
        Noise in the image's own units, with `sigma` 0 for a constant image. A color image has one
        `sigma` per channel, 0 for constant channels, and a `correlation` if its channels have noise
        in common, even for "white", unless they are equal. `rows` and `columns` are estimated from
        32 rows or columns on, unless `kind` is "rician", `uneven` is True or the image holds counts
        of photons. The `uncertainty` is the relative standard error of `sigma`, or None if no noise
        was found.

    Raises
    ------
    TypeError, ValueError
        If the image is invalid or has too few pixels; if the mask leaves no complete block of
        pixels; if the image has negative values, for "rician"; or if `uneven` is combined with
        "poisson" or "correlated".

    Notes
    -----
    The noise is measured in the flattest blocks of the image, or of the differences of adjacent
    slices of a volume. Variation that all of them share counts as noise, unless it looks like
    texture. Isolated pixels, such as hot ones, and pixels without data, such as a border of zeros
    far from all other values, do not count. Fine texture that covers the whole image cannot be
    distinguished from noise with certainty. In such cases, specify `kind`, or check the result of
    denoising with `check_residual`. :doc:`/estimation` describes the steps and their sources.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noise = np.random.default_rng(0).normal(0, 15, (257, 257))
    >>> smooth = (noise[1:, 1:] + noise[:-1, 1:] + noise[1:, :-1] + noise[:-1, :-1]) / 2
    >>> model = nnk_image.estimate_noise(clean + smooth)
    >>> down, right = model.neighbor_correlation()
    >>> 0.3 < down < 0.7 and 0.3 < right < 0.7
    True
    """
    layout = Layout.of(image, channel_axis, spacing is not None)
    layout.require(lambda itemsize, channels: 3 * itemsize * channels, "estimate_noise")
    kind = None if kind is None else check_choice("kind", kind, KINDS)
    if uneven and kind not in (None, "white", "rician"):
        raise ValueError(f"uneven=True is for kind='white' or 'rician', not {kind!r}")
    checked = check_image(image, channel_axis, mask)
    if kind == "rician" or uneven:
        return estimate_levels(checked, kind == "rician", uneven)
    return estimated_noise(without_defects(checked), kind)[0]


def estimated_noise(
    image: Image, kind: str | None = None, correlated: bool = True
) -> tuple[NoiseModel, float]:
    """Estimate the noise of a checked image, without the correlated part unless `correlated`.

    The second value is the trust in that part, a factor by which it is multiplied: small if it may
    be texture, and infinite for counts of photons and for magnitudes, which are certain.
    """
    sources = channel_sources(keys := channel_keys(image.pixels[image.inside]))
    kept = sorted({*sources} - {-1})
    if len(kept) == image.channels:
        return _estimated(image, kind, correlated)
    if not kept:
        return NoiseModel([0.0] * image.channels), 0.0
    part = image.replaced(pixels=np.ascontiguousarray(image.pixels[..., kept]))
    model, trust = _estimated(part, kind, correlated)
    places = [kept.index(source) if source in kept else -1 for source in sources]
    constant = [value for is_constant, value in keys if is_constant]
    return _for_all_channels(model.for_channels(len(kept)), places, constant), trust


def _for_all_channels(model: NoiseModel, places: list[int], constant: list[float]) -> NoiseModel:
    """Return the model of an image, given that of its distinct channels.

    `places` holds the index of each channel among these, or -1 for a constant one, and `constant`
    the values of the constant channels.
    """
    n, varying = len(places), [c for c, place in enumerate(places) if place >= 0]
    own: dict[str, Any] = {k: np.append(getattr(model, k), 0.0)[places] for k in PER_CHANNEL}
    if model.curve is not None:  # by the mean of all channels, added up in parts against overflow
        brightness, levels = model.curve
        own["curve"] = brightness * (len(varying) / n) + sum(v / n for v in constant), levels
    if model.is_joint:
        own["correlation"] = np.zeros((n, n, *model.correlation.shape[2:]))
        y, x = (side // 2 for side in model.correlation.shape[2:])
        own["correlation"][..., y, x] = np.eye(n)
        own["correlation"][np.ix_(varying, varying)] = model.correlation
    return replace(model, **own)


def _estimated(image: Image, kind: str | None, correlated: bool) -> tuple[NoiseModel, float]:
    """Estimate the noise of an image whose channels differ and are not constant."""
    third, axis = len(image.shape) - 3, _axis_of_slices(image.shape)
    if axis > third:
        valid = None if image.valid is None else np.moveaxis(image.valid, axis, third)
        turned = replace(image, pixels=np.moveaxis(image.pixels, axis, third), valid=valid)
        found, trust = _estimated(turned, kind, correlated)
        within = found.mean_correlation()  # of all channels: that of volumes has no joint one
        if within is not None:
            within = within.reshape(-1, *within.shape[-2:])  # with an axis across slices
            found = replace(found, correlation=np.moveaxis(within, 0, axis - third))
        return found, trust
    plane = plane_of(image)
    if kind in (None, "poisson") and (model := photon_noise(plane)):
        return model, np.inf
    if kind is None and shows_rician_noise(plane):
        # A mask may leave no complete block of a volume, although there are some in a slice.
        measured = image if image.valid is None else plane
        return estimate_levels(measured, rician=True, uneven=False), np.inf
    if len(image.shape) > 2:
        return _estimated_in_volume(image, plane, kind, correlated)
    rows, columns = row_column_levels(plane)
    if rows or columns:
        plane = without_offsets(plane, estimate_offsets(plane, rows, columns))
    model, trust = _estimated_in_plane(plane, kind, correlated)
    return replace(model, rows=rows, columns=columns), trust


def _estimated_in_plane(
    plane: Image, kind: str | None, correlated: bool
) -> tuple[NoiseModel, float]:
    """Estimate the noise of an image of two axes that has no row or column noise."""
    if kind == "poisson" and plane.channels > 1:
        return _poisson_noise_by_channel(plane), 0.0
    scales = measure_scales(plane, may_be_drawing=kind != "poisson")
    if not scales:
        return NoiseModel([0.0] * plane.channels), 0.0
    trust = _trust(scales, kind, correlated)
    return model_of(scales, plane, trust, kind), trust


def _estimated_in_volume(
    image: Image, plane: Image, kind: str | None, correlated: bool
) -> tuple[NoiseModel, float]:
    """Estimate the noise of a volume, some slices of which are in `plane`.

    It is measured in differences of slices, if there are enough, and else in the plane.
    """
    by_channel, may_be_drawing = kind == "poisson" and image.channels > 1, kind != "poisson"
    constant = constant_pixels(plane.pixels, plane.valid)
    if by_channel or _is_without_noise(plane, constant, may_be_drawing):
        return _estimated_in_plane(plane, kind, correlated)
    across = correlation_across_slices(image)
    differences = _measure_differences(image, across)
    scales = differences or measure_scales(plane, may_be_drawing)
    trust = _trust(scales, kind, correlated)
    most = MOST_TRUST_IN_DIFFERENCES if differences and across is None else MOST_TRUST
    if image.channels > 1 or not correlated or kind not in (None, "correlated"):
        across = None
    negligible = NEGLIGIBLE_IN_VOLUMES if across is None else NEGLIGIBLE
    model = model_of(scales, plane, min(trust, most), kind, negligible)
    if across is None:
        return model, trust
    within = np.ones((1, 1)) if model.correlation is None else model.correlation
    return replace(model, correlation=np.multiply.outer(across, within)), trust


def _trust(scales: list[Scale], kind: str | None, correlated: bool) -> float:
    """Return the trust in the correlated part; 0 leaves it out."""
    if kind == "correlated":
        return MOST_TRUST
    return trust_in_correlation(scales) if kind is None and correlated else 0.0


def _poisson_noise_by_channel(plane: Image) -> NoiseModel:
    """Return Poisson noise with the `gain`, `sigma` and `offset` of each channel by itself."""
    models = []
    for channel in np.moveaxis(plane.pixels, -1, 0):
        image = check_image(np.ascontiguousarray(channel), None, plane.valid)
        scales = measure_scales(image, may_be_drawing=False)
        models.append(model_of(scales, image, 0.0, "poisson") if scales else NoiseModel(0.0))
    own: dict[str, Any] = {k: [getattr(m, k)[0] for m in models] for k in PER_CHANNEL}
    known = [model.uncertainty for model in models if model.uncertainty is not None]
    return NoiseModel(**own, uncertainty=max(known, default=None))


def measure_scales(image: Image, may_be_drawing: bool = True) -> list[Scale]:
    """Measure an image of two axes at each size, scaled to -1..1 so that squares do not overflow.

    The list is empty if the image is constant; and if constant areas are everywhere, as in a
    drawing or on a page, unless it is known not to be one.
    """
    constant = constant_pixels(image.pixels, image.valid)
    if _is_without_noise(image, constant, may_be_drawing):
        return []
    channels = _units(image)
    brightness, valid = channels.mean(axis=0), image.mask
    black, white = clipped_pixels(image.pixels, valid)
    usable = valid * (1 - white.mean(axis=0))
    scales = scales_of(Planes(channels, brightness, usable, constant, black))
    if not scales:  # all blocks are clipped or constant, and are used nevertheless
        usable, constant, black = valid.astype(float), np.zeros_like(constant), np.zeros_like(black)
        scales = scales_of(Planes(channels, brightness, usable, constant, black))
    if not scales:
        raise ValueError(
            "the noise cannot be estimated, because the mask leaves no complete block; give sigma"
        )
    return scales


def _is_without_noise(image: Image, constant: Bools, may_be_drawing: bool) -> bool:
    """Return whether an image of two axes is constant or a drawing, given its `constant_pixels`."""
    if image.low == image.high:
        return True
    # Beside masked pixels, areas may be constant only because these have been filled.
    constant = constant & minimum_filter(image.mask, 3)
    return may_be_drawing and is_drawing(constant, image.mask) and not _is_counts(image)


def _measure_differences(image: Image, across: Floats | None) -> list[Scale]:
    """Measure the differences of adjacent slices of a volume, where structure they share cancels.

    They are divided by the standard deviation for unit noise, given the correlation `across`
    slices. The list is empty if there are too few slices, or no block is usable.
    """
    depth, (height, width) = image.shape[-3], image.shape[-2:]
    if depth < SLAB:
        return []
    valid = image.mask.reshape(-1, height, width)
    is_last = np.arange(len(valid)) % depth == depth - 1
    both = (valid & np.roll(valid, -1, axis=0)).any(axis=(1, 2))
    chosen = some_slices(both & ~is_last, image)
    if not len(chosen):
        return []
    pair = [stacked(image, numbers) for numbers in (chosen, chosen + 1)]
    first, second = map(_units, pair)
    brightness = (first + second).mean(axis=0) / 2  # the variance of a difference depends on both
    of_next = 0.0 if across is None else across[len(across) // 2 + 1]
    first -= second
    first /= np.sqrt(2 * (1 - of_next))
    constant = constant_pixels(np.moveaxis(first, 0, -1))  # equal slices show no noise
    constant |= np.any([constant_pixels(one.pixels, one.valid) for one in pair], axis=0)
    clipped = [clipped_pixels(one.pixels, one.mask) for one in pair]
    black, white = np.mean(clipped, axis=0)
    usable = np.all([one.inside for one in pair], axis=0) * (1 - white.mean(axis=0))
    return scales_of(Planes(first, brightness, usable, constant, black))


def _units(image: Image) -> Any:
    """Return the (C, H, W) channels, scaled to -1..1."""
    units = np.moveaxis(image.pixels, -1, 0).astype(image.dtype, order="C")
    units /= image.half_range
    units -= image.center / image.half_range
    return units


def _is_counts(image: Image) -> bool:
    """Return whether the values are few and start like 0, 1, 2, times any number.

    Counts may be constant despite noise.
    """
    values = few_values(image.pixels[image.inside])
    steps: Any = [] if values is None else np.diff(values[:3].astype(float))
    return len(steps) == 2 and bool(np.isclose(*steps))


def _axis_of_slices(shape: tuple[int, ...]) -> int:
    """Return the axis across slices, the third from the last unless these would be too narrow.

    Then it is the shortest of the last three, along which files of scans often store few slices.
    """
    last = len(shape) - 3
    narrow = last >= 0 and min(shape[-2:]) < SIDE <= sorted(shape[last:])[1]
    return last + int(np.argmin(shape[last:])) if narrow else last
