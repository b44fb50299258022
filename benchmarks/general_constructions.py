"""Graphs of points as others construct them: section 5.2 of the NNK paper on data at hand.

The paper's MNIST is replaced by scikit-learn's digits; USPS and two moons are read from a folder
of yours (`--restricted` of the table `general`).  Times are processor seconds.
"""

import time
import warnings
from statistics import fmean, median

import numpy as np
from scipy.stats import spearmanr
from sklearn import datasets
from sklearn.manifold import LocallyLinearEmbedding, spectral_embedding, trustworthiness

from benchmarks import general_data
from benchmarks.general_peers import aew_graph, smooth_signal_graph
from benchmarks.timing import Table
from nnk_image import nnk_graph
from nnk_image.learning import label_propagation

CONSTRUCTIONS = {
    "kNN": lambda X, k: nnk_graph(X, k, method="knn", symmetrize="max"),
    "mutual kNN": lambda X, k: nnk_graph(X, k, method="mutual_knn", symmetrize="max"),
    "LLE": lambda X, k: nnk_graph(X, k, kernel="lle", symmetrize="mean"),
    "AEW": aew_graph,
    "smooth signals": smooth_signal_graph,
    "MP": lambda X, k: nnk_graph(X, k, method="mp"),
    "OMP": lambda X, k: nnk_graph(X, k, method="omp"),
    "NNK": nnk_graph,
    "NNK, one-sided": lambda X, k: nnk_graph(X, k, symmetrize="min_error_onesided"),
}
"""Name -> function of points and k that gives a graph."""

USPS = {
    "kNN": (20784, 0.19),
    "LLE": (6973, 0.51),
    "AEW": (20775, 1018.29),
    "smooth signals": (14112, 0.31),
    "MP": (7892, 0.73),
    "OMP": (8371, 2.48),
    "NNK": (8371, 0.34),
}
"""Published edges and seconds at k=30 on 1001 USPS digits (thesis, Figure 2.8)."""

MNIST = {
    "kNN": (21410, 0.16),
    "LLE": (7554, 0.83),
    "AEW": (21410, 3271.09),
    "smooth signals": (13385, 0.26),
    "MP": (7475, 0.79),
    "OMP": (7827, 2.55),
    "NNK": (7827, 0.33),
}
"""The same on 1000 MNIST digits (thesis, Table 2.4 and Figure 2.8)."""

ROLL = {"kNN": (28578, 55547, 109123), "LLE": (11116, 20891, 31142)}
ROLL["NNK, one-sided"] = (10244, 10967, 11078)
SPHERE = {"kNN": (17981, 34560, 66888), "LLE": (16981, 32272, 61318)}
SPHERE["NNK, one-sided"] = (8418, 9569, 9916)
"""Published edges at k = 10, 20, 40 (thesis, Figure 2.10)."""

SHARES = (2, 5, 10)
_SUBSETS = 10


def tables(options):
    """Edges and time, edges against k, label errors, errors against k, eigenmaps."""
    data = general_data.restricted(options.restricted)
    sets = {"digits": digits(0)}
    if data is not None:
        usps = data.points("usps1"), general_data.classes_of_usps()
        sets = {"usps1": usps} | sets
    yield sparsity({name: X for name, (X, _) in sets.items()})
    yield against_k({"swiss roll, noise .3": roll(5000, 0.3)[0], "digits": sets["digits"][0]})
    yield labels(sets, options.draws)
    yield labels_against_k(sets, options.draws)
    yield eigenmaps()


def digits(seed):
    """1000 of scikit-learn's digits, 100 of each, and their classes."""
    X, y = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(y == c), 100, replace=False) for c in range(10)]
    return X[np.concatenate(chosen)], y[np.concatenate(chosen)]


def roll(n, noise=0.0):
    """Points of a swiss roll, and their coordinates on it: arc length and height."""
    X, t = datasets.make_swiss_roll(n, noise=noise, random_state=0)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return X, np.column_stack([length, X[:, 1]])


def severed_sphere(n):
    """Points of a sphere without its poles and a slice, as in scikit-learn's example."""
    rng = np.random.default_rng(0)
    p = rng.random(2 * n) * (2 * np.pi - 0.55)
    t = rng.random(2 * n) * np.pi
    kept = np.flatnonzero((t > np.pi / 8) & (t < np.pi - np.pi / 8))[:n]
    p, t = p[kept], t[kept]
    return np.column_stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)])


def timed(make, *arguments):
    """What `make` gives, and its processor time in seconds."""
    start = time.process_time()
    made = make(*arguments)
    return made, time.process_time() - start


# --- sparsity and time -------------------------------------------------------------------


def sparsity(sets):
    """Edges and time of all constructions at k=30."""
    table = Table(
        "Edges and processor time, k=30",
        {"": "", "edges": "d", "published": "", "per node": ".2f", "s": ".2f", "published s": ""},
        notes=(
            "Published: thesis, Figure 2.8 and Table 2.4, by MATLAB: usps1 beside 1001 USPS digits",
            "of unequal classes; digits (64 features) beside 1000 of MNIST (784), another set.",
            "Times are the least of three, AEW once. AEW: L-BFGS instead of gradient descent.",
        ),
    )
    for data, X in sets.items():
        published = USPS if data == "usps1" else MNIST
        for name, make in CONSTRUCTIONS.items():
            tries = [timed(make, X, 30) for _ in range(1 if name == "AEW" else 3)]
            graph, seconds = min(tries, key=lambda pair: pair[1])
            edges, theirs = published.get(name, ("", ""))
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


