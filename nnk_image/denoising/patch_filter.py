"""Patch-graph Wiener filtering: groups of similar patches, filtered on their own graphs.

Each group of similar patches is a complete graph whose kernel is the patches' Gram matrix; the
filter is a Wiener response on that kernel's spectrum. It is graph-spectral but not NNK. Noise has
standard deviation 1. The source is S. Herbreteau, C. Kervrann, see `denoise`.
"""

import math

import numpy as np

from nnk_image import _core
from nnk_image.base.geometry import strides_of
from nnk_image.base.reach import LANES, Reach

GRID_ROWS_PER_CHUNK = 8  # rows of reference patches that a thread processes at once
MOST_POSITIONS = 2**31 - 1  # largest difference of two positions in a search window: int32 in C

PASS_ROWS = 6  # for progress: measured time of a pass or a search, in sweeps of a graph method

_FIRST_A = 0.25
"""The `a` of the first estimate, whose `b` is ``1 + a``, see nnk_patch_pass: the square of the
factor in equation 13 of Herbreteau and Kervrann."""

_MOST_NOISE = 1.5
"""In the first estimate, the noise of a group is at most this many times the variation of its
patches. The most similar fifth of patches of pure noise varies by a third less than all; a larger
ratio would lead to negative weights."""

_OVERFITTING = 1.5
"""Factor of the variance of the noise in volumes, times the pixels of a patch over the patches of a
group, so that filters do not fit the noise of few patches. Chosen by
``python -m benchmarks volumes --volume-tables correlated``; images gain nothing."""


