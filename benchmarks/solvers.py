"""Solvers on graphs compared with other programs: speed, denoising and inpainting.

All are compared in one run, by processor time. Each program gets the graph in the form that it
needs.
"""

import importlib.util
import time

import numpy as np
from scipy.sparse import csr_array, diags_array, triu
from scipy.sparse.linalg import cg
from skimage.restoration import denoise_tv_chambolle, inpaint_biharmonic
from skimage.transform import resize

import nnk_image
from benchmarks.image_tasks import quiet_timed_call
from benchmarks.machine import best_timed_call
from benchmarks.noises import white
from benchmarks.pictures import noisy_camera, read_gray_images
from benchmarks.scores import column_means, psnr
from benchmarks.timing import Table
from nnk_image.graph import grid_graph
from nnk_image.solvers import gglr, smooth, total_variation

SIGMAS = (15, 25, 50)
IMAGES = ("camera", "astronaut_grey", "coffee_grey", "chelsea_grey", "brick", "cell")
"""Images for inpainting."""

CHAMBOLLE_WEIGHTS = (0.5, 0.65, 0.8, 1.0)
"""Weights of denoise_tv_chambolle that are tried, in units of sigma."""

PILOT_STRENGTH = 0.28
"""Strength of the total variation on the pixel grid that presmooths an image, in units of sigma."""

WIDTHS = {total_variation: lambda sigma: 1.4 * sigma, gglr: lambda sigma: 2.5 * sigma**0.5}
"""Functions from sigma to the `width` of `patch_graph`, by solver."""

TV_STRENGTHS, GGLR_STRENGTHS = (1.5, 2.0, 2.5, 3.0), (3.0, 6.0, 12.0, 24.0)
"""Strengths that are tried, before they are divided by the mean degree of the graph; those of total
variation are in units of sigma."""


def tables(options):
    """Yield the tables of speed on 512 x 512 pixels, then those of quality."""
    yield quadratic_table()
    yield variation_table()
    yield denoising_table(options)
    yield inpainting_table()


# --- speed -------------------------------------------------------------------------------


def noisy_camera_and_graph():
    """Return a noisy image of 512 x 512 pixels, and its NNK graph."""
    noisy = noisy_camera()
    graph = nnk_image.image_graph(noisy, sigma_f=30)
    graph.adjacency  # noqa: B018 (computed once, and not timed)
    return noisy, graph


def quadratic_table():
    """Return the table of times in which smooth, scipy and pyamg solve the same equations."""
    table = Table(
        "(M + g L) x = M y, 512 x 512 pixels, residual 1e-6: processor time in ms",
        {
            "": "",
            "smooth": ".0f",
            "products": "",
            "assembly": ".0f",
            "cg": ".0f",
            "iterations": "",
            "ratio": ".1f",
        }
        | {"smooth 32": ".0f", "cg 32": ".0f", "ratio 32": ".1f", "pyamg": ".0f"},
        notes=(
            "products: matrix-vector products of smooth. assembly: of the matrix, from",
            "graph.laplacian(), for the others. cg: scipy's, with a Jacobi preconditioner.",
            "ratio: (assembly + cg) / smooth. 32: the same in float32, residual 1e-4.",
            "pyamg: ruge_stuben_solver, including its setup, without assembly.",
            "known 1 %: g = 0, harmonic interpolation from 1 % of known pixels.",
        ),
    )
    noisy, graph = noisy_camera_and_graph()
    for name, strength, share in (
        *(("g = 1", 1.0, 1.0), ("g = 10", 10.0, 1.0), ("g = 100", 100.0, 1.0)),
        *(("known 20 %, g = 0", 0.0, 0.2), ("known 1 %, g = 0", 0.0, 0.01)),
    ):
        known = np.random.default_rng(1).random(noisy.shape) < share
        (matrix, right), assembly = best_timed_call(_assemble, graph, noisy, strength, known)
        row = {"": name, "assembly": 1000 * assembly}
        for dtype, tol, suffix in ((np.float64, 1e-6, ""), (np.float32, 1e-4, " 32")):
            signal = noisy.astype(dtype)
            (_, info), ours = best_timed_call(
                lambda signal=signal, strength=strength, known=known, tol=tol: smooth(
                    graph, signal, strength, known=known, tol=tol, return_info=True
                )
            )
            n_steps, theirs = _by_scipy(matrix.astype(dtype), right.astype(dtype), tol)
            row[f"smooth{suffix}"], row[f"cg{suffix}"] = 1000 * ours, 1000 * theirs
            row[f"ratio{suffix}"] = (assembly + theirs) / ours
            if not suffix:
                row["products"], row["iterations"] = str(8 * info.iterations), str(n_steps)
        row["pyamg"] = _by_pyamg(matrix, right)
        table.rows.append(row)
    return table


def _assemble(graph, signal, strength, known):
    """Return the matrix and the right-hand side of the equations of the unknown values."""
    known, y = known.ravel(), signal.ravel()
    laplacian = graph.laplacian()
    if strength:
        mask = known.astype(float)
        return csr_array(diags_array(mask) + strength * laplacian), mask * y
    free = np.flatnonzero(~known & (laplacian.diagonal() > 0))
    rows = laplacian[free]
    return csr_array(rows[:, free]), -(rows[:, np.flatnonzero(known)] @ y[known])


