"""Tests of operators that PyTorch can differentiate; they are skipped without PyTorch."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.sparse import csr_array

import nnk_image
from nnk_image.solvers import TorchGraph, smooth


@pytest.fixture(scope="module")
def torch():
    reason = "PyTorch is not installed; CI does not install it: pip install 'nnk_image[torch]'"
    return pytest.importorskip("torch", reason=reason)


@pytest.fixture(scope="module", params=["image", "matrix"])
def graph(request):
    image_graph = nnk_image.image_graph(np.random.default_rng(0).random((5, 6)), sigma_f=1)
    return image_graph if request.param == "image" else image_graph.adjacency


@pytest.fixture(params=["combinatorial", "normalized"])
def case(request, graph, torch):
    """Return a `TorchGraph`, its dense Laplacian, two signals, and coefficients."""
    on_graph = TorchGraph(graph, request.param)
    adjacency = getattr(graph, "adjacency", graph)
    degree = adjacency.sum(axis=1)
    matrix = np.diag(degree) - adjacency.toarray()
    if request.param == "normalized":
        matrix /= np.sqrt(np.outer(degree, degree))
    rng = np.random.default_rng(1)
    x, c = (rng.normal(size=shape) for shape in ((2, *on_graph.shape), 5))
    return on_graph, matrix, *(torch.tensor(a, requires_grad=True) for a in (x, c))


def test_values_match_dense_matrices(case):
    on_graph, matrix, x, c = case
    columns = x.detach().numpy().reshape(2, -1).T
    product = on_graph.laplacian(x).detach().numpy().reshape(2, -1).T
    np.testing.assert_allclose(product, matrix @ columns, atol=1e-13)
    values, vectors = np.linalg.eigh(matrix)
    of_values = chebyshev.chebval(2 * values / on_graph.bound - 1, c.detach().numpy())
    expected = vectors * of_values @ vectors.T @ columns
    for coefficients in (c, c.detach()):  # with and without gradients
        found = on_graph.chebyshev(x, coefficients)
        assert found.shape == x.shape
        np.testing.assert_allclose(found.detach().numpy().reshape(2, -1).T, expected, atol=1e-13)


def test_derivatives_match_finite_differences(case, torch):
    on_graph, _, x, c = case
    check = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    bank = torch.stack([c, 2 * c.flip(0), c**2])
    for correct in check:
        assert correct(on_graph.laplacian, (x,))
        assert correct(on_graph.chebyshev, (x, c))
        assert correct(on_graph.chebyshev, (x[0], bank))
        assert correct(lambda x: on_graph.chebyshev(x, bank.detach()), (x,))


def test_derivatives_of_smooth_match_finite_differences(graph, torch):
    on_graph = TorchGraph(graph)
    x = torch.rand(on_graph.shape, dtype=torch.float64, requires_grad=True)
    strength = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    plain = smooth(graph, x.detach().numpy(), 0.7)
    np.testing.assert_array_equal(on_graph.smooth(x, 0.7).detach().numpy(), plain)

    def smoothed(x, strength=0.7):
        return on_graph.smooth(x, strength, tol=1e-13)

    for correct in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert correct(smoothed, (x,))
        assert correct(smoothed, (x, strength))
        assert correct(lambda strength: smoothed(x.detach(), strength), (strength.reshape(1),))


def test_arrays_lists_and_tensors_are_accepted(graph, torch):
    dense = torch.from_numpy(getattr(graph, "adjacency", graph).toarray())
    on_graph, on_tensor = TorchGraph(graph), TorchGraph(dense)
    x = np.random.default_rng(2).random(on_graph.shape)
    for plain in (x, x.tolist(), torch.from_numpy(x)):
        for coefficients in ([0.1, 0.2], torch.tensor([0.1, 0.2], dtype=torch.float64)):
            filtered = on_graph.chebyshev(plain, coefficients)
            assert torch.equal(filtered, on_graph.chebyshev(torch.from_numpy(x), [0.1, 0.2]))
        assert torch.equal(on_graph.smooth(plain, 0.7), on_graph.smooth(torch.from_numpy(x), 0.7))
    found, expected = (g.laplacian(x.reshape(g.shape)).ravel() for g in (on_tensor, on_graph))
    torch.testing.assert_close(found, expected)


def test_types_threads_and_graphs_without_edges(torch):
    image = nnk_image.standard_image("camera").astype(np.float32)
    graph, x = nnk_image.image_graph(image, sigma_f=20), torch.from_numpy(image).double()
    one, two = (TorchGraph(graph, n_jobs=n).laplacian(x) for n in (1, 2))
    assert one.dtype == torch.float32  # like the weights of the graph
    assert torch.equal(one, two)
    empty = TorchGraph(csr_array((3, 3)))
    assert torch.equal(empty.laplacian(torch.ones(3)), torch.zeros(3, dtype=torch.float64))


def test_error_messages(graph, torch):
    with pytest.raises(ValueError, match="laplacian='random_walk' is unknown"):
        TorchGraph(graph, "random_walk")
    with pytest.raises(ValueError, match=r"signals must be \(\.\.\., .*\), not \(4,\)"):
        TorchGraph(graph).laplacian(torch.ones(4))
    with pytest.raises(ValueError, match="laplacian='combinatorial'"):
        TorchGraph(graph, "normalized").smooth(torch.ones(5, 6), 1)
