"""Label propagation, few-shot labels and embeddings, compared with dense linear algebra."""

import warnings

import dense
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dense import graphs
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from nnk_image import image_graph
from nnk_image.learning import few_shot_labels, label_propagation, lle_embedding
from nnk_image.neighbors import nnk_graph, nnk_neighbors


def ring(n, noise=0.0):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    return points + noise * np.random.default_rng(1).standard_normal(points.shape)


def block_diagonal(*blocks):
    return sp.csr_array(sp.block_diag(blocks, format="csr"))


def clique(n):
    return np.ones((n, n)) - np.eye(n)


# --- label propagation -------------------------------------------------------------------


def propagate_dense(matrix, labels, kind):
    """Propagate labels by definition, F_u = -(L_uu)^-1 L_ul Y_l, with rows that add up to 1."""
    known = labels >= 0
    classes = np.unique(labels[known])
    Y = (labels[:, None] == classes).astype(float)
    L = dense.laplacian(matrix, kind)
    reach = connected_components(matrix > 0, directed=False)[1]
    free = ~known & np.isin(reach, reach[known])
    F = Y.copy()
    F[free] = -np.linalg.solve(L[np.ix_(free, free)], L[np.ix_(free, known)] @ Y[known])
    total = F.sum(axis=1, keepdims=True)
    return classes, np.divide(F, total, out=F, where=total > 0), known | free


@given(graphs(least=1e-2, largest=1e2), st.data())
@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_scores_equal_the_dense_solution(kind, matrix, data):
    n = len(matrix)
    labels = np.array(
        data.draw(st.lists(st.sampled_from([-1, -1, 0, 3, 7]), min_size=n, max_size=n))
    )
    assume((labels >= 0).any())
    classes, expected, reached = propagate_dense(matrix, labels, kind)
    with warnings.catch_warnings():
        expect_none = reached.all() and (labels < 0).any()
        warnings.simplefilter("error" if expect_none else "ignore")
        result, scores = label_propagation(
            sp.csr_array(matrix), labels, laplacian=kind, return_scores=True
        )
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    top = np.sort(expected, axis=1)
    clear = reached & (top[:, -1] - (top[:, -2] if len(classes) > 1 else 0) > 1e-8)
    np.testing.assert_array_equal(result[clear], classes[expected.argmax(axis=1)][clear])
    np.testing.assert_array_equal(result[labels >= 0], labels[labels >= 0])
    assert not scores[~reached].any()


@pytest.mark.parametrize("dims", [2, 12])
def test_large_graphs_by_elimination_and_by_conjugate_gradients(dims):
    """Both solvers leave a small residual."""
    X = np.random.default_rng(dims).standard_normal((2600, dims))
    graph = nnk_graph(X, 15, symmetrize="max")
    labels = np.full(2600, -1)
    labels[:40] = np.arange(40) % 3
    _, scores = label_propagation(graph, labels, return_scores=True)
    residual = (graph @ scores - graph.sum(axis=1)[:, None] * scores)[40:]
    assert np.abs(residual).max() < 1e-10 * graph.sum(axis=1).max()
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("bridge", [1e-6, 1e-13, 1e-17, 1e-25, 1e-80, 1e-200])
def test_edges_lost_to_rounding_still_propagate_labels(bridge):
    """The scores of the middle one of three cliques are in the ratio of its bridges, 1 : 0.3."""
    matrix = block_diagonal(clique(4), clique(4), clique(5)).toarray()
    matrix[3, 4] = matrix[4, 3] = bridge
    matrix[7, 9] = matrix[9, 7] = 0.3 * bridge
    labels = np.full(13, -1)
    labels[0], labels[12] = 0, 1
    result, scores = label_propagation(sp.csr_array(matrix), labels, return_scores=True)
    expected = np.repeat([[1, 0], [1 / 1.3, 0.3 / 1.3], [0, 1]], [4, 4, 5], axis=0)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    np.testing.assert_array_equal(result, expected.argmax(axis=1))


def test_components_without_a_label_get_the_most_frequent_class():
    graph = block_diagonal(clique(3), clique(3), [[0]])
    with pytest.warns(UserWarning, match="4 of 7 nodes, the first 3, are not.*frequent one, 5"):
        result = label_propagation(graph, np.array([2, 5, 5, -1, -1, -1, -1], np.int16))
    assert result.dtype == np.int16
    np.testing.assert_array_equal(result, [2, 5, 5, 5, 5, 5, 5])


def test_labels_of_an_image():
    """On an image graph, two labeled pixels fill the two halves of the image."""
    image = np.where(np.arange(12) < 5, 0.2, 0.8) * np.ones((10, 1))
    labels = np.full(120, -1)
    labels[0], labels[-1] = 0, 1
    graph = image_graph(image, window=5)
    result = label_propagation(graph, labels.reshape(10, 12))
    np.testing.assert_array_equal(result, (image > 0.5).astype(int))
    flat, scores = label_propagation(graph, labels, return_scores=True)
    np.testing.assert_array_equal(flat, result.ravel())
    of_image = label_propagation(graph, labels.reshape(10, 12), return_scores=True)[1]
    np.testing.assert_array_equal(of_image, scores.reshape(10, 12, 2))
    with pytest.raises(ValueError, match=r"labels has shape \(12, 10\), but .*\(10, 12\)"):
        label_propagation(graph, labels.reshape(12, 10))


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0, 1], ValueError, r"labels has shape \(2,\), but the graph has 3 nodes: give one"),
        ([-1, -1, -1], ValueError, "give at least one"),
        ([0, -2, -1], ValueError, "got -2"),
        (["a", "b", "c"], TypeError, "np.unique.*set the unknown ones to -1 afterwards"),
        ([0.0, 1.5, -1.0], TypeError, "float64"),
        (np.ma.masked_equal([0, 1, 2], 2), TypeError, "float64"),
    ],
)
def test_invalid_labels_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        label_propagation(sp.csr_array(clique(3)), labels)


