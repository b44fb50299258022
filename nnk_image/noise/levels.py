"""Level of white noise, or of the noise of magnitudes: one number, or a map smooth in space.

docs/volumes.md describes the steps. The flattest blocks are chosen by the energy at low
frequencies, and the noise is measured at high ones, which are independent of these in white noise:
so it does not seem weaker than it is.
"""

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Self

import numpy as np
from scipy.fft import dctn
from scipy.ndimage import gaussian_filter, map_coordinates, zoom

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Bools, Floats, Image
from nnk_image.noise.given import check_magnitudes
from nnk_image.noise.magnitudes import magnitudes
from nnk_image.noise.model import NoiseModel

UNCERTAINTY = 0.05  # expected relative error of the level of white noise

_SIDES = {2: (8, 8), 3: (4, 4, 4), 4: (1, 4, 4, 4)}  # of a block in pixels, by the number of axes
_CELLS = {2: (4, 4), 3: (2, 2, 2), 4: (1, 2, 2, 2)}  # blocks of a cell of the map along each axis
_FEWEST = 16  # least number of pixels of a block
_START_QUANTILE = 0.2  # quantile of the high-frequency energies, with which the iteration starts
_MOST_LOWEST = 0.05  # largest share of a block with the image's lowest value, which shows no noise
_NO_SIGNAL = 0.9  # signal, in units of the level, below which a block is taken to have none
_NO_SIGNAL_VARIANCE = 2 - np.pi / 2  # of Rician noise without signal, over the squared level
_ITERATIONS = 50
_WIDTH = 3.0  # standard deviation, in cells, of the Gaussian weights for fitting parabolas
_EVERYWHERE = 1e-3  # weight of the mean of all cells, for cells far from any usable block
_MOST_RATIO = 3.0  # limit of high energies over noise, for texture of high frequencies alone
_FLAT = 0.05  # quantile of the low energies up to which a block counts in full
_LOG_EXCESS = 0.6  # excess of the log energy above that, at which a block counts a quarter


def estimate_levels(image: Image, rician: bool, uneven: bool) -> NoiseModel:
    """Estimate white or magnitude noise; if `uneven`, its level varies across the image."""
    if rician:
        check_magnitudes(image.low)
    none = NoiseModel([0.0] * image.channels, rician=rician)
    if image.low == image.high:
        return none
    blocks = Blocks.of(image)
    if not blocks.means.size and image.valid is not None:
        raise ValueError(
            "the noise cannot be estimated, because the mask leaves no complete block of "
            f"{'x'.join(map(str, _SIDES[len(image.shape)]))} pixels; give sigma"
        )
    variances = _variances(blocks, rician)
    if not variances.any():
        return none
    if not uneven:
        level = np.ldexp(np.sqrt(np.median(blocks.of_cells(variances))), blocks.exponent)
        return NoiseModel([level] * image.channels, rician=rician, uncertainty=UNCERTAINTY)
    cells = np.ldexp(np.sqrt(variances), blocks.exponent).reshape(blocks.grid)
    levels = zoom(cells, blocks.sizes, order=1, mode="nearest", grid_mode=True)
    levels = levels[tuple(map(slice, image.shape))]
    return NoiseModel(levels=levels, rician=rician, uncertainty=UNCERTAINTY)


