"""Graphs, neighborhoods and classifiers of general data, compared with published figures.

In kNN graphs, an edge links two points if one of them is among the nearest neighbors of the other;
in mutual kNN graphs, both must be. Mutual kNN is as fast, and the fair comparison for NNK graphs,
which keep mutual pairs only.
"""

from benchmarks.papers import points_data, points_graphs, points_learning


def tables(options):
    """Yield the tables of edges, labels, classifiers and regressors."""
    yield points_graphs.edges(points_data.usps(options.restricted))
    yield points_graphs.report()
    yield points_graphs.labels()
    yield points_learning.halves(options.halves)
    yield points_learning.class_means(options.halves)
    yield points_learning.regression(options.halves)
