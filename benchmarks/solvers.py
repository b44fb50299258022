"""Solvers on graphs beside their peers: time to equal tolerance, denoising, inpainting.

Times are of the processor, in one run, with the graph given as each contender needs it.
"""

import importlib.util
import time
from statistics import fmean

import numpy as np
from scipy.sparse import csr_array, diags_array, triu
from scipy.sparse.linalg import cg
from skimage.restoration import denoise_tv_chambolle, inpaint_biharmonic
from skimage.transform import resize

import nnk_image
from benchmarks.image_tasks import timed as timed_once
from benchmarks.noise_scores import cpu, psnr
from benchmarks.pictures import BUNDLED
from benchmarks.timing import Table
from nnk_image.cli.paths import image_paths
from nnk_image.graph import grid_graph
from nnk_image.io import read
from nnk_image.solvers import gglr, smooth, total_variation

SIGMAS = (15, 25, 50)
IMAGES = ("camera", "astronaut_grey", "coffee_grey", "chelsea_grey", "brick", "cell")
CHAMBOLLE = (0.5, 0.65, 0.8, 1.0)  # weights of denoise_tv_chambolle, times sigma
PILOT = 0.28  # strength of the total variation on the grid, times sigma
WIDTHS = {total_variation: lambda sigma: 1.4 * sigma, gglr: lambda sigma: 2.5 * sigma**0.5}
"""Of the kernel, per pixel of a patch's side."""
VARIATION, FLAT = (1.5, 2.0, 2.5, 3.0), (3.0, 6.0, 12.0, 24.0)
"""Strengths tried on the NNK graph, in units of sigma and 1 over its mean degree."""


def tables(options):
    """Speed on 512 x 512 pixels, then quality."""
    yield quadratic_table()
    yield variation_table()
    yield denoising_table(options)
    yield inpainting_table()


# --- speed -------------------------------------------------------------------------------


def noisy_camera():
    """512 x 512 pixels with noise of sigma 20, and their NNK graph."""
    image = nnk_image.standard_image("camera_512").astype(float)
    noisy = image + np.random.default_rng(0).normal(0, 20, image.shape)
    return noisy, nnk_image.image_graph(noisy, sigma_f=30)


def timed(function):
    """What a function gives, and its seconds of processor time: the best of three."""
    seconds = []
    for _ in range(3):
        found, elapsed = cpu(function)
        seconds.append(elapsed)
    return found, min(seconds)


def quadratic_table():
    """The same equations by `smooth`, by scipy and by pyamg."""
    table = Table(
        "(M + g L) x = M y, 512 x 512, residual 1e-6: ms and products with the matrix",
        {
            "": "",
            "ms": ".0f",
            "products": "",
            "matrix": ".0f",
            "scipy": ".0f",
            "its": "",
            "ratio": ".1f",
        }
        | {"float32": ".0f", "scipy 32": ".0f", "ratio 32": ".1f", "pyamg": ".0f"},
        notes=(
            "scipy: cg with Jacobi, after matrix has been assembled from graph.laplacian(); ours",
            "makes its operator within. ratio: (matrix + scipy) / ours. float32: residual 1e-4.",
            "pyamg: ruge_stuben, with its setup, without matrix.",
            "known 1 %: g = 0, harmonic values between known ones.",
        ),
    )
    noisy, graph = noisy_camera()
    graph.adjacency  # noqa: B018 (is made once)
    for name, strength, share in (
        *(("g = 1", 1.0, 1.0), ("g = 10", 10.0, 1.0), ("g = 100", 100.0, 1.0)),
        *(("known 20 %, g = 0", 0.0, 0.2), ("known 1 %, g = 0", 0.0, 0.01)),
    ):
        known = np.random.default_rng(1).random(noisy.shape) < share
        (matrix, right), assembly = timed(
            lambda strength=strength, known=known: _assembled(graph, noisy, strength, known)
        )
        row = {"": name, "matrix": 1000 * assembly}
        for kind, tol, suffix in ((np.float64, 1e-6, ""), (np.float32, 1e-4, " 32")):
            signal = noisy.astype(kind)
            (_, info), ours = timed(
                lambda signal=signal, strength=strength, known=known, tol=tol: smooth(
                    graph, signal, strength, known=known, tol=tol, return_info=True
                )
            )
            n_steps, theirs = _by_scipy(matrix.astype(kind), right.astype(kind), tol)
            row["float32" if suffix else "ms"] = 1000 * ours
            row[f"scipy{suffix}"], row[f"ratio{suffix}"] = 1000 * theirs, (assembly + theirs) / ours
            if not suffix:
                row["products"], row["its"] = str(8 * info.iterations), str(n_steps)
        row["pyamg"] = _by_pyamg(matrix, right)
        table.rows.append(row)
    return table