def _by_scipy(matrix, right, tol):
    """Return the number of iterations of scipy's conjugate gradients, and the seconds."""
    steps = []
    jacobi = diags_array(1 / matrix.diagonal())

    def run():
        steps.clear()
        return cg(matrix, right, rtol=tol, M=jacobi, callback=steps.append, maxiter=5000)

    _, seconds = best_timed_call(run)
    return len(steps), seconds


def _by_pyamg(matrix, right):
    """Return the milliseconds of pyamg's multigrid solver, or None if it is not installed."""
    if importlib.util.find_spec("pyamg") is None:
        return None
    import pyamg

    matrix = matrix.copy()
    matrix.indices, matrix.indptr = (a.astype(np.int32) for a in (matrix.indices, matrix.indptr))

    def run():
        levels = pyamg.ruge_stuben_solver(matrix)
        return levels.solve(right, tol=1e-6, accel="cg")

    return 1000 * best_timed_call(run)[1]


def variation_table():
    """Return the table of times in which total_variation and pyunlocbox reach one objective."""
    table = Table(
        "Total variation on the NNK graph, 512 x 512 pixels: processor seconds until the objective "
        "is within tol",
        {"": "", "tol": ".0e", "float64": ".2f", "iterations": "", "float32": ".2f"}
        | {"pyunlocbox": ".1f", "its iterations": "", "ratio": ".0f"},
        notes=(
            "float64, float32: total_variation in that type, stopped by its duality gap.",
            "pyunlocbox: chambolle_pock with norm_l1 of a sparse matrix of differences. Every ten",
            "iterations, its objective is compared with the least one; the relative difference",
            "must be at most tol. It stops after 500 iterations (marked >).",
        ),
    )
    noisy, graph = noisy_camera_and_graph()
    for strength in (5.0, 20.0):
        best = total_variation(graph, noisy, strength, tol=1e-5)
        for tol in (1e-2, 1e-3):
            (_, info), ours = best_timed_call(
                lambda strength=strength, tol=tol: total_variation(
                    graph, noisy, strength, tol=tol, return_info=True
                )
            )
            single = best_timed_call(
                lambda strength=strength, tol=tol: total_variation(
                    graph, noisy.astype(np.float32), strength, tol=tol
                )
            )[1]
            row = {"": f"strength {strength:g}", "tol": tol, "float64": ours, "float32": single}
            row["iterations"] = str(info.iterations)
            if importlib.util.find_spec("pyunlocbox"):
                steps, theirs, reached = _by_pyunlocbox(graph, noisy, strength, best, tol)
                row |= {"pyunlocbox": theirs, "ratio": theirs / ours}
                row["its iterations"] = f"{'' if reached else '> '}{steps}"
            table.rows.append(row)
    return table


def _by_pyunlocbox(graph, noisy, strength, best, tol, max_iterations=500):
    """Return the iterations, the seconds, and whether the objective came within tol of the best."""
    from pyunlocbox import functions, solvers

    upper = triu(graph.adjacency, 1).tocoo()
    edges, ones = np.arange(upper.nnz), np.ones(upper.nnz)
    rows, columns = np.r_[edges, edges], np.r_[upper.row, upper.col]
    differences = csr_array((np.r_[ones, -ones], (rows, columns)), (upper.nnz, noisy.size))
    differences = csr_array(diags_array(upper.data) @ differences)
    y = noisy.ravel()

    def objective(x):
        return 0.5 * ((x - y) ** 2).sum() + strength * abs(differences @ x).sum()

    target = (1 + tol) * objective(best.ravel())
    transposed = csr_array(differences.T)
    norms = (abs(differences).sum(axis=axis).max() for axis in (0, 1))
    step_size = 1 / np.sqrt(np.prod(list(norms)))
    method = solvers.chambolle_pock(
        L=lambda x: differences @ x, Lt=lambda u: transposed @ u, sigma=step_size, tau=step_size
    )
    terms = [functions.norm_l2(y=y, lambda_=0.5), functions.norm_l1(lambda_=strength)]
    start = time.process_time()
    method.pre(terms, y.copy())
    checks = 0.0  # time of the objectives, which is subtracted
    for step in range(1, max_iterations + 1):
        method._algo()  # one iteration of solve(), which would also compute its objective
        if step % 10 == 0:
            before = time.process_time()
            reached = objective(method.sol) <= target
            checks += time.process_time() - before
            if reached:
                break
    return step, time.process_time() - start - checks, reached


# --- quality -----------------------------------------------------------------------------


