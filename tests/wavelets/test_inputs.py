"""Tests of spectral graph wavelets: spectral interval, unusual graphs, and signals."""

import re

import dense
import numpy as np
import pytest
import scipy.sparse as sp
from dense import graphs
from hypothesis import given
from hypothesis import strategies as st
from laplacians import stored

from nnk_image import SpectralGraphWavelets, image_graph
from nnk_image.graph.laplacian import KINDS

RNG = np.random.default_rng(7)
IMAGE = RNG.random((13, 11))
GRAPH = image_graph(IMAGE, 5, sigma_f=0.2)
SIGNAL = RNG.standard_normal(IMAGE.shape)


def true_lmax(matrix, kind):
    return dense.spectrum(matrix, kind)[0].max()


# --- the spectral interval ---------------------------------------------------------------


@given(graphs(least=1e-2, largest=1e2), st.sampled_from(KINDS))
def test_lanczos_finds_the_largest_eigenvalue(matrix, kind):
    wavelets = SpectralGraphWavelets(sp.csr_array(matrix), laplacian=kind, lmax="lanczos")
    if matrix.any():
        assert 1 - 1e-9 <= wavelets.lmax / true_lmax(matrix, kind) <= 1.01 + 1e-6


@given(
    graphs(least=1e-2, largest=1e2),
    st.sampled_from(KINDS),
    st.sampled_from(["lmax", "bound"]),
    st.sampled_from([0.5, 0.99, 1.01]) | st.floats(1e-3, 1e3),
)
def test_given_lmax_or_bound_is_used_or_refused(matrix, kind, name, factor):
    true, graph = true_lmax(matrix, kind), sp.csr_array(matrix)
    given = {"laplacian": kind, name: factor * (true or 1)}
    if given[name] < 0.999 * true:
        with pytest.raises(ValueError, match=f"{name}=.* below the largest .*at least .*larger"):
            SpectralGraphWavelets(graph, **given)
    elif given[name] > 1.001 * true:
        wavelets = SpectralGraphWavelets(graph, **given)
        assert wavelets.lmax == wavelets.bound == given[name]


@pytest.mark.parametrize("kind", KINDS)
def test_bound_and_lmax_are_independent(kind):
    """The bound limits the interval of the polynomials, and lmax scales the bands."""
    default = SpectralGraphWavelets(GRAPH, order=60, laplacian=kind)
    assert default.lmax == default.bound
    lmax, bound = 0.7 * default.bound, 1.5 * default.bound
    tight = SpectralGraphWavelets(GRAPH, laplacian=kind, lmax="lanczos", bound=bound)
    assert tight.lmax == pytest.approx(1.01 * true_lmax(GRAPH.adjacency.toarray(), kind), rel=1e-3)
    assert tight.bound == bound
    both = SpectralGraphWavelets(GRAPH, order=60, laplacian=kind, lmax=lmax, bound=bound)
    assert (both.lmax, both.bound) == (lmax, bound)
    eigenvalues = np.linspace(0, bound, 50)
    designed = both.bank.evaluate(eigenvalues)
    elsewhere = SpectralGraphWavelets(GRAPH, laplacian=kind, lmax=3 * lmax).bank
    np.testing.assert_allclose(designed, elsewhere.evaluate(3 * eigenvalues), atol=1e-12)
    np.testing.assert_allclose(both.evaluate(eigenvalues), designed, atol=0.1)
    np.testing.assert_allclose(both.reconstruct(both.analyze(SIGNAL)), SIGNAL, atol=1e-9)
    assert SpectralGraphWavelets(GRAPH, lmax=np.array(40.0)).lmax == 40  # an array of 0 axes


