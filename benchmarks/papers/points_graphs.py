"""Tables `general` about graphs: edges and labels.

In kNN graphs, an edge links two points if one of them is among the nearest neighbors of the other;
in mutual kNN graphs, both must be. Mutual kNN is as fast, and the fair comparison for NNK graphs,
which keep mutual pairs only.
"""

from statistics import fmean

import numpy as np
from sklearn import datasets

from benchmarks.papers import points_data
from benchmarks.timing import Table
from nnk_image import NNKClassifier, nnk_graph, nnk_neighbors

METHODS = {
    "kNN": {"method": "knn", "symmetrize": "max"},
    "mutual kNN": {"method": "mutual_knn", "symmetrize": "max"},
    "NNK": {},
}


def tables(options):
    """Yield the tables of edges and labels."""
    yield edges(points_data.usps(options.restricted))
    yield report()
    yield labels()


def count_edges(X, k, **options):
    """Return the number of undirected edges of a graph."""
    return nnk_graph(X, k, **options).nnz // 2


# --- edges -------------------------------------------------------------------------------


def edges(usps):
    """Return the table of numbers of edges."""
    columns = {"": "", "nodes": "d"} | dict.fromkeys((*METHODS, "NNK, one-sided"), "d")
    table = Table("Edges", columns)
    table.notes = ("one-sided: symmetrize='min_error_onesided'.",)
    rolls = (datasets.make_swiss_roll(5000, noise=noise, random_state=0)[0] for noise in (0, 0.3))
    sets = dict(zip(("swiss roll", "swiss roll, noise 0.3"), rolls, strict=True))
    sets["digits"] = datasets.load_digits().data
    if usps is None:
        table.notes += ("usps1 is left out; specify its folder with --restricted.",)
    else:
        sets["usps1"] = usps
    rules = METHODS | {"NNK, one-sided": {"symmetrize": "min_error_onesided"}}
    for name, X in sets.items():
        for k in {"swiss roll": (10, 20, 40), "usps1": (30,)}.get(name, (10, 30, 100)):
            counts = {rule: count_edges(X, k, **options) for rule, options in rules.items()}
            table.rows.append({"": f"{name}, k={k}", "nodes": len(X)} | counts)
    return table


# --- the project report ------------------------------------------------------------------


def report(n_samples=5):
    """Return the table of edges of five synthetic sets, compared with the project report."""
    columns = {"": "", "kNN": ".0f", "published kNN": "d", "mutual kNN": ".0f", "NNK": ".0f"}
    columns |= {"published NNK": "d", "reduced, sigma 1": ".0f"}
    table = Table(
        "Edges with k=5, compared with A. Khandelwal, Project report: Non-negative kernel graphs",
        columns,
        notes=(
            f"Means of {n_samples} samples. The report gives neither noise nor seeds nor sigma.",
            "Here, blobs have 10 centers, circles noise 0.05 and factor 0.5, moons noise 0.1, with",
            "which the counts of kNN agree. reduced, sigma 1: candidates with negative weights are",
            "dropped for good, as in the authors' program; this explains most of the difference",
            "from the published counts.",
        ),
    )
    for n, published in points_data.PUBLISHED.items():
        for (name, make), (knn, nnk) in zip(points_data.SETS.items(), published, strict=True):
            samples = [make(n, random_state=seed)[0] for seed in range(n_samples)]
            row = {"": f"{name}, N={n}", "published kNN": knn, "published NNK": nnk}
            for method, options in METHODS.items():
                row[method] = fmean(count_edges(X, 5, **options) for X in samples)
            row["reduced, sigma 1"] = fmean(reduced_edges(X, 5, 1.0) for X in samples)
            table.rows.append(row)
    return table


def reduced_edges(X, k, sigma):
    """Return the edges if candidates with negative weights are dropped until none is left."""
    near = nnk_neighbors(X, n_neighbors=k, method="knn", sigma=sigma)
    weights, error = np.zeros((len(X),) * 2), np.zeros(len(X))
    for i in range(len(X)):
        left, b = near.neighbors(i)
        K = np.exp(-((X[left][:, None] - X[left]) ** 2).sum(axis=2) / (2 * sigma**2))
        theta = np.linalg.lstsq(K, b, rcond=None)[0]
        while (theta <= 0).any():
            keep = theta > 0
            left, b, K = left[keep], b[keep], K[np.ix_(keep, keep)]
            theta = np.linalg.lstsq(K, b, rcond=None)[0]
        weights[i, left] = theta
        error[i] = 0.5 - b @ theta + 0.5 * theta @ K @ theta
    candidates = near.to_csr().toarray() > 0
    better = error[:, None] < error
    chosen = np.where(better, weights, weights.T) * (candidates & candidates.T)
    return int((np.triu(chosen, 1) > 1e-8).sum())


# --- labels ------------------------------------------------------------------------------


def labels():
    """Return the table of errors of leave-one-out classification."""
    table = Table(
        "Digits: leave-one-out error in %",
        {"k": "d", "kNN": ".2f", "NNK": ".2f"},
        notes=("kNN is weighted by the kernel. sigma is three times 'kth'.",),
    )
    X, y = datasets.load_digits(return_X_y=True)
    for k in (10, 30, 50):
        ours, theirs = (
            100 * NNKClassifier(k, sigma_scale=3, method=m).fit(X, y).leave_one_out_error()
            for m in ("nnk", "knn")
        )
        table.rows.append({"k": k, "kNN": theirs, "NNK": ours})
    return table