def _assembled(graph, signal, strength, known):
    """Matrix and right-hand side of the unknowns."""
    known, y = known.ravel(), signal.ravel()
    laplacian = graph.laplacian()
    if strength:
        pull = known.astype(float)
        return csr_array(diags_array(pull) + strength * laplacian), pull * y
    free = np.flatnonzero(~known & (laplacian.diagonal() > 0))
    rows = laplacian[free]
    return csr_array(rows[:, free]), -(rows[:, np.flatnonzero(known)] @ y[known])


def _by_scipy(matrix, right, tol):
    steps = []
    jacobi = diags_array(1 / matrix.diagonal())

    def run():
        steps.clear()
        return cg(matrix, right, rtol=tol, M=jacobi, callback=steps.append, maxiter=5000)

    _, seconds = timed(run)
    return len(steps), seconds


def _by_pyamg(matrix, right):
    """Milliseconds; None without pyamg."""
    if importlib.util.find_spec("pyamg") is None:
        return None
    import pyamg

    matrix = matrix.copy()
    matrix.indices, matrix.indptr = (a.astype(np.int32) for a in (matrix.indices, matrix.indptr))

    def run():
        levels = pyamg.ruge_stuben_solver(matrix)
        return levels.solve(right, tol=1e-6, accel="cg")

    return 1000 * timed(run)[1]


def variation_table():
    """Total variation on the graph, to the same objective, by us and by pyunlocbox."""
    table = Table(
        "Total variation on the NNK graph, 512 x 512: seconds until the objective is within tol",
        {"": "", "tol": ".0e", "s": ".2f", "iterations": "", "float32": ".2f"}
        | {"pyunlocbox": ".1f", "their iterations": "", "ratio": ".0f"},
        notes=(
            "ours stops when the duality gap says so, float32 likewise.",
            "pyunlocbox: chambolle_pock with norm_l1 of the graph's differences as sparse matrix;",
            "stopped at the first tenth step at which its objective is as",
            "near to the least as tol (relative), at the latest after 500 steps (then > stands).",
        ),
    )
    noisy, graph = noisy_camera()
    graph.adjacency  # noqa: B018
    for strength in (5.0, 20.0):
        best = total_variation(graph, noisy, strength, tol=1e-5)
        for tol in (1e-2, 1e-3):
            (_, info), ours = timed(
                lambda strength=strength, tol=tol: total_variation(
                    graph, noisy, strength, tol=tol, return_info=True
                )
            )
            single = timed(
                lambda strength=strength, tol=tol: total_variation(
                    graph, noisy.astype(np.float32), strength, tol=tol
                )
            )[1]
            row = {"": f"strength {strength:g}", "tol": tol, "s": ours, "float32": single}
            row["iterations"] = str(info.iterations)
            if importlib.util.find_spec("pyunlocbox"):
                steps, theirs, reached = _by_pyunlocbox(graph, noisy, strength, best, tol)
                row |= {"pyunlocbox": theirs, "ratio": theirs / ours}
                row["their iterations"] = f"{'' if reached else '> '}{steps}"
            table.rows.append(row)
    return table


def _by_pyunlocbox(graph, noisy, strength, best, tol, most=500):
    """Steps, seconds, and whether the objective came within tol of the best."""
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
    back = csr_array(differences.T)
    rows_and_columns = (abs(differences).sum(axis=axis).max() for axis in (0, 1))
    size = 1 / np.sqrt(np.prod(list(rows_and_columns)))
    method = solvers.chambolle_pock(
        L=lambda x: differences @ x, Lt=lambda u: back @ u, sigma=size, tau=size
    )
    terms = [functions.norm_l2(y=y, lambda_=0.5), functions.norm_l1(lambda_=strength)]
    start = time.process_time()
    method.pre(terms, y.copy())
    watched = 0.0
    for step in range(1, most + 1):
        method._algo()  # what solve() calls, without its objectives
        if step % 10 == 0:
            before = time.process_time()
            reached = objective(method.sol) <= target
            watched += time.process_time() - before
            if reached:
                break
    return step, time.process_time() - start - watched, reached


# --- quality -----------------------------------------------------------------------------