# --- few-shot labels ---------------------------------------------------------------------


def few_shot_by_hand(X, y, Q, k, **options):
    """Run Algorithm 6 with loops: in each round, one query per predicted class is labeled."""
    points, labels, result = list(X), list(y), [None] * len(Q)
    left = list(range(len(Q)))
    while left:
        best = {}
        for i in left:
            near = nnk_neighbors(np.array(points), min(k, len(points)), queries=Q[[i]], **options)
            who, weight = near.neighbors(0)
            share = {c: weight[[labels[j] == c for j in who]].sum() for c in sorted(set(y))}
            c = max(share, key=share.get)
            rank = (-share[c] / weight.sum(), near.error[0], i)
            if c not in best or rank < best[c]:
                best[c] = rank
        for c, (_, _, i) in sorted(best.items(), key=lambda item: item[1][2]):
            result[i] = c
            points.append(Q[i])
            labels.append(c)
            left.remove(i)
    return result


@pytest.mark.parametrize("kernel", ["cosine", "gaussian"])
def test_few_shot_labels_follow_algorithm_6(kernel):
    rng = np.random.default_rng(3)
    centers = 3 * rng.random((3, 5))
    names = np.array(["a", "b", "c"])
    which = np.arange(24) % 3
    X = centers + 0.1 * rng.random((3, 5))
    Q = centers[which] + 0.9 * rng.random((24, 5))
    options = {"kernel": kernel, "sigma": 1.0}
    result = few_shot_labels(X, names, Q, 6, **options)
    np.testing.assert_array_equal(result, few_shot_by_hand(X, names, Q, 6, **options))


def test_queries_without_similar_points_get_the_most_frequent_label():
    X, Q = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [[-1.0, -1.0], [1.0, 0.1]]
    with pytest.warns(UserWarning, match="1 of 2 queries, the first 0.*most frequent one, 4"):
        np.testing.assert_array_equal(few_shot_labels(X, [4, 4, 2], Q), [4, 4])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": [0]}, ValueError, r"y must have shape \(2,\)"),
        ({"y": [0, np.nan]}, ValueError, r"y\[1\] is missing; put points without a label into Q"),
        ({"y": np.array(["a", None])}, ValueError, r"y\[1\] is missing"),
        ({"y": pd.Series(["a", pd.NA], dtype="string")}, ValueError, r"y\[1\] is missing"),
        ({"y": np.ma.masked_equal([0, 1], 0)}, ValueError, r"y\[0\] is missing"),
        ({"Q": [[1.0, 2.0, 3.0]]}, ValueError, "3 features"),
        ({"n_accept": 0}, ValueError, "n_accept=0"),
        ({"queries": np.eye(2)}, TypeError, "queries is no option"),
        ({"n_neighbors": 1.5}, TypeError, "integer"),
        ({"kernel": "precomputed"}, ValueError, "queries become points"),
        ({"method": "kstar"}, ValueError, "use kernel='gaussian'"),  # which is not the default here
    ],
)
def test_invalid_few_shot_input_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        few_shot_labels(**({"X": np.eye(2), "y": [0, 1], "Q": np.ones((3, 2))} | change))


# --- LLE embedding -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [60, 700])
def test_lle_embedding_equals_the_dense_one(n):
    W = nnk_neighbors(ring(n, 0.002), n_neighbors=7, kernel="lle").to_csr().toarray()
    M = (np.eye(n) - W).T @ (np.eye(n) - W)
    expected = eigh(M, subset_by_index=[1, 4], eigvals_only=True)
    Y = lle_embedding(sp.csr_array(W), 4)
    values = np.einsum("ij,ij->j", Y, M @ Y)
    assert np.abs(values - expected).max() < 1e-9
    np.testing.assert_allclose(Y.T @ Y, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(M @ Y, Y * values, atol=1e-9)


def test_lle_rows_are_normalized_and_weights_may_be_negative():
    rng = np.random.default_rng(5)
    W = rng.standard_normal((12, 12)) + 0.5
    np.fill_diagonal(W, 0)
    scaled = W / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        lle_embedding(sp.csr_array(W), 2), lle_embedding(sp.csr_array(scaled), 2), atol=1e-10
    )


def test_lle_of_disconnected_graphs_warns():
    with pytest.warns(UserWarning, match="2 parts"):
        Y = lle_embedding(block_diagonal(clique(4), clique(3)), 1)
    assert len(np.unique(Y.round(10))) == 2


@pytest.mark.parametrize(
    ("weights", "n", "error", "message"),
    [
        (block_diagonal(clique(3), [[0]]), 1, ValueError, "1 of 4 rows of weights sum to 0.*row 3"),
        (sp.csr_array((1, 1)), 2, ValueError, "1 of 1 rows of weights sum to 0"),
        (sp.csr_array(np.ones((3, 4))), 1, ValueError, "square"),
        ([[0.0, 1.0]], 1, TypeError, "list"),
        (sp.csr_array(clique(3)), 3, ValueError, "n_components=3"),
    ],
)
def test_invalid_lle_weights_are_refused(weights, n, error, message):
    with pytest.raises(error, match=message):
        lle_embedding(weights, n)
