"""Settings that the published experiments share."""

from nnk_image.graph.build import bilateral_graph, image_graph

WINDOW, SIGMA_D, SIGMA_F = 11, 2.0, 10 / 255
"""Settings of the graph of a clean image with values from 0 to 1; window and sigma_d in pixels."""

ORDER, N_BANDS = 30, 7
"""Chebyshev order where none is published, and bands of the filter bank 'abspline'."""

BUILDS = {"bilateral": bilateral_graph, "nnk": image_graph}
"""The function that builds each kind of graph."""

LABELS = {"bilateral": "bilateral graph", "nnk": "NNK graph"}

GRAPH = {"window": WINDOW, "sigma_d": SIGMA_D, "sigma_f": "10/255 of the range"}
"""The graph's settings in words, for reports."""
