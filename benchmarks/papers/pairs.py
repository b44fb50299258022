"""Tests of pairs of candidates, and neighborhoods from parts of the features."""

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from benchmarks.timing import Table
from nnk_image import nnk_neighbors, nnk_weights
from nnk_image.neighbors import kernel_ratio_test

N_QUERIES = 2000
COUNTS = (2, 3, 5, 10, 30)
"""Numbers of candidates."""


def tables(options):
    """Yield the tables of kernel ratios, of subvectors, and of neighbors from parts."""
    yield ratios()
    yield propositions()
    yield from_parts()


def ratios():
    """Return the table of Theorem 2.3: two candidates, kernels with and without negative values."""
    table = Table(
        "General kernel ratio interval: two candidates, 20,000 random kernels of each kind",
        {"kernel": "", "both neighbors": "", "errors, printed interval": ""}
        | {"errors, kernel_ratio_test": ""},
        notes=("The true neighbors are those with positive exact weights.",),
    )
    rng = np.random.default_rng(0)
    for name in ("without negative values", "with negative values"):
        vectors = rng.standard_normal((20_000, 3, 4)) * rng.uniform(0.2, 3, (20_000, 3, 1))
        if name.startswith("without"):
            vectors = np.abs(vectors)
        kernel = vectors @ vectors.swapaxes(1, 2)
        K, b = kernel[:, :2, :2], kernel[:, :2, 2]
        both = (nnk_weights(K, b) > 0).all(axis=1)
        ratio = b[:, 0] / b[:, 1]
        printed = (K[:, 0, 1] / K[:, 1, 1] < ratio) & (ratio < K[:, 0, 0] / K[:, 0, 1])
        ours = ~kernel_ratio_test(K, b).any(axis=(1, 2)) & (b > 0).any(axis=1)
        table.rows.append(
            {
                "kernel": name,
                "both neighbors": f"{both.mean():.1%}",
                "errors, printed interval": f"{np.mean(printed != both):.2%}",
                "errors, kernel_ratio_test": f"{np.mean(ours != both):.2%}",
            }
        )
    return table


def propositions():
    """Return the table of Propositions 2.5 and 2.6 for 2 to 30 candidates."""
    table = Table(
        f"Subvector propositions: {N_QUERIES} random queries, two parts of two features each",
        {"candidates": "d", "2.5 fails": "", "2.6 fails, hidden": "", "2.6 fails, literally": ""},
        notes=(
            "2.5 fails: a candidate has a positive weight in both parts, but 0 in the whole space.",
            "2.6 fails, hidden: a candidate has weight 0 in both parts, where it is hidden behind",
            "one of positive weight (kernel_ratio_test), but a positive weight in the whole space.",
            "literally: the same, but the other candidate need not hide the first.",
            "Numbers: queries that fail, of those to which the proposition applies.",
        ),
    )
    for k in COUNTS:
        rng = np.random.default_rng(0)
        held, failed = np.zeros(3, int), np.zeros(3, int)
        for _ in range(N_QUERIES):
            premises, failures = _check_query(rng, k)
            held += [premise.any() for premise in premises]
            failed += [failure.any() for failure in failures]
        cells = [f"{f} of {h}" for f, h in zip(failed, held, strict=True)]
        table.rows.append(dict(zip(table.columns, [k, *cells], strict=True)))
    return table


def _check_query(rng, k):
    """Check the propositions for a query at the origin, and k random candidates.

    Returns three bool arrays for the candidates to which the propositions apply, and three for
    those for which they fail.
    """
    parts = [rng.standard_normal((k, 2)) for _ in range(2)]
    first, second, whole = (_problem(points) for points in (*parts, np.hstack(parts)))
    a, b, together = (nnk_weights(*problem) for problem in (first, second, whole))
    least = 1e-9 * whole[1].max()
    both, neither = (a > 0) & (b > 0), (a == 0) & (b == 0)
    hidden = kernel_ratio_test(*first) & kernel_ratio_test(*second)
    behind = neither & (hidden & both).any(axis=1)
    literally = neither & both.any()
    failures = both & (together == 0), behind & (together > least), literally & (together > least)
    return (both, behind, literally), failures


def _problem(points):
    """Return the Gaussian kernels between points, and of each point with the origin."""
    origin = np.zeros((1, points.shape[1]))
    K, b = (np.exp(-0.5 * cdist(points, other, "sqeuclidean")) for other in (points, origin))
    return K, b[:, 0]


def from_parts():
    """Return the table of neighbors in all features that are chosen from those in parts."""
    X = load_digits().data
    images = X.reshape(-1, 8, 8)
    halves = [images[:, :4], images[:, 4:]]
    views = {
        "2 halves": halves,
        "4 quarters": [half[..., x : x + 4] for half in halves for x in (0, 4)],
        "8 rows": [images[:, row] for row in range(8)],
    }
    table = Table(
        "Digits: neighbors in all 64 pixels, chosen from those in parts; 30 candidates, sigma 20",
        {"parts": "", "neighbors": ".1f", "found of 30": ".3f", "found of 300": ".3f"}
        | {"error": ".4f"},
        notes=(
            "found: share of the NNK neighbors that result from the 30 or 300 nearest points.",
            "error: mean of the objective.",
        ),
    )
    nearest = nnk_neighbors(X, n_neighbors=30, sigma=20.0)
    exact = nnk_neighbors(X, n_neighbors=300, sigma=20.0)
    found = {"all pixels, 30 nearest": nearest, "all pixels, 300 nearest": exact}
    for name, parts in views.items():
        flat = [part.reshape(len(X), -1) for part in parts]
        found[name] = subvector_neighbors(flat, 30, sigma=20.0)
    for name, near in found.items():
        row = {"parts": name, "neighbors": near.n_kept.mean(), "error": near.error.mean()}
        row["found of 30"], row["found of 300"] = _share(near, nearest), _share(near, exact)
        table.rows.append(row)
    return table


def subvector_neighbors(Xs, n_neighbors, sigma):
    """Return the neighbors in all features, chosen from the neighbors in any of the parts.

    Xs are arrays (N, d_s) with parts of the features of the same points, as in section 2.6.2 of the
    thesis. Two points of which one is a neighbor of the other in a part become candidates of each
    other.
    """
    linked = sum(nnk_neighbors(X, n_neighbors, sigma=sigma).to_csr() for X in Xs)
    candidates = csr_array(linked + linked.T)
    most = int(np.diff(candidates.indptr).max())
    return nnk_neighbors(np.hstack(Xs), most, sigma=sigma, neighbors=candidates)


def _share(found, wanted):
    """Return the share of the wanted neighbors that were found."""
    links, wanted_links = (near.to_csr() != 0 for near in (found, wanted))
    return links.multiply(wanted_links).nnz / wanted_links.nnz
