"""Random volumes, and their graphs compared with brute force."""

import brute_force
import numpy as np

from nnk_image import image_graph

RADII = (1, 3, 5, 7)


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
    edges = graph.adjacency.toarray() > 0
    chosen = brute_force.chosen(values, sides, 1.5, 30.0, mask, spacing)
    np.testing.assert_array_equal(edges, chosen)
    undirected = image_graph(values, sides, 1.5, 30.0, **options)
    np.testing.assert_array_equal(undirected.adjacency.toarray() > 0, chosen | chosen.T)
