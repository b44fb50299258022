"""Graphs, neighborhoods and classifiers of general data, beside published figures.

Every measured figure stands beside the one expected of it. kNN is the union of both
points' choices; mutual kNN, which costs nothing more, is the fair rival of graphs that
keep mutual pairs only.
"""

from benchmarks.papers import points_data, points_graphs, points_learning


def tables(options):
    """Edges, the project report's edges, labels, classifiers and regressors."""
    yield points_graphs.edges(points_data.usps(options.restricted))
    yield points_graphs.report()
    yield points_graphs.labels()
    yield points_learning.halves(options.halves)
    yield points_learning.class_means(options.halves)
    yield points_learning.regression(options.halves)
