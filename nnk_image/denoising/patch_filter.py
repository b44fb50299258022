"""Patch-graph Wiener filtering: groups of similar patches, filtered on their own graphs.

Each group of similar patches is a complete graph whose kernel is the patches' Gram matrix; the
filter is a Wiener response on that kernel's spectrum. It is graph-spectral but not NNK.

Everything is in units of the noise: its standard deviation is 1.

References
----------
S. Herbreteau, C. Kervrann, "Unsupervised linear and iterative combinations of patches for image
denoising", arXiv 2212.00422.
"""

import math

import numpy as np

from nnk_image import _core
from nnk_image.base.geometry import strides_of
from nnk_image.base.reach import LANES, Reach

GRID_ROWS_PER_CHUNK = 8
"""Rows of reference patches in a chunk. The chunks' sums are added chunk by chunk, so that
rounding, and with it the last bits of the result, never depends on the number of threads."""

MOST_POSITIONS = 2**31 - 1
"""Largest distance, in pixels counted row by row, within a search window of the C core."""

PASS_ROWS = 6
"""Time of a pass or a search, in sweeps of the graph methods, for progress reports (measured)."""

_FIRST = 0.25
"""The square of the factor of the first estimate, equation 13 of Herbreteau and Kervrann."""

_MOST_NOISE = 1.5
"""Noise of a group in the first estimate, at most, over what its patches vary by. The most similar
fifth of a window's patches of pure noise vary by a third less than all; more is noise that is not
there, which the first estimate would turn into negative weights."""


_EXAGGERATION = 1.5
"""Factor of the variance of the noise, times the pixels of a patch over the patches of a group, for
filters across pixels in volumes: with few patches for many pixels they would fit the noise. Chosen
by ``python -m benchmarks volumes --volume-tables correlated``; images gain nothing."""


