"""Patch groups in plain numpy, for images with any number of axes."""

import numpy as np


def box_at(position, shape, patch):
    """Return the slices of the patch with the given sides whose first pixel is `position`."""
    corner = np.unravel_index(int(position), shape)
    return tuple(slice(c, c + side) for c, side in zip(corner, patch, strict=True))


def patches_at(image, members, patch):
    """Return the patches that start at the positions `members`, one per row."""
    return np.array([image[box_at(m, image.shape, patch)].ravel() for m in members])


def all_groups(groups):
    """Yield each group's reference position and member positions, none if it is left out."""
    members, counts = groups.core.groups()
    for i, line in enumerate(groups.lines):
        for j, column in enumerate(groups.columns):
            yield line * groups.shape[-1] + column, members[i, j, : max(0, counts[i, j])]


def candidates_of(reference, groups):
    """Return the positions of all patches within the search radius of a reference."""
    corner = np.unravel_index(int(reference), groups.shape)
    axes = zip(corner, groups.shape, groups.patch, groups.radius, strict=True)
    ranges = [range(max(0, c - r), min(n - side, c + r) + 1) for c, n, side, r in axes]
    places = np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(ranges))
    return np.ravel_multi_index(tuple(places.T), groups.shape)


def aggregate(groups, n_images, estimate):
    """Average the patches of all groups at each pixel of `n_images` images; NaN where none is.

    ``estimate(members)`` returns (images, members, pixels) patches and the weights of the members.
    """
    total, weights = np.zeros((n_images, *groups.shape)), np.zeros(groups.shape)
    for _, members in all_groups(groups):
        if not len(members):
            continue
        patches, weight = estimate(members)
        for i, (m, w) in enumerate(zip(members, weight, strict=True)):
            box = box_at(m, groups.shape, groups.patch)
            total[:, *box] += w * patches[:, i].reshape(n_images, *groups.patch)
            weights[box] += w
    with np.errstate(invalid="ignore"):
        return total / weights
