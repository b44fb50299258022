"""NoiseModel: what the noise of an image is, told by the caller or found in the image."""

import json

import numpy as np
from scipy.ndimage import gaussian_filter

from nnk_image.base.atomic import atomic_output
from nnk_image.base.checks import check_positive
from nnk_image.noise.checks import (
    check_covariance,
    check_curve,
    check_levels,
    check_numbers,
    check_per_channel,
    correlation_of,
    root_mean_square,
    variances_of,
)


class NoiseModel:
    """What the noise of an image is, in the image's own units.

    A pixel z is what a camera or microscope made of the intensity x: z has the mean x and the
    variance ``gain (x - offset) + sigma^2`` (photon noise and read noise).  The noise of
    neighbouring pixels may be correlated, and the standard deviation may change across the image or
    with the brightness.
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
        variance in the middle; or of each channel with each.  In a volume the slices of the last
        two axes then have noise of their own; three axes say how it is shared along the last
        three.  With `sigma` or `gain` only its shape counts.  What rows or columns share in it
        becomes `rows` and `columns`.
    psd : (H, W) array_like, optional
        Power spectral density instead: the mean of ``abs(fft2(noise)) ** 2 / (H * W)``, frequency 0
        first.  Its mean is the variance.
    levels : array_like of the image's shape, optional
        Standard deviation of each pixel's noise, the same for all channels; instead of `sigma`.
    curve : (2, n) array_like, optional
        Standard deviation by brightness: n >= 2 rising intensities, and the standard deviations
        there; between them it is interpolated, beyond them constant.  The brightness of a pixel is
        the mean of its channels, smoothed.  With `sigma` or `autocovariance` only its shape counts.
    rows, columns : float
        Standard deviation of the offsets that the pixels of each row, or each column, share
        (stripes), beside the other noise.

    Attributes
    ----------
    sigma, gain, offset : tuple of float
        One number for all channels, or one per channel.
    correlation : ndarray or None
        `autocovariance` over the variance; None if noise is white.
    levels : ndarray or None
    curve : (2, n) ndarray or None
        Intensities, and factors of `sigma` there, of mean square 1.
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
        curve=None,
        rows=0.0,
        columns=0.0,
    ):
        self.uncertainty = None
        self.rows = check_positive("rows", rows, "standard deviation of stripes", True)
        self.columns = check_positive("columns", columns, "standard deviation of stripes", True)
        self.gain = check_numbers("gain", gain, "growth of the variance with the intensity")
        self.offset = check_numbers("offset", offset, "value without light", any_sign=True)
        self.levels = None if levels is None else check_levels(levels)
        self.curve = None if curve is None else check_curve(curve)
        covariance = check_covariance(autocovariance, psd)
        self.correlation = None if covariance is None else correlation_of(covariance)
        if levels is not None and (sigma is not None or any(self.gain)):
            raise ValueError("levels say the noise of each pixel: leave out sigma and gain")
        if curve is not None and (levels is not None or any(self.gain)):
            raise ValueError("curve says the noise by brightness: leave out levels and gain")
        if sigma is not None:
            self.sigma = check_numbers("sigma", sigma, "standard deviation of the noise")
        elif self.levels is not None:
            self.sigma = (root_mean_square(self.levels),)
        elif covariance is not None and not any(self.gain):
            self.sigma = tuple(np.sqrt(variances_of(covariance)).tolist())
        elif self.curve is not None:
            self.sigma = (root_mean_square(self.curve[1]),)
        else:
            self.sigma = (0.0,)
        if self.curve is not None:
            level = root_mean_square(self.curve[1])
            if abs(level - 1) > 1e-12:  # factors read from a file stay as they are
                self.curve[1] /= level
        if covariance is not None and levels is None and not any(self.gain):
            self._split_stripes_off()

    def _split_stripes_off(self):
        """Make what rows and columns share in the correlation the model's `rows` and `columns`."""
        if self.correlation.ndim != 2 or len(self.sigma) > 1:
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
        model.sigma = tuple(np.sqrt(variances_of(covariance)).tolist())
        model.correlation = correlation_of(covariance)
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
            check_per_channel("sigma", values, image, np.ndim(sigma) > 1)
            model = cls(values)
        return model

    def check_fits(self, image):
        """Raise a ValueError if this cannot be the noise of `image`."""
        for name in ("sigma", "gain", "offset"):
            check_per_channel(name, getattr(self, name), image)
        if self.levels is not None and self.levels.shape != image.shape:
            raise ValueError(
                f"the noise model's levels have shape {self.levels.shape}, the image "
                f"{image.shape}: give the standard deviation of each pixel"
            )
        axes = 2 if self.correlation is None else self.correlation.ndim
        if axes == 4 and len(self.correlation) != image.channels:
            raise ValueError(
                f"the noise model's autocovariance is of {len(self.correlation)} channels, the "
                f"image has {image.channels}"
            )
        if axes == 3 and len(image.shape) < 3:
            raise ValueError(
                f"the noise model's autocovariance is that of a volume, the image of shape "
                f"{image.shape} is none: give it for offsets along 2 axes"
            )
        if self.has_stripes and len(image.shape) > 2:
            raise ValueError(
                f"stripes (rows={self.rows:g}, columns={self.columns:g}) are removed from images "
                f"of 2 axes, this one has {len(image.shape)}: denoise its slices one by one"
            )

    @property
    def is_white(self):
        """Whether the noise of all pixels is alike, and that of each its own."""
        more = self.correlation, self.levels, self.curve
        return not (any(self.gain) or self.has_stripes) and all(part is None for part in more)

    @property
    def is_uneven(self):
        """Whether `levels` change across the image."""
        return self.levels is not None and bool(np.ptp(self.levels) > 0)

    def on(self, image):
        """The model with the `levels` that its `curve` gives to the pixels of a checked image."""
        if self.curve is None:
            return self
        # Means as sums of parts, for the sum of the largest numbers would be infinite.
        brightness = np.divide(image.pixels, image.channels, dtype=np.float64).sum(axis=-1)
        if image.valid is not None:
            there = brightness[image.valid]
            brightness[~image.valid] = np.sum(there / there.size)
        brightness = gaussian_filter(brightness, _BRIGHTNESS_WIDTH, mode="nearest")
        factors = np.interp(brightness, *self.curve)
        power = np.sqrt(np.mean(factors**2))
        sigma = tuple(float(power * s) for s in self.sigma)
        # `sigma` says how strong the noise of each channel is: of the levels only ratios count.
        # These are those of the noisiest channel.
        return self._with(curve=None, sigma=sigma, levels=max(sigma) / power * factors)

    def without_axes(self, lost, n):
        """The model for an image of n axes that has `lost` some, along which it had one pixel."""
        levels = None if self.levels is None else np.squeeze(self.levels, lost)
        correlation = self.correlation
        if correlation is not None and correlation.ndim == 3 and n - 3 in lost:
            correlation = correlation[len(correlation) // 2]
        return self._with(levels=levels, correlation=correlation)

    def without_curve(self):
        """The model with the same noise at every brightness."""
        return self._with(curve=None)

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
            for name in _ARRAYS
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
        unknown = set(told) - {"noise_model", *_PLAIN, *_ARRAYS}
        if unknown:
            raise ValueError(f"the noise model has unknown entries: {', '.join(sorted(unknown))}")
        levels = told.get("levels")
        model = cls(
            None if levels is not None else told.get("sigma", 0.0),
            gain=told.get("gain", 0.0),
            offset=told.get("offset", 0.0),
            autocovariance=told.get("correlation"),
            levels=levels,
            curve=told.get("curve"),
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
        if self.curve is not None:
            levels = self.curve[1] * root_mean_square(np.array(self.sigma))
            parts.append(f"curve={', '.join(f'{level:.3g}' for level in levels)}")
        stripes = {"rows": self.rows, "columns": self.columns}
        parts += [f"{name}={value:.4g}" for name, value in stripes.items() if value]
        if self.correlation is not None:
            own = self.mean_correlation()
            size = "x".join(map(str, own.shape))
            down, right = self.neighbor_correlation()
            parts.append(f"correlation={size}, {right:.2f} to the right, {down:.2f} down")
        if self.uncertainty is not None:
            parts.append(f"estimated, +-{100 * self.uncertainty:.0f} %")
        return f"NoiseModel({', '.join(parts)})"

    def neighbor_correlation(self):
        """Correlation of the noise of a pixel with the one below and the one to the right."""
        own = self.mean_correlation()
        if own is None:
            return 0.0, 0.0
        own = own[own.shape[0] // 2] if own.ndim == 3 else own
        y, x = (n // 2 for n in own.shape)
        down = own[y + 1, x] if y else 0.0
        right = own[y, x + 1] if x else 0.0
        return float(down), float(right)

    def mean_correlation(self):
        """Mean by offset of the channels' own correlations; None if noise is white."""
        own = self.correlation
        if own is None or own.ndim < 4:
            return own
        return np.mean([own[c, c] for c in range(len(own))], axis=0)


_VERSION = 1
_PLAIN = ("sigma", "gain", "offset", "rows", "columns", "uncertainty")
_ARRAYS = ("correlation", "levels", "curve")

_BRIGHTNESS_WIDTH = 2.0  # pixels, of the Gaussian that smooths the brightness

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
