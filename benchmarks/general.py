"""Graphs, neighbourhoods and classifiers of general data, beside published figures.

Every measured figure stands beside the one expected of it. kNN is the union of both
points' choices; mutual kNN, which costs nothing more, is the fair rival of graphs that
keep mutual pairs only.
"""

from pathlib import Path


def add_options(group):
    """Command line of this table."""
    group.add_argument(
        "--restricted",
        type=Path,
        metavar="FOLDER",
        help="general_data.npz and general_<name>_k<k>.npz of usps1 and two_moons, if you have "
        "them; nothing is downloaded",
    )
    group.add_argument(
        "--draws", type=int, default=20, metavar="N", help="random labels (default %(default)s)"
    )
    group.add_argument(
        "--halves", type=int, default=10, metavar="N", help="random halves (default %(default)s)"
    )


def tables(options):
    """Edges, the project report's edges, labels, halves, geometry."""
    # Here, for the other tables do without scikit-learn.
    try:
        from benchmarks import general_data, general_graphs, general_learning
    except ImportError as error:
        raise SystemExit(
            f"{error}; pip install 'nnk_image[neighbors]' for the table general"
        ) from None
    data = general_data.restricted(options.restricted)
    yield general_graphs.edges(data)
    yield general_graphs.report()
    yield general_graphs.labels(data, options.draws)
    yield general_graphs.geometry()
    yield general_learning.halves(options.halves)
    yield general_learning.class_means(options.halves)
    yield general_learning.regression(options.halves)
