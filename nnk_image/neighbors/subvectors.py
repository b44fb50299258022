"""Neighborhoods in parts of the features, and in all features from those in the parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from nnk_image.base.checks import check_choice
from nnk_image.base.image import Array
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.model import NeighborhoodModel, warn_of_few_points
from nnk_image.neighbors.options import SYMMETRIZE
from nnk_image.neighbors.result import Neighborhoods


@dataclass(frozen=True, eq=False)
class SubvectorNeighborhoods:
    """Neighbors in each part of the features and in all features, by `subvector_neighbors`.

    Attributes
    ----------
    parts : tuple of Neighborhoods
        Neighbors in each part of the features alone, in the order of the parts.
    joint : Neighborhoods
        Neighbors in all features, chosen from the neighbors in the parts. Its width `sigma` is that
        of the scaled features, see `subvector_neighbors`.
    graph : (N, N) scipy.sparse.csr_array
        The graph of `joint`, with float64 weights; undirected unless `symmetrize` was None.
    """

    parts: tuple[Neighborhoods, ...]
    joint: Neighborhoods
    graph: csr_array


def subvector_neighbors(
    Xs: Sequence[ArrayLike],
    n_neighbors: int = 30,
    *,
    sigma: float | str = "kth",
    symmetrize: str | None = "min_error",
    n_jobs: int | None = None,
) -> SubvectorNeighborhoods:
    """Find NNK neighbors in each part of the features, and then in all features together.

    The parts (subvectors) are, for instance, the channels of a layer of a network, or several views
    of the same objects. Each part is searched by itself, in few dimensions. Two points of which
    one is a neighbor of the other in any part become candidates of each other for the search in all
    features, in place of the nearest points.

    Parameters
    ----------
    Xs : sequence of (N, d_s) array_like or sparse matrices
        The parts of the features: row i of each belongs to the same point. An (n_parts, N,
        d) array is accepted too.
    n_neighbors : int, default: 30
        Number of candidates of each point in each part; does not limit the candidates in all
        features. If there are fewer other points, all are candidates, and a warning says so.
    sigma : float or {'kth', 'local', 'median'}, default: 'kth'
        Width of the Gaussian kernels: one number for all, or a rule of `nnk_neighbors`, which
        gives each part its own width. With a rule, the parts are divided by their widths (with
        'local' by the median of them) before they are concatenated, and the rule is applied to the
        result again.
    symmetrize, n_jobs
        As for `nnk_graph`.

    Returns
    -------
    SubvectorNeighborhoods
        ``parts`` has the neighborhoods in each part, ``joint`` those in all features; ``graph`` is
        the graph of `joint`.

    Notes
    -----
    For two candidates alone: if one is hidden behind the other in every part, it is hidden behind
    it in all features, for any widths: with Gaussian kernels `kernel_ratio_test` compares sums
    over features. So a candidate that no part keeps is rarely needed. This is not true of three
    or more candidates, contrary to Propositions 2.5 and 2.6 of the thesis: a neighbor in every
    part may have weight 0 in all features, and one with weight 0 in every part may be needed.

    References
    ----------
    S. Shekkizhar, PhD thesis, University of Southern California, 2023, section 2.6.2; D. Bonet, A.
    Ortega, J. Ruiz-Hidalgo, S. Shekkizhar, "Channel redundancy and overlap in convolutional neural
    networks with channel-wise NNK graphs", ICASSP 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.neighbors import subvector_neighbors
    >>> X = np.random.default_rng(0).random((200, 6))
    >>> found = subvector_neighbors([X[:, :3], X[:, 3:]], n_neighbors=20)
    >>> [round(float(near.n_kept.mean()), 2) for near in (*found.parts, found.joint)]
    [5.68, 5.97, 6.48]
    """
    check_choice("symmetrize", symmetrize, SYMMETRIZE)
    views = check_views(Xs)
    options: dict[str, Any] = {"sigma": sigma, "n_jobs": n_jobs}
    parts, scaled = [], []
    for view in views:
        model = NeighborhoodModel(view, n_neighbors, **options)
        parts.append(model.neighborhoods())
        unit = np.median(parts[-1].sigma) if isinstance(sigma, str) else 1.0
        scaled.append(view.astype(np.float64) / unit)
    warn_of_few_points(n_neighbors, len(views[0]), own=True)
    linked = sum(part.to_csr() for part in parts)
    candidates = csr_array(linked + linked.T)  # the neighbors in any part, in both directions
    most = max(1, int(np.diff(candidates.indptr).max()))
    model = NeighborhoodModel(np.hstack(scaled), most, neighbors=candidates, **options)
    solved = model.solve()
    graph = solved.graph(symmetrize)
    return SubvectorNeighborhoods(tuple(parts), solved.neighborhoods(), graph)


def check_views(Xs: Any) -> list[Array]:
    """Return a list of checked (N, d_s) arrays, parts of the features of the same points."""
    if not hasattr(Xs, "__iter__") or getattr(Xs, "ndim", 3) == 2:
        raise TypeError(
            "Xs must be a sequence of (N, d) arrays, one for each part of the features, such as "
            f"[X[:, :3], X[:, 3:]]; not one {type(Xs).__name__}"
        )
    views = [check_features(f"Xs[{i}]", X) for i, X in enumerate(Xs)]
    if not views:
        raise ValueError("Xs is empty; give at least one (N, d) array")
    for i, view in enumerate(views):
        if len(view) != len(views[0]):
            raise ValueError(
                f"Xs[{i}] holds {len(view)} points, Xs[0] {len(views[0])}: all parts are of the "
                "same points, one per row"
            )
    return views