class PatchGroups:
    """Reference patches on a grid over an image, and their groups of similar patches.

    Reference patches begin on `lines` of the image, at `columns` along each; they cover all pixels.
    """

    def __init__(self, shape, grouping, spacing=None):
        self.shape = shape
        self.patch, self.radius, step = grouping.sizes(shape, spacing)
        self.group = grouping.group
        strides = strides_of(shape)
        reach = 2 * sum(r * stride for r, stride in zip(self.radius, strides, strict=True))
        if reach > MOST_POSITIONS:
            raise ValueError(
                f"an image of shape {shape} has too many pixels along its last axes to search for "
                "patches; denoise parts of it, or move its longest axis to the front"
            )
        *self._grid, self.columns = map(_grid, shape, self.patch, step)
        starts = (p * (s // shape[-1]) for p, s in zip(self._grid, strides, strict=False))
        self.lines = np.ascontiguousarray(sum(np.ix_(*starts)).ravel())
        grid = self.lines, self.columns.astype(np.int32)
        self.core = _core.Patches(shape, self.patch, self.radius, self.group, *grid)

    def match(self, image, noise, executor, noisy=False):
        """Find the groups in an image (H, W): the nearest patches by squared difference.

        `noise` is that of the images to be filtered. If `image` is `noisy` itself, what the noise
        adds to the squared distances is subtracted.
        """
        bias = noise.bias(self.patch, self.radius, image.dtype) if noisy else None
        self.core.set_noise(bias, noise.patch_variances(self.patch, image.dtype))
        flat = image.reshape(-1)
        executor.run(
            lambda g0, g1: _core.match(self.core, flat, g0, g1),
            len(self.lines),
            rows_per_chunk=GRID_ROWS_PER_CHUNK,
            counts_as=PASS_ROWS * math.prod(self.shape[:-1]),
        )

    def keep(self, where=None, every_second=False):
        """Choose the groups to filter: all, or `every_second`, like a chessboard's white squares.

        If `where` is given, keep only groups whose reference patch has its center there.
        """
        grid = *self._grid, self.columns
        kept = np.full([len(positions) for positions in grid], True)
        if every_second:
            kept = sum(np.indices(kept.shape, sparse=True)) % 2 == 0
        if where is not None:
            sides = zip(grid, self.patch, strict=True)
            kept &= where[np.ix_(*(positions + side // 2 for positions, side in sides))]
        self.core.keep(kept.reshape(len(self.lines), -1))

    def first_estimate(self, noisy, noise, executor, where=None, rest=None):
        """Return the first estimate of noisy channels (C, H, W); see `keep` and `filter`."""
        self.keep(where, every_second=True)  # a rough estimate is enough for the passes that follow
        filters = False, _FIRST_A, 1 + _FIRST_A, _MOST_NOISE
        images = None, noisy, noisy
        estimate = self._pass(filters, images, noise, executor, noisy if rest is None else rest)
        self.keep()
        return estimate

    def filter(self, noisy, work, pilot, noise, executor):
        """Make one pass on channels that share their filters, and return the next pilot.

        Filters combine the pixels of a patch; those of one channel of a volume with white noise
        combine the members of a group, which gains 1 dB there.

        The noisy image, the working image and the pilot are (C, H, W). `noise` is that of these
        channels. Pixels in no group, if some groups were not kept, get the pilot's values.
        """
        n, is_volume = len(noisy), noisy.ndim > 3
        across_members = is_volume and n == 1 and noise.is_white
        a = 1.0
        if is_volume and not across_members:
            a = max(1.0, _OVERFITTING * math.prod(self.patch) / (n * self.group))
        filters = across_members, a, a, math.inf
        removed = None if work is noisy else noisy - work
        return self._pass(filters, (removed, work, pilot), noise, executor, pilot)

    def _pass(self, filters, images, noise, executor, rest):
        """Make one pass; `filters` are across_members, a, b and limit of nnk_patch_pass.

        The images are its `removed`, z and x.
        """
        dtype = rest.dtype
        images = [None if image is None else image.reshape(len(image), -1) for image in images]
        options = *filters, noise.covariance(self.patch, dtype), *images
        sums = self._sums(options, len(rest), dtype, executor)
        sums, weights = sums[:-1], sums[-1]
        for axis, side in enumerate(self.patch):  # from the patches' first pixels to all pixels
            weights = _sums_before(weights, axis, side)
        alone = weights == 0
        weights[alone] = 1
        np.copyto(sums, rest, where=alone)
        sums /= weights
        return sums

    def _sums(self, options, channels, dtype, executor):
        """Return the (C + 1, H, W) sums of the patches of all groups, and last their weights.

        Those of chunks of grid lines are added in a fixed order, for any number of threads.
        """
        chunks = _chunks(len(self.lines), len(self._grid[-1]))
        sums = np.zeros((channels + 1, *self.shape), dtype)

        def work(number, _):
            g0, g1 = chunks[number]
            box = self._box(g0, g1)
            first, shape = zip(*((side.start, side.stop - side.start) for side in box), strict=True)
            part = np.empty((len(sums), math.prod(shape)), dtype)
            part[...] = 0  # faster than np.zeros, which gets new memory pages each time
            _core.patch_pass(self.core, *options, part[:-1], part[-1], first, shape, g0, g1)
            return box, part.reshape(-1, *shape)

        def add(result):
            box, part = result
            sums[:, *box] += part

        counts_as = PASS_ROWS * math.prod(self.shape[:-1])
        executor.run(work, len(chunks), rows_per_chunk=1, counts_as=counts_as, consume=add)
        return sums

    def _box(self, g0, g1):
        """Return slices of the image that hold all patches of the groups of grid lines [g0, g1)."""
        sizes = [len(positions) for positions in self._grid]
        first, last = (np.unravel_index(g, sizes) for g in (g0, g1 - 1))
        box = []
        for axis, positions in enumerate(self._grid):
            reach, patch = self.radius[axis], self.patch[axis]
            end = positions[last[axis]] + reach + patch
            start = positions[first[axis]] - reach
            box.append(slice(max(0, int(start)), min(self.shape[axis], int(end))))
        return *box, slice(0, self.shape[-1])


def search_reach(shape, grouping, passes, spacing=None):
    """Return the overlap that a search and passes over its groups need around a tile.

    A pixel lies in patches that begin less than a patch before it. Each is a member of groups of
    reference patches up to `radius` away, whose members are up to `radius` away from those. Tiles
    begin at even reference patches, so that `keep` chooses the same half of the groups.
    """
    patch, radius, (*leading, above, last) = grouping.sizes(shape, spacing)
    border = tuple(passes * (2 * r + p - 1) + p - 1 for r, p in zip(radius, patch, strict=True))
    unit = *(2 * step for step in leading), GRID_ROWS_PER_CHUNK * above, math.lcm(2 * last, LANES)
    return Reach(border, unit)


def _sums_before(values, axis, n):
    """Return the sums of each value and the n - 1 before it along an axis."""
    values = np.moveaxis(values, axis, 0)
    sums = values.copy(order="K")
    for shift in range(1, n):
        sums[shift:] += values[:-shift]
    return np.moveaxis(sums, 0, axis)


def _grid(n, patch, step):
    """Return the positions 0, step, 2 step, ... of patches, and the last one that fits into n."""
    return np.unique(np.append(np.arange(0, n - patch + 1, step), n - patch))


def _chunks(n_lines, plane):
    """Split grid lines into ranges, each within one plane of `plane` lines."""
    return [
        (g, min(g + GRID_ROWS_PER_CHUNK, start + plane))
        for start in range(0, n_lines, plane)
        for g in range(start, start + plane, GRID_ROWS_PER_CHUNK)
    ]
