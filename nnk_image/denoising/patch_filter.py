"""Patch-graph Wiener filtering: groups of similar patches, filtered on their own graphs.

Each group of similar patches is a complete graph whose kernel is the patches' Gram
matrix; the filter is a Wiener response on that kernel's spectrum.  It is graph-spectral
but not NNK.

Everything is in units of the noise: its standard deviation is 1.

References
----------
S. Herbreteau, C. Kervrann, "Unsupervised linear and iterative combinations of patches for
image denoising", arXiv 2212.00422.
"""

import math

import numpy as np

from nnk_image import _core
from nnk_image.base.geometry import PixelGrid
from nnk_image.base.reach import LANES, Reach
from nnk_image.denoising import patch_shapes
from nnk_image.noise.standard import WHITE

GRID_ROWS_PER_CHUNK = 2
"""Rows of reference patches in a chunk.  The chunks' sums are added chunk by chunk, so that
rounding, and with it the last bits of the result, never depends on the number of threads."""

_GRID_ROWS_OF_VOLUMES = 8
"""The same at the least in volumes, whose rows are short."""

MOST_POSITIONS = 2**31 - 1
"""Largest distance, in pixels counted row by row, within a search window of the C core."""

PASS_ROWS = 12
"""Time of a pass or a search, in sweeps of the graph methods, for progress reports (measured)."""

_FIRST_TAU = 0.75

_FLOAT32_SPREAD = 60
"""Range of values, in units of the noise, beyond which Gram matrices need float64."""


def wiener(noisy, preset, noise, statistics, executor):
    """Denoise channels that share their structure.

    Parameters
    ----------
    noisy : (C, H, W) ndarray
        Unit noise, or of more axes; patches are compared on channel 0.
    preset : Preset
    noise : StandardNoise
    statistics : Statistics
        Completed: how strong the noise is, and how large the range of values.
    executor : RowExecutor

    Returns
    -------
    ndarray like `noisy`
    """
    shape = noisy.shape[1:]
    if noisy.dtype == np.float32 and statistics.spread > _FLOAT32_SPREAD:
        wide = wiener(noisy.astype(np.float64), preset, noise, statistics, executor)
        return wide.astype(np.float32)
    both = noise, statistics.spacing
    groups = PatchGroups(shape, preset.first_patch, preset, preset.first_group, *both)
    groups.match(noisy[0], executor, noise)
    pilot = _stacked(
        [groups.filter(c, y, y, y, 0.0, executor, first=True)[0] for c, y in enumerate(noisy)]
    )
    patches = preset.patches_noisy if statistics.noise_is_strong else preset.patches
    last_epoch = (preset.passes - 1) // preset.passes_per_epoch
    work = noisy
    for m in range(preset.passes):
        epoch = m // preset.passes_per_epoch
        if m % preset.passes_per_epoch == 0:
            patch = patches[min(epoch, len(patches) - 1)]
            groups = PatchGroups(shape, patch, preset, preset.group, *both)
            groups.match(work[0], executor, noise if m == 0 else WHITE)
        tau = _FIRST_TAU * (1 - (m + 1) / preset.passes)
        right = preset.right_last and noise.is_white and epoch == last_epoch
        pilot, work = groups.filter_all(noisy, work, pilot, tau, executor, right)
    return pilot


def look_again(noisy, pilot, preset, noise, statistics, executor):
    """Make one Wiener pass on the noisy image itself, with groups from `pilot`."""
    shape, patch = noisy.shape[1:], preset.patches[0]
    groups = PatchGroups(shape, patch, preset, preset.group, noise, statistics.spacing)
    groups.match(pilot[0], executor, WHITE)
    right = preset.right_last and noise.is_white
    return groups.filter_all(noisy, noisy, pilot, 0.0, executor, right)[0]


