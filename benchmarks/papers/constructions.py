"""Graphs of points as others construct them: section 5.2 of the NNK paper on data at hand.

The paper's MNIST is replaced by scikit-learn's digits; USPS is read from a folder
of yours (`--restricted` of the table `general`).  Times are processor seconds.
"""

import warnings
from statistics import fmean

import numpy as np
from sklearn import datasets

from benchmarks.noise_scores import cpu
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
"""Name -> function of points and k that gives a graph."""

USPS = {
    "kNN": (20784, 0.19),
    "LLE": (6973, 0.51),
    "MP": (7892, 0.73),
    "OMP": (8371, 2.48),
    "NNK": (8371, 0.34),
}
"""Published edges and seconds at k=30 on 1001 USPS digits (thesis, Figure 2.8)."""


SHARES = (2, 5, 10)
_SUBSETS = 10


def tables(options):
    """Edges and time, label errors."""
    usps = points_data.usps(options.restricted)
    sets = {"digits": digits(0)}
    if usps is not None:
        sets = {"usps1": (usps, points_data.classes_of_usps())} | sets
    yield sparsity({name: X for name, (X, _) in sets.items()})
    yield labels(sets, options.draws)


def digits(seed):
    """1000 of scikit-learn's digits, 100 of each, and their classes."""
    X, y = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(y == c), 100, replace=False) for c in range(10)]
    return X[np.concatenate(chosen)], y[np.concatenate(chosen)]


# --- sparsity and time -------------------------------------------------------------------


def sparsity(sets):
    """Edges and time of all constructions at k=30."""
    table = Table(
        "Edges and processor time, k=30",
        {"": "", "edges": "d", "published": "", "per node": ".2f", "s": ".2f", "published s": ""},
        notes=(
            "Published: thesis, Figure 2.8 and Table 2.4, by MATLAB: usps1 beside 1001 USPS digits",
            "of unequal classes; digits (64 features) beside 1000 of MNIST (784), another set.",
            "Times are the least of three.",
        ),
    )
    for data, X in sets.items():
        for name, make in CONSTRUCTIONS.items():
            tries = [cpu(make, X, 30) for _ in range(3)]
            graph, seconds = min(tries, key=lambda pair: pair[1])
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
    """Errors of label propagation at k=30."""
    columns = {"error, %": ""} | {f"{n} %, L": ".1f" for n in SHARES}
    table = Table(
        "Label propagation, k=30, by share of labels and Laplacian",
        columns | {f"{n} %, normalized": ".1f" for n in SHARES},
        notes=(
            f"usps1: {draws} draws of labels. digits: {_SUBSETS} subsets of 100 per class, "
            f"{-(-draws // 2)} draws each.",
        ),
    )
    for data, (X, y) in sets.items():
        subsets = [(X, y)] if data == "usps1" else [digits(seed) for seed in range(_SUBSETS)]
        n_draws = draws if data == "usps1" else -(-draws // 2)
        for name, make in CONSTRUCTIONS.items():
            graphs = [(make(points, 30), truth) for points, truth in subsets]
            row = {"error, %": f"{data}, {name}"}
            for kind, head in (("combinatorial", "L"), ("normalized", "normalized")):
                for share in SHARES:
                    row[f"{share} %, {head}"] = fmean(
                        propagation_error(graph, truth, share, kind, seed)
                        for graph, truth in graphs
                        for seed in range(n_draws)
                    )
            table.rows.append(row)
    return table


def propagation_error(graph, truth, share, kind, seed):
    """Wrong labels in % where `share` % of the labels are known."""
    n = len(truth)
    known = np.random.default_rng(seed).choice(n, share * n // 100, replace=False)
    given = np.full(n, -1)
    given[known] = truth[known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts without a label
        found = label_propagation(graph, given, laplacian=kind)
    return 100 * float(np.mean((found != truth)[given < 0]))
