"""NoiseModel: what is known about the noise of an image, as an immutable object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from nnk_image.base.checks import check_count, check_number
from nnk_image.base.image import Image
from nnk_image.noise.autocovariance import (
    autocovariance_of_spectrum,
    checked_autocovariance,
    correlation_of,
    cut,
    split_row_and_column_noise,
    variances_of,
)
from nnk_image.noise.checks import checked_curve, checked_levels, per_channel, root_mean_square

PerChannel = float | Sequence[float] | npt.NDArray[Any]

LEAST_NOISE = 1e-6  # over half the range of values; lower levels of noise count as 0
PER_CHANNEL = "sigma", "gain", "offset"  # attributes with one value, or one per channel

_EXCLUSIVE = (  # pairs of arguments that cannot be combined
    *combinations(("gain", "levels", "curve"), 2),
    *(("rician", name) for name in ("gain", "offset", "curve", "rows", "columns")),
)

_MOST_COILS = 128  # largest number for which magnitudes are tabulated exactly
_VERSION = 2  # of the format of `to_json`
_MOST_SHOWN = 6  # channels up to which their values are printed one by one
_BRIGHTNESS_WIDTH = 2.0  # pixels, standard deviation of the Gaussian that smooths the brightness


@dataclass(frozen=True, eq=False, repr=False)
class NoiseModel:
    """Model of the noise of an image, for `denoise`.

    `estimate_noise` returns such a model. Create one yourself if you know the noise, for instance
    the gain and the read noise of a camera. A pixel of true intensity x has the mean x and the
    variance ``gain (x - offset) + sigma^2``: Poisson (shot) noise plus read noise. All numbers are
    in the image's own units.

    All arguments are attributes of the model, which cannot be changed: `sigma`, `gain` and `offset`
    as tuples of one float, or of one per channel; arrays as read-only copies of float64.

    Parameters
    ----------
    sigma : float or sequence of one float per channel, optional
        Standard deviation of the noise, not below 0; with a `gain`, of the read noise alone.
        Default: the root mean square of `levels` or `curve`, else 0.
    gain : float or sequence of one float per channel
        Increase of the variance for each unit of intensity: 1 for an image of photon counts,
        0 (default) for noise that does not depend on the intensity.
    offset : float or sequence of one float per channel
        Value of a pixel without light; default 0.
    correlation : (2 a + 1, 2 b + 1) or (C, C, 2 a + 1, 2 b + 1) array_like, optional
        Correlation of the noise of two pixels for each displacement (down, right) between them,
        from (-a, -b) to (a, b), with 1 in the middle and 0 beyond; with two leading axes, that of
        each channel with each other; with three axes, that of a volume, whose slices are
        independent if two axes are given. Default: no correlation (white noise). See
        `from_autocovariance` and `from_psd`.
    levels : array_like of the image's shape without channels, optional
        Standard deviation of the noise of each pixel, above 0 even where pixels are masked; it
        holds for all channels. If `sigma` is given too, only the ratios of `levels` matter.
    curve : (2, n) array_like, optional
        Standard deviation as a function of the brightness: row 0 holds n >= 2 rising intensities,
        row 1 the standard deviations there, above 0. It is interpolated between them and constant
        beyond. The brightness of a pixel is the smoothed mean of its channels. If `sigma` is given
        too, only ratios matter. Row 1 is stored with mean square 1, and multiplied by `sigma`.
    rows, columns : float
        Standard deviation of the random offset that all pixels of a row, or of a column, have in
        common; one number for all channels, each of which has offsets of its own; default 0. Only
        for images of two axes, not for volumes.
    uncertainty : float, optional
        Relative standard error of `sigma`, such as 0.02 for 2 %, if it was estimated. It is only
        reported, and does not change the result of `denoise`. Default: not known.
    rician : bool or int
        True if pixels are magnitudes of complex values, as in magnetic resonance imaging; `sigma`
        or `levels` are then those of the real part. An integer is the number of coils whose squares
        were summed, up to 128: 1 is the same as True, more is noncentral chi noise. Default: 0, no
        magnitudes.

    Raises
    ------
    TypeError, ValueError
        If a number is negative or not finite, an array has the wrong shape, or arguments are
        incompatible: at most one of `gain`, `levels` and `curve`; with `rician` none of `gain`,
        `offset`, `curve`, `rows` and `columns`.

    References
    ----------
    A. Foi, M. Trimeche, V. Katkovnik, K. Egiazarian, "Practical Poissonian-Gaussian noise modeling
    and fitting for single-image raw-data", IEEE Transactions on Image Processing 17 (2008), eq. 2.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> nnk_image.NoiseModel(gain=2.0, sigma=5.0)
    NoiseModel(sigma=5, gain=2)
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> counts = 2.0 * np.random.default_rng(0).poisson(clean / 2.0)
    >>> denoised = nnk_image.denoise(counts, nnk_image.NoiseModel(gain=2.0))
    >>> bool(np.mean((denoised - clean) ** 2) < 0.2 * np.mean((counts - clean) ** 2))
    True
    """

    sigma: Any = None
    gain: Any = 0.0
    offset: Any = 0.0
    correlation: Any = None
    levels: Any = None
    curve: Any = None
    rows: float = 0.0
    columns: float = 0.0
    uncertainty: float | None = None
    rician: int = 0

    def __post_init__(self) -> None:
        coils = int(self.rician) if isinstance(self.rician, bool | np.bool_) else self.rician
        checked: dict[str, Any] = {
            "gain": per_channel("gain", self.gain, "growth of the variance with the intensity"),
            "offset": per_channel("offset", self.offset, "value without light", -np.inf),
            "rician": check_count("rician", coils, 0, _MOST_COILS),
        }
        for name in ("rows", "columns"):
            what = f"standard deviation of the offsets of {name}"
            checked[name] = check_number(name, getattr(self, name), what, least=0.0) + 0.0
        relative = None
        if self.levels is not None:
            relative = checked["levels"] = checked_levels(self.levels)
        if self.curve is not None:
            checked["curve"] = checked_curve(self.curve)
            relative = checked["curve"][1]
        for first, second in _EXCLUSIVE:
            if np.any(checked.get(first, 0)) and np.any(checked.get(second, 0)):
                raise ValueError(f"{first} cannot be combined with {second}: leave one of them out")
        if self.correlation is not None:
            checked["correlation"] = checked_autocovariance(self.correlation, "correlation")
            if not np.allclose(variances_of(checked["correlation"]), 1):
                raise ValueError(
                    "correlation must be 1 in the middle; for a covariance use "
                    "NoiseModel.from_autocovariance"
                )
        if self.uncertainty is not None:
            checked["uncertainty"] = check_number("uncertainty", self.uncertainty, "error", 0.0)
        level = 0.0 if relative is None else root_mean_square(relative)
        sigma = level if self.sigma is None else self.sigma
        checked["sigma"] = per_channel("sigma", sigma, "standard deviation of the noise")
        numbers = [len(checked[name]) for name in PER_CHANNEL]
        if len({*numbers} - {1}) > 1:
            raise ValueError(
                "sigma, gain and offset have {}, {} and {} values: give one number, or one per "
                "channel".format(*numbers)
            )
        if self.curve is not None and abs(level - 1) > 1e-12:  # a stored curve stays as it is
            checked["curve"][1] /= level
        for name, value in checked.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def from_autocovariance(
        cls,
        autocovariance: npt.ArrayLike,
        sigma: PerChannel | None = None,
        *,
        gain: PerChannel = 0.0,
        curve: npt.ArrayLike | None = None,
    ) -> Self:
        """Make a model of correlated noise from its autocovariance.

        Part of it may become `rows`: what pixels far apart (over 8 pixels) in one row share
        beyond what pixels two or more rows apart share. `columns` likewise. This needs two axes, a
        single `sigma`, and no `gain`; otherwise everything stays in `correlation`.

        Parameters
        ----------
        autocovariance : (2 a + 1, 2 b + 1) or (C, C, 2 a + 1, 2 b + 1) array_like
            Covariance of the noise of two pixels in squared units of the image, in the layout of
            `correlation` in `NoiseModel`, with the variance in the middle; three axes for a volume.
        sigma, gain, curve
            As for `NoiseModel`. If `sigma` or `gain` is given, `autocovariance` is divided by its
            variance, so that its units do not matter. A `curve` only sets how the standard
            deviation varies with the brightness: it may be multiplied by any number. Default:
            `sigma` is the square root of the variance, one per channel with (C, C, ...), or 0 with
            a `gain`.

        Returns
        -------
        NoiseModel

        Raises
        ------
        TypeError, ValueError
            If the array has complex values, values that are not finite, or an even side; if it
            differs between a displacement and its opposite; or if a variance is not above 0.

        Examples
        --------
        >>> import nnk_image
        >>> nnk_image.NoiseModel.from_autocovariance([[1, 4, 1]])
        NoiseModel(sigma=2, correlation=1x3, 0.25 to the right, 0.00 down)
        """
        covariance = checked_autocovariance(autocovariance)
        if sigma is None and not np.any(gain):
            sigma = np.sqrt(variances_of(covariance))
        model = cls(sigma, gain=gain, correlation=correlation_of(covariance), curve=curve)
        if any(model.gain) or len(model.sigma) > 1 or covariance.ndim != 2:
            return model
        rows, columns, rest, correlation = split_row_and_column_noise(model.correlation)
        (level,) = model.sigma
        return replace(
            model,
            sigma=level * np.sqrt(rest),
            rows=level * np.sqrt(rows),
            columns=level * np.sqrt(columns),
            correlation=correlation,
        )

    @classmethod
    def from_psd(cls, psd: npt.ArrayLike, sigma: PerChannel | None = None) -> Self:
        """Make a model of correlated noise from its power spectral density.

        Parameters
        ----------
        psd : (H, W) array_like
            Mean of ``abs(fft2(noise)) ** 2 / (H * W)`` over images of noise, of all frequencies in
            the order of ``numpy.fft.fft2``: frequency 0 first. A psd with frequency 0 in the middle
            is not always recognized: apply ``numpy.fft.ifftshift`` to it. H and W need not be those
            of the image that is denoised. The mean of all values is the variance, in squared units
            of the image.
        sigma : float or sequence of one float per channel, optional
            Standard deviation of the noise, which `psd` is rescaled to. Default: the square root of
            the mean of `psd`.

        Returns
        -------
        NoiseModel
            Its `correlation` is the same for all channels, and ends at 48 pixels. As in
            `from_autocovariance`, a part of the noise may become `rows` and `columns`.

        Raises
        ------
        TypeError, ValueError
            If there are not two axes; if values are complex, negative or not finite, or all are 0;
            or if ``psd[i, j]`` differs from ``psd[-i, -j]``, as it does if it is from ``rfft2``.
        """
        return cls.from_autocovariance(autocovariance_of_spectrum(psd), sigma)

    @property
    def is_white(self) -> bool:
        """Whether the noise is independent from pixel to pixel and equally strong everywhere.

        It is False for Rician noise, and if there are `levels` or a `curve`, even constant ones.
        """
        more = self.correlation, self.levels, self.curve
        other = any(self.gain) or self.has_row_or_column_noise or self.rician
        return not other and all(m is None for m in more)

    @property
    def is_uneven(self) -> bool:
        """Whether the noise level changes across the image: `levels` that are not constant."""
        return self.levels is not None and bool(np.ptp(self.levels) > 0)

    @property
    def is_joint(self) -> bool:
        """Whether `correlation` includes that between different channels: whether it has 4 axes."""
        return self.correlation is not None and self.correlation.ndim == 4

    @property
    def has_row_or_column_noise(self) -> bool:
        """Whether the noise includes random offsets of whole rows or columns."""
        return self.rows > 0 or self.columns > 0

    def scaled(self, factor: float) -> Self:
        """Return the model with all standard deviations multiplied by `factor`, a number above 0.

        The `gain`, a variance, is multiplied by its square. `offset`, `uncertainty`, and what is
        relative to `sigma` (`correlation` and `curve`) stay as they are.
        """
        return replace(
            self,
            sigma=tuple(factor * s for s in self.sigma),
            gain=tuple(factor * (factor * g) for g in self.gain),
            levels=None if self.levels is None else factor * self.levels,
            rows=factor * self.rows,
            columns=factor * self.columns,
        )

    def for_channels(self, n: int) -> Self:
        """Return the model with single values of `sigma`, `gain` and `offset` repeated n times."""
        values = {name: getattr(self, name) for name in PER_CHANNEL}
        return replace(self, **{k: v * n if len(v) == 1 else v for k, v in values.items()})

    def of_channel(self, channel: int, n: int) -> Self:
        """Return the model for one channel of an image with n channels; -1 is the last one.

        It has the channel's own `sigma`, `gain`, `offset` and `correlation`; what is the same for
        all channels is kept. IndexError if there is no such channel.
        """
        model = self.for_channels(n)
        own = {name: getattr(model, name)[channel] for name in PER_CHANNEL}
        if self.is_joint:
            own["correlation"] = self.correlation[channel, channel]
        return replace(model, **own)

    def neighbor_correlation(self) -> tuple[float, float]:
        """Return the correlation of a pixel's noise with the next one below, and to the right.

        These two floats are means over the channels; for a volume, they are those within a slice.
        They are 0 without `correlation`: the offsets of `rows` and `columns` do not count.
        """
        own = self.mean_correlation()
        if own is None:
            return 0.0, 0.0
        near = cut(own, (0,) * (own.ndim - 2) + (1, 1)).reshape(3, 3)
        return float(near[2, 1]), float(near[1, 2])

    def mean_correlation(self) -> npt.NDArray[np.float64] | None:
        """Return `correlation` averaged over the channels, without the axes of channels.

        An array of 2 or 3 axes is returned as it is; None if there is no `correlation`.
        """
        own: npt.NDArray[np.float64] | None = self.correlation
        if own is None or own.ndim < 4:
            return own
        return np.asarray(np.mean([own[c, c] for c in range(len(own))], axis=0))

    def to_json(self) -> str:
        """Return the model as a str of JSON, which `from_json` converts back to an equal model."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
        return json.dumps({"noise_model": _VERSION, **plain})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a model from JSON text that `to_json` returned.

        `text` is not the name of a file: for that, pass ``Path(name).read_text()``.

        Raises
        ------
        TypeError, ValueError
            If the text is not JSON, or does not describe a noise model.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{text[:40]!r} is not JSON ({error})") from None
        if not isinstance(values, dict) or values.pop("noise_model", None) != _VERSION:
            raise ValueError(
                f"the text is JSON, but not a noise model of format {_VERSION}, as from to_json(): "
                "estimate it again"
            )
        unknown = values.keys() - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"the noise model has unknown entries: {', '.join(sorted(unknown))}")
        return cls(**values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoiseModel) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.sigma, self.gain, self.offset, self.rows, self.columns))

    def __repr__(self) -> str:
        shown: dict[str, str] = {}
        for name in (*PER_CHANNEL, "rows", "columns", "rician", "uncertainty"):
            values = np.atleast_1d(getattr(self, name) or 0)
            if values.any():
                shown[name] = _short(values)
        level = root_mean_square(np.array(self.sigma))
        if self.levels is not None:
            factor = level / root_mean_square(self.levels)
            low, high = factor * self.levels.min(), factor * self.levels.max()
            shown = {"levels": f"{low:.4g}..{high:.4g}"} | shown
            shown.pop("sigma", None)
        if self.curve is not None:
            shown["curve"] = ", ".join(f"{level * c:.3g}" for c in self.curve[1])
        own = self.mean_correlation()
        if own is not None:
            size = "x".join(map(str, own.shape))
            down, right = self.neighbor_correlation()
            shown["correlation"] = f"{size}, {right:.2f} to the right, {down:.2f} down"
        parts = [f"{name}={text}" for name, text in shown.items()] or ["sigma=0"]
        return f"NoiseModel({', '.join(parts)})"