def progress_units(preset, channels):
    """Return how many times `wiener` processes all rows: searches and passes."""
    searches = 1 + -(-preset.passes // preset.passes_per_epoch)
    return PASS_ROWS * (searches + (1 + preset.passes) * channels)


class PatchGroups:
    """Reference patches on a grid over an image, and their groups of similar patches.

    `patch` is the side of a patch; `preset` has the reach of the search and the step; a group has
    at most `group` members.

    Attributes
    ----------
    patch, radius : tuple of int
        Pixels of a patch, and reach of the search, along each axis (`patch_shapes.sizes`).
    lines, columns : ndarray
        The grid: numbers of lines of the image, and positions along them.  Every pixel is
        covered.
    """

    def __init__(self, shape, patch, preset, group, noise, spacing=None):
        self.shape = shape
        sizes = patch_shapes.sizes(shape, patch, preset, spacing)
        self.patch, self.radius = sizes.patch, sizes.radius
        strides = PixelGrid(shape).strides
        reach = 2 * sum(r * stride for r, stride in zip(self.radius, strides, strict=True))
        if reach > MOST_POSITIONS:
            raise ValueError(
                f"an image of shape {shape} has too many pixels along its last axes to search for "
                "patches; denoise parts of it, or move its longest axis to the front"
            )
        *grid, self.columns = (
            _grid(n, *sides) for n, *sides in zip(shape, sizes.patch, sizes.step, strict=True)
        )
        self._grid = grid
        self.lines = sum(
            np.ix_(*(p * (s // shape[-1]) for p, s in zip(grid, strides, strict=False)))
        )
        self.lines = np.ascontiguousarray(self.lines.ravel())
        self.core = _core.Patches(
            shape, self.patch, self.radius, group, self.lines, self.columns.astype(np.int32)
        )
        self.noise = noise

    def match(self, image, executor, noise):
        """Find the groups on `image`: nearest patches by squared difference.

        What `noise`, that of the image, adds to the distances is taken off.
        """
        distances = noise.distances(0, self.patch, self.radius, image.dtype)
        _, variances = self.noise.distances(0, self.patch, self.radius, image.dtype)
        self.core.set_noise(distances[0], variances)
        flat = image.reshape(-1)
        executor.run(
            lambda g0, g1: _core.match(self.core, flat, g0, g1),
            len(self.lines),
            rows_per_chunk=rows_per_chunk(len(self.shape)),
            counts_as=PASS_ROWS * math.prod(self.shape[:-1]),
        )

    def filter_all(self, noisy, work, pilot, tau, executor, right):
        """Make one pass on each channel: new pilot, new working image."""
        results = [
            self.filter(c, y, z, x, tau, executor, right=right)
            for c, (y, z, x) in enumerate(zip(noisy, work, pilot, strict=True))
        ]
        return tuple(_stacked(images) for images in zip(*results, strict=True))

    def filter(self, channel, y, z, x, tau, executor, first=False, right=False):
        """Make one pass on one channel; see nnk_patch_pass in nnk_patches.h.

        Returns
        -------
        pilot, work : ndarrays of the image's shape
            On the last pass, tau = 0, they are the same.
        """
        tables = self.noise.tables(channel, self.patch, self.radius, y.dtype)
        images = [image.reshape(-1) for image in (y, z, x)]

        def work(part, box, g0, g1):
            sum_x, weights = part[:2]
            sum_z = part[2] if tau > 0 else np.empty(0, y.dtype)
            _core.patch_pass(
                self.core,
                first,
                right,
                1.0,
                tau,
                tables,
                *images,
                sum_x,
                sum_z,
                weights,
                *box,
                g0,
                g1,
            )

        sums = [np.zeros(self.shape, y.dtype) for _ in range(3 if tau > 0 else 2)]
        self.add_up(work, sums, executor)
        pilot, weights, *rest = sums
        for image in (pilot, *rest):
            image /= weights
        return pilot, rest[0] if rest else pilot

    def add_up(self, work, sums, executor, grid_rows=GRID_ROWS_PER_CHUNK):
        """Add all groups to `sums`, by chunks of `grid_rows` rows of the grid, in their order.

        ``work(part, (first, shape), g0, g1)`` adds the groups of grid lines [g0, g1) to `part`,
        (len(sums), pixels) zeros for the box of the image that they reach.
        """
        height = rows_per_chunk(len(self.shape), grid_rows)
        chunks = _chunks(len(self.lines), len(self._grid[-1]), height)

        def chunk(number, _):
            g0, g1 = chunks[number]
            box = self._box(g0, g1)
            shape = tuple(part.stop - part.start for part in box)
            part = np.zeros((len(sums), math.prod(shape)), sums[0].dtype)
            work(part, (tuple(part.start for part in box), shape), g0, g1)
            return box, part.reshape(-1, *shape)

        def add(result):
            box, part = result
            for total, share in zip(sums, part, strict=True):
                total[box] += share

        counts_as = PASS_ROWS * math.prod(self.shape[:-1])
        executor.run_in_order(chunk, add, len(chunks), 1, counts_as)

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


def rows_per_chunk(axes, grid_rows=GRID_ROWS_PER_CHUNK):
    """Return the rows of reference patches in a chunk, in an image of the given number of axes."""
    return grid_rows if axes == 2 else max(grid_rows, _GRID_ROWS_OF_VOLUMES)


def reach(shape, patch, grouping, spacing=None, grid_rows=GRID_ROWS_PER_CHUNK):
    """Return the overlap that a search, or a pass over its groups, needs around a tile.

    A pixel lies in patches that begin less than a patch before it. Each is a member of groups of
    reference patches up to `radius` away, whose members are up to `radius` away from those.

    Parameters are those of `PatchGroups` and `PatchGroups.add_up`.
    """
    sizes = patch_shapes.sizes(shape, patch, grouping, spacing)
    border = (2 * r + p - 1 for r, p in zip(sizes.radius, sizes.patch, strict=True))
    rows = rows_per_chunk(len(shape), grid_rows)
    *leading, above, last = sizes.step
    return Reach(tuple(border), (*leading, rows * above, math.lcm(last, LANES)))


def reach_of_passes(shape, preset, spacing=None):
    """Return the `Reach` of all passes of `wiener`."""
    parts = [reach(shape, preset.first_patch, preset, spacing)]
    for m in range(preset.passes):
        epoch = m // preset.passes_per_epoch
        sides = (p[min(epoch, len(p) - 1)] for p in (preset.patches, preset.patches_noisy))
        parts += [reach(shape, max(sides), preset, spacing)]
    return sum(parts, Reach.none(len(shape)))


def _stacked(images):
    """Return images of one shape as one array, without a copy if there is only one."""
    return images[0][None] if len(images) == 1 else np.stack(images)


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
