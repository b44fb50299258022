"""What flat blocks of an image show of its noise: spectrum, level by brightness, texture."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.polynomial.chebyshev import chebvander2d

from nnk_image.base.channels import cosine_matrix, opponent_matrix
from nnk_image.base.pyramid import halve
from nnk_image.noise.blocks import (
    FLAT,
    ODD,
    SIDE,
    U,
    V,
    coefficients_of_blocks,
    energies_of_parts,
    flattest,
    number_of,
    tiny,
)
from nnk_image.noise.brightness import Line, weighted_medians

Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]
Chosen = list[npt.NDArray[np.intp]]  # blocks for the odd and for the even part, of each bin

_LEAST_SIDES = SIDE, 4 * SIDE, 8 * SIDE
"""Sides, in pixels, of squares as large as the smallest image that is measured at its full size, at
half and at a quarter of it; constant areas do not count."""

_BINS = 8  # of brightness
_PER_BIN = 64  # blocks of a bin at the least, or there are fewer bins
_FLATTEST = 0.03  # share of the blocks that the spectrum comes from
_LOW_QUANTILE = 0.1
"""Of the spectra of the bins: texture raises some frequencies in some bins, noise is in all."""

_WAVES = 3  # cosines along each axis that describe a logarithmic spectrum
_SAME_SHARE = 0.15  # by which the share of noise that is white differs between bins
_WITHOUT_NOISE = 0.04  # variance of bins that lost their noise, over the median
_CERTAIN, _AGREEMENT = 0.5, 0.65
"""Weight from which a bin is certain, and the least mean weight of bins that agree."""

_CHANCE, _TEXTURE = 0.2, 0.8  # elasticity that noise alone may show, and that of texture alone
_LOW, _HIGH, _HIGHEST = U + V < 5, U + V >= 8, U + V >= 11
_CLEAR_CHROMA = 0.012, 0.024
"""Levels of white noise in the chroma, where the image goes from -1 to 1, that are not clear and
that are: what JPEG and rounding leave is below 1.5 of 255, which is the first."""

_MOST_RATIO = 3.0  # of the variance of white noise in the luminance to that in the chroma


def cosines(u: Floats, v: Floats) -> Floats:
    """Return (n, 9) products of cosines of the angular frequencies u and v and of their doubles."""
    return chebvander2d(np.cos(u), np.cos(v), [_WAVES - 1, _WAVES - 1])


_BASIS = cosines(np.pi * U / SIDE, np.pi * V / SIDE)
_SMOOTHING = _BASIS @ np.linalg.pinv(_BASIS)


@dataclass(frozen=True)
class Scale:
    """Noise of an image at one of its sizes; B bins of brightness, C channels, n frequencies.

    Texture and noise are distinguished in the opponent channels of equally noisy channels, where
    texture looks much the same in all images. The model is fitted in those that suit the noise.
    """

    matrix: Floats  # (C, C), from the channels to the opponent ones that suit the noise
    variances: Floats  # (C, n) of the coefficients of these channels, in the middle bin
    brightness: Floats  # (B,), mean of the flat blocks of each bin
    levels: Floats  # (C, B) variances of the opponent channels
    spectra: Floats  # (C, n) variances of their coefficients, relative to the level
    white: Floats  # (C, B) variances of the channels where texture does not reach, on a line
    white_opponent: Floats  # the same of the opponent channels
    certainty: Floats  # (B,) weights of the bins: less where the share that is white is unusual
    range: tuple[float, float]  # least and greatest brightness of all blocks
    flatness: float  # log of the flattest tenth's energy over the median; noise: -0.2 to -0.5
    elasticity: Floats  # (3,), how energies at low and high frequencies, and of white noise, grow
    # with that of the other part among flat blocks: 0 for noise, 1 for texture

    @classmethod
    def of(
        cls, coefficients: Floats, brightness: Floats, apart: float, matrix: Floats | None
    ) -> Self:
        """Measure (n, C, frequencies) coefficients of blocks.

        Without overlap there would be `apart` blocks. If `matrix` is None, it is to be found.
        """
        independent = min(1.0, apart / len(coefficients))
        number = int(np.clip(len(coefficients) // _PER_BIN, 1, _BINS))
        bins = np.array_split(np.argsort(brightness, kind="stable"), number)
        energies = energies_of_parts(coefficients)
        rotation = cosine_matrix(coefficients.shape[1])
        covariances = _covariances(coefficients, flattest(energies, bins, _FLATTEST))
        levels, spectra = _levels_and_spectra(covariances)
        covariances = rotation.T @ covariances @ rotation
        if matrix is None:
            traces = np.trace(covariances, axis1=2, axis2=3)[..., None, None]
            matrix = opponent_matrix((covariances / (traces + tiny(traces))).mean(axis=(0, 1)))
        own_levels, own_spectra = _levels_and_spectra(matrix @ covariances @ matrix.T)
        flat = flattest(energies, bins, FLAT)
        means = np.array([brightness[np.concatenate(parts)].mean() for parts in flat])
        luminance_levels = np.maximum(levels[0], tiny(levels[0]))
        opponent = coefficients.swapaxes(0, 1)
        channels = np.einsum("kc,nku->cnu", rotation, coefficients)
        found = [_white(c, flat, luminance_levels, independent) for c in (*channels, *opponent)]
        white = np.maximum([own for own, _ in found], 1e-24)
        _, directions = found[len(channels)]
        at_blocks = np.exp(np.interp(brightness, means, np.log(luminance_levels)) / 2)
        luminance = opponent[0] / at_blocks[:, None]
        texture = _texture(luminance, flat, directions)
        mean = white[: len(channels)].mean(axis=0)
        certainty = _certainty(mean, levels[0], texture)
        variances = _typical(own_levels, certainty)[:, None] * own_spectra
        line = Line.through(means, mean, certainty, texture)
        white = np.outer(white @ certainty / (mean @ certainty), line.at(means))
        units = luminance / np.sqrt(spectra[0])
        return cls(
            matrix,
            variances,
            means,
            levels,
            spectra,
            white[: len(channels)],
            white[len(channels) :],
            certainty,
            (float(brightness.min()), float(brightness.max())),
            _flatness(units),
            _elasticity(units, luminance, directions),
        )

    @property
    def contrast(self) -> float:
        """Difference of the brightest and the darkest block."""
        return self.range[1] - self.range[0]

    @property
    def typical(self) -> Floats:
        """(C,) variances in the middle bin; bins that have lost their noise do not count."""
        return _typical(self.levels, self.certainty)

    @property
    def typical_white(self) -> Floats:
        """(C,) variances of white noise in the middle bin."""
        return weighted_medians(self.white, self.certainty)

    @property
    def most_luminance(self) -> Floats:
        """(B,) bounds on the variance of the luminance noise, given that of the chroma.

        Noise that is independent in all channels has the same mean variance in the luminance and in
        the chroma. Cameras and JPEG smooth the colors more than the luminance, if at all, which
        leaves little white noise there. Linear smoothing to a share c of white noise lowers the
        variance at most by c; the square allows for noise reduction that does more. Weak noise of
        the chroma, or the same noise in all channels, as in tinted pictures, says nothing.
        """
        unlimited = np.full(len(self.brightness), np.inf)
        if len(self.levels) == 1:
            return unlimited
        chroma = weighted_medians(self.levels[1:], self.certainty)
        luminance, *white = weighted_medians(self.white_opponent, self.certainty)
        independent = 2 - luminance / max(_MOST_RATIO * np.mean(white), 1e-24)
        weak, clear = _CLEAR_CHROMA
        known = np.clip((np.sqrt(np.mean(white)) - weak) / (clear - weak), 0, 1)
        known *= np.clip(independent, 0, 1)
        share = np.clip(white / np.maximum(chroma, 1e-24), 1e-6, 1).min()
        return self.levels[1:].mean(axis=0) / share**2 / known if known else unlimited

    @property
    def shared_white(self) -> float:
        """Variance of white noise that all channels share, as where a camera smooths the colors."""
        white = self.typical_white
        if len(white) == 1:
            return 0.0
        luminance = weighted_medians(self.white_opponent[:1], self.certainty)[0]
        shared = (luminance - white.mean()) / (len(white) - 1)
        return float(np.clip(shared, 0, white.min()))


def scales(channels: Floats, usable: Floats, constant: Bools) -> list[Scale]:
    """Return the list of `Scale` of an image at its size, half its size, and so on.

    The arguments are those of `coefficients_of_blocks`. The list is empty if there is no block.
    """
    found: list[Scale] = []
    while len(found) < len(_LEAST_SIDES) and min(channels.shape[1:]) >= SIDE:
        if np.count_nonzero(~constant) < _LEAST_SIDES[len(found)] ** 2:
            break
        coefficients, brightness = coefficients_of_blocks(channels, usable, constant)
        if len(coefficients) == 0:
            break
        matrix = found[0].matrix if found else None
        apart = usable[~constant].sum() / SIDE**2
        found.append(Scale.of(coefficients, brightness, apart, matrix))
        channels = halve(channels)
        usable = halve(usable[None])[0] / 2
        constant = halve(constant[None].astype(float))[0] > 1
    return found


def _covariances(coefficients: Floats, chosen: Chosen) -> Floats:
    """Return (B, frequencies, C, C) covariances, of each part in the blocks chosen by the other."""
    channels, frequencies = coefficients.shape[1:]
    found = np.empty((len(chosen), frequencies, channels, channels))
    for own, parts in zip(found, chosen, strict=True):
        for part, blocks in zip((ODD, ~ODD), parts, strict=True):
            rows = coefficients[blocks][:, :, part]
            own[part] = np.einsum("ncu,ndu->ucd", rows, rows) / len(blocks)
    return found


def _levels_and_spectra(covariances: Floats) -> tuple[Floats, Floats]:
    """Return (C, B) levels and (C, frequencies) spectra of (B, frequencies, C, C) covariances."""
    variances = np.moveaxis(np.diagonal(covariances, axis1=2, axis2=3), -1, 0)
    variances = np.maximum(variances, 0)  # of rounding
    levels, spectra = zip(*map(_level_and_spectrum, variances), strict=True)
    return np.array(levels), np.array(spectra)


def _level_and_spectrum(variances: Floats) -> tuple[Floats, Floats]:
    """Split (B, frequencies) variances into the levels of the bins and a spectrum of mean 1."""
    least = 1e-4 * np.median(variances) + tiny(variances)
    logarithms = np.log(np.maximum(variances, least)) @ _SMOOTHING.T
    levels = np.median(logarithms, axis=1)
    for _ in range(5):
        spectrum = np.quantile(logarithms - levels[:, None], _LOW_QUANTILE, axis=0)
        levels = np.median(logarithms - spectrum, axis=1)
    levels, spectrum = np.exp(levels), np.exp(spectrum)
    return levels * spectrum.mean(), spectrum / spectrum.mean()


def _typical(levels: Floats, certainty: Floats) -> Floats:
    """Return the (C,) medians of (C, B) levels, without bins that have lost their noise.

    Those are few. Where many have much less than the others, these have texture.
    """
    middle = weighted_medians(levels, certainty)[:, None]
    return weighted_medians(levels, certainty * (levels >= _WITHOUT_NOISE * middle))


def share_of_texture(elasticity: Any) -> Any:
    """Return the share of texture in variances.

    Among flat blocks only the energy of texture grows with that of the other part. So elasticity
    grows with the share of texture.
    """
    return np.clip((elasticity - _CHANCE) / (_TEXTURE - _CHANCE), 0, 1)


def _texture(luminance: Floats, chosen: Chosen, directions: list[Floats]) -> Floats:
    """Return the (B,) shares of texture in the white noise of the bins."""
    elasticity = np.zeros((2, len(chosen)))
    parts = zip(elasticity, (ODD, ~ODD), directions, zip(*chosen, strict=True), strict=True)
    for own, part, white, blocks in parts:
        for i, rows in enumerate(blocks):
            own[i] = _growth(luminance[rows][:, ~part], luminance[rows][:, part] @ white)
    found: Floats = share_of_texture(elasticity.mean(axis=0))
    return found


def _certainty(white: Floats, levels: Floats, texture: Floats) -> Floats:
    """Return the weights of bins with these variances of white noise, and of all that is flat.

    The spectrum of noise is much the same at every brightness, and so is the share of it that is
    white. A bin counts less if its share differs from the usual one in the quieter half of the
    bins, because of texture; but not if its share is greater and it has no `texture` itself: then
    the others have some. If the share differs in most bins, only those count where it is as in the
    quietest one.
    """
    share = np.clip(white / np.maximum(levels, tiny(levels)), 0, 1)
    quieter = share[np.argsort(levels, kind="stable")[: (len(levels) + 1) // 2]]

    def certainty(usual: float) -> Floats:
        alike = 1 / (1 + ((share - usual) / _SAME_SHARE) ** 2)
        return np.where(share > usual, np.maximum(alike, 1 - texture), alike)

    found = certainty(float(np.median(quieter)))
    if found.mean() > _AGREEMENT:
        return found
    return (certainty(quieter[0]) > _CERTAIN).astype(float)


def _white(
    coefficients: Floats, chosen: Chosen, variances: Floats, independent: float
) -> tuple[Floats, list[Floats]]:
    """Return the (B,) variances of (n, frequencies) coefficients in directions without texture.

    The directions are returned as well: (d, m), of the odd and of the even part. They are found in
    all bins together, relative to the `variances` of each. A share of the blocks is `independent`.
    Correlated noise differs in all directions: its white part is what the highest frequencies have,
    as far as these are weaker at every brightness.
    """
    sums, highest, number, directions = np.zeros(len(chosen)), np.zeros(len(chosen)), 0, []
    for part, blocks in zip((ODD, ~ODD), zip(*chosen, strict=True), strict=True):
        rows = [coefficients[own][:, part] for own in blocks]
        units = [r / np.sqrt(variance) for r, variance in zip(rows, variances, strict=True)]
        directions.append(_floor(np.concatenate(units), independent))
        sums += np.array([((r @ directions[-1]) ** 2).mean(axis=0).sum() for r in rows])
        highest += np.array([(r[:, _HIGHEST[part]] ** 2).mean(axis=0).sum() for r in rows])
        number += directions[-1].shape[1]
    white, most = sums / number, highest / np.count_nonzero(_HIGHEST)
    return white * min(1.0, float((most / np.maximum(white, 1e-24)).max())), directions


def _floor(rows: Floats, independent: float) -> Floats:
    """Return the directions, (d, m), in which all the variances of (n, d) rows are alike.

    The largest variances are left out until the mean of the others is their median.
    """
    covariance = rows.T @ rows / len(rows)
    if independent * len(rows) < 8 * len(covariance):  # too few to find directions
        covariance = np.diag(np.diag(covariance))
    values, directions = np.linalg.eigh(covariance)  # in ascending order
    numbers = np.arange(5, len(values) + 1)
    means = np.cumsum(values)[4:] / numbers
    medians = (values[(numbers - 1) // 2] + values[numbers // 2]) / 2
    return directions[:, : max(numbers[means <= medians], default=5)]


def _flatness(units: Floats) -> float:
    energies = np.sort((units**2).mean(axis=1))
    tenth = energies[: max(1, len(energies) // 10)]
    return float(np.log(max(np.median(tenth), 1e-6) / max(np.median(energies), 1e-6)))


def _elasticity(units: Floats, luminance: Floats, directions: list[Floats]) -> Floats:
    """Regress energies of one part on the energy of the other, relative to their means.

    `units` is `luminance` divided by its spectrum; `directions` are those of white noise.
    """
    found = np.zeros((2, 3))
    for own, part, white in zip(found, (ODD, ~ODD), directions, strict=True):
        energy = (units[:, ~part] ** 2).mean(axis=1)
        flat = np.argsort(energy, kind="stable")[: number_of(len(energy), FLAT)]
        low, high = units[flat][:, _LOW & part], units[flat][:, _HIGH & part]
        for i, values in enumerate((low, high, luminance[flat][:, part] @ white)):
            own[i] = _growth(units[flat][:, ~part], values)
    return found.mean(axis=0)


def _growth(others: Floats, values: Floats) -> float:
    """Regress the energies of (n, m) values on those of others, relative to their means."""
    energy, y = ((rows**2).mean(axis=1) for rows in (others, values))
    x = energy / max(energy.mean(), 1e-12) - 1
    return float((x @ y) / max(x @ x, 1e-12) / max(y.mean(), 1e-12))
