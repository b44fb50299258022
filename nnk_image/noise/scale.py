"""What is measured of the noise of an image at one of its sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

_CLEAR_CHROMA = 0.012, 0.024
"""Levels of white noise in the chroma, where the image goes from -1 to 1, that are not clear and
that are: what JPEG and rounding leave is below 1.5 of 255, which is the first."""

_MOST_RATIO = 3.0  # of the variance of white noise in the luminance to that in the chroma


@dataclass(frozen=True)
class Opponent:
    """Noise in the flattest blocks of the opponent channels that suit it.

    Attributes
    ----------
    matrix : (C, C) ndarray
        From the channels of the image to the opponent ones.
    levels, spectra : (C, B) and (C, n) ndarray
        As those of a `Scale`.
    """

    matrix: Floats
    levels: Floats
    spectra: Floats


@dataclass(frozen=True)
class Scale:
    """Noise of an image at one of its sizes; B bins of brightness, C channels, n frequencies.

    Texture and noise are distinguished in the opponent channels of equally noisy channels, where
    texture looks much the same in all images.

    Attributes
    ----------
    opponent : Opponent
        The same noise in other opponent channels.
    brightness : (B,) ndarray
        Mean brightness of the flat blocks of each bin.
    levels : (C, B) ndarray
        Variance of each opponent channel in each bin.
    spectra : (C, n) ndarray
        Variance of each coefficient, relative to `levels`.
    white : (C, B) ndarray
        Variance, of each channel itself, in the directions that texture does not reach, on
        a line by brightness.
    white_opponent : (C, B) ndarray
        The same of the opponent channels.
    certainty : (B,) ndarray
        Weight of each bin: less where the share that is white is unusual, because of texture.
    range : (float, float)
        Least and greatest brightness of all blocks.
    flatness : float
        Logarithm of the energy of the flattest tenth over the median: -0.2 to -0.5 for noise alone.
    elasticity : (3,) ndarray
        How the energy at low frequencies, at high ones, and of white noise grows with that of the
        other part, among flat blocks: 0 for noise, 1 for texture.
    """

    opponent: Opponent
    brightness: Floats
    levels: Floats
    spectra: Floats
    white: Floats
    white_opponent: Floats
    certainty: Floats
    range: tuple[float, float]
    flatness: float
    elasticity: Floats

    @property
    def contrast(self) -> float:
        """Difference of the brightest and the darkest block."""
        return self.range[1] - self.range[0]

    @property
    def typical(self) -> Floats:
        """(C,) variances in the middle bin; bins that have lost their noise do not count."""
        return self._typical(self.levels)

    @property
    def typical_opponent(self) -> Floats:
        """The same of the channels of `opponent`."""
        return self._typical(self.opponent.levels)

    def _typical(self, levels: Floats) -> Floats:
        return _medians(levels, self.certainty * (levels >= 0.04 * second_highest(levels)))

    @property
    def typical_white(self) -> Floats:
        """(C,) variances of white noise in the middle bin."""
        return _medians(self.white, self.certainty)

    @property
    def most_luminance(self) -> Floats:
        """Return (B,) bounds on the variance of the luminance noise, given that of the chroma.

        Noise that is independent in all channels has the same mean variance in the luminance and in
        the chroma. Cameras and JPEG smooth the colors more than the luminance, if at all, which
        leaves little white noise there. Linear smoothing to a share c of white noise lowers the
        variance at most by c; the square allows for noise reduction that does more. Weak noise of
        the chroma, or the same noise in all channels, as in tinted pictures, says nothing.
        """
        unlimited = np.full(len(self.brightness), np.inf)
        if len(self.levels) == 1:
            return unlimited
        chroma = _medians(self.levels[1:], self.certainty)
        luminance, white = np.split(_medians(self.white_opponent, self.certainty), [1])
        independent = 2 - luminance[0] / max(_MOST_RATIO * white.mean(), 1e-24)
        weak, clear = _CLEAR_CHROMA
        known = np.clip((np.sqrt(white.mean()) - weak) / (clear - weak), 0, 1)
        known *= np.clip(independent, 0, 1)
        share = np.clip(white / np.maximum(chroma, 1e-24), 1e-6, 1).min()
        return self.levels[1:].mean(axis=0) / share**2 / known if known else unlimited

    @property
    def shared_white(self) -> float:
        """Variance of white noise that all channels share, as in a gray picture stored in color."""
        white = self.typical_white
        if len(white) == 1:
            return 0.0
        luminance = _medians(self.white_opponent[:1], self.certainty)[0]
        shared = (luminance - white.mean()) / (len(white) - 1)
        return float(np.clip(shared, 0, white.min()))


def second_highest(values: Floats) -> Floats:
    """Return the second highest value along the last axis, which stays; the only one if alone."""
    return np.sort(values, axis=-1)[..., -2:][..., :1]


def _medians(values: Floats, weights: Floats) -> Floats:
    """Return the (C,) medians of (C, B) values with weights, (B,) or (C, B)."""
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    sums = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, 1), axis=1)
    middle = (sums - np.diff(sums, axis=1, prepend=0) / 2) / sums[:, -1:]
    return np.array([np.interp(0.5, m, v) for m, v in zip(middle, values, strict=True)])