def test_at_order_is_a_new_transform():
    wavelets = SpectralGraphWavelets(GRAPH, order=9, lmax=20.0)
    before = wavelets.analyze(SIGNAL)
    changed, same = wavelets.at_order(14), SpectralGraphWavelets(GRAPH, order=14, lmax=20.0)
    assert (changed.order, changed.lmax, changed.bound) == (same.order, same.lmax, same.bound)
    np.testing.assert_array_equal(changed.analyze(SIGNAL), same.analyze(SIGNAL))
    np.testing.assert_array_equal(wavelets.analyze(SIGNAL), before)


# --- graphs ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_masked_pixels_do_not_affect_the_others(kind):
    mask = np.ones(IMAGE.shape, bool)
    mask[2:5, 3:9], mask[0, 0] = False, False
    graph = image_graph(IMAGE, 5, sigma_f=0.2, mask=mask)
    wavelets = SpectralGraphWavelets(graph, laplacian=kind)
    bands = wavelets.analyze(SIGNAL)
    assert np.isfinite(bands).all()
    np.testing.assert_allclose(bands[:, ~mask], wavelets.evaluate([0]) * SIGNAL[~mask], atol=1e-13)
    np.testing.assert_allclose(wavelets.reconstruct(bands), SIGNAL, rtol=0, atol=1e-12)
    changed = wavelets.analyze(np.where(mask, SIGNAL, 1e6))
    np.testing.assert_array_equal(changed[:, mask], bands[:, mask])


@pytest.mark.parametrize("kind", KINDS)
def test_scale_of_the_weights_does_not_matter_or_is_refused(kind):
    """Filters scale with lmax, so results are the same."""
    ring = sp.csr_array(np.roll(np.eye(9), 1, 0) + np.roll(np.eye(9), 1, 1))
    expected = SpectralGraphWavelets(ring, laplacian=kind).analyze(np.arange(9))
    for scale in (1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300):
        ours = SpectralGraphWavelets(ring * scale, laplacian=kind).analyze(np.arange(9))
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-10)
    for scale in (1e-310, 1e308):
        with pytest.raises(ValueError, match="too small or too large for float64"):
            SpectralGraphWavelets(ring * scale, laplacian=kind)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("order", -1, ValueError),
        ("order", 10**6, ValueError),
        ("order", 4.0, TypeError),
        ("n_scales", 0, ValueError),
        ("laplacian", "Combinatorial", ValueError),
        ("lmax", 0, ValueError),
        ("lmax", np.nan, ValueError),
        ("lmax", "exact", ValueError),
        ("lmax", np.array([9.0]), TypeError),
        ("bound", -1, ValueError),
        ("approximation", "chebyshev", ValueError),
        ("n_jobs", 0, ValueError),
        ("filters", "wavelets", ValueError),
        ("filters", lambda x: x * np.nan, ValueError),
    ],
)
def test_bad_option_is_refused(option, value, error):
    name = {"filters": "filter", "laplacian": "laplacian"}.get(option, option)
    with pytest.raises(error, match=name):
        SpectralGraphWavelets(GRAPH, **{option: value})


# --- signals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "bad"),
    [("f4", np.nan), ("f8", np.inf), ("f8", -np.inf), ("f4", 1e29), ("f4", -1e300), ("f8", 1e232)],
)
def test_position_of_a_nonfinite_or_too_large_value_is_reported(dtype, bad):
    wavelets = SpectralGraphWavelets(stored(GRAPH, dtype))
    signal, bands = SIGNAL.copy(), wavelets.analyze(SIGNAL).astype(float)
    signal[3, 4] = bands[2, 3, 4] = bad
    value = re.escape(str(np.float64(bad)))
    for call in (wavelets.analyze, lambda x: wavelets.filter(x, np.cos)):
        with pytest.raises(ValueError, match=rf"finite.*: {value} at \(3, 4\)"):
            call(signal)
    for call in (wavelets.synthesize, wavelets.reconstruct):
        with pytest.raises(ValueError, match=rf"finite.*: {value} at \(2, 3, 4\)"):
            call(bands)


