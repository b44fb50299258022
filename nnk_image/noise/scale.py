"""Noise measured in flat blocks of an image: spectrum, level by brightness, and white part."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.polynomial.chebyshev import chebvander2d

from nnk_image.base.channels import cosine_matrix, opponent_matrix
from nnk_image.base.image import Floats
from nnk_image.noise.blocks import (
    CLIPPED,
    FLAT,
    PARTS,
    SIDE,
    Planes,
    U,
    V,
    bins_by_brightness,
    coefficients_of_blocks,
    energies_of_parts,
    epsilon,
    flattest_in_bins,
    logarithms,
)
from nnk_image.noise.brightness import Line, weighted_medians
from nnk_image.noise.texture import (
    Chosen,
    elasticity,
    flatness,
    noise_share,
    texture_of_bins,
    third_color,
    turns,
    two_values_of_bins,
)

_LEAST_PIXELS = SIDE**2, (2 * SIDE) ** 2, (8 * SIDE) ** 2
"""Pixels outside constant areas that an image must have at full, half and quarter size to be
measured there."""

_FLATTEST = 0.03  # share of the blocks, the flattest, in which level and spectrum are measured
_LOW_QUANTILE = 0.1
"""Quantile of the spectra over the bins: noise is in all bins, texture raises only some of them."""

_WAVES = 3  # cosines along each axis that are fitted to the logarithm of a spectrum
_SAME_SHARE = 0.15  # difference of a bin's share of white noise at which it counts half
_CERTAIN, _AGREEMENT = 0.5, 0.65
"""Bins agree if their mean weight is above the second. If not, the weights are computed relative to
the quietest bin, and only bins above the first count."""

_LEAST_WEIGHT = 0.3  # least factor of a bin's weight if it contains texture
_HIGHEST = U + V >= 11  # the ten highest frequencies
_OF_ALL, _OF_BLOCK, _BEYOND_WHITE = 0.03, 0.3, 0.35
"""Standard errors of the level: the least one, that in a single block, and the one for the part of
the variance that is not white noise; docs/estimation_figures.md has the errors found with them."""


def cosines(u: Floats, v: Floats) -> Floats:
    """Return the (n, 9) products ``cos(i u) cos(j v)`` for i and j from 0 to 2."""
    return chebvander2d(np.cos(u), np.cos(v), [_WAVES - 1, _WAVES - 1])


_BASIS = cosines(np.pi * U / SIDE, np.pi * V / SIDE)
_SMOOTHING = _BASIS @ np.linalg.pinv(_BASIS)  # least-squares fit of the cosines to a spectrum


@dataclass(frozen=True)
class Scale:
    """Noise of an image at one of its sizes; B bins of brightness, C channels, n frequencies.

    Texture and noise are distinguished in the opponent channels of `cosine_matrix`, where texture
    looks much the same in all images. The model is fitted in opponent channels whose noise is
    uncorrelated, those of `matrix`.
    """

    matrix: Floats  # (C, C), from the channels to opponent channels with uncorrelated noise
    variances: Floats  # (C, n) variances of the coefficients of these, in the typical bin
    brightness: Floats  # (B,) means of the flat blocks of each bin
    bin_variances: Floats  # (C, B) of the opponent channels of `cosine_matrix`, in each bin
    spectra: Floats  # (C, n) variances of their coefficients, relative to `bin_variances`
    typical_white: Floats  # (C,) variances of white noise in the channels, median of the bins
    typical_white_own: Floats  # (C,) those in the channels of `matrix`
    white_luminance: float  # that in the mean of the channels, times the root of C
    white_profile: Floats  # (B,) factors of all these in the bins, by the line fitted to them
    certainty: Floats  # (B,) weights of the bins, low if white noise has an unusual share, or if
    # they contain texture
    range: tuple[float, float]  # least and greatest brightness of all blocks
    flatness: float  # log ratio of the flattest tenth's energy to the median; noise: -0.2 to -0.5
    elasticity: Floats  # (2,) growth of the energies at low and high frequencies with the energy of
    # the other part, in flat blocks: 0 for noise, 1 for texture
    noise_share: float  # how much of the white part of the luminance is noise, and not texture; up
    # to 1.2 if the noise has a long tail
    third_color: float  # logarithm of the level of the weakest color over that of the strongest, at
    # low frequencies: texture has hardly more than two colors
    turns: float  # how much the direction of the luminance's low frequencies changes from bin to
    # bin; 0 for noise, whose spectrum is the same in all bins
    two_values: float  # how clearly the luminance has two values, as in text; 0 for noise, up to 1
    disjoint: float  # number of blocks, if they did not overlap

    @classmethod
    def of(
        cls,
        coefficients: Floats,
        brightness: Floats,
        black: Floats,
        halvings: int,
        disjoint: float,
        matrix: Floats | None,
    ) -> Self:
        """Measure (n, C, frequencies) coefficients of blocks, see `coefficients_of_blocks`.

        Without overlap, there would be `disjoint` blocks. `brightness` has been averaged down
        `halvings` times. If `matrix` is None, it is estimated.
        """
        bins = bins_by_brightness(coefficients, brightness, black, halvings)
        energies = energies_of_parts(coefficients)
        covariances = _covariances(coefficients, flattest_in_bins(energies, bins, _FLATTEST))
        by_bin, spectra = _variances_and_spectra(covariances)
        rotation = cosine_matrix(coefficients.shape[1])
        of_channels = rotation.T @ covariances @ rotation
        if matrix is None:
            matrix = _matrix_to_uncorrelated(of_channels)

        flat = flattest_in_bins(energies, bins, FLAT)
        means = np.array([brightness[np.concatenate(b)].mean() for b in zip(*flat, strict=True)])
        of_luminance = np.maximum(by_bin[0], epsilon(by_bin[0]))
        at_blocks = np.exp(np.interp(brightness, means, np.log(of_luminance)) / 2)
        luminance = coefficients[:, 0] / at_blocks[:, None]
        whitened = luminance / np.sqrt(spectra[0])
        texture = texture_of_bins(whitened, flat)

        # White noise of the channels, of those of `matrix`, and of the luminance.
        n, independent = len(matrix), min(1.0, disjoint / len(coefficients))
        rows = np.vstack([rotation.T, matrix @ rotation.T, np.eye(n)[:1]])
        white, directions = _white(coefficients, rows, flat, of_luminance, independent)
        mean = white[:n].mean(axis=0)
        certainty = _certainty(mean, by_bin[0], texture)
        profile = Line.through(means, mean, certainty, texture).at(means)
        ratios = white @ certainty / (mean @ certainty)
        certainty = certainty * np.maximum(1 - texture, _LEAST_WEIGHT)
        typical = weighted_medians(profile[None], certainty)[0]
        typical_white = typical * ratios
        own_variances, own_spectra = _variances_and_spectra(matrix @ of_channels @ matrix.T)
        variances = weighted_medians(own_variances, certainty)[:, None] * own_spectra
        return cls(
            matrix=matrix,
            variances=variances,
            brightness=means,
            bin_variances=by_bin,
            spectra=spectra,
            typical_white=typical_white[:n],
            typical_white_own=typical_white[n : 2 * n],
            white_luminance=typical_white[-1],
            white_profile=profile / max(typical, 1e-24),
            certainty=certainty,
            range=(float(brightness.min()), float(brightness.max())),
            flatness=flatness(whitened),
            elasticity=elasticity(whitened),
            noise_share=noise_share(whitened, luminance, directions, black.mean() > CLIPPED),
            third_color=third_color(covariances),
            turns=turns(covariances[:, :, 0, 0]),
            two_values=two_values_of_bins(
                coefficients[:, 0], bins, by_bin[0] / len(matrix), spectra[0]
            ),
            disjoint=disjoint,
        )

    @property
    def typical_variances(self) -> Floats:
        """(C,) medians of `bin_variances` over the bins."""
        return weighted_medians(self.bin_variances, self.certainty)

    @property
    def uncertainty(self) -> float:
        """Relative standard error of the level, which grows with the share beyond white noise."""
        share = np.clip(1 - self.typical_white.mean() / max(self.typical_variances[0], 1e-24), 0, 1)
        of_blocks = _OF_BLOCK / np.sqrt(max(self.disjoint, 1.0))
        return float(np.linalg.norm([_OF_ALL, of_blocks, _BEYOND_WHITE * share]))


def scales_of(planes: Planes) -> list[Scale]:
    """Return a `Scale` of an image for its full, half and quarter size, if it is large enough.

    The list is empty if there is no block.
    """
    found: list[Scale] = []
    while len(found) < len(_LEAST_PIXELS) and min(planes.usable.shape) >= SIDE:
        if np.count_nonzero(~planes.constant) < _LEAST_PIXELS[len(found)]:
            break
        coefficients, brightness, black = coefficients_of_blocks(planes)
        if len(coefficients) == 0:
            break
        matrix = found[0].matrix if found else None
        disjoint = planes.usable[~planes.constant].sum() / SIDE**2
        found.append(Scale.of(coefficients, brightness, black, len(found), disjoint, matrix))
        planes = planes.halved()
    return found


def _covariances(coefficients: Floats, chosen: Chosen) -> Floats:
    """Return (B, frequencies, C, C) covariances, of each part in the blocks chosen by the other."""
    channels, frequencies = coefficients.shape[1:]
    found = np.empty((len(chosen[0]), frequencies, channels, channels))
    for part, bins in zip(PARTS, chosen, strict=True):
        for own, blocks in zip(found, bins, strict=True):
            rows = coefficients[blocks][:, :, part]
            own[part] = np.einsum("ncu,ndu->ucd", rows, rows) / len(blocks)
    return found


def _matrix_to_uncorrelated(covariances: Floats) -> Floats:
    """Return the matrix to opponent channels whose noise is uncorrelated.

    It is that of the mean of the (B, frequencies, C, C) covariances, each divided by its trace.
    """
    traces = np.trace(covariances, axis1=2, axis2=3)[..., None, None]
    return opponent_matrix((covariances / (traces + epsilon(traces))).mean(axis=(0, 1)))


def _variances_and_spectra(covariances: Floats) -> tuple[Floats, Floats]:
    """Return the (C, B) variances of the channels in bins, and (C, frequencies) spectra of mean 1.

    Their products come close to the variances in the (B, frequencies, C, C) covariances.
    """
    variances = np.moveaxis(np.diagonal(covariances, axis1=2, axis2=3), -1, 0)
    variances = np.maximum(variances, 0)  # rounding may make them negative
    smooth = np.stack([logarithms(own) for own in variances]) @ _SMOOTHING.T
    levels = np.median(smooth, axis=2, keepdims=True)
    for _ in range(5):
        spectra = np.quantile(smooth - levels, _LOW_QUANTILE, axis=1, keepdims=True)
        levels = np.median(smooth - spectra, axis=2, keepdims=True)
    levels, spectra = np.exp(levels[..., 0]), np.exp(spectra[:, 0])
    means = spectra.mean(axis=1, keepdims=True)
    return levels * means, spectra / means


def _certainty(white: Floats, variances: Floats, texture: Floats) -> Floats:
    """Return the (B,) weights of bins, given the variances of white noise and of all noise.

    A bin counts less if its share of white noise differs from the usual one, unless it is greater
    and the bin has no `texture`; if most bins differ, only those count that are like the quietest.
    """
    share = np.clip(white / np.maximum(variances, epsilon(variances)), 0, 1)
    quieter = share[np.argsort(variances, kind="stable")[: (len(variances) + 1) // 2]]

    def certainty(usual: float) -> Floats:
        alike = 1 / (1 + ((share - usual) / _SAME_SHARE) ** 2)
        return np.where(share > usual, np.maximum(alike, 1 - texture), alike)

    found = certainty(float(np.median(quieter)))
    if found.mean() > _AGREEMENT:
        return found
    return (certainty(quieter[0]) > _CERTAIN).astype(float)


def _white(
    coefficients: Floats, rows: Floats, chosen: Chosen, variances: Floats, independent: float
) -> tuple[Floats, list[Floats]]:
    """Return the (K, B) variances of sums of channels in directions without texture.

    `rows`, (K, C), are the weights of the channels of the (n, C, frequencies) coefficients. The
    directions for the last row are returned as well: two arrays (d, m), for the odd and for the
    even part. They are found in all bins together, each divided by the root of its variance in
    `variances`. `independent` is the share of independent blocks. Correlated noise differs in all
    directions: if the highest frequencies are weaker in every bin, the variances are lowered
    accordingly.
    """
    sums, highest = np.zeros((2, len(rows), len(variances)))
    counts, directions = np.zeros((len(rows), 1)), []
    for part, bins in zip(PARTS, chosen, strict=True):
        numbers = np.array([len(blocks) for blocks in bins])
        covariances = np.stack([_products(rows, coefficients[b][:, :, part]) for b in bins], axis=1)
        together = np.einsum("b,kbuv->kuv", 1 / variances, covariances) / numbers.sum()
        covariances /= numbers[:, None, None]
        for k, covariance in enumerate(together):
            own = _white_directions(covariance, independent * numbers.sum())
            sums[k] += ((covariances[k] @ own) * own).sum(axis=(1, 2))
            counts[k] += own.shape[1]
        diagonals = np.diagonal(covariances, axis1=2, axis2=3)
        highest += diagonals[..., _HIGHEST[part]].sum(axis=2)
        directions.append(own)
    white = np.maximum(sums / counts, 1e-24)
    limits = (highest / np.count_nonzero(_HIGHEST) / white).max(axis=1, keepdims=True)
    return np.maximum(white * np.minimum(limits, 1), 1e-24), directions


def _products(rows: Floats, coefficients: Floats) -> Floats:
    """Return (K, d, d) sums of products of (n, C, d) coefficients, for the weights `rows`."""
    mixed = np.ascontiguousarray((rows @ coefficients).transpose(1, 0, 2))
    products: Floats = mixed.swapaxes(1, 2) @ mixed
    return products


def _white_directions(covariance: Floats, blocks: float) -> Floats:
    """Return the (d, m) directions in which variances are alike, by the (d, d) covariance.

    It was measured in a number of independent `blocks`. Directions of large variance are excluded
    until the mean of the others is at most their median.
    """
    if blocks < 8 * len(covariance):  # too few: single frequencies instead
        covariance = np.diag(np.diag(covariance))
    values, directions = np.linalg.eigh(covariance)  # in ascending order
    numbers = np.arange(5, len(values) + 1)
    means = np.cumsum(values)[4:] / numbers
    medians = (values[(numbers - 1) // 2] + values[numbers // 2]) / 2
    return directions[:, : max(numbers[means <= medians], default=5)]
