"""Graphs of volumes by brute force over all candidates in plain Python, and random cases."""

import itertools

import numpy as np

from nnk_image import image_graph

RADII = (1, 3, 5, 7)


def brute_force_edges(values, sides, sigma_d, sigma_f, spacing, mask):
    """Return the directed edges of Algorithm 4 for (*shape, C) values, as pairs of nodes."""
    shape, mu = values.shape[:-1], (sigma_f / sigma_d) ** 2
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    reach = itertools.product(*(range(-(s // 2), s // 2 + 1) for s in sides))
    offsets = [np.array(o) for o in reach if any(o)]
    offsets.sort(key=lambda o: (o * spacing) @ (o * spacing))
    found = set()
    for pixel in itertools.product(*map(range, shape)):
        if not mask[pixel]:
            continue
        o, d = np.empty((0, len(shape))), np.empty((0, values.shape[-1]))  # of kept neighbors
        for offset in offsets:
            there = tuple(int(n) for n in pixel + offset)
            inside = all(0 <= n < size for n, size in zip(there, shape, strict=True))
            if not inside or not mask[there]:
                continue
            o_k, d_k = offset * spacing, values[there] - values[pixel]
            delta, product = ((o_k - o) * o).sum(axis=1), ((d - d_k) * d).sum(axis=1)
            if not ((delta > -1e-9) & (product <= mu * delta + 1e-9)).any():
                o, d = np.vstack([o, o_k]), np.vstack([d, d_k])
                found.add((int(np.dot(pixel, strides)), int(np.dot(there, strides))))
    return found


def edges(graph):
    row, column = graph.adjacency.nonzero()
    return set(zip(row.tolist(), column.tolist(), strict=True))


def random_case(number):
    """Return a random volume or sequence of volumes, and options for its graph."""
    rng = np.random.default_rng(number)
    axes = 4 if number % 4 == 3 else 3
    largest = (3, 4, 4, 5) if axes == 4 else (5, 9, 33) if number % 15 == 0 else (5, 6, 9)
    shape = tuple(int(rng.integers(1, n + 1)) for n in largest)
    sides = tuple(int(s) for s in rng.choice(RADII if number % 15 else RADII[1:3], axes))
    sides = sides if max(sides) > 1 else (3,) * axes
    spacing = rng.choice([0.5, 1.0, 1.7, 3.0], axes) if number % 2 else np.ones(axes)
    dtype = [np.uint8, np.float64, np.uint16, np.int16, np.float64][number % 5]
    color = (3,) if number % 3 == 0 else ()
    values = rng.normal(100, 30, shape + color).clip(0, 255).astype(dtype)
    mask = rng.random(shape) > (0.2 if number % 7 == 0 else -1)
    mask.flat[0] = True
    return values, sides, tuple(spacing.tolist()), mask, -1 if color else None


def assert_volume_matches_brute_force(number):
    """Check that the directed and undirected graphs of a case have the edges of brute force."""
    values, sides, spacing, mask, channel_axis = random_case(number)
    options = {"channel_axis": channel_axis, "mask": mask, "spacing": spacing}
    graph = image_graph(values, sides, 1.5, 30.0, directed=True, **options)
    plain = values.astype(float) if channel_axis else values.astype(float)[..., None]
    assert edges(graph) == brute_force_edges(plain, sides, 1.5, 30.0, np.array(spacing), mask)
    undirected = image_graph(values, sides, 1.5, 30.0, **options)
    assert edges(undirected) == edges(graph) | {(j, i) for i, j in edges(graph)}
