"""Tests of spectral graph wavelets against golden data, PyGSP and dense linear algebra."""

import copy
from functools import cache

import dense
import golden_data
import numpy as np
import pygsp
import pytest
import scipy.sparse as sp
from copies import through_pickle, through_read_only_buffers
from dense import graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from laplacians import stored
from numpy.polynomial import chebyshev

from nnk_image import SpectralGraphWavelets, bilateral_graph, image_graph
from nnk_image.graph.laplacian import KINDS

GOLDEN_IMAGES = ("camera", "camera_ns", "brick", "coins")
BUILDS = {"bf": bilateral_graph, "nnk": image_graph}
FRAMES = ("abspline", "half_cosine", "itersine", "mexican_hat", "meyer", "simple_tight")
PAIRS = ("held", "papadakis", "regular", "simoncelli")


@cache
def golden_graph(name, build):
    return BUILDS[build](golden_data.image_float(name), 11, 2, 10 / 255)


def golden_wavelets(name, build, order):
    lmax = float(golden_data.sgw(name)[f"{build}_lmax"])
    return SpectralGraphWavelets(golden_graph(name, build), order=order, lmax=lmax)


def golden_signal(name):
    image = golden_data.image_float(name)
    return image - image.mean()


@cache
def small_graph(build=image_graph, height=9, width=11):
    image = np.random.default_rng(0).random((height, width))
    return build(image, 5, sigma_f=0.2)


def signal_for(wavelets, *trailing):
    return np.random.default_rng(1).standard_normal((*wavelets.shape, *trailing))


def relative_error(ours, expected):
    assert ours.shape == expected.shape
    return abs(ours - expected).max() / (abs(expected).max() or 1)


# --- golden data -------------------------------------------------------------------------


@pytest.mark.parametrize("order", [4, 6, 12, 15, 30])
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", GOLDEN_IMAGES)
def test_golden_coefficients(name, build, order):
    """The toolbox finds the height of band 1 numerically, accurate to 1e-9."""
    golden, wavelets = golden_data.sgw(name), golden_wavelets(name, build, order)
    signal = golden_signal(name)
    bands = wavelets.analyze(signal).reshape(7, -1)
    whole, sample = f"{build}_C_m{order}", f"{build}_Csub16_m{order}"
    expected = golden[whole] if whole in golden else golden[sample]
    error = abs(bands.T[:: 1 if whole in golden else 16] - expected).max(axis=0)
    assert error[0] < 1e-9
    assert error[1:].max() < 1e-12

    energy = (bands**2).sum(axis=1) / (signal**2).sum()
    expected = golden[f"{build}_E_rowmajor_correct_m{order}"]
    np.testing.assert_allclose(energy, expected, rtol=1e-9)


@pytest.mark.parametrize("order", [4, 6, 12, 15, 30])
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", GOLDEN_IMAGES)
def test_golden_frame_bounds(name, build, order):
    golden, wavelets = golden_data.sgw(name), golden_wavelets(name, build, order)
    kernels = [float(golden[f"{build}_{end}"]) for end in "AB"]
    np.testing.assert_allclose(wavelets.frame_bounds("kernels"), kernels, rtol=1e-4)
    coefficients = golden[f"{build}_cheb_m{order}"].copy()
    coefficients[:, 0] /= 2
    power = (chebyshev.chebval(np.linspace(-1, 1, 20_001), coefficients.T) ** 2).sum(axis=0)
    np.testing.assert_allclose(wavelets.frame_bounds(), (power.min(), power.max()), rtol=1e-4)


@pytest.mark.parametrize("order", [6, 15, 30])
@pytest.mark.parametrize("build", BUILDS)
def test_golden_adjoint_and_inverse(build, order):
    golden = golden_data.sgw("inverse_camera_ns")
    wavelets = golden_wavelets("camera_ns", build, order)
    bands = wavelets.analyze(golden_signal("camera_ns"))
    lowest = np.where(np.arange(7)[:, None, None] < 3, bands, 0)
    for key, ours, tolerance in (
        ("adj", wavelets.synthesize(bands), 1e-9),
        ("adj3", wavelets.synthesize(lowest), 1e-9),
        ("inv3_exact", wavelets.reconstruct(lowest), 1e-12),
    ):
        error = abs(ours.ravel() - golden[f"{build}_{key}_m{order}"]).max()
        assert error < tolerance, key


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", GOLDEN_IMAGES)
def test_golden_largest_eigenvalue(name, build):
    true = float(golden_data.sgw(name)[f"{build}_lmax_true"])
    wavelets = SpectralGraphWavelets(golden_graph(name, build), lmax="lanczos")
    assert SpectralGraphWavelets(golden_graph(name, build)).bound >= true
    assert wavelets.lmax == pytest.approx(1.01 * true, rel=5e-3)
    with pytest.raises(ValueError, match="below the largest eigenvalue"):
        SpectralGraphWavelets(golden_graph(name, build), lmax=0.98 * true)


