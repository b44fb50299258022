"""Graphs of points by several constructions: section 5.2 of the NNK paper.

MNIST is replaced by scikit-learn's digits. USPS is read from a folder of yours (``--restricted``).
Times are processor seconds.
"""

import warnings
from statistics import fmean

import numpy as np
from sklearn import datasets

from benchmarks.machine import best_timed_call
from benchmarks.papers import points_data
from benchmarks.timing import Table
from nnk_image import nnk_graph
from nnk_image.learning import label_propagation

CONSTRUCTIONS = {
    "kNN": lambda X, k: nnk_graph(X, k, method="knn", symmetrize="max"),
    "mutual kNN": lambda X, k: nnk_graph(X, k, method="mutual_knn", symmetrize="max"),
    "LLE": lambda X, k: nnk_graph(X, k, kernel="lle", symmetrize="mean"),
    "MP": lambda X, k: nnk_graph(X, k, method="mp"),
    "OMP": lambda X, k: nnk_graph(X, k, method="omp"),
    "NNK": nnk_graph,
    "NNK, one-sided": lambda X, k: nnk_graph(X, k, symmetrize="min_error_onesided"),
}
"""Functions of points and k that return a graph, by name."""

USPS = {
    "kNN": (20784, 0.19),
    "LLE": (6973, 0.51),
    "MP": (7892, 0.73),
    "OMP": (8371, 2.48),
    "NNK": (8371, 0.34),
}
"""Published numbers of edges and seconds with k=30 on 1001 USPS digits (thesis, Figure 2.8)."""

SHARES = (2, 5, 10)
"""Percentages of known labels."""

N_SUBSETS = 10
"""Number of random subsets of the digits."""


def tables(options):
    """Yield the tables of edges and times, and of label errors."""
    usps = points_data.usps(options.restricted)
    sets = {"digits": digits(0)}
    if usps is not None:
        sets = {"usps1": (usps, points_data.classes_of_usps())} | sets
    yield sparsity({name: X for name, (X, _) in sets.items()})
    yield labels(sets, options.draws)


def digits(seed):
    """Return 1000 of scikit-learn's digits, 100 of each class, and their classes."""
    X, y = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(y == c), 100, replace=False) for c in range(10)]
    return X[np.concatenate(chosen)], y[np.concatenate(chosen)]


# --- sparsity and time -------------------------------------------------------------------


def sparsity(sets):
    """Return the table of edges and times of all constructions with k=30."""
    table = Table(
        "Edges and processor time, k=30",
        {"": "", "edges": "d", "published": "", "per node": ".2f", "s": ".2f", "published s": ""},
        notes=(
            "Published: thesis, Figure 2.8, in MATLAB, for 1001 USPS digits of unequal classes;",
            "usps1 has 1000 digits. Times are the least of three runs.",
        ),
    )
    for data, X in sets.items():
        for name, make in CONSTRUCTIONS.items():
            graph, seconds = best_timed_call(make, X, 30)
            edges, theirs = USPS.get(name, ("", "")) if data == "usps1" else ("", "")
            table.rows.append(
                {
                    "": f"{data}, {name}",
                    "edges": graph.nnz // 2,
                    "published": str(edges),
                    "per node": graph.nnz / 2 / len(X),
                    "s": seconds,
                    "published s": str(theirs),
                }
            )
    return table


# --- labels ------------------------------------------------------------------------------


def labels(sets, draws):
    """Return the table of errors of label propagation with k=30."""
    columns = {"": ""} | {f"{n} %, L": ".1f" for n in SHARES}
    table = Table(
        "Label propagation, k=30: error in % by share of known labels and Laplacian",
        columns | {f"{n} %, normalized": ".1f" for n in SHARES},
        notes=(
            f"L: combinatorial Laplacian. usps1: {draws} draws of labels.",
            f"digits: {N_SUBSETS} subsets of 100 per class, {-(-draws // 2)} draws each.",
        ),
    )
    for data, (X, y) in sets.items():
        subsets = [(X, y)] if data == "usps1" else [digits(seed) for seed in range(N_SUBSETS)]
        n_draws = draws if data == "usps1" else -(-draws // 2)
        for name, make in CONSTRUCTIONS.items():
            graphs = [(make(points, 30), truth) for points, truth in subsets]
            row = {"": f"{data}, {name}"}
            for kind, heading in (("combinatorial", "L"), ("normalized", "normalized")):
                for share in SHARES:
                    row[f"{share} %, {heading}"] = fmean(
                        propagation_error(graph, truth, share, kind, seed)
                        for graph, truth in graphs
                        for seed in range(n_draws)
                    )
            table.rows.append(row)
    return table


def propagation_error(graph, truth, share, kind, seed):
    """Return the percentage of wrong labels if `share` % of the labels are known."""
    n = len(truth)
    known = np.random.default_rng(seed).choice(n, share * n // 100, replace=False)
    given = np.full(n, -1)
    given[known] = truth[known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # components without a label
        found = label_propagation(graph, given, laplacian=kind)
    return 100 * float(np.mean((found != truth)[given < 0]))
