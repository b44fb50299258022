"""NoiseModel: what the noise of an image is, told by the caller or found in the image."""

import json
import numbers

import numpy as np

from nnk_image.base.atomic import atomic_output
from nnk_image.base.checks import check_positive

REACH = 48
"""Offsets up to this one are kept of the correlation that a spectrum has."""


class NoiseModel:
    """What the noise of an image is, in the image's own units.

    A pixel z is what a camera or microscope made of the intensity x: z has the mean x and the
    variance ``gain (x - offset) + sigma^2`` (photon noise and read noise).  The noise of
    neighbouring pixels may be correlated, and the standard deviation may change across the image.
    In addition, all pixels of a row, or of a column, may share an offset.

    Parameters
    ----------
    sigma : float or sequence of one float per channel, optional
        Standard deviation of the noise; where there is a `gain`, of the read noise: that at
        intensity `offset`.  Default: 0, or what `autocovariance`, `psd` or `levels` say.
    gain : float or sequence of one float per channel
        How much the variance grows with the intensity, in the image's units: 1 for an image of
        photon counts; 0 for noise that does not depend on the intensity.
    offset : float or sequence of one float per channel
        Value of a pixel without light.
    autocovariance : (2 a + 1, 2 b + 1) or (C, C, 2 a + 1, 2 b + 1) array_like, optional
        Covariance of the noise of two pixels by their offset, from (-a, -b) to (a, b), the
        variance in the middle; or of each channel with each.  With `sigma` or `gain` only its
        shape counts.  What rows or columns share in it becomes `rows` and `columns`.
    psd : (H, W) array_like, optional
        Power spectral density instead: the mean of ``abs(fft2(noise)) ** 2 / (H * W)``, frequency 0
        first.  Its mean is the variance.
    levels : (H, W) array_like, optional
        Standard deviation of each pixel's noise, the same for all channels; instead of `sigma`.
    rows, columns : float
        Standard deviation of the offsets that the pixels of each row, or each column, share
        (stripes), beside the other noise.

    Attributes
    ----------
    sigma, gain, offset : tuple of float
        One number for all channels, or one per channel.
    correlation : ndarray or None
        `autocovariance` over the variance; None if noise is white.
    levels : (H, W) ndarray or None
    rows, columns : float
    uncertainty : float or None
        Estimated relative error of the level, for a model that was estimated.

    Raises
    ------
    TypeError, ValueError
        A number is negative or not finite, or an array has the wrong shape; the message says which.

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

    def __init__(
        self,
        sigma=None,
        *,
        gain=0.0,
        offset=0.0,
        autocovariance=None,
        psd=None,
        levels=None,
        rows=0.0,
        columns=0.0,
    ):
        self.uncertainty = None
        self.rows = check_positive("rows", rows, "standard deviation of stripes", True)
        self.columns = check_positive("columns", columns, "standard deviation of stripes", True)
        self.gain = _numbers("gain", gain, "growth of the variance with the intensity")
        self.offset = _numbers("offset", offset, "value without light", any_sign=True)
        self.levels = None if levels is None else _check_levels(levels)
        covariance = _check_covariance(autocovariance, psd)
        self.correlation = None if covariance is None else _correlation(covariance)
        if levels is not None and (sigma is not None or any(self.gain)):
            raise ValueError("levels say the noise of each pixel: leave out sigma and gain")
        if sigma is not None:
            self.sigma = _numbers("sigma", sigma, "standard deviation of the noise")
        elif self.levels is not None:
            self.sigma = (float(np.sqrt(np.mean(self.levels**2))),)
        elif covariance is not None and not any(self.gain):
            self.sigma = tuple(np.sqrt(_variances(covariance)).tolist())
        else:
            self.sigma = (0.0,)
        if covariance is not None and levels is None and not any(self.gain):
            self._split_stripes_off()

    def _split_stripes_off(self):
        """Make what rows and columns share in the correlation the model's `rows` and `columns`."""
        if self.correlation.ndim == 4 or len(self.sigma) > 1:
            return
        (sigma,) = self.sigma
        along_rows = _shared_in_rows(self.correlation)
        along_columns = _shared_in_rows(self.correlation.T)
        if along_rows == along_columns == 0:
            return
        rest = self.correlation.copy()
        y, x = (n // 2 for n in rest.shape)
        rest[y] -= along_rows
        rest[:, x] -= along_columns
        share = max(rest[y, x], 0.0)
        self.rows = float(np.hypot(self.rows, sigma * np.sqrt(along_rows)))
        self.columns = float(np.hypot(self.columns, sigma * np.sqrt(along_columns)))
        self.sigma = (sigma * np.sqrt(share),)
        self.correlation = rest / share if share > _NOTHING else None
        if share > _NOTHING:
            beside = np.delete(self.correlation.ravel(), self.correlation.size // 2)
            if np.abs(beside).max() < _NOTHING:
                self.correlation = None

    @classmethod
    def of_covariance(cls, covariance):
        """The model of Gaussian noise of this (2 a + 1, 2 b + 1) covariance, stripes included."""
        model = cls()
        model.sigma = tuple(np.sqrt(_variances(covariance)).tolist())
        model.correlation = _correlation(covariance)
        return model

    @classmethod
    def of(cls, sigma, image, estimate=None):
        """The model that the caller gave as `sigma`, or ``estimate(image)`` where it is None.

        Parameters
        ----------
        sigma : None, NoiseModel, float, sequence of one float per channel, or (H, W) ndarray
        image : Image
        estimate : function, optional

        Raises
        ------
        TypeError, ValueError
            `sigma` is no such thing, or does not fit the image; the message says what to give.
        """
        if sigma is None:
            return estimate(image)
        if isinstance(sigma, cls):
            sigma.check_fits(image)
            return sigma
        if isinstance(sigma, np.ndarray) and sigma.ndim > 1:
            if sigma.shape != image.shape:
                raise ValueError(
                    f"sigma has shape {sigma.shape}: give one map of levels for all channels, of "
                    f"the image's shape {image.shape}, or one number per channel"
                )
            model = cls(levels=sigma)
        else:
            values = np.atleast_1d(sigma).tolist() if isinstance(sigma, np.ndarray) else sigma
            values = list(values) if isinstance(values, list | tuple) else [values]
            _check_number("sigma", values, image, np.ndim(sigma) > 1)
            model = cls(values)
        return model

    def check_fits(self, image):
        """Raise a ValueError if this cannot be the noise of `image`."""
        for name in ("sigma", "gain", "offset"):
            _check_number(name, getattr(self, name), image)
        if self.levels is not None and self.levels.shape != image.shape:
            raise ValueError(
                f"the noise model's levels have shape {self.levels.shape}, the image "
                f"{image.shape}: give the standard deviation of each pixel"
            )
        joint = self.correlation is not None and self.correlation.ndim == 4
        if joint and len(self.correlation) != image.channels:
            raise ValueError(
                f"the noise model's autocovariance is of {len(self.correlation)} channels, the "
                f"image has {image.channels}"
            )

    @property
    def is_uneven(self):
        """Whether `levels` change across the image."""
        return self.levels is not None and bool(np.ptp(self.levels) > 0)

    @property
    def has_stripes(self):
        """Whether pixels of a row or of a column share an offset."""
        return self.rows > 0 or self.columns > 0

    def with_stripes(self, rows, columns):
        """The model with other stripes, none where 0."""
        return self._with(rows=rows, columns=columns)

    def _with(self, **changes):
        """A copy with other attributes."""
        model = object.__new__(type(self))
        model.__dict__.update(self.__dict__, **changes)
        return model

    def scaled(self, strength):
        """The model with all standard deviations multiplied by `strength`."""
        model = self._with(rows=strength * self.rows, columns=strength * self.columns)
        model.sigma = tuple(strength * s for s in self.sigma)
        model.gain = tuple(strength**2 * g for g in self.gain)
        model.levels = None if self.levels is None else strength * self.levels
        return model

    def of_channels(self, name, n):
        """(n,) ndarray: `sigma`, `gain` or `offset` of each of n channels."""
        values = getattr(self, name)
        return np.array(values * (n if len(values) == 1 else 1))

    def to_json(self):
        """All of the model as a text in JSON, which `from_json` reads."""
        arrays = {
            name: None if getattr(self, name) is None else getattr(self, name).tolist()
            for name in ("correlation", "levels")
        }
        plain = {name: getattr(self, name) for name in _PLAIN}
        return json.dumps({"noise_model": _VERSION, **plain, **arrays})

    @classmethod
    def from_json(cls, text):
        """The model that `to_json` wrote.

        Raises
        ------
        ValueError
            The text is not JSON, or no noise model.
        """
        try:
            told = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"this is no noise model: not JSON ({error})") from None
        if not isinstance(told, dict) or told.get("noise_model") != _VERSION:
            raise ValueError('this is no noise model: it has no "noise_model": 1')
        unknown = set(told) - {"noise_model", *_PLAIN, "correlation", "levels"}
        if unknown:
            raise ValueError(f"the noise model has unknown entries: {', '.join(sorted(unknown))}")
        levels = told.get("levels")
        model = cls(
            None if levels is not None else told.get("sigma", 0.0),
            gain=told.get("gain", 0.0),
            offset=told.get("offset", 0.0),
            autocovariance=told.get("correlation"),
            levels=levels,
            rows=told.get("rows", 0.0),
            columns=told.get("columns", 0.0),
        )
        if told.get("uncertainty") is not None:
            model.uncertainty = check_positive("uncertainty", told["uncertainty"], "error", True)
        return model

    def save(self, path):
        """Write the model to a JSON file, which `load` reads."""
        with atomic_output(path) as file:
            file.write((self.to_json() + "\n").encode())

    @classmethod
    def load(cls, path):
        """Read a model from a JSON file; raises a ValueError if it holds none."""
        with open(path, encoding="utf-8") as file:
            return cls.from_json(file.read())

    def __eq__(self, other):
        return isinstance(other, NoiseModel) and self.to_json() == other.to_json()

    __hash__ = None

    def __repr__(self):
        parts = []
        if self.levels is not None:
            parts.append(f"levels={self.levels.min():.4g}..{self.levels.max():.4g}")
        elif any(self.sigma) or not any(self.gain):
            parts.append(f"sigma={_short(self.sigma)}")
        if any(self.gain):
            parts.append(f"gain={_short(self.gain)}")
        if any(self.offset):
            parts.append(f"offset={_short(self.offset)}")
        stripes = {"rows": self.rows, "columns": self.columns}
        parts += [f"{name}={value:.4g}" for name, value in stripes.items() if value]
        if self.correlation is not None:
            height, width = self.correlation.shape[-2:]
            down, right = self.neighbor_correlation()
            parts.append(f"correlation={height}x{width}, {right:.2f} to the right, {down:.2f} down")
        if self.uncertainty is not None:
            parts.append(f"estimated, +-{100 * self.uncertainty:.0f} %")
        return f"NoiseModel({', '.join(parts)})"

    def neighbor_correlation(self):
        """Correlation of the noise of a pixel with the one below and the one to the right."""
        own = self.mean_correlation()
        if own is None:
            return 0.0, 0.0
        y, x = (n // 2 for n in own.shape)
        down = own[y + 1, x] if y else 0.0
        right = own[y, x + 1] if x else 0.0
        return float(down), float(right)

    def mean_correlation(self):
        """(2 a + 1, 2 b + 1) mean of the channels' own correlations; None if noise is white."""
        own = self.correlation
        if own is None or own.ndim == 2:
            return own
        return np.mean([own[c, c] for c in range(len(own))], axis=0)


_VERSION = 1
_PLAIN = ("sigma", "gain", "offset", "rows", "columns", "uncertainty")

_NOTHING = 0.02  # correlations below that are taken for none
_LEAST_LENGTH = 8  # pixels at the least, over which stripes must be told from smooth noise


def _shared_in_rows(correlation):
    """The share of the variance that all pixels of a row have in common; 0 if that is little.

    Far along the row the correlation is the same everywhere, and far off the row it is not there.
    """
    y, x = (n // 2 for n in correlation.shape)
    far = np.abs(np.arange(-x, x + 1)) > max(x // 2, _LEAST_LENGTH)
    if not far.any() or y < 2:
        return 0.0
    along, beside = correlation[y, far], correlation[y + 2 :, far]
    share = float(np.median(along) - np.median(beside))
    return share if share > _NOTHING and along.min() > share / 2 else 0.0


def _short(values):
    text = [f"{value:.4g}" for value in values]
    return text[0] if len(text) == 1 else f"({', '.join(text)})"


def _numbers(name, value, what, any_sign=False):
    """One number or one per channel, as a tuple of floats."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    values = list(values) if isinstance(values, list | tuple) else [values]
    if not values:
        raise ValueError(f"{name} has no value: give one number, or one per channel ({what})")
    if any_sign:
        for v in values:
            if isinstance(v, bool) or not isinstance(v, numbers.Real) or not np.isfinite(v):
                raise ValueError(f"{name}={v!r} must be a finite number ({what})")
        return tuple(float(v) for v in values)
    return tuple(check_positive(name, v, what, zero_allowed=True) for v in values)


def _check_number(name, values, image, nested=False):
    if len(values) not in (1, image.channels) or nested:
        raise ValueError(
            f"{name} has {len(values)} values, the image {image.channels} channels: give one "
            "number, or one per channel"
        )


def _check_levels(levels):
    array = _real_array("levels", levels)
    if array.ndim != 2:
        raise ValueError(
            f"levels have shape {array.shape}: give the standard deviation of each pixel, (H, W), "
            "which holds for all channels"
        )
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{int(bad.sum())} of {array.size} levels are not above 0, the first at row {row}, "
            f"column {column} ({array[row, column]}); give each pixel its standard "
            "deviation"
        )
    return array


def _real_array(name, values):
    array = np.asarray(values)
    if array.dtype.kind not in "buif" or array.size == 0:
        raise TypeError(f"{name} must be an array of real numbers, not {array.dtype} {array.shape}")
    return array.astype(np.float64)


def _check_covariance(autocovariance, psd):
    """The autocovariance that was given, or that of a spectrum, with offset 0 in the middle."""
    if autocovariance is not None and psd is not None:
        raise ValueError("give autocovariance or psd, not both: each follows from the other")
    if psd is not None:
        return _covariance_of_spectrum(_real_array("psd", psd))
    if autocovariance is None:
        return None
    array = _real_array("autocovariance", autocovariance)
    if array.ndim not in (2, 4) or not all(n % 2 for n in array.shape[-2:]):
        raise ValueError(
            f"autocovariance has shape {array.shape}: give the covariance for offsets from "
            "(-a, -b) to (a, b), an array of odd height and width, or (C, C, height, width)"
        )
    if array.ndim == 4 and array.shape[0] != array.shape[1]:
        raise ValueError(f"autocovariance of shape {array.shape} is not of each channel with each")
    variances = _variances(array)
    if not np.isfinite(array).all() or variances.min() <= 0:
        raise ValueError("autocovariance must be finite, and its middle, the variance, above 0")
    turned = np.swapaxes(array, 0, 1) if array.ndim == 4 else array
    if not np.allclose(array, turned[..., ::-1, ::-1], atol=1e-6 * variances.max()):
        raise ValueError("autocovariance must be the same for an offset and its opposite")
    return array


def _covariance_of_spectrum(psd):
    if psd.ndim != 2:
        raise ValueError(f"psd has shape {psd.shape}: give one power spectral density, (H, W)")
    if not np.isfinite(psd).all() or psd.min() < 0 or psd.max() == 0:
        raise ValueError(
            f"psd must be finite and nowhere negative, its smallest value is {psd.min():g}: it is "
            "the mean of abs(fft2(noise)) ** 2 / (H * W)"
        )
    covariance = np.fft.fftshift(np.fft.ifft2(psd).real)
    y, x = (n // 2 for n in psd.shape)
    a, b = (min(REACH, (n - 1) // 2) for n in psd.shape)
    covariance = covariance[y - a : y + a + 1, x - b : x + b + 1]
    return (covariance + covariance[::-1, ::-1]) / 2


def _variances(covariance):
    """(C,) variances of the channels, (1,) where there is one for all."""
    y, x = (n // 2 for n in covariance.shape[-2:])
    middle = covariance[..., y, x]
    return np.diagonal(middle) if covariance.ndim == 4 else middle.reshape(1)


def _correlation(covariance):
    sigma = np.sqrt(_variances(covariance))
    if covariance.ndim == 2:
        return covariance / sigma[0] ** 2
    return covariance / (sigma[:, None] * sigma)[..., None, None]
