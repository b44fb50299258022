"""NNK on features of networks (DeepNNK), on scikit-learn's digits, and manifold metrics."""

import warnings
from collections import defaultdict

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from benchmarks import general_data
from benchmarks.timing import Table
from nnk_image import NNKClassifier, nnk_graph, nnk_neighbors
from nnk_image.learning import (
    few_shot_labels,
    intrinsic_dimension,
    manifold_metrics,
    nnk_distance,
)

NETWORKS = {
    "small": {"hidden_layer_sizes": (8,), "alpha": 1e-4, "max_iter": 400},
    "regularised": {"hidden_layer_sizes": (64,), "alpha": 3.0, "max_iter": 200},
    "overfit": {"hidden_layer_sizes": (64, 64, 64), "alpha": 0.0, "max_iter": 400},
}
COUNTS = (25, 50, 75)
TRAIN = 600
STEP = 1.5  # of 16 grey levels: how far adversarial examples go at each pixel


def data(seed):
    """Digits as (X, y) to train on and to test on."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order[:TRAIN]], y[order[:TRAIN]], X[order[TRAIN:]], y[order[TRAIN:]]


def trained(name, seed):
    """A network trained on the digits of a seed."""
    X, y, *_ = data(seed)
    network = MLPClassifier(random_state=seed, tol=0, n_iter_no_change=1000, **NETWORKS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return network.fit(X, y)


def layers(network, X):
    """Outputs of the hidden layers of an MLPClassifier with rectifiers, one after the other."""
    outputs = [X]
    for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        outputs.append(np.maximum(outputs[-1] @ weights + bias, 0))
    return outputs[1:]


def tables(seeds):
    """Errors and generalisation, spread and neighbours, layers, few labels."""
    networks = {(name, seed): trained(name, seed) for name in NETWORKS for seed in range(seeds)}
    yield _generalisation(networks)
    yield _errors(networks)
    yield _neighbours(networks)
    yield _few_shots(networks)


def _generalisation(networks):
    columns = {"network": ""} | dict.fromkeys(("train", "leave one out", "test, NNK"), ".2f")
    columns |= dict.fromkeys(("test, network", "test, linear SVM", "spread"), ".3f")
    table = Table(
        f"Errors in % of networks on {TRAIN} digits, and of NNK (k=50, cosine) on their features",
        columns,
        notes=(
            "train, test: the network's own; leave one out: NNK on training features; spread: mean",
            "of the leave-one-out interpolation spread. Means over seeds.",
        ),
    )
    rows = defaultdict(list)
    for (name, seed), network in networks.items():
        X, y, Q, z = data(seed)
        train, test = (layers(network, points)[-1] for points in (X, Q))
        model = NNKClassifier(50, kernel="cosine").fit(train, y)
        svm = LinearSVC(random_state=0, max_iter=20_000, dual=False).fit(train, y)
        errors = [1 - network.score(X, y), model.leave_one_out_error(), 1 - model.score(test, z)]
        errors += [1 - network.score(Q, z), 1 - svm.score(test, z)]
        rows[name].append([*(100 * error for error in errors), np.nanmean(model.score_spread())])
    for name, values in rows.items():
        cells = dict(zip(list(columns)[1:], np.mean(values, axis=0), strict=True))
        table.rows.append({"network": name} | cells)
    pairs = np.concatenate(list(rows.values()))
    off = np.abs(pairs[:, 1] - pairs[:, 3]), np.abs(pairs[:, 0] - pairs[:, 3])
    table.notes += (
        f"From the network's test error leave-one-out is {off[0].mean():.2f} points off, the "
        f"training error {off[1].mean():.2f} (mean over networks).",
    )
    return table


def _errors(networks):
    table = Table(
        "Test error in % on features, NNK and kNN weighted by the cosine, means over seeds",
        {"network": ""} | {f"{m}, k={k}": ".2f" for m in ("NNK", "kNN") for k in COUNTS},
    )
    for name in NETWORKS:
        row = {"network": name}
        for method, head in (("nnk", "NNK"), ("knn", "kNN")):
            for k in COUNTS:
                errors = []
                for (of, seed), network in networks.items():
                    if of == name:
                        X, y, Q, z = data(seed)
                        train, test = (layers(network, points)[-1] for points in (X, Q))
                        model = NNKClassifier(k, kernel="cosine", method=method).fit(train, y)
                        errors.append(100 * (1 - model.score(test, z)))
                row[f"{head}, k={k}"] = np.mean(errors)
        table.rows.append(row)
    return table


def adversarial(network, X, y):
    """Digits moved at every pixel by `STEP`, the way that raises the network's loss."""
    outputs = layers(network, X)
    gradient = network.predict_proba(X) - np.eye(10)[y]
    for weights, output in zip(network.coefs_[:0:-1], outputs[::-1], strict=True):
        gradient = (gradient @ weights.T) * (output > 0)
    return np.clip(X + STEP * np.sign(gradient @ network.coefs_[0].T), 0, 16)