@dataclass(frozen=True)
class Blocks:
    """Usable blocks of an image, divided by ``2 ** exponent`` so that squares do not overflow."""

    energies: Floats  # (2, n) mean squared coefficients at high and at low frequencies above 0
    means: Floats  # (n,) means of the pixels
    places: Floats  # (axes, n) centers, in units of cells, from the center of the first cell
    grid: tuple[int, ...]  # cells of the image along each axis
    sizes: tuple[int, ...]  # pixels of a cell along each axis
    exponent: int

    @classmethod
    def of(cls, image: Image) -> Self:
        """Measure all blocks, a slab of them at a time; ValueError if the image is too small."""
        shape = image.shape
        sides = tuple(map(min, _SIDES[len(shape)], shape))
        if math.prod(sides) < _FEWEST:
            raise ValueError(
                f"the level of noise in an image of shape {shape} cannot be estimated: it "
                f"has no block of {_FEWEST} neighboring pixels; give sigma"
            )
        sizes = tuple(map(math.prod, zip(_CELLS[len(shape)], sides, strict=True)))
        grid = tuple(-(-n // size) for n, size in zip(shape, sizes, strict=True))
        along = zip(shape, sides, sizes, strict=True)
        middles = [(np.arange(n // side) + 0.5) * side / size - 0.5 for n, side, size in along]
        places = np.stack(np.meshgrid(*middles, indexing="ij"))
        exponent = int(np.frexp(image.half_range)[1])
        mask, parts = image.mask, []
        for number in range(places.shape[1]):
            slab = slice(number * sides[0], (number + 1) * sides[0])
            valid = as_blocks(mask[slab], *sides).reshape(-1, *sides)
            for channel in range(image.channels):
                pixels = image.pixels[slab, ..., channel].astype(np.float64)
                values = np.ldexp(as_blocks(pixels, *sides).reshape(-1, *sides), -exponent)
                kept = _usable(values, valid, np.ldexp(image.low, -exponent))
                values = values[kept]
                means = values.mean(axis=tuple(range(1, values.ndim)))
                centers = places[:, number].reshape(len(shape), -1)[:, kept]
                parts.append((energies_of(values), means, centers))
        energies, means, places = (np.concatenate(p, axis=-1) for p in zip(*parts, strict=True))
        return cls(energies, means, places, grid, sizes, exponent)

    def of_cells(self, values: Floats) -> Floats:
        """Interpolate cell values at the blocks.

        With one value per cell, blocks on its quieter side would look flat.
        """
        return map_coordinates(values.reshape(self.grid), self.places, order=1, mode="nearest")


def _usable(values: Floats, valid: Bools, low: float) -> Bools:
    """Return which blocks are all valid, not constant, and hardly have the lowest value `low`."""
    within = tuple(range(1, values.ndim))
    usable = (values == low).mean(axis=within) <= _MOST_LOWEST
    usable &= values.max(axis=within) > values.min(axis=within)
    return usable & valid.all(axis=within)


def energies_of(values: Floats) -> Floats:
    """Return the (2, n) energies of blocks at high and at low frequencies."""
    sides = values.shape[1:]
    total = np.add.reduce(np.indices(sides))
    high = total > (sum(sides) - len(sides)) / 2
    waves = dctn(values, axes=range(1, values.ndim), norm="ortho")
    parts = high, ~high & (total > 0)
    return np.array([(waves[:, part] ** 2).sum(axis=1) / max(part.sum(), 1) for part in parts])


def _variances(blocks: Blocks, rician: bool) -> Floats:
    """Return the squared level of each cell; 0 everywhere if many blocks have no noise."""
    cells = np.ravel_multi_index(tuple(np.rint(blocks.places).astype(int)), blocks.grid)
    number = math.prod(blocks.grid)
    start = np.quantile(blocks.energies[0], _START_QUANTILE) if len(cells) else 0.0
    if start == 0:
        return np.zeros(number)
    factors = np.full(blocks.means.shape, _NO_SIGNAL_VARIANCE if rician else 1.0)
    variances = np.full(number, start / factors[0])
    for _ in range(_ITERATIONS):
        ratios, low = blocks.energies / (factors * blocks.of_cells(variances))
        above = np.log(np.maximum(low, 1e-30)) - np.log(max(np.quantile(low, _FLAT), 1e-30))
        weights = 1 / (1 + (np.maximum(above, 0) / _LOG_EXCESS) ** 2) ** 2
        ratios = _without_texture(np.minimum(ratios, _MOST_RATIO), low, weights)
        sums = np.bincount(cells, weights * ratios, number)
        weights = np.bincount(cells, weights, number).astype(np.float64)
        changes = _smooth(sums / np.maximum(weights, 1e-30), weights, blocks.grid)
        variances = variances * np.maximum(changes, 1 / _MOST_RATIO)
        if rician:
            table = magnitudes(1)
            signals = table.signal_of_mean(blocks.means / np.sqrt(blocks.of_cells(variances)))
            factors = table.variance(np.where(signals < _NO_SIGNAL, 0, signals))
    known = variances[cells]
    return np.clip(variances, known.min(), known.max())


def _without_texture(high: Floats, low: Floats, weights: Floats) -> Floats:
    """Return the energies at high frequencies, less what texture adds to them, by regression."""
    texture = np.maximum(low - 1, 0)  # energies are relative to that of the noise
    centered = weights * (texture - np.average(texture, weights=weights))
    return high - (centered @ high) / max(centered @ texture, 1e-30) * texture


def _smooth(values: Floats, weights: Floats, grid: tuple[int, ...]) -> Floats:
    """Fit a parabola to the values around each cell of a grid, and return its value there."""
    places = 2 * np.indices(grid).reshape(len(grid), -1) / max(grid) - 1
    # Along an axis of few cells, a parabola would follow the noise of the estimates.
    long = [place for place, n in zip(places, grid, strict=True) if n >= 2 * _WIDTH]
    squares = [a * b for a, b in combinations_with_replacement(long, 2)]
    terms = np.stack([np.ones(places.shape[1]), *places, *squares])

    def around(values: Floats) -> Floats:
        shape = (*values.shape[:-1], *grid)
        axes = tuple(range(-len(grid), 0))
        near = gaussian_filter(values.reshape(shape), _WIDTH, axes=axes, mode="constant")
        return near.reshape(values.shape) + _EVERYWHERE * values.mean(axis=-1, keepdims=True)

    products = np.moveaxis(around(weights * terms[:, None] * terms), -1, 0)
    right = around(weights * terms * values).T[..., None]
    least = 1e-9 * np.trace(products, axis1=1, axis2=2)[:, None, None]
    parabolas = np.linalg.solve(products + least * np.eye(len(terms)), right)[..., 0]
    known = values[weights > 0]
    return np.clip((parabolas * terms.T).sum(axis=1), known.min(), known.max())