def deviations(noise: NoiseModel, intensity: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the standard deviation of the noise of each channel at each intensity, (C, n)."""
    sigma, gain, offset = (np.array([v]).T for v in (noise.sigma, noise.gain, noise.offset))
    factor = 1.0 if noise.curve is None else np.interp(intensity, *noise.curve)
    return np.hypot(sigma * factor, np.sqrt(gain * np.maximum(intensity - offset, 0)))


def with_levels(noise: NoiseModel, image: Image) -> NoiseModel:
    """Return the model with the `levels` that its `curve` gives to the pixels of an image."""
    if noise.curve is None:
        return noise
    # Values are divided before they are added: the sum of very large ones would overflow.
    brightness = np.divide(image.pixels, image.channels, dtype=np.float64).sum(axis=-1)
    valid = brightness[image.mask]
    brightness[~image.mask] = np.sum(valid / valid.size)
    brightness = gaussian_filter(brightness, _BRIGHTNESS_WIDTH, mode="nearest")
    factors = np.interp(brightness, *noise.curve)
    power = np.sqrt(np.mean(factors**2))
    sigma = tuple(float(power * s) for s in noise.sigma)
    # `sigma` is the level of each channel; these levels are those of the noisiest one.
    return replace(noise, curve=None, sigma=sigma, levels=max(sigma) / power * factors)


def _short(values: npt.NDArray[Any]) -> str:
    if len(values) > _MOST_SHOWN:
        return f"{min(values):.4g}..{max(values):.4g}"
    text = [f"{value:.4g}" for value in values]
    return text[0] if len(text) == 1 else f"({', '.join(text)})"