def patch_graph(image, width, sigma_d=1.5, side=5, window=9):
    """Return the NNK graph of the patches of an image.

    `sigma_f` of the graph is `width`, in gray levels, times the side of a patch.
    """
    padded = np.pad(image, side // 2, mode="reflect")
    patches = np.lib.stride_tricks.sliding_window_view(padded, (side, side))
    patches = patches.reshape(*image.shape, side**2)
    return nnk_image.image_graph(patches, window, sigma_d, side * width, channel_axis=-1)


def denoise(noisy, sigma, strengths, solver, **options):
    """Denoise with several strengths, on the graph of the patches of a presmoothed image."""
    pilot = total_variation(grid_graph(noisy.shape), noisy, PILOT_STRENGTH * sigma, tol=1e-3)
    graph = patch_graph(pilot, WIDTHS[solver](sigma))
    unit = (sigma if solver is total_variation else 1) / graph.degrees.mean()
    return [solver(graph, noisy, strength * unit, tol=3e-3, **options) for strength in strengths]


def denoising_table(options):
    """Return the table of denoising; for each sigma, every method has its best strength."""
    table = Table(
        "Denoising: mean PSNR in dB at the strength that is best on average",
        {"": "", "chambolle": ".2f", "weight": "", "total variation": ".2f", "c": ""}
        | {"gglr": ".2f", "g": ""},
        notes=(
            "chambolle: skimage.restoration.denoise_tv_chambolle, weight in units of sigma.",
            "total variation, gglr: on the NNK graph of the patches of an image presmoothed by",
            f"total_variation on grid_graph (strength {PILOT_STRENGTH} sigma). Their strengths are "
            "c sigma and g,",
            "divided by the mean degree of the graph.",
        ),
    )
    source = options.images.name if options.images else "bundled"
    images = [image for _, image in read_gray_images(options.images)]
    for sigma in SIGMAS:
        scores = {"chambolle": [], "total variation": [], "gglr": []}
        for number, clean in enumerate(images):
            noisy = white(clean, sigma, number).astype(np.float32)
            found = {
                "chambolle": [
                    255 * denoise_tv_chambolle(noisy / 255, weight * sigma / 255)
                    for weight in CHAMBOLLE_WEIGHTS
                ],
                "total variation": denoise(noisy, sigma, TV_STRENGTHS, total_variation),
                "gglr": denoise(noisy, sigma, GGLR_STRENGTHS, gglr, stiffness=2.0),
            }
            for name, results in found.items():
                scores[name].append([psnr(clean, result) for result in results])
        row = {"": f"{source}, sigma {sigma}"}
        tried = (CHAMBOLLE_WEIGHTS, TV_STRENGTHS, GGLR_STRENGTHS)
        for name, column, settings in zip(scores, ("weight", "c", "g"), tried, strict=True):
            means = np.mean(scores[name], axis=0)
            row[name], row[column] = means.max(), f"{settings[means.argmax()]:g}"
        table.rows.append(row)
    return table


def holes(shape):
    """Return masks of missing pixels as a dict from name to bool ndarray."""
    rng = np.random.default_rng(0)
    dots = rng.random(shape)
    letters = nnk_image.standard_image("text")[:, :256] / 255
    letters = resize(letters, shape, anti_aliasing=True) < 0.35
    return {"half": dots < 0.5, "four fifths": dots < 0.8, "letters": letters}


def inpaint(image, known, solver, **options):
    """Fill in unknown pixels, by gglr on the pixel grid, then on the graph of the result's patches.

    `solver` is used on the second graph.
    """
    places = np.stack([axis.ravel() for axis in np.indices(image.shape)], axis=1)
    first = gglr(grid_graph(image.shape), image, 0, known=known, coordinates=places)
    graph = patch_graph(first, 10.0, sigma_d=2.0)
    return solver(graph, image, 0, known=known, start=first, **options)


def inpainting_table():
    """Return the table of missing pixels, compared with biharmonic inpainting."""
    table = Table(
        "Inpainting: PSNR in dB",
        {"": "", "biharmonic": ".2f", "total variation": ".2f", "gglr": ".2f", "gain": "+.2f"}
        | {"s biharmonic": ".2f", "s gglr": ".2f"},
        notes=(
            "biharmonic: skimage.restoration.inpaint_biharmonic. gglr: on the pixel grid, then on",
            "the NNK graph of the 5 x 5 patches of the result. total variation: on the same graph.",
            "gain: of gglr over biharmonic. s: processor time.",
        ),
    )
    for kind in ("half", "four fifths", "letters"):
        rows = []
        for name in IMAGES:
            image = nnk_image.standard_image(name).astype(float)
            missing = holes(image.shape)[kind]
            (biharmonic, slow), (flat, fast) = (
                quiet_timed_call(inpaint_biharmonic, np.where(missing, 0, image) / 255, missing),
                quiet_timed_call(inpaint, image, ~missing, gglr),
            )
            edges = inpaint(image, ~missing, total_variation, tol=1e-2, max_iterations=1000)
            rows.append(
                {"": f"{name}, {kind}", "biharmonic": psnr(image, 255 * biharmonic)}
                | {"total variation": psnr(image, edges), "gglr": psnr(image, flat)}
                | {"s biharmonic": slow, "s gglr": fast}
            )
            rows[-1]["gain"] = rows[-1]["gglr"] - rows[-1]["biharmonic"]
        table.rows += [*rows, column_means(rows) | {"": f"mean, {kind}"}]
    return table