def _neighbours(networks):
    table = Table(
        "NNK neighbours (k=50) of test digits, and labels along the network",
        {"network": "", "of digits": ".2f", "moved by noise": ".2f", "adversarial": ".2f"}
        | {"adversarial, error, %": ".1f", "label variation": "", "smaller polytope": ""},
        notes=(
            f"Moved by {STEP:g} of 16 levels at every pixel, at random or adversarially. Label",
            "variation: y'Ly / sum W of pixels, then of hidden layers. Smaller polytope: share of",
            "points whose k nearest ones have a smaller diameter than their k NNK neighbours.",
        ),
    )
    for name in NETWORKS:
        values = []
        for (of, seed), network in networks.items():
            if of != name:
                continue
            X, y, Q, z = data(seed)
            moved = adversarial(network, Q, z)
            signs = np.random.default_rng(seed).choice([-STEP, STEP], Q.shape)
            points = layers(network, X)[-1]
            counts = []
            for queries in (Q, np.clip(Q + signs, 0, 16), moved):
                near = nnk_neighbors(points, layers(network, queries)[-1], 50, kernel="cosine")
                counts.append(near.n_neighbors.mean())
            graphs = [nnk_graph(x, 30, kernel="cosine") for x in (X, *layers(network, X))]
            # y' L y of the indicators: an edge between classes counts twice, as in the sum here.
            others = y[:, None] != y
            varied = [(g.toarray() * others).sum() / g.sum() for g in graphs]
            error = 100 * (1 - network.score(moved, z))
            values.append((*counts, error, varied, _smaller(points)))
        means = [np.mean([v[i] for v in values], axis=0) for i in range(6)]
        row = dict(zip(list(table.columns)[1:5], means[:4], strict=True))
        row |= {"label variation": " ".join(f"{v:.3f}" for v in means[4])}
        table.rows.append({"network": name, "smaller polytope": f"{means[5]:.0%}"} | row)
    return table


def _smaller(points):
    """Share of points whose k nearest neighbours have a smaller diameter than their k of NNK."""
    near = nnk_neighbors(points, n_neighbors=50)
    nearest = nnk_neighbors(points, n_neighbors=50, method="knn").to_csr()
    for i, k in enumerate(near.n_neighbors):
        part = slice(nearest.indptr[i], nearest.indptr[i + 1])
        weights = nearest.data[part]
        weights[np.argsort(-weights, kind="stable")[k:]] = 0
    spans = (manifold_metrics(points, n, normalize=False).diameter for n in (near, nearest))
    ours, theirs = spans
    return np.mean(theirs < ours)


def _few_shots(networks):
    table = Table(
        "Transductive few-shot accuracy in %, 1 and 5 labels a class, 15 queries a class",
        {"labels": ""} | {f"{m}, k={k}": ".1f" for m in ("NNK", "kNN") for k in (5, 20, 50)},
        notes=("Features of the regularised network, test digits only; 20 draws for each seed.",),
    )
    for shots in (1, 5):
        found = defaultdict(list)
        for (name, seed), network in networks.items():
            if name != "regularised":
                continue
            *_, Q, z = data(seed)
            features = layers(network, Q)[-1]
            for draw in range(20):
                rng = np.random.default_rng(draw)
                chosen = [rng.permutation(np.flatnonzero(z == c))[: shots + 15] for c in range(10)]
                known = np.concatenate([c[:shots] for c in chosen])
                asked = np.concatenate([c[shots:] for c in chosen])
                for k in (5, 20, 50):
                    for method, head in (("nnk", "NNK"), ("knn", "kNN")):
                        given = features[known], z[known], features[asked]
                        labels = few_shot_labels(*given, k, method=method)
                        found[f"{head}, k={k}"].append(100 * np.mean(labels == z[asked]))
        cells = {head: np.mean(values) for head, values in found.items()}
        table.rows.append({"labels": f"{shots}"} | cells)
    return table


