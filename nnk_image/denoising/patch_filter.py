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

import numpy as np

from nnk_image import _core
from nnk_image.denoising.standard_noise import WHITE

GRID_ROWS_PER_CHUNK = 2
"""Rows of reference patches in a chunk.  The chunks' sums are added chunk by chunk, so that
rounding, and with it the last bits of the result, never depends on the number of threads."""

MOST_POSITIONS = 2**31 - 1
"""Largest distance, in pixels counted row by row, within a search window of the C core."""

_FIRST_TAU = 0.75

_FLOAT32_SPREAD = 60
"""Range of values, in units of the noise, beyond which Gram matrices need float64."""


def wiener(noisy, preset, whole, executor):
    """Denoise channels that share their structure.

    Parameters
    ----------
    noisy : (C, H, W) ndarray
        Unit noise; patches are compared on channel 0.
    preset : Preset
    whole : WholeImage
        Completed: how strong the noise is, and how large the range of values.
    executor : RowExecutor

    Returns
    -------
    (C, H, W) ndarray
    """
    shape = noisy.shape[1:]
    if noisy.dtype == np.float32 and whole.spread > _FLOAT32_SPREAD:
        wide = wiener(noisy.astype(np.float64), preset, whole, executor)
        return wide.astype(np.float32)
    noise = whole.standard
    groups = PatchGroups(shape, preset.first_patch, preset, preset.first_group, noise)
    groups.match(noisy[0], executor, noise)
    first = [groups.filter(c, y, y, y, 0.0, executor, first=True)[0] for c, y in enumerate(noisy)]
    pilot = np.stack(first)
    patches = preset.patches_noisy if whole.noise_is_strong else preset.patches
    last_epoch = (preset.passes - 1) // preset.passes_per_epoch
    work = noisy
    for m in range(preset.passes):
        epoch = m // preset.passes_per_epoch
        if m % preset.passes_per_epoch == 0:
            patch = patches[min(epoch, len(patches) - 1)]
            groups = PatchGroups(shape, patch, preset, preset.group, noise)
            groups.match(work[0], executor, noise if m == 0 else WHITE)
        tau = _FIRST_TAU * (1 - (m + 1) / preset.passes)
        right = preset.right_last and epoch == last_epoch
        pilot, work = groups.filter_all(noisy, work, pilot, tau, executor, right)
    return pilot


def look_again(noisy, pilot, preset, whole, executor):
    """One Wiener pass on the noisy image itself, pilot and groups from `pilot`."""
    noise = whole.standard
    groups = PatchGroups(noisy.shape[1:], preset.patches[0], preset, preset.group, noise)
    groups.match(pilot[0], executor, WHITE)
    return groups.filter_all(noisy, noisy, pilot, 0.0, executor, preset.right_last)[0]


def progress_units(preset):
    """How many times `wiener` goes over all rows of a channel: its passes and its searches."""
    return 2 + preset.passes + -(-preset.passes // preset.passes_per_epoch)


class PatchGroups:
    """Reference patches on a grid over an image, and their groups of similar patches.

    Parameters
    ----------
    shape : (int, int)
        Of the image; a patch is never larger.
    patch : int
        Side of a patch.
    preset : Preset
        For the reach of the search and the step, which is never larger than a patch:
        every pixel is covered.
    group : int
        Most members of a group.
    noise : StandardNoise
    """

    def __init__(self, shape, patch, preset, group, noise):
        self.shape = shape
        self.patch = min(patch, *shape)
        self.radius = min(preset.radius, max(shape))
        if (2 * self.radius + 1) * (shape[1] + 1) > MOST_POSITIONS:
            raise ValueError(
                f"an image of {shape[1]} columns is too wide to search for patches; denoise its "
                "transpose, or parts of it"
            )
        step = min(preset.step, self.patch)
        self.rows, self.columns = (_grid(n, self.patch, step) for n in shape)
        self.core = _core.Patches(*shape, self.patch, self.radius, group, self.rows, self.columns)
        self.noise = noise

    def match(self, image, executor, noise):
        """Find the groups on `image` (H, W): nearest patches by squared difference.

        What `noise`, that of the image, adds to the distances is taken off.
        """
        distances = noise.distances(0, self.patch, self.radius, image.dtype)
        _, variances = self.noise.distances(0, self.patch, self.radius, image.dtype)
        self.core.set_noise(distances[0], variances)
        executor.run(
            lambda g0, g1: _core.match(self.core, image, g0, g1),
            len(self.rows),
            rows_per_chunk=GRID_ROWS_PER_CHUNK,
        )

    def filter_all(self, noisy, work, pilot, tau, executor, right):
        """One pass on each channel: new pilot, new working image."""
        results = [
            self.filter(c, y, z, x, tau, executor, right=right)
            for c, (y, z, x) in enumerate(zip(noisy, work, pilot, strict=True))
        ]
        return tuple(np.stack(images) for images in zip(*results, strict=True))

    def filter(self, channel, y, z, x, tau, executor, first=False, right=False):
        """One pass on one channel; see nnk_patch_pass in nnk_patches.h.

        Returns
        -------
        pilot, work : (H, W) ndarrays
            On the last pass, tau = 0, they are the same.
        """
        tables = self.noise.tables(channel, self.patch, self.radius, y.dtype)
        sums = [np.zeros(self.shape, y.dtype) for _ in range(3 if tau > 0 else 2)]

        def work(g0, g1):
            top = max(0, self.rows[g0] - self.radius)
            bottom = min(self.shape[0], self.rows[g1 - 1] + self.radius + self.patch)
            part = [np.zeros((bottom - top, self.shape[1]), y.dtype) for _ in sums]
            sum_z = part[2] if tau > 0 else np.empty((0, 0), y.dtype)
            _core.patch_pass(
                self.core,
                first,
                right,
                1.0,
                tau,
                tables,
                y,
                z,
                x,
                part[0],
                sum_z,
                part[1],
                top,
                g0,
                g1,
            )
            return top, bottom, part

        def add(result):
            top, bottom, part = result
            for total, share in zip(sums, part, strict=True):
                total[top:bottom] += share

        executor.run_in_order(work, add, len(self.rows), GRID_ROWS_PER_CHUNK)
        pilot = sums[0] / sums[1]
        return pilot, sums[2] / sums[1] if tau > 0 else pilot


def _grid(n, patch, step):
    """Positions 0, step, 2 step, ... and always the last one."""
    return np.unique(np.append(np.arange(0, n - patch + 1, step), n - patch)).astype(np.int32)