def against_k(sets, counts=(10, 30, 50, 100)):
    """Edges per node at several k."""
    columns = {"edges per node": ""} | {f"k={k}": ".2f" for k in counts}
    table = Table("Edges per node against k (NNK paper, Figure 7)", columns)
    for data, X in sets.items():
        for name, make in CONSTRUCTIONS.items():
            row = {"edges per node": f"{data}, {name}"}
            for k in counts:
                row[f"k={k}"] = make(X, k).nnz / 2 / len(X)
            table.rows.append(row)
    return table


# --- labels ------------------------------------------------------------------------------


def labels(sets, draws):
    """Errors of label propagation at k=30."""
    columns = {"error, %": ""} | {f"{n} %, L": ".1f" for n in SHARES}
    table = Table(
        "Label propagation, k=30, by share of labels and Laplacian",
        columns | {f"{n} %, normalised": ".1f" for n in SHARES},
        notes=(
            f"usps1: {draws} draws of labels. digits: {_SUBSETS} subsets of 100 per class, "
            f"{draws // 2} draws each.",
        ),
    )
    for data, (X, y) in sets.items():
        subsets = [(X, y)] if data == "usps1" else [digits(seed) for seed in range(_SUBSETS)]
        n_draws = draws if data == "usps1" else draws // 2
        for name, make in CONSTRUCTIONS.items():
            graphs = [(make(points, 30), truth) for points, truth in subsets]
            row = {"error, %": f"{data}, {name}"}
            for kind, head in (("combinatorial", "L"), ("normalized", "normalised")):
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


def labels_against_k(sets, draws, counts=(10, 20, 30, 40, 50)):
    """Errors with 10 % of the labels at several k."""
    columns = {"error, %": ""} | {f"k={k}": ".1f" for k in counts}
    columns |= {"median": ".1f", "spread": ".1f", "normalised: median": ".1f", "its spread": ".1f"}
    table = Table(
        "Label propagation with 10 % of the labels against k (NNK paper, Figure 8, right)",
        columns,
        notes=(
            f"{draws} draws of labels; digits: one subset. Columns k=: the Laplacian L. Spread:",
            "the largest error over k minus the smallest.",
        ),
    )
    for data, (X, y) in sets.items():
        for name, make in CONSTRUCTIONS.items():
            graphs = {k: make(X, k) for k in counts}
            errors = {
                kind: [
                    fmean(propagation_error(graph, y, 10, kind, seed) for seed in range(draws))
                    for graph in graphs.values()
                ]
                for kind in ("combinatorial", "normalized")
            }
            plain, normal = errors.values()
            row = {"error, %": f"{data}, {name}"}
            row |= {f"k={k}": error for k, error in zip(counts, plain, strict=True)}
            row |= {"median": median(plain), "spread": max(plain) - min(plain)}
            row |= {"normalised: median": median(normal), "its spread": max(normal) - min(normal)}
            table.rows.append(row)
    return table


# --- eigenmaps ---------------------------------------------------------------------------


def eigenmaps(counts=(10, 20, 40)):
    """Laplacian eigenmaps of a roll and a sphere, and LLE itself."""
    table = Table(
        "Two-dimensional embeddings (NNK paper, Figure 9)",
        {"": "", "edges": "", "published": "", "graph s": ".2f", "map s": ".2f", "trust": ".3f"}
        | {"order": ".3f"},
        notes=(
            "Laplacian eigenmaps of the graphs (random-walk Laplacian), and LLE by scikit-learn.",
            "trust: trustworthiness, with 15 neighbours, of the embedding of 1500 of the points;",
            "for the roll against its arc length and height, for the sphere against the points.",
            "order: rank correlation of the first coordinate with the arc length of the roll, 1",
            "where no shortcut was taken. The sphere has 3000 points left of those drawn.",
        ),
    )
    flat = roll(5000)
    sphere = severed_sphere(3000)
    shapes = {"swiss roll": (*flat, ROLL), "severed sphere": (sphere, sphere, SPHERE)}
    names = ("kNN", "mutual kNN", "LLE", "smooth signals", "NNK", "NNK, one-sided")
    for shape, (X, truth, published) in shapes.items():
        for name in (*names, "LLE itself"):
            for place, k in enumerate(counts):
                row = {"": f"{shape}, {name}, k={k}"}
                if name == "LLE itself":
                    model = LocallyLinearEmbedding(n_neighbors=k, random_state=0)
                    found, row["map s"] = timed(model.fit_transform, X)
                else:
                    graph, row["graph s"] = timed(CONSTRUCTIONS[name], X, k)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # graphs in several parts
                        found, row["map s"] = timed(
                            spectral_embedding, graph, n_components=2, random_state=0
                        )
                    row["edges"] = str(graph.nnz // 2)
                if name in published:
                    row["published"] = str(published[name][place])
                part = np.random.default_rng(0).choice(len(X), 1500, replace=False)
                row["trust"] = trustworthiness(truth[part], found[part], n_neighbors=15)
                if shape == "swiss roll":
                    row["order"] = abs(spearmanr(found[:, 0], truth[:, 0]).statistic)
                table.rows.append(row)
    return table