@pytest.mark.parametrize(
    "shape", [(), (13,), (11, 13), (143,), (1, 13, 11), (13, 11, 2, 2), (0, 11)]
)
def test_signal_of_another_shape_is_refused(shape):
    wavelets = SpectralGraphWavelets(GRAPH)
    with pytest.raises(ValueError, match=r"have shape \(13, 11\) on this graph"):
        wavelets.analyze(np.zeros(shape))
    with pytest.raises(ValueError, match=r"must have shape \(7, 13, 11\)"):
        wavelets.reconstruct(np.zeros((6, *shape)))
    with pytest.raises(ValueError, match=r"must have shape \(143,\)"):
        SpectralGraphWavelets(GRAPH.adjacency).analyze(np.zeros((13, 11)))


@pytest.mark.parametrize("dtype", [complex, object, "S3", "U3", "M8[s]"])
def test_signal_without_real_numbers_is_refused(dtype):
    wavelets = SpectralGraphWavelets(GRAPH)
    with pytest.raises(TypeError, match="not real numbers"):
        wavelets.analyze(np.zeros((13, 11), int).astype(dtype))


@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("graph", [GRAPH, GRAPH.adjacency], ids=["grid", "plain"])
def test_channels_are_transformed_one_by_one(graph, channels):
    wavelets = SpectralGraphWavelets(graph)
    signal = np.random.default_rng(8).standard_normal((*wavelets.shape, channels))
    bands = wavelets.analyze(signal)
    assert bands.shape == (7, *wavelets.shape, channels)
    for c in range(channels):
        np.testing.assert_array_equal(bands[..., c], wavelets.analyze(signal[..., c]))
    for back in (wavelets.reconstruct(bands), wavelets.filter(signal, lambda x: 1.0)):
        np.testing.assert_allclose(back, signal, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f2", "f4", "g"])
def test_any_real_signal_gives_the_result_of_its_float64_copy(dtype):
    signal = (100 * IMAGE).astype(dtype)
    wavelets = SpectralGraphWavelets(GRAPH)
    ours, expected = wavelets.analyze(signal), wavelets.analyze(signal.astype(float))
    assert ours.dtype == np.float64
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_graphs_give_float32_results(kind):
    exact = SpectralGraphWavelets(GRAPH, laplacian=kind)
    single = image_graph(IMAGE.astype(np.float32), 5, sigma_f=0.2)
    for graph in (single, stored(GRAPH, np.float32)):
        wavelets = SpectralGraphWavelets(graph, laplacian=kind)
        assert type(wavelets.lmax) is type(wavelets.bound) is float
        bands = wavelets.analyze(SIGNAL)
        back = wavelets.reconstruct(bands)
        assert wavelets.dtype == bands.dtype == back.dtype == np.float32
        np.testing.assert_allclose(bands, exact.analyze(SIGNAL), rtol=0, atol=3e-5)
        np.testing.assert_allclose(back, SIGNAL, rtol=0, atol=3e-5)
    assert exact.analyze(SIGNAL.astype(np.float32)).dtype == np.float64


def test_tau_is_only_for_the_regularized_laplacian():
    image = np.random.default_rng(3).normal(100, 15, (20, 24))
    graph = image_graph(image, 5, sigma_f=25)
    with pytest.raises(ValueError, match=r"tau=2 is for laplacian='regularized'"):
        SpectralGraphWavelets(graph, laplacian="random_walk", tau=2)
    with pytest.raises(ValueError, match="tau=-1 must be"):
        SpectralGraphWavelets(graph, laplacian="regularized", tau=-1)
    degrees = graph.degrees
    given, default = (
        SpectralGraphWavelets(graph, order=6, laplacian="regularized", tau=tau)
        for tau in (float(degrees[degrees > 0].mean()), None)
    )
    np.testing.assert_allclose(given.analyze(image), default.analyze(image), rtol=1e-12)
