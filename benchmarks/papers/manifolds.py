"""Interpolation by NNK, and metrics of manifolds with known geometry."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.papers import points_data
from benchmarks.timing import Table
from nnk_image import NNKClassifier, nnk_neighbors
from nnk_image.learning import manifold_metrics


def tables(options):
    """Yield the tables of interpolation and of manifold metrics."""
    yield interpolation()
    yield manifolds()


def interpolation():
    """Return the table of Proposition 3.3: whether training points are predicted correctly."""
    X, y = load_digits(return_X_y=True)
    table = Table(
        "Digits classified with themselves among the candidates, k=50: error in %",
        {"kernel": "", "NNK": ".2f", "kNN, weighted": ".2f"},
    )
    for kernel in ("gaussian", "laplacian", "cosine", "linear", "polynomial"):
        row = {"kernel": kernel}
        for method, heading in (("nnk", "NNK"), ("knn", "kNN, weighted")):
            model = NNKClassifier(50, kernel=kernel, method=method).fit(X, y)
            row[heading] = 100 * (1 - model.score(X, y))
        table.rows.append(row)
    K = np.exp(-0.5 * euclidean_distances(X, squared=True) / 30**2)
    for k in (1, 10, 50):
        order = np.argsort(-K, axis=1)[:, :k]
        errors = [
            1 - 2 * (t := b / b.sum()) @ b + t @ K[np.ix_(near, near)] @ t
            for near, b in zip(order, np.take_along_axis(K, order, axis=1), strict=True)
        ]
        mean = f"{np.mean(errors):.4f}"
        table.notes += (f"kNN distance (3.28) of the digits to themselves, k={k}: {mean}.",)
    return table


def manifolds():
    """Return the table of section 4.2: metrics of data with known geometry."""
    table = Table(
        "Manifold metrics of 1024 points in R^128 (k=50, cosine), and dimension of balls",
        {"": "", "neighbors": ".2f", "diameter": ".3f", "affinity, min_rank": ".3f"}
        | {"affinity, as printed": ".3f"},
        notes=(
            "neighbors: mean number. Balls: 4000 points, k=100, Gaussian; 400 innermost points.",
        ),
    )
    for name, X in points_data.manifolds().items():
        near = nnk_neighbors(X, n_neighbors=50, kernel="cosine")
        row = {"": name, "neighbors": near.n_kept.mean()}
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
        count = near.n_kept[inside].mean()
        table.rows.append({"": f"ball of {d} dimensions", "neighbors": count})
    return table
