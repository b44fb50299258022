"""Tables `general` about classifiers and regressors, with settings from cross-validation."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.timing import Table
from nnk_image import (
    KStarNeighborsClassifier,
    KStarNeighborsRegressor,
    NNKClassifier,
    NNKMeansClassifier,
    NNKRegressor,
)

WIDTHS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
COUNTS = list(range(1, 11))
NNK_GRID = {"n_neighbors": [10, 30, 50], "sigma_scale": [1, 2, 3, 5, 8]}
"""Settings that are tried: sigma or L/C, numbers of neighbors, and settings of NNK."""

_PROTOCOL = (
    "A random half is the training set, on which 5-fold cross-validation chooses the settings;",
    "the other half is predicted. Protocol and grids are those of O. Anava, K. Levy, k*-nearest",
    "neighbors: k in 1..10, sigma (Nadaraya-Watson) and L/C (k*NN) in 0.001 ... 10.",
)


def tables(options):
    """Yield the tables of classifiers and regressors."""
    yield halves(options.halves)
    yield class_means(options.halves)
    yield regression(options.halves)


def random_halves(n_points, n):
    """Yield n pairs of index arrays, two random halves of the points."""
    for seed in range(n):
        order = np.random.default_rng(seed).permutation(n_points)
        yield order[: n_points // 2], order[n_points // 2 :]


def halves(n):
    """Return the table of errors of kNN, k*NN and NNK on digits, standardized and raw."""
    X, y = datasets.load_digits(return_X_y=True)
    searches = {
        "kNN": (KNeighborsClassifier(), {"n_neighbors": COUNTS}),
        "k*NN": (KStarNeighborsClassifier(), {"lc_ratio": WIDTHS}),
        "NNK": (NNKClassifier(), NNK_GRID),
    }
    columns = {"": ""} | dict.fromkeys(searches, ".2f") | {"NNK best": ""}
    table = Table(
        f"Digits, {n} random halves: error in %",
        columns,
        notes=(
            *_PROTOCOL,
            "NNK: 10, 30 or 50 candidates, sigma 1, 2, 3, 5 or 8 times 'kth'. NNK best: in how",
            "many halves.",
        ),
    )
    for name, data in (("standardized", StandardScaler().fit_transform(X)), ("raw", X)):
        errors = {method: [] for method in searches}
        for train, test in random_halves(len(X), n):
            for method, (model, grid) in searches.items():
                found = GridSearchCV(model, grid, cv=5).fit(data[train], y[train])
                errors[method].append(100 - 100 * found.score(data[test], y[test]))
        row = {"": name} | {method: float(np.mean(e)) for method, e in errors.items()}
        best = np.argmin(list(errors.values()), axis=0) == list(errors).index("NNK")
        row["NNK best"] = f"{int(best.sum())}/{n}"
        table.rows.append(row)
    return table


def class_means(n):
    """Return the table of digits classified by NNK-Means and k-means with 10 atoms per class."""
    X, y = datasets.load_digits(return_X_y=True)
    scores = {"k-means": [], "NNK-Means": []}
    for seed, (train, test) in enumerate(random_halves(len(X), n)):
        model = NNKMeansClassifier(10, random_state=seed).fit(X[train], y[train])
        scores["NNK-Means"].append(100 * model.score(X[test], y[test]))
        found = _nearest_mean(X[train], y[train], X[test], seed)
        scores["k-means"].append(100 * float(np.mean(found == y[test])))
    columns = {"": "", "mean": ".1f", "+-": ".1f"}
    table = Table(f"Digits, raw, 10 atoms per class, {n} random halves: correct in %", columns)
    for name, values in scores.items():
        table.rows.append({"": name, "mean": float(np.mean(values)), "+-": float(np.std(values))})
    table.notes = ("+-: standard deviation over the halves.",)
    return table


def _nearest_mean(X, y, queries, seed):
    """Return the classes of queries by the nearest of 10 means per class."""
    distances = [
        cdist(queries, KMeans(10, n_init=10, random_state=seed).fit(X[y == c]).cluster_centers_)
        for c in range(10)
    ]
    return np.argmin([d.min(axis=1) for d in distances], axis=0)


def regression(n):
    """Return the table of mean absolute errors on data sets of scikit-learn."""
    table = Table(
        f"Mean absolute error, {n} random halves, features standardized",
        {"": "", "kNN": ".4g", "Nadaraya-Watson": ".4g", "k*NN": ".4g", "NNK": ".4g"},
        notes=(
            *_PROTOCOL,
            "Classes are predicted as numbers. NNK interpolates, but noisy values need averaging.",
        ),
    )
    for name in ("diabetes", "iris", "wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        everything = NNKRegressor(len(X), method="knn")
        searches = {
            "kNN": (KNeighborsRegressor(), {"n_neighbors": COUNTS}),
            "Nadaraya-Watson": (everything, {"sigma": WIDTHS}),
            "k*NN": (KStarNeighborsRegressor(), {"lc_ratio": WIDTHS}),
            "NNK": (NNKRegressor(), NNK_GRID),
        }
        row = {"": f"{name}, {len(X)} x {X.shape[1]}"}
        for method, (model, grid) in searches.items():
            row[method] = float(
                np.mean(
                    [
                        _absolute_error(model, grid, X[train], y[train], X[test], y[test])
                        for train, test in random_halves(len(X), n)
                    ]
                )
            )
        table.rows.append(row)
    return table


def _absolute_error(model, grid, X, y, queries, truth):
    found = GridSearchCV(model, grid, cv=5, scoring="neg_mean_absolute_error").fit(X, y)
    return np.abs(found.predict(queries) - truth).mean()