def interpolation():
    """Proposition 3.3: are training points predicted as themselves, whatever the kernel?"""
    X, y = load_digits(return_X_y=True)
    table = Table(
        "Digits predicted with themselves among the candidates, k=50: error in %",
        {"kernel": "", "NNK": ".2f", "kNN, weighted": ".2f"},
    )
    for kernel in ("gaussian", "laplacian", "cosine", "linear", "polynomial"):
        row = {"kernel": kernel}
        for method, head in (("nnk", "NNK"), ("knn", "kNN, weighted")):
            model = NNKClassifier(50, kernel=kernel, method=method).fit(X, y)
            row[head] = 100 * (1 - model.score(X, y))
        table.rows.append(row)
    K = np.exp(-0.5 * euclidean_distances(X, squared=True) / 30**2)
    for k in (1, 10, 50):
        order = np.argsort(-K, axis=1)[:, :k]
        errors = [
            1 - 2 * (t := b / b.sum()) @ b + t @ K[np.ix_(near, near)] @ t
            for near, b in zip(order, np.take_along_axis(K, order, axis=1), strict=True)
        ]
        mean = f"{np.mean(errors):.4f}"
        table.notes += (f"kNN distance (3.28) of the digits from themselves, k={k}: {mean}.",)
    return table


def distances(seeds):
    """NNK distance of clean test digits from corrupted ones, beside the network's accuracy."""
    table = Table(
        "NNK distance (features, k=30, cosine) of clean from corrupted test digits, accuracy in %",
        {"corruption": "", "distance": ".4f", "accuracy": ".1f"},
    )
    corruptions = {f"noise {s}": (lambda X, r, s=s: X + r.normal(0, s, X.shape)) for s in (2, 4, 8)}
    corruptions |= {f"contrast {c}": (lambda X, r, c=c: c * X) for c in (0.7, 0.4, 0.2)}
    corruptions |= {
        f"shift {n}": (lambda X, r, n=n: np.roll(X.reshape(-1, 8, 8), n, 2).reshape(X.shape))
        for n in (1, 2)
    }
    corruptions = {"none": lambda X, r: X} | corruptions
    means = defaultdict(list)
    for seed in range(seeds):
        network = trained("regularised", seed)
        *_, Q, z = data(seed)
        clean = layers(network, Q)[-1]
        for name, corrupt in corruptions.items():
            worse = corrupt(Q, np.random.default_rng(seed))
            distance = nnk_distance(clean, layers(network, worse)[-1], 30, kernel="cosine")
            means[name].append((distance, 100 * network.score(worse, z)))
    for name, values in means.items():
        distance, accuracy = np.mean(values, axis=0)
        table.rows.append({"corruption": name, "distance": distance, "accuracy": accuracy})
    order = spearmanr(*zip(*(v for values in means.values() for v in values), strict=True))
    failed, n = _triangles()
    table.notes = (
        f"Rank correlation over all seeds: {order.statistic:.2f}. Triangle inequality of three",
        f"random sets of 4 points in the plane, sigma 1: fails in {failed} of {n}.",
    )
    return table


def _triangles(n=1000):
    """How many triples of random sets break the triangle inequality, of how many."""
    rng, failed = np.random.default_rng(0), 0
    for _ in range(n):
        a, b, c = rng.standard_normal((3, 4, 2))
        direct, first, second = (nnk_distance(*p, 4, sigma=1.0) for p in ((a, b), (a, c), (c, b)))
        failed += direct > first + second + 1e-12
    return failed, n


def manifolds():
    """Section 4.2: the metrics on data of known geometry."""
    table = Table(
        "Manifold metrics, 1024 points in R^128 (k=50, cosine), and the dimension of balls",
        {"": "", "neighbours": ".2f", "diameter": ".3f", "affinity, min_rank": ".3f"}
        | {"affinity, as printed": ".3f"},
        notes=("Balls: 4000 points, k=100, Gaussian; neighbours of the 400 innermost points.",),
    )
    for name, (X, *_) in general_data.manifolds().items():
        near = nnk_neighbors(X, n_neighbors=50, kernel="cosine")
        row = {"": name, "neighbours": intrinsic_dimension(near).mean()}
        metrics = manifold_metrics(X, near)
        row["diameter"] = metrics.diameter.mean()
        row["affinity, min_rank"] = metrics.affinity.mean()
        row["affinity, as printed"] = manifold_metrics(X, near, norm="product").affinity.mean()
        table.rows.append(row)
    for d in (1, 2, 3, 4, 6, 8):
        rng = np.random.default_rng(d)
        X = rng.standard_normal((4000, d))
        X *= rng.random((4000, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)
        near = nnk_neighbors(X, n_neighbors=100)
        inside = np.argsort(np.linalg.norm(X, axis=1))[:400]
        count = intrinsic_dimension(near)[inside].mean()
        table.rows.append({"": f"ball of {d} dimensions", "neighbours": count})
    return table