# --- PyGSP -------------------------------------------------------------------------------


def test_laplacian_and_interval_are_those_of_pygsp_objects():
    """Outside [0, lmax] Itersine is not a frame, and its bands were not invertible."""
    for kind in ("normalized", "combinatorial"):
        graph = pygsp.graphs.Graph(small_graph().adjacency.toarray(), lap_type=kind)
        graph.compute_fourier_basis()
        filters = pygsp.filters.Itersine(graph)
        wavelets = SpectralGraphWavelets(graph, filters)
        assert (wavelets.laplacian, wavelets.bound) == (kind, pytest.approx(graph.lmax))
        signal = signal_for(wavelets)
        expected = filters.filter(signal, method="chebyshev", order=30)
        np.testing.assert_allclose(wavelets.analyze(signal).T, expected, rtol=0, atol=1e-10)
        assert relative_error(wavelets.reconstruct(expected.T), signal) < 1e-10
    other = SpectralGraphWavelets(graph, filters, laplacian="random_walk")
    assert (other.laplacian, other.bound) == ("random_walk", 2)


# --- frames and their inverse ------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*FRAMES, *PAIRS])
def test_reconstruction_is_perfect(name, kind):
    """Every design that is a frame is inverted, on NNK and bilateral graphs and on a matrix."""
    for graph in (small_graph(), small_graph().adjacency, small_graph(bilateral_graph)):
        wavelets = SpectralGraphWavelets(graph, name, order=6, laplacian=kind)
        signal = signal_for(wavelets)
        assert relative_error(wavelets.reconstruct(wavelets.analyze(signal)), signal) < 1e-10


@settings(max_examples=50)
@given(graphs(least=1e-2, largest=1e2), st.sampled_from(KINDS), st.sampled_from([0, 2, 7, 40]))
def test_reconstruction_is_perfect_on_any_graph(matrix, kind, order):
    wavelets = SpectralGraphWavelets(sp.csr_array(matrix), laplacian=kind, order=order)
    root = np.sqrt(dense.node_weights(matrix, kind))
    signal = signal_for(wavelets) / root
    ours = wavelets.reconstruct(wavelets.analyze(signal))
    assert relative_error(root * ours, root * signal) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["abspline", "meyer", "regular"])
def test_reconstruction_solves_least_squares(name, kind):
    """The minimum over x of |W x - c|, measured by the inner product of the Laplacian."""
    graph = small_graph(height=4, width=5)
    wavelets = SpectralGraphWavelets(graph, name, laplacian=kind, order=12)
    weights = dense.node_weights(graph.adjacency.toarray(), kind)
    frame = wavelets.analyze(np.eye(20).reshape(4, 5, 20)).reshape(-1, 20)
    target = np.random.default_rng(3).standard_normal((wavelets.n_bands, 4, 5))
    root = np.tile(np.sqrt(weights), wavelets.n_bands)
    expected = np.linalg.lstsq(root[:, None] * frame, root * target.ravel(), rcond=None)[0]
    assert relative_error(wavelets.reconstruct(target).ravel(), expected) < 1e-10


@pytest.mark.parametrize("name", ["abspline", "mexican_hat", "meyer"])
@pytest.mark.parametrize("n_scales", [1, 2, 3])
@pytest.mark.parametrize("order", [5, 6, 8, 12])
def test_float32_reconstructs_or_refuses(name, n_scales, order):
    """For example, abspline with one scale and order 5 would lose 1 % or more."""
    exact = SpectralGraphWavelets(small_graph(), name, n_scales, order)
    single = SpectralGraphWavelets(stored(small_graph(), np.float32), name, n_scales, order)
    signal = signal_for(single).astype(np.float32)
    low, high = single.frame_bounds()
    bands = single.analyze(signal)
    if high / low < 8e4:
        error = relative_error(single.reconstruct(bands), signal)
        assert error < min(1e-6 + 2e-7 * high / low, 5e-3)
        return
    with pytest.raises(ValueError, match="do not determine the signal in float32; use a frame"):
        single.reconstruct(bands)
    if high / low < 1e7:
        assert relative_error(exact.reconstruct(exact.analyze(signal)), signal) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["abspline", "meyer", "itersine"])
