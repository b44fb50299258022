"""Counts of photons, or of other single events, recognized by a variance that equals their mean.

They may have been multiplied by a constant, or divided by exposures. The squares of second
differences are compared with their expectation, see docs/estimation.md.
"""

import numpy as np
import numpy.typing as npt
from scipy.signal import convolve2d

from nnk_image.base.geometry import as_blocks
from nnk_image.base.image import Bools, Floats, Image
from nnk_image.noise.blocks import SIDE
from nnk_image.noise.levels import UNCERTAINTY
from nnk_image.noise.model import NoiseModel

_KERNELS = [1, -2, 1], [1, 0, -2, 0, 1]  # second differences, of neighbors and of every other pixel
_GROUPS, _FEWEST = 4, 16  # groups of blocks by brightness, and least number of counts in a group
_LEAST_RATIO, _USUAL_RATIOS = 0.7, (0.85, 1.25)
"""Least ratio of squares to sums in any group, and bounds of the median of these ratios."""

_MOST_GROWTH = 3.0  # largest ratio of the second kernel relative to that of the first
_MOST_COUNTS = 20  # mean count above which other noise may have such ratios by chance
_LEAST_DARK = 0.05  # least share of pixels without a photon, to find the value that these have


@np.errstate(over="ignore")
def photon_noise(image: Image) -> NoiseModel | None:
    """Return the noise of an image whose values are counts of photons, or None if they are not."""
    valid = image.mask
    gains, offsets = [], []
    for channel in np.moveaxis(image.pixels, -1, 0):
        lowest = channel[valid].min()  # without light, if many pixels have this value
        offset = float(lowest) if np.mean(channel[valid] == lowest) >= _LEAST_DARK else 0.0
        light = np.subtract(channel, offset, dtype=np.float64)
        seen = light[valid & (light != 0)]
        value = float(seen.min()) if seen.size else 0.0
        if value <= 0:
            return None
        many = seen.sum() > _MOST_COUNTS * value * valid.sum()
        if many and seen.size > (1 - _LEAST_DARK) * valid.sum():
            return None
        counts = np.rint(light / value)
        exact = np.allclose(counts * value, light, rtol=1e-6, atol=0)
        if not exact:
            if offset != lowest:  # no pixel without light
                return None
            # Divided by exposures: values below twice the smallest are mostly single counts.
            value = float(np.median(seen[seen < 2 * value]))
            counts = light / value
        if not _are_of_photons(counts, valid, exact):
            return None
        gains.append(value)
        offsets.append(offset)
    return NoiseModel([0.0] * len(gains), gain=gains, offset=offsets, uncertainty=UNCERTAINTY)


def _are_of_photons(counts: Floats, valid: Bools, exact: bool) -> bool:
    """Return whether squared differences are as large as the expected ones, apart from structure.

    Structure only adds to them, and much only where it is sharp, in some groups of blocks. So does
    noise that is proportional to the light: numbers that are not `exact` must not have much more.
    """
    near, far = (_ratios(counts, valid, np.outer(kernel, kernel)) for kernel in _KERNELS)
    if not near.size or not far.size or min(near.min(), far.min()) < _LEAST_RATIO:
        return False
    typical = np.median(near)
    least, most = _USUAL_RATIOS
    usual = least < typical < most and (exact or near.max() < most / least * typical)
    return bool(usual and np.median(far) < _MOST_GROWTH * typical)


def _ratios(counts: Floats, valid: Bools, kernel: npt.NDArray[np.int_]) -> Floats:
    """Return the squared differences over the expected ones, in groups of blocks by brightness."""
    complete = convolve2d(valid, np.ones_like(kernel), "valid") == kernel.size
    terms = convolve2d(counts, kernel, "valid") ** 2, convolve2d(counts, kernel**2, "valid")
    squares, sums = (as_blocks(term * complete, SIDE, SIDE).sum(axis=2).ravel() for term in terms)
    order = np.argsort(sums, kind="stable")
    groups = np.array_split(order[sums[order] > 0], _GROUPS)
    totals = np.array([(squares[group].sum(), sums[group].sum()) for group in groups])
    known = totals[totals[:, 1] >= _FEWEST * np.sum(kernel**2)]
    ratios: Floats = known[:, 0] / known[:, 1]
    return ratios
