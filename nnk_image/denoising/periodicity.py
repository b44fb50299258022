"""How much what was removed repeats, over longer distances than noise is correlated."""

import math

import numpy as np
from scipy.fft import irfft2, rfft2

from nnk_image.base.image import Array, Bools
from nnk_image.noise.model import NoiseModel

_DISTANCES = 8, 24  # pixels, from and to which what was removed is compared with itself
_MOST_PIXELS = 1 << 18  # approximate number of pixels, from the middle and from some slices
_ROUNDING = 1e-20  # power that counts as none, relative to that before means are subtracted


def periodicity_of(removed: Array, valid: Bools, noise: NoiseModel | None) -> float:
    """Return the `periodicity` of `check_residual` for what was removed, (slices, H, W).

    It is the largest autocorrelation at the distances, of all slices together.
    """
    near, far = _DISTANCES
    if noise is not None and noise.correlation is not None:
        near = max(near, 1 + max(noise.correlation.shape[-2:]) // 2)
    if near > far or (noise is not None and noise.rician):  # the mean of magnitudes varies
        return float("nan")
    count, *shape = removed.shape
    side = math.isqrt(_MOST_PIXELS)
    starts = [max(0, n - side) // 2 for n in shape]
    padded = [min(n, side) + far for n in shape]  # so that opposite sides are not compared
    every = 1 + count * math.prod(padded) // _MOST_PIXELS
    part = (slice(None, None, every), *(slice(start, start + side) for start in starts))
    values = removed[part].astype(np.float64)
    weights = valid.reshape(removed.shape)[part].astype(np.float64)
    values *= weights
    power = np.vdot(values, values)
    means: list[tuple[int, ...]] = [(1, 2)]
    if noise is not None:
        means += [(2,)] * (noise.rows > 0) + [(1,)] * (noise.columns > 0)
    for axes in means:
        numbers = np.maximum(weights.sum(axis=axes, keepdims=True), 1)
        values -= weights * (values.sum(axis=axes, keepdims=True) / numbers)
    products = irfft2((abs(rfft2(values, padded)) ** 2).sum(axis=0), padded)
    if products[0, 0] <= _ROUNDING * power:
        return float("nan")
    down, right = np.mgrid[-far : far + 1, 1 : far + 1]
    # Pixels of one row or column are not compared, because they may share an offset.
    distant = (np.maximum(abs(down), right) >= near) & (down != 0)
    return float(products[down[distant], right[distant]].max() / products[0, 0])
