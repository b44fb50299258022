"""Tests of solvers on graphs against dense solutions and the optimizers of scipy."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from dense import Random
from scipy.optimize import linprog, lsq_linear, minimize
from scipy.sparse import csr_array

import nnk_image
from nnk_image.graph import grid_graph
from nnk_image.learning import interpolate
from nnk_image.solvers import gglr, smooth, total_variation

SOLVERS = [smooth, total_variation, gglr]
CASES = ["all", "known", "fixed"]


def planar_form(problem, stiffness):
    """Return the quadratic form of values and slopes, edge by edge from its definition."""
    n, axes = problem.places.shape
    form = np.zeros((n * (1 + axes),) * 2)
    slopes = n + np.arange(n * axes).reshape(n, axes)
    for i, j, w in zip(problem.i, problem.j, problem.w, strict=True):
        row = np.zeros(len(form))
        row[j], row[i] = 1, -1
        row[slopes[[i, j]]] = -(problem.places[j] - problem.places[i]) / 2
        form += w * np.outer(row, row)
        bends = np.zeros((axes, len(form)))
        bends[range(axes), slopes[i]], bends[range(axes), slopes[j]] = 1, -1
        form += w * stiffness * bends.T @ bends
    return form


def close(found, best):
    assert found == pytest.approx(best, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(17))
def test_smooth_matches_the_dense_minimum(seed, case):
    problem = Random(seed, case=case)
    x = smooth(problem.graph, problem.y, problem.strength, known=problem.known, tol=1e-10)
    exact = problem.dense(problem.laplacian)
    np.testing.assert_allclose(x, exact, atol=1e-6)
    close(problem.objective(x, problem.laplacian), problem.objective(exact, problem.laplacian))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(17))
def test_gglr_matches_the_dense_minimum(seed, case):
    """The minimum may not be unique, so the objectives are compared."""
    problem = Random(seed, case=case)
    stiffness = [0.05, 1.0][seed % 2]
    x, info = gglr(
        *(problem.graph, problem.y, problem.strength),
        **{"known": problem.known, "coordinates": problem.places, "stiffness": stiffness},
        **{"tol": 1e-10, "return_info": True, "max_iterations": 10_000},
    )
    form = planar_form(problem, stiffness)
    values, slopes = info.state[0][:, 0], info.state[0][:, 1:]
    np.testing.assert_array_equal(x, values)
    found = np.concatenate([values, slopes.ravel()])
    close(problem.objective(found, form), problem.objective(problem.dense(form), form))


@pytest.mark.parametrize("seed", range(17))
def test_total_variation_matches_bounded_least_squares(seed):
    problem = Random(seed)
    x, info = total_variation(
        problem.graph, problem.y, problem.strength, tol=1e-7, return_info=True, max_iterations=50000
    )
    limit = problem.strength * problem.w
    flow = lsq_linear(problem.differences().T, problem.y, (-limit, limit), "bvls", tol=1e-14)
    exact = problem.y - problem.differences().T @ flow.x
    close(
        problem.misfit(x) + problem.variation(x), problem.misfit(exact) + problem.variation(exact)
    )
    assert info.error <= 1e-7


@pytest.mark.parametrize("seed", range(20))
def test_total_variation_between_fixed_values_matches_a_linear_program(seed):
    problem = Random(seed, case="fixed")
    x = total_variation(
        problem.graph, problem.y, 0, known=problem.known, tol=1e-7, max_iterations=100_000
    )
    np.testing.assert_array_equal(x[problem.known], problem.y[problem.known])
    rows, n = problem.differences(), len(problem.y)
    most = np.eye(len(rows))
    bounds = [
        (y, y) if known else (None, None) for y, known in zip(problem.y, problem.known, strict=True)
    ]
    found = linprog(
        np.concatenate([np.zeros(n), problem.w]),
        A_ub=np.block([[rows, -most], [-rows, -most]]),
        b_ub=np.zeros(2 * len(rows)),
        bounds=bounds + [(0, None)] * len(rows),
    )
    close(problem.variation(x), found.fun)


@pytest.mark.parametrize("seed", range(20))
def test_total_variation_of_partly_known_signals_matches_a_quadratic_program(seed):
    problem = Random(seed, n=8, case="known")
    x = total_variation(
        *(problem.graph, problem.y, problem.strength),
        **{"known": problem.known, "tol": 1e-7, "max_iterations": 100_000},
    )
    rows, n = problem.differences(), len(problem.y)
    limit = problem.strength * problem.w

    found = minimize(
        lambda v: problem.misfit(v[:n]) + limit @ v[n:],
        np.concatenate([x, abs(rows @ x) + 1]),
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda v: v[n:] - rows @ v[:n]},
            {"type": "ineq", "fun": lambda v: v[n:] + rows @ v[:n]},
        ],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    close(problem.misfit(x) + problem.variation(x), found.fun)


def test_gglr_keeps_planes():
    image = np.add.outer(2.0 * np.arange(20), -3.0 * np.arange(30))
    graph = nnk_image.image_graph(image, sigma_f=50)
    np.testing.assert_allclose(gglr(graph, image, 100, tol=1e-9), image, atol=1e-5)
    known = np.random.default_rng(0).random(image.shape) < 0.2
    filled = gglr(graph, np.where(known, image, np.nan), 0, known=known, tol=1e-9)
    np.testing.assert_allclose(filled, image, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 100), (96, 96)])
def test_gglr_continues_planes_across_large_gaps(shape):
    """With tol=1e-4, results were wrong by a tenth of the range."""
    plane = np.add.outer(1.0 * np.arange(shape[0]), 0.5 * np.arange(shape[1]))
    known = np.ones(shape, bool)
    known[shape[0] // 4 : -(shape[0] // 4) or None, shape[1] // 4 : -(shape[1] // 4)] = False
    places = np.indices(shape).reshape(2, -1).T
    filled = gglr(grid_graph(shape), plane, 0, known=known, coordinates=places)
    np.testing.assert_allclose(filled, plane, atol=0.01)


NOISY = nnk_image.standard_image("camera")[60:124, 80:160].astype(float)
NOISY += np.random.default_rng(0).normal(0, 20, NOISY.shape)
NOISY.flags.writeable = False
GRAPH = nnk_image.image_graph(NOISY, sigma_f=40)
HALF = np.random.default_rng(1).random(NOISY.shape) < 0.5


def places_for(solver, coordinates):
    """Return the coordinates as options of `gglr`, which needs them for graphs of no image."""
    return {"coordinates": coordinates} if solver is gglr else {}


@pytest.mark.parametrize("solver", SOLVERS)
def test_results_do_not_depend_on_threads(solver, monkeypatch):
    monkeypatch.setattr("nnk_image.solvers.variation._PER_CHUNK", 500)
    monkeypatch.setattr("nnk_image.base.parallel.PIXELS_PER_THREAD", 100)
    one, two = (solver(GRAPH, NOISY, 5.0, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("solver", SOLVERS)
def test_image_graphs_equal_their_adjacency(solver):
    x = solver(GRAPH, NOISY, 3.0, tol=1e-7)
    found = [
        solver(GRAPH.adjacency, NOISY.ravel(), 3.0, tol=1e-7, **places_for(solver, places))
        for places in (GRAPH.positions(), np.asfortranarray(GRAPH.positions()))
    ]
    np.testing.assert_allclose(x.ravel(), found[0], atol=0.01)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_is_computed_and_returned(solver):
    single = solver(GRAPH, NOISY.astype(np.float32), 2.0, tol=1e-5)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, solver(GRAPH, NOISY, 2.0, tol=1e-5), atol=0.3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("known", [np.ones(NOISY.shape, bool), HALF], ids=["all", "half"])
def test_warm_start_continues_where_a_call_ended(solver, known):
    options = {"known": known, "return_info": True, "max_iterations": 100_000, "tol": 1e-4}
    x, info = solver(GRAPH, NOISY, 5.0, **options)
    again, more = solver(GRAPH, NOISY, 5.0, start=info, **options)
    assert more.iterations <= 1 < info.iterations
    np.testing.assert_allclose(again, x, atol=1e-6)
    nearby = solver(GRAPH, NOISY, 5.5, start=info, **options)[1]
    assert nearby.iterations < solver(GRAPH, NOISY, 5.5, **options)[1].iterations
    if solver is not total_variation or known.all():  # else the minimum need not be unique
        guess = solver(GRAPH, NOISY, 5.0, start=x, **options)[0]
        np.testing.assert_allclose(guess, x, atol=3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_channels_do_not_influence_each_other(solver):
    """The steps of total variation once followed from the spread of all channels together."""
    options = {"tol": 1e-2, "return_info": True}
    for known, moved in ((None, -NOISY), (HALF, NOISY + 1e4)):
        alone, one = solver(GRAPH, NOISY, 5.0, known=known, **options)
        both, two = solver(GRAPH, np.dstack([NOISY, moved]), 5.0, known=known, **options)
        assert two.iterations <= one.iterations + 10
        assert len(two.state) == 2
        np.testing.assert_allclose(both[..., 0], alone, atol=1e-6)


def test_coordinates_far_from_the_origin_in_float32():
    noisy = NOISY.astype(np.float32)
    graph = nnk_image.image_graph(noisy, sigma_f=40)
    places = graph.positions() / 8
    near = gglr(graph, noisy, 5.0, coordinates=places)
    far = gglr(graph, noisy, 5.0, coordinates=places + 2.0**24)
    np.testing.assert_array_equal(far, near)


@pytest.mark.parametrize("solver", SOLVERS)
def test_warm_start_of_a_larger_strength_or_other_weights(solver):
    """The flow of total variation once exceeded its limits, which counted as no error."""
    info = solver(GRAPH, NOISY, 20.0, return_info=True)[1]
    options = places_for(solver, GRAPH.positions())
    cold = solver(GRAPH.adjacency, NOISY.ravel(), 2.0, **options)
    for weights, strength in ((GRAPH.adjacency, 2.0), (GRAPH.adjacency * 0.1, 20.0)):
        warm = solver(weights, NOISY.ravel(), strength, start=info, **options)
        np.testing.assert_allclose(warm, cold, atol=1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("exponent", [-40, 40])
def test_units_of_weights_and_signals(solver, fixed, exponent):
    """Scaling by powers of 2 changes nothing; total variation once did not converge."""
    options = {"known": HALF.ravel(), "max_iterations": 50, "return_info": True}
    options |= places_for(solver, GRAPH.positions())
    strength, unit = 0.0 if fixed else 2.0, 2.0**exponent
    with warnings.catch_warnings(action="ignore"):  # about too few iterations
        x, info = solver(GRAPH.adjacency, NOISY.ravel(), strength, **options)
        other, again = solver(GRAPH.adjacency * unit, NOISY.ravel(), strength / unit, **options)
        strength *= unit if solver is total_variation else 1
        moved, _ = solver(GRAPH.adjacency, NOISY.ravel() * unit, strength, **options)
    np.testing.assert_array_equal(other, x)
    assert (again.iterations, again.error) == (info.iterations, info.error)
    np.testing.assert_array_equal(moved, x * unit)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("strength", [0, 1.0])
def test_weak_links_count_in_float32_and_are_warned_about(solver, strength):
    """The largest weight of the outlier is 1e-104; it once got the overall mean, silently."""
    image = np.add.outer(np.arange(20), np.arange(20)).astype(np.uint8)
    known = np.ones(image.shape, bool)
    known[15, 15], image[15, 15] = False, 255
    graph = nnk_image.image_graph(image, sigma_f=10)
    with pytest.warns(UserWarning, match="rounding") if solver is gglr else nullcontext():
        single = solver(graph, image.astype(np.float32), strength, known=known)
    with pytest.warns(UserWarning, match="rounding") if solver is gglr else nullcontext():
        double = solver(graph, image.astype(np.float64), strength, known=known)
    np.testing.assert_array_equal(single, double.astype(np.float32))
    if solver is not gglr:
        assert 22 <= double[15, 15] <= 38  # values of its 14 neighbors
    if solver is smooth and not strength:
        np.testing.assert_allclose(double, interpolate(graph, image, known), rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_groups_with_weak_links_are_warned_about(solver):
    """The link that determines the values of the two unknown nodes is lost in rounding."""
    weights = np.zeros((4, 4))
    for i, j, weight in ((0, 1, 1), (1, 2, 1e-9), (2, 3, 1)):
        weights[i, j] = weights[j, i] = weight
    options = places_for(solver, np.zeros((4, 1)))
    known = np.array([True, True, False, False])
    with pytest.warns(UserWarning, match="2 of 4 nodes, the first 2, .* only by weights below tol"):
        solver(weights, [1.0, 2, 0, 0], 1.0, known=known, **options)


@pytest.mark.parametrize("solver", [smooth, gglr])
def test_small_strengths_fill_in_like_strength_0(solver):
    """Small strengths once left the mean at all unknown nodes."""
    known = np.random.default_rng(1).random(NOISY.shape) < 0.3
    exact = solver(GRAPH, NOISY, 0, known=known, tol=1e-9)
    for strength in (1e-9, 1e-6):
        found = solver(GRAPH, NOISY, strength, known=known, tol=1e-7)
        np.testing.assert_allclose(found, exact, atol=0.05)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("strength", [0, 1e-3])
def test_hole_among_zeros_is_filled_with_zeros(solver, strength):
    """Known values other than 0 are not linked to the hole, which once got their mean."""
    signal = np.array([9.0, 9, 0, 0, 0, 0, 0])
    known = np.array([True, True, True, False, False, True, True])
    options = places_for(solver, np.arange(7.0)[:, None])
    weights = grid_graph((1, 7)).toarray()
    weights[1, 2] = weights[2, 1] = 0
    found = solver(weights, signal, strength, known=known, tol=1e-8, **options)
    np.testing.assert_allclose(found, signal, atol=0.02 if strength else 1e-6)


@pytest.mark.parametrize("strength", [0, 0.1, 1.0])
def test_total_variation_without_any_variation(strength):
    """The objective is 0, and a gap relative to it once never met the tolerance."""
    weights = np.kron(np.eye(3), [[0, 0.7], [0.7, 0]])
    known = np.arange(6) % 2 == 0
    found, info = total_variation(
        weights, 0.1 * np.arange(6), strength, known=known, return_info=True
    )
    assert info.converged
    np.testing.assert_allclose(found, [0, 0, 0.2, 0.2, 0.4, 0.4], atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_of_another_graph_and_masked_values_are_refused(solver):
    _, info = solver(GRAPH, NOISY, 2.0, return_info=True)
    assert solver(GRAPH, NOISY.astype(np.float32), 2.0, start=info).dtype == np.float32
    with pytest.raises(ValueError, match="SolverInfo of another solver, or of another graph"):
        solver(nnk_image.image_graph(NOISY[:9], sigma_f=40), NOISY[:9], 2.0, start=info)
    for other in set(SOLVERS) - {solver}:
        with pytest.raises(ValueError, match="of another solver"):
            other(GRAPH, NOISY, 2.0, start=info)
    info.state[0][3] = np.nan
    with pytest.raises(ValueError, match="SolverInfo whose state is not finite"):
        solver(GRAPH, NOISY, 2.0, start=info)
    masked = np.ma.masked_less(NOISY, 90)
    with pytest.raises(ValueError, match=r"where known; .* not at node .*: let known be False"):
        solver(GRAPH, masked, 2.0)
    found = solver(GRAPH, masked, 2.0, known=~masked.mask)
    np.testing.assert_array_equal(found, solver(GRAPH, NOISY, 2.0, known=~masked.mask))


@pytest.mark.parametrize("solver", SOLVERS)
def test_too_few_iterations_are_warned_about(solver):
    with pytest.warns(UserWarning, match=r"1 iterations reached an error of .*, not tol=1\.0e-09"):
        _, info = solver(GRAPH, NOISY, 5.0, max_iterations=1, tol=1e-9, return_info=True)
    assert not info.converged


@pytest.mark.parametrize("solver", SOLVERS)
def test_unknown_values_are_ignored_and_inputs_are_not_modified(solver):
    signal = np.where(HALF, NOISY, np.nan)
    before = signal.copy()
    x = solver(GRAPH, signal, 2.0, known=HALF)
    np.testing.assert_array_equal(signal, before)
    np.testing.assert_array_equal(x, solver(GRAPH, np.where(HALF, NOISY, 9e9), 2.0, known=HALF))


@pytest.mark.parametrize("solver", SOLVERS)
def test_nodes_without_edges(solver):
    graph, y = csr_array((4, 4)), np.arange(4.0)
    places = places_for(solver, np.zeros((4, 1)))
    np.testing.assert_allclose(solver(graph, y, 3.0, **places), y)
    known = np.array([True, True, False, True])
    for strength in (0, 3.0):
        with pytest.warns(UserWarning, match="1 of 4 nodes, the first 2, are not linked") as warned:
            found = solver(graph, y, strength, known=known, **places)
        assert warned[0].filename == __file__
        np.testing.assert_allclose(found[known], y[known])
        assert found[2] == pytest.approx(4 / 3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"strength": -1}, ValueError, "strength=-1 must be a finite number >= 0"),
        ({"strength": 0}, ValueError, "all are known: give a positive strength"),
        ({"tol": 0}, ValueError, "tol=0 must be"),
        ({"signal": np.zeros(5)}, ValueError, r"\(5,\), but the graph has 4 nodes"),
        ({"signal": np.zeros((2, 2), complex)}, TypeError, "real numbers"),
        ({"signal": [np.nan, 0, 0, 0]}, ValueError, "not at node 0"),
        ({"known": [1, 0, 0, 0]}, TypeError, "known must be a boolean array"),
        ({"known": np.zeros(4, bool)}, ValueError, "known is False everywhere"),
        ({"start": np.zeros((4, 2))}, ValueError, "as many channels as the signal, 1, not 2"),
        ({"start": [0, 0, np.nan, 0]}, ValueError, "start must be finite .* not at node 2"),
        ({"graph": ["edge"]}, TypeError, "list"),
        ({"strength": 1e300, "signal": [1e-310, 3e-310, 0, 0]}, ValueError, "too large to compute"),
        ({"coordinates": [[np.nan]] * 4}, (TypeError, ValueError), "coordinates"),  # of gglr only
    ],
)
def test_bad_input_is_refused(solver, change, error, message):
    arguments = {"graph": grid_graph((2, 2)), "signal": np.zeros(4), "strength": 1.0}
    if solver is gglr:
        arguments["coordinates"] = np.zeros((4, 2))
    with pytest.raises(error, match=message):
        solver(**arguments | change)


@pytest.mark.parametrize("solver", [smooth, gglr])
@pytest.mark.parametrize(
    ("dtype", "strength", "cure"),
    [(np.float32, 1e5, "links of unknown nodes, or a signal of float64$"), (float, 1e14, "nodes$")],
)
def test_result_limited_by_rounding_is_warned_about(solver, dtype, strength, cure):
    noisy = NOISY[:9, :12].astype(dtype)
    graph = nnk_image.image_graph(noisy, sigma_f=40)
    with pytest.warns(UserWarning, match=f"rounding stopped .* smaller strength or .*{cure}"):
        solver(graph, noisy, strength, max_iterations=100_000)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["signal", "known", "start"])
def test_transposed_images_are_refused(solver, name):
    arrays = {"signal": NOISY, "known": HALF, "start": NOISY}
    arrays[name] = arrays[name].T
    says = r"has shape \(80, 64\), but .* image of \(64, 80\)"
    with pytest.raises(ValueError, match=says):
        solver(GRAPH, strength=1.0, **arrays)
    if name != "start":
        with pytest.raises(ValueError, match=says):
            interpolate(GRAPH, arrays["signal"], arrays["known"])


@pytest.mark.parametrize("solver", [smooth, total_variation])
def test_masked_entries_of_known_are_not_known(solver):
    known = np.ma.masked_array([True, True, True], [False, True, False])
    signal = np.array([1.0, 50, 1])
    found = solver(grid_graph((1, 3)), signal, 0.1, known=known)
    np.testing.assert_allclose(found, 1, rtol=1e-5)