class PatchGroups:
    """Reference patches on a grid over an image, and their groups of similar patches.

    Attributes
    ----------
    patch, radius : tuple of int
        Pixels of a patch, and reach of the search, along each axis (`Grouping.sizes`).
    group : int
        Members of a group.
    lines, columns : ndarray
        The grid: numbers of lines of the image, and positions along them.  Every pixel is
        covered.
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
        *grid, self.columns = map(_grid, shape, self.patch, step)
        self._grid = grid
        self.lines = sum(
            np.ix_(*(p * (s // shape[-1]) for p, s in zip(grid, strides, strict=False)))
        )
        self.lines = np.ascontiguousarray(self.lines.ravel())
        self.core = _core.Patches(
            *(shape, self.patch, self.radius, self.group),
            *(self.lines, self.columns.astype(np.int32)),
        )

    def match(self, image, noise, executor, noisy=False):
        """Find the groups on an image (H, W): nearest patches by squared difference.

        `noise` is that of the images to be filtered. Where `image` is `noisy` itself, what the
        noise adds to the distances is taken off.
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

    def keep(self, where=None, share=1, elsewhere=0):
        """Leave out groups, depending on where the center of their reference patch is.

        Parameters
        ----------
        where : (H, W) ndarray of bool, optional
            By default everywhere.
        share, elsewhere : {0, 0.5, 1}
            What is kept of the groups there, and of the others: 0.5 is every second one, as the
            white fields of a chessboard.
        """
        grid = *self._grid, self.columns
        shape = tuple(len(positions) for positions in grid)
        kept = {0: False, 0.5: sum(np.indices(shape, sparse=True)) % 2 == 0, 1: True}
        wanted = kept[share]
        if where is not None:
            sides = zip(grid, self.patch, strict=True)
            centers = np.ix_(*(positions + side // 2 for positions, side in sides))
            wanted = np.where(where[centers], wanted, kept[elsewhere])
        self.core.keep(np.broadcast_to(wanted, shape).reshape(len(self.lines), -1))

    def first_estimate(self, noisy, noise, executor, where=None, rest=None):
        """Return the estimate of channels (C, H, W) from themselves alone.

        A rough one is enough for what follows: every second group. `where` is as for `keep`, `rest`
        as for `filter`.
        """
        self.keep(where, share=0.5)
        estimate, _ = self.filter(noisy, noisy, noisy, noise, executor, first=True, rest=rest)
        self.keep()
        return estimate

    def filter(self, y, z, x, noise, executor, tau=0.0, first=False, rest=None):
        """Make one pass on channels that share their filters; see nnk_patch_pass in nnk_patches.h.

        One channel of a volume with white noise is filtered across the members of a group, which
        gains 1 dB there; everything else across the pixels of a patch.

        Parameters
        ----------
        y, z, x : (C, H, W) ndarray
            Noisy image, working image, pilot.
        noise : StandardNoise
            Of these channels.
        executor : RowExecutor
        tau : float
            Noise left in the next working image.
        first : bool
            Whether x is noisy itself, and this is the first estimate.
        rest : (C, H, W) ndarray, optional
            Values of the pixels that are in no group, if some groups are left out; default `x`.

        Returns
        -------
        pilot, work : ndarrays like the images
            On the last pass, tau = 0, they are the same.
        """
        n, n_sums = len(y), 2 * len(y) if tau > 0 else len(y)
        across_members = y.ndim > 3 and n == 1 and noise.is_white and not first
        a, b, limit = (_FIRST, 1 + _FIRST, _MOST_NOISE) if first else (1.0, 1.0, math.inf)
        if y.ndim > 3 and not first and not across_members:
            a = b = max(1.0, _EXAGGERATION * math.prod(self.patch) / (n * self.group))
        covariance = noise.covariance(self.patch, y.dtype)
        options = across_members, a, b, tau, limit, covariance
        images = [image.reshape(n, -1) for image in (y, z, x)]

        def work(part, box, g0, g1):
            sums = part[:n], part[n:n_sums], part[n_sums]
            _core.patch_pass(self.core, *options, *images, *sums, *box, g0, g1)

        sums = np.zeros((n_sums + 1, *self.shape), y.dtype)
        self._add_up(work, sums, executor)
        weights = sums[n_sums]
        for axis, side in enumerate(self.patch):  # from first pixels to all pixels of the patches
            weights = _sums_before(weights, axis, side)
        alone = weights == 0
        weights[alone] = 1
        for start in range(0, n_sums, n):
            np.copyto(sums[start : start + n], x if rest is None else rest, where=alone)
        sums[:n_sums] /= weights
        return sums[:n], sums[n:n_sums] if tau > 0 else sums[:n]

    def _add_up(self, work, sums, executor):
        """Add all groups to `sums`, by chunks of rows of the grid, in their order.

        ``work(part, (first, shape), g0, g1)`` adds the groups of grid lines [g0, g1) to `part`,
        (len(sums), pixels) zeros for the box of the image that they reach.
        """
        chunks = _chunks(len(self.lines), len(self._grid[-1]), GRID_ROWS_PER_CHUNK)

        def chunk(number, _):
            g0, g1 = chunks[number]
            box = self._box(g0, g1)
            shape = tuple(part.stop - part.start for part in box)
            part = np.empty((len(sums), math.prod(shape)), sums.dtype)
            part[...] = 0  # faster than np.zeros, whose pages are new each time
            work(part, (tuple(part.start for part in box), shape), g0, g1)
            return box, part.reshape(-1, *shape)

        def add(result):
            box, part = result
            sums[:, *box] += part

        counts_as = PASS_ROWS * math.prod(self.shape[:-1])
        executor.run(chunk, len(chunks), rows_per_chunk=1, counts_as=counts_as, consume=add)

    def _box(self, g0, g1):
        """Return the slices of the image that the groups of grid lines [g0, g1) reach."""
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
    reference patches up to `radius` away, whose members are up to `radius` away from those.
    """
    patch, radius, (*leading, above, last) = grouping.sizes(shape, spacing)
    border = tuple(passes * (2 * r + p - 1) + p - 1 for r, p in zip(radius, patch, strict=True))
    return Reach(border, (*leading, GRID_ROWS_PER_CHUNK * above, math.lcm(last, LANES)))


def _sums_before(values, axis, n):
    """Return the sums of each value and the n - 1 before it along an axis."""
    values = np.moveaxis(values, axis, 0)
    sums = values.copy(order="K")
    for shift in range(1, n):
        sums[shift:] += values[:-shift]
    return np.moveaxis(sums, 0, axis)


def _grid(n, patch, step):
    """Return positions 0, step, 2 step, ... and always the last one."""
    return np.unique(np.append(np.arange(0, n - patch + 1, step), n - patch))


def _chunks(n_lines, plane, height):
    """Split grid lines into ranges of at most `height`, none of which crosses planes."""
    return [
        (g, min(g + height, start + plane))
        for start in range(0, n_lines, plane)
        for g in range(start, start + plane, height)
    ]
