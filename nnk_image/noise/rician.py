"""Rician noise, recognized by its moments in places without signal, see docs/estimation.md."""

import numpy as np

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Bools, Floats, Image
from nnk_image.noise.blocks import SIDE
from nnk_image.noise.levels import energies_of

_MEAN, _DEVIATION = np.sqrt(np.pi / 2), np.sqrt(2 - np.pi / 2)  # of Rician noise without signal
_SKEWNESS = 2 * np.sqrt(np.pi) * (np.pi - 3) / (4 - np.pi) ** 1.5
_TOLERANCE = 0.2  # relative difference from what is expected without signal
_SIGNAL = 5.5  # mean of blocks with signal; shot noise would be too strong there
_USUAL_VARIANCES = 0.6, 1.8  # of their noise: texture and the signal's noise may change it
_STRUCTURED = 1.6  # variance of a block, over the median, above which it contains an edge
_LEAST_SHARE, _FEWEST = 0.05, 16  # of blocks without, and number with or without signal
_ITERATIONS = 20  # of the search for the darkest mode


@np.errstate(over="ignore")
def shows_rician_noise(image: Image) -> bool:
    """Return whether an image of two axes shows Rician noise, in places without signal and with it.

    Without signal, the mean, the variance, the variation of the means of blocks and the skewness
    follow from a single sigma. With signal, the variance is sigma^2; that of counts or speckle
    would be larger.
    """
    if image.channels > 1 or not 0 <= image.low < image.high:
        return False
    parts = (as_blocks(a, SIDE, SIDE) for a in (image.pixels[..., 0], image.mask))
    blocks, valid = (part.reshape(-1, SIDE**2) for part in parts)
    blocks = blocks[valid.all(axis=1) & (blocks.max(axis=1) > blocks.min(axis=1))]
    if len(blocks) < 2 * _FEWEST:
        return False
    blocks = blocks / image.dtype.type(image.high)
    means = blocks.mean(axis=1, dtype=np.float64)
    is_dark = _in_darkest_mode(means)
    sigma = np.median(means[is_dark]) / _MEAN
    is_bright = means > _SIGNAL * sigma
    n_dark, n_bright = np.count_nonzero(is_dark), np.count_nonzero(is_bright)
    if n_dark < max(_FEWEST, _LEAST_SHARE * len(blocks)) or n_bright < _FEWEST:
        return False
    least, most = _USUAL_VARIANCES
    usual = least < _variance_of_flattest(blocks[is_bright] / sigma) < most
    return usual and _is_without_signal(blocks[is_dark] / sigma)


def _in_darkest_mode(means: Floats) -> Bools:
    """Return which of the means of blocks are as near their darkest mode as noise alone is."""
    mode = np.quantile(means, _LEAST_SHARE, method="lower")
    for _ in range(_ITERATIONS):
        near = np.abs(means - mode) < 3 * _DEVIATION / SIDE * mode / _MEAN
        mode = np.median(means[near])
    return near


def _is_without_signal(blocks: Floats) -> bool:
    """Return whether (n, pixels) blocks, divided by sigma, have moments of noise without signal."""
    variances = blocks.var(axis=1, ddof=1)
    blocks = blocks[variances < _STRUCTURED * np.median(variances)]
    centered = blocks - blocks.mean(axis=1, keepdims=True)
    found = (
        blocks.var(axis=1, ddof=1).mean() / _DEVIATION**2,
        blocks.mean(axis=1).std() * SIDE / _DEVIATION,
        (centered**3).mean() / (centered**2).mean() ** 1.5 / _SKEWNESS,
    )
    return bool(np.abs(np.array(found) - 1).max() < _TOLERANCE)


def _variance_of_flattest(blocks: Floats) -> float:
    """Return the median variance at high frequencies of the blocks with least at low ones."""
    high, low = energies_of(blocks.reshape(-1, SIDE, SIDE))
    flattest = np.argsort(low)[: max(_FEWEST, len(blocks) // 10)]
    return float(np.median(high[flattest]))
