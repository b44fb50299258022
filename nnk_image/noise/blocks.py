"""What the flattest blocks of an image show of its noise: spectrum, level by brightness, texture.

Noise has the same covariance at an offset and at the opposite one. So the even and the odd part
of a block about its center are uncorrelated whatever the spectrum, while edges and texture are in
both. Blocks are chosen by the energy of one part and measured by the other: the choice does not
make noise seem weaker than it is. The parts are the discrete cosine coefficients (u, v) with
u + v even, and those with u + v odd.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nnk_image.base.image import cosine_matrix, opponent_matrix
from nnk_image.base.pyramid import halve
from nnk_image.noise.brightness import Line
from nnk_image.noise.clipping import few_values
from nnk_image.noise.scale import Opponent, Scale, second_highest

SIDE = 8  # of a block; that of JPEG
_BINS = 8  # of brightness
_PER_BIN = 64  # blocks of a bin at the least, or there are fewer bins
_MOST_BLOCKS, _MOST_SCALES = 17_000, 3
_STEP, _SMALL_STEP, _SMALL = 4, 1, 64  # pixels between blocks, in images of less than _SMALL: 1
_FLATTEST, _FEWEST = 0.03, 16  # share and number of blocks that the spectrum comes from
_FLAT = 1 / 3  # share that the level of white noise, and the signs of texture, come from
_LOW_QUANTILE = 0.1
"""Of the spectra of the bins: texture raises some frequencies in some bins, noise is in all."""

WAVES = 3  # cosines along each axis that describe a logarithmic spectrum
_MOST_BAD, _MANY_BAD, _FEW_WHOLE = 0.05, 0.5, 0.1
"""Share of absent and clipped pixels in a block; if fewer than a tenth of the blocks have so few,
more. Constant areas, which show no noise, are not excused."""

_SAME_SHARE = 0.15  # by which the share of noise that is white differs between bins
_DEEPEST = 6.0  # least logarithm of a bin's variance, relative to the second highest

U, V = (i[np.add(*np.mgrid[:SIDE, :SIDE]) > 1] for i in np.mgrid[:SIDE, :SIDE])
"""Frequencies of the coefficients: all but the mean and the two slopes."""

_WAVES_OF_BLOCK = np.kron(cosine_matrix(SIDE), cosine_matrix(SIDE))[SIDE * U + V].T
"""The (pixels, frequencies) matrix from the pixels of a block to these coefficients."""

ODD = (U + V) % 2 == 1
_LOW, _HIGH = U + V < 5, U + V >= 8


def cosines(u, v, number):
    """Return (n, number^2) products of cosines of the angular frequencies u and v."""
    orders = np.arange(number)
    waves = np.cos(np.multiply.outer(u, orders))[:, :, None], np.cos(np.multiply.outer(v, orders))
    return (waves[0] * waves[1][:, None]).reshape(len(waves[1]), -1)


_BASIS = cosines(np.pi * U / SIDE, np.pi * V / SIDE, WAVES)
_SMOOTHING = _BASIS @ np.linalg.pinv(_BASIS)


def scales(channels, usable, constant):
    """Return the list of `Scale` of an image at its size, half its size, and so on.

    `channels` are the (C, H, W) opponent channels of `cosine_matrix`; `usable` and `constant` are
    (H, W) bools: pixels that are neither absent nor clipped, and those of constant areas. The list
    is empty if there is no block.
    """
    found, matrix = [], None
    while len(found) < _MOST_SCALES and min(channels.shape[1:]) >= (8 * SIDE if found else SIDE):
        coefficients, brightness = _blocks(channels, usable, constant)
        if len(coefficients) == 0:
            break
        independent = min(1.0, usable.size / SIDE**2 / len(coefficients))
        found.append(_measure(coefficients, brightness, matrix, independent))
        matrix = found[0].opponent.matrix
        channels = halve(channels)
        usable, constant = (halve(a[None].astype(float))[0] > 1 for a in (usable, constant))
    return found


def usable_pixels(pixels, valid):
    """Return (H, W) bools: pixels of (H, W, C) that are there and not clipped."""
    inside = pixels if valid is None else pixels[valid]
    usable = np.ones(pixels.shape[:2], bool) if valid is None else valid
    if few_values(inside) is not None:  # counts, whose smallest value is not a clipped one
        return usable
    return usable & ((pixels > inside.min()) & (pixels < inside.max())).all(axis=2)


def constant_pixels(pixels):
    """Return (H, W) bools: pixels that equal their eight neighbors in all channels.

    On the border they are as one pixel inside.
    """
    if min(pixels.shape[:2]) < 3:
        return np.zeros(pixels.shape[:2], bool)
    right = (pixels[:, 1:] == pixels[:, :-1]).all(axis=2)
    down = (pixels[1:] == pixels[:-1]).all(axis=2)
    squares = right[1:] & right[:-1] & down[:, 1:]  # of 2 x 2 pixels
    same = squares[1:, 1:] & squares[1:, :-1] & squares[:-1, 1:] & squares[:-1, :-1]
    return np.pad(same, 1, mode="edge")


def _measure(coefficients, brightness, matrix, independent):
    """Return the `Scale` of blocks, of which a share is independent: others overlap them.

    `matrix` is that of the opponent channels, None if it is to be found.
    """
    number = int(np.clip(len(coefficients) // _PER_BIN, 1, _BINS))
    bins = np.array_split(np.argsort(brightness, kind="stable"), number)
    energies = _energies(coefficients)
    covariances = _covariances(coefficients, _choose(energies, bins, _FLATTEST))
    levels, spectra = _levels_and_spectra(covariances)
    flat = _choose(energies, bins, _FLAT)
    means = np.array([brightness[np.concatenate(parts)].mean() for parts in flat])
    rotation = cosine_matrix(coefficients.shape[1])
    channels = np.einsum("kc,nku->cnu", rotation, coefficients)
    opponent = coefficients.swapaxes(0, 1)
    start = np.log(np.maximum(levels[0], _tiny(levels[0])))
    white, directions = zip(
        *(_white(own, flat, start, independent) for own in (*channels, *opponent)), strict=True
    )
    certainty = _certainty(np.mean(white[: len(channels)], axis=0), levels[0])
    white = np.array([Line.through(means, own, certainty).at(means) for own in white])
    at_blocks = np.exp(np.interp(brightness, means, start) / 2)
    luminance = opponent[0] / at_blocks[:, None]
    units = luminance / np.sqrt(spectra[0])
    return Scale(
        _opponent(covariances, rotation, matrix),
        means,
        levels,
        spectra,
        white[: len(channels)],
        white[len(channels) :],
        certainty,
        (float(brightness.min()), float(brightness.max())),
        _flatness(units),
        _elasticity(units, luminance, directions[len(channels)]),
    )


def _blocks(channels, usable, constant):
    """Return coefficients (n, C, frequencies) and the brightness of blocks."""
    positions = [n - SIDE + 1 for n in usable.shape]
    step = _STEP if min(usable.shape) >= _SMALL else _SMALL_STEP
    step = max(step, np.sqrt(np.prod(positions, dtype=float) / _MOST_BLOCKS))
    y, x = (np.arange(0, n, step).astype(int) for n in positions)
    windows = sliding_window_view(channels, (SIDE, SIDE), axis=(1, 2))[:, y[:, None], x]
    bad, same = (
        sliding_window_view(a, (SIDE, SIDE))[y[:, None], x].mean(axis=(2, 3))
        for a in (~usable, constant)
    )
    most = max(_MOST_BAD, min(np.quantile(bad, _FEW_WHOLE), _MANY_BAD))
    chosen = (bad <= most) & (same <= _MOST_BAD)
    blocks = np.moveaxis(windows, 0, 2)[chosen].astype(np.float64)
    brightness = blocks[:, 0].mean(axis=(1, 2)) / np.sqrt(len(channels))
    coefficients = blocks.reshape(-1, SIDE * SIDE) @ _WAVES_OF_BLOCK
    return coefficients.reshape(*blocks.shape[:2], len(U)), brightness


def _energies(coefficients):
    """Return the (2, n) energies of the even and the odd part, all channels alike."""
    squares = coefficients**2
    typical = np.quantile(squares.mean(axis=2), _FLAT, axis=0)
    weights = 1 / np.maximum(typical, _tiny(typical)) / len(typical)
    return np.stack([(squares @ part / part.sum()) @ weights for part in (~ODD, ODD)])


def _choose(energies, bins, share):
    """Return for each bin the blocks with little energy in the even part, and in the odd part."""
    chosen = []
    for members in bins:
        number = max(_FEWEST, int(share * len(members)))
        order = np.argsort(energies[:, members], axis=1, kind="stable")
        chosen.append(members[order[:, :number]])
    return chosen


def _covariances(coefficients, chosen):
    """Return (B, frequencies, C, C) covariances, of each part in the blocks chosen by the other."""
    channels, frequencies = coefficients.shape[1:]
    found = np.empty((len(chosen), frequencies, channels, channels))
    for own, parts in zip(found, chosen, strict=True):
        for part, blocks in zip((ODD, ~ODD), parts, strict=True):
            rows = coefficients[blocks][:, :, part]
            own[part] = np.einsum("ncu,ndu->ucd", rows, rows) / len(blocks)
    return found


def _opponent(covariances, rotation, matrix):
    """Return the noise in the opponent channels of `matrix`; if that is None, of the best ones.

    These suit the mean of the covariances in all bins and at all frequencies, each over its trace.
    """
    itself = rotation.T @ covariances @ rotation
    if matrix is None:
        traces = np.trace(itself, axis1=2, axis2=3)[..., None, None]
        matrix = opponent_matrix((itself / (traces + _tiny(traces))).mean(axis=(0, 1)))
    return Opponent(matrix, *_levels_and_spectra(matrix @ itself @ matrix.T))


def _levels_and_spectra(covariances):
    """Return (C, B) levels and (C, frequencies) spectra of (B, frequencies, C, C) covariances."""
    variances = np.moveaxis(np.diagonal(covariances, axis1=2, axis2=3), -1, 0)
    variances = np.maximum(variances, 0)  # of rounding
    levels, spectra = zip(*map(_level_and_spectrum, variances), strict=True)
    return np.array(levels), np.array(spectra)


def _level_and_spectrum(variances):
    """Split (B, frequencies) variances into the levels of the bins and a spectrum of mean 1."""
    least = 1e-4 * np.median(variances) + _tiny(variances)
    logarithms = np.log(np.maximum(variances, least)) @ _SMOOTHING.T
    levels = np.median(logarithms, axis=1)
    for _ in range(5):
        spectrum = np.quantile(logarithms - levels[:, None], _LOW_QUANTILE, axis=0)
        levels = np.median(logarithms - spectrum, axis=1)
    levels, spectrum = np.exp(levels), np.exp(spectrum)
    return levels * spectrum.mean(), spectrum / spectrum.mean()


def _white(coefficients, chosen, logarithms, independent):
    """Return the (B,) variances of (n, frequencies) coefficients in directions without texture.

    The directions are returned as well: (d, m), of the odd and of the even part. `logarithms` of
    the variances by bin are a first guess, so that directions can be found in all bins together.
    """
    halves = coefficients[:, ODD], coefficients[:, ~ODD]
    parts = [[half[blocks[i]] for blocks in chosen] for i, half in enumerate(halves)]
    for _ in range(2):
        directions = []
        logarithms = np.maximum(logarithms, second_highest(logarithms) - _DEEPEST)
        sums, number = 0.0, 0
        for rows in parts:
            units = [r / np.exp(level / 2) for r, level in zip(rows, logarithms, strict=True)]
            directions.append(_floor(np.concatenate(units), independent))
            sums += np.array([((r @ directions[-1]) ** 2).mean(axis=0).sum() for r in rows])
            number += directions[-1].shape[1]
        variances = sums / number
        logarithms = np.log(np.maximum(variances, _tiny(variances)))
    return variances, directions


def _floor(rows, independent):
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


def _certainty(white, levels):
    """Return the weights of bins with these variances of white noise, and of all that is flat.

    The spectrum of noise is much the same at every brightness, and so is the share of it that is
    white. Where it differs from the share in the quieter half of the bins, there is texture.
    """
    share = np.clip(white / np.maximum(levels, _tiny(levels)), 0, 1)
    usual = np.median(share[np.argsort(levels, kind="stable")[: (len(levels) + 1) // 2]])
    return 1 / (1 + ((share - usual) / _SAME_SHARE) ** 2)


def _flatness(units):
    energies = np.sort((units**2).mean(axis=1))
    tenth = energies[: max(1, len(energies) // 10)]
    return float(np.log(max(np.median(tenth), 1e-6) / max(np.median(energies), 1e-6)))


def _elasticity(units, luminance, directions):
    """Regress energies of one part on the energy of the other, relative to their means.

    `units` is `luminance` divided by its spectrum; `directions` are those of white noise.
    """
    found = np.zeros((2, 3))
    for i, part in enumerate((ODD, ~ODD)):
        energy = (units[:, ~part] ** 2).mean(axis=1)
        flat = np.argsort(energy, kind="stable")[: max(_FEWEST, int(_FLAT * len(energy)))]
        x = energy[flat] / max(energy[flat].mean(), 1e-12) - 1
        white = luminance[flat][:, part] @ directions[i]
        for j, values in enumerate(
            (units[flat][:, _LOW & part], units[flat][:, _HIGH & part], white)
        ):
            y = (values**2).mean(axis=1)
            found[i, j] = (x @ y) / max(x @ x, 1e-12) / max(y.mean(), 1e-12)
    return found.mean(axis=0)


def _tiny(values):
    """Return a positive number that is small beside the values."""
    return 1e-12 * np.max(values) + 1e-24