@pytest.mark.parametrize("image", ["flat", "noise"])
def test_frame_bounds_hold_for_every_signal(image, name, kind):
    """The energy of the bands is smallest and largest for eigenvectors, so all are checked."""
    pixels = np.random.default_rng(0).random((9, 10)) if image == "noise" else np.zeros((9, 10))
    graph = image_graph(pixels, 5, sigma_f=0.2)
    wavelets = SpectralGraphWavelets(graph, name, laplacian=kind)
    _, right, left = dense.spectrum(graph.adjacency.toarray(), kind)
    bands = wavelets.analyze(right.reshape(9, 10, 90)).reshape(wavelets.n_bands, 90, 90)
    powers = np.einsum("vn,snv->sv", left, bands) ** 2
    low, high = wavelets.frame_bounds()
    assert powers.sum(axis=0).min() >= low * (1 - 1e-9)
    assert powers.sum(axis=0).max() <= high * (1 + 1e-9)


def test_unknown_kind_of_frame_bounds_is_refused():
    with pytest.raises(ValueError, match=r"'exact'.*polynomials.*kernels"):
        SpectralGraphWavelets(small_graph()).frame_bounds("exact")


# --- filters -----------------------------------------------------------------------------


@pytest.mark.parametrize("approximation", ["interpolation", "projection", "jackson"])
def test_filter_scales_bands(approximation):
    """One polynomial replaces seven bands, or seven bands and their adjoints."""
    wavelets = SpectralGraphWavelets(small_graph(), order=12, approximation=approximation)
    signal, scale = signal_for(wavelets, 3), np.array([1, 0.5, 0, -2, 3, 0, 1])
    bands = wavelets.analyze(signal)
    ours = wavelets.filter(signal, lambda x: scale @ wavelets.bank.evaluate(x))
    assert relative_error(ours, np.tensordot(scale, bands, 1)) < 1e-12
    if approximation != "jackson":
        both_ways = wavelets.at_order(24).filter(
            signal, lambda x: scale @ wavelets.evaluate(x) ** 2
        )
        expected = wavelets.synthesize(scale[:, None, None, None] * bands)
        assert relative_error(both_ways, expected) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("build", BUILDS.values())
def test_evaluate_gives_the_applied_polynomials(build, kind):
    graph = small_graph(build)
    wavelets = SpectralGraphWavelets(graph, order=6, laplacian=kind)
    exact = dense.functions(graph.adjacency.toarray(), kind, wavelets.evaluate)
    signal = signal_for(wavelets)
    expected = np.stack([f @ signal.ravel() for f in exact])
    assert relative_error(wavelets.analyze(signal).reshape(7, -1), expected) < 1e-12
    rounded = np.array([-1e-6, 1 + 1e-6]) * wavelets.bound
    np.testing.assert_allclose(
        wavelets.evaluate(rounded), wavelets.evaluate([0, wavelets.bound]), atol=1e-3
    )
    for outside in (-0.01 * wavelets.bound, 1.01 * wavelets.bound, np.nan):
        with pytest.raises(ValueError, match=r"eigenvalues must be in \[0, bound="):
            wavelets.evaluate([0, outside])


@pytest.mark.parametrize("response", [None, 5, "abspline", [np.sin]])
def test_response_that_is_not_a_function_is_refused(response):
    wavelets = SpectralGraphWavelets(small_graph())
    with pytest.raises(TypeError, match="response must be a function of the eigenvalue"):
        wavelets.filter(signal_for(wavelets), response)


# --- copies ------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, through_pickle, through_read_only_buffers])
@pytest.mark.parametrize("filters", ["abspline", "simoncelli", np.exp, [np.cos, np.sinc]])
def test_a_copy_gives_the_same_bits(filters, duplicate):
    image = golden_data.image_float("camera")[:40, :27]
    graph = image_graph(image)
    for of, signal in ((graph, image), (graph.adjacency, image.ravel())):
        wavelets = SpectralGraphWavelets(of, filters, laplacian="random_walk", order=12)
        other = duplicate(wavelets)
        found, expected = other.analyze(signal), wavelets.analyze(signal)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(other.synthesize(found), wavelets.synthesize(expected))
        assert other.frame_bounds("kernels") == wavelets.frame_bounds("kernels")


# --- planes and matrices -------------------------------------------------------------------


def test_wavelets_do_not_build_the_matrix():
    image = np.random.default_rng(4).random((23, 31))
    for build in (image_graph, bilateral_graph):
        graph = build(image)
        SpectralGraphWavelets(graph).analyze(image)
        assert "matrix" not in vars(graph.edges)