def patch_graph(image, width, sigma_d=1.5, side=5, window=9):
    """The NNK graph of the patches of an image; `width`: of the kernel, per pixel of a patch."""
    padded = np.pad(image, side // 2, mode="reflect")
    patches = np.lib.stride_tricks.sliding_window_view(padded, (side, side))
    patches = patches.reshape(*image.shape, side**2)
    return nnk_image.image_graph(patches, window, sigma_d, side * width, channel_axis=-1)


def denoise(noisy, sigma, strengths, solver, **options):
    """Results for some strengths, on the NNK graph of the patches of a pilot."""
    pilot = total_variation(grid_graph(noisy.shape), noisy, PILOT * sigma, tol=1e-3)
    graph = patch_graph(pilot, WIDTHS[solver](sigma))
    unit = (sigma if solver is total_variation else 1) / graph.degrees.mean()
    return [solver(graph, noisy, strength * unit, tol=3e-3, **options) for strength in strengths]


def denoising_table(options):
    """The strength is swept for each sigma, for all alike."""
    table = Table(
        "Denoising, mean PSNR in dB at the strength that is best in the mean",
        {"": "", "chambolle": ".2f", "weight": "", "total variation": ".2f", "c": ""}
        | {"gglr": ".2f", "g": ""},
        notes=(
            "chambolle: skimage.restoration.denoise_tv_chambolle, weight in units of sigma.",
            f"ours: pilot by total_variation on grid_graph (strength {PILOT} sigma); the NNK graph",
            "of its patches; total_variation with c sigma, or gglr with g, over the mean degree.",
        ),
    )
    source, images = _images(options)
    for sigma in SIGMAS:
        scores = {"chambolle": [], "total variation": [], "gglr": []}
        for number, clean in enumerate(images):
            noise = np.random.default_rng(number).normal(0, sigma, clean.shape)
            noisy = (clean + noise).astype(np.float32)
            found = {
                "chambolle": [
                    255 * denoise_tv_chambolle(noisy / 255, weight * sigma / 255)
                    for weight in CHAMBOLLE
                ],
                "total variation": denoise(noisy, sigma, VARIATION, total_variation),
                "gglr": denoise(noisy, sigma, FLAT, gglr, stiffness=2.0),
            }
            for name, results in found.items():
                scores[name].append([psnr(clean, result) for result in results])
        row = {"": f"{source}, sigma {sigma}"}
        settings = zip(scores, ("weight", "c", "g"), (CHAMBOLLE, VARIATION, FLAT), strict=True)
        for name, column, tried in settings:
            means = np.mean(scores[name], axis=0)
            row[name], row[column] = means.max(), f"{tried[means.argmax()]:g}"
        table.rows.append(row)
    return table


def _images(options):
    """Name and images of --images, or the bundled ones."""
    folder = getattr(options, "images", None)
    if folder is None:
        return "bundled", [nnk_image.standard_image(name).astype(float) for name in BUNDLED]
    return folder.name, [read(path)[0].astype(float) for path in image_paths([folder])]


def holes(shape):
    """Name -> mask of missing pixels."""
    rng = np.random.default_rng(0)
    dots = rng.random(shape)
    letters = nnk_image.standard_image("text")[:, :256] / 255
    letters = resize(letters, shape, anti_aliasing=True) < 0.35
    return {"half": dots < 0.5, "four fifths": dots < 0.8, "letters": letters}


def inpaint(image, known, solver, **options):
    """Values between known ones: on the grid, then on the NNK graph of the patches of that."""
    places = np.stack([axis.ravel() for axis in np.indices(image.shape)], axis=1)
    first = gglr(grid_graph(image.shape), image, 0, known=known, coordinates=places)
    graph = patch_graph(first, 10.0, sigma_d=2.0)
    return solver(graph, image, 0, known=known, start=first, **options)


def inpainting_table():
    """Missing pixels beside biharmonic inpainting."""
    table = Table(
        "Inpainting, PSNR in dB",
        {"": "", "biharmonic": ".2f", "total variation": ".2f", "gglr": ".2f", "gain": "+.2f"}
        | {"s biharmonic": ".2f", "s gglr": ".2f"},
        notes=(
            "biharmonic: skimage.restoration.inpaint_biharmonic. gglr: on the grid, then on the",
            "NNK graph of the 5 x 5 patches of that. total variation: on the same graph.",
        ),
    )
    for kind in ("half", "four fifths", "letters"):
        rows = []
        for name in IMAGES:
            image = nnk_image.standard_image(name).astype(float)
            missing = holes(image.shape)[kind]
            (smooth_one, slow), (flat, fast) = (
                timed_once(inpaint_biharmonic, np.where(missing, 0, image) / 255, missing),
                timed_once(inpaint, image, ~missing, gglr),
            )
            edges = inpaint(image, ~missing, total_variation, tol=1e-2, max_iterations=1000)
            rows.append(
                {"": f"{name}, {kind}", "biharmonic": psnr(image, 255 * smooth_one)}
                | {"total variation": psnr(image, edges), "gglr": psnr(image, flat)}
                | {"s biharmonic": slow, "s gglr": fast}
            )
            rows[-1]["gain"] = rows[-1]["gglr"] - rows[-1]["biharmonic"]
        names = [name for name in rows[0] if name]
        mean = {name: fmean(row[name] for row in rows) for name in names}
        table.rows += [*rows, mean | {"": f"mean, {kind}"}]
    return table
