"""Building a graph step by step: pruning beside a scalar loop, writing CSR beside scipy."""

import ctypes
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from scipy.sparse import coo_array

import nnk_image
from benchmarks.graph import SIGMA_D, SIGMA_F, WINDOWS, noisy_camera
from benchmarks.machine import interleaved
from benchmarks.timing import Table, ratio
from nnk_image import _core
from nnk_image.base.image import check_image
from nnk_image.base.parallel import RowExecutor
from nnk_image.graph import build, pruning
from nnk_image.graph.window import window_of

FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
AVX2_FLAGS = ("-mavx2", "-mbmi", "-mpopcnt")
DTYPES = (np.float32, np.float64)
PEERS = ("scipy by offsets", "scipy by pixels")


def tables(options):
    """Pruning, then everything after it."""
    image = noisy_camera()
    yield _pruning(image, options.rounds)
    yield _writing(image, options.rounds)


def _pruning(image, rounds):
    title = f"Algorithm 4 alone: {_describe(image)}, {rounds} rounds"
    columns = {"window": "d", "type": "", "ours ns/pixel": ".0f", "scalar ns/pixel": ".0f"}
    table = Table(title, columns | {"scalar / ours": ""})
    with tempfile.TemporaryDirectory() as folder:
        scalar, note = _compiled(folder)
        for window in WINDOWS:
            for dtype in DTYPES:
                pixels = image.astype(dtype)
                spec, contenders = _spec(pixels, window), {}
                contenders["ours"] = lambda spec=spec: pruning._prune(spec, RowExecutor())
                if scalar:
                    _check(scalar, pixels[:48, :80], window)
                    contenders["scalar"] = lambda run=scalar[dtype], spec=spec: run(spec)
                table.rows.append(_row(window, dtype, interleaved(contenders, rounds), image.size))
    table.notes = (note, "Edges compared on a crop.  Medians; ratio: that of rounds (quartiles).")
    return table


def _writing(image, rounds):
    """From directed edges to a symmetric CSR matrix."""
    title = f"Symmetrise + CSR: {_describe(image)}, {rounds} rounds"
    columns = {"window": "d", "type": "", "ours ns/pixel": ".0f"}
    for peer in PEERS:
        columns |= {f"{peer} ns/pixel": ".0f", f"{peer} / ours": ""}
    table = Table(title, columns)
    for window in WINDOWS:
        for dtype in DTYPES:
            contenders = _writers(image.astype(dtype), window)
            ours, *peers = (write() for write in contenders.values())
            assert all(abs(ours - peer).max() == 0 for peer in peers), (window, dtype)
            del ours, peers
            table.rows.append(_row(window, dtype, interleaved(contenders, rounds), image.size))
    table.notes = (
        "Ours starts from planes of bits and computes the weights too; scipy gets rows, columns",
        "and weights, makes CSR of them and takes the maximum with the transposed.  By offsets:",
        "edges as array programs find them, one offset of the window after the other; by pixels:",
        "sorted already.",
    )
    return table


def _writers(pixels, window):
    """What turns the same directed edges into the same matrix."""
    spec, executor = _spec(pixels, window), RowExecutor()
    (height, _), directed = spec.image.shape, pruning._prune(spec, executor)
    undirected = pruning.choose_edges(spec, "nnk", executor)

    def ours():
        # Only reads the backward planes and ors into the forward ones: the same work each
        # time.  The CSR is that of a copy whose backward planes are gone already.
        def symmetrise(y0, y1):
            _core.symmetrise(directed, y0, y1)

        executor.run(symmetrise, height, spec.row_work, speed=pruning.BIT_SPEED)
        return build._to_csr(spec, undirected, executor)[0]

    edges = nnk_image.image_graph(pixels, window, SIGMA_D, SIGMA_F, directed=True)
    edges = edges.adjacency.tocoo()

    def scipy(order):
        data, i, j = edges.data[order], edges.row[order], edges.col[order]

        def write():
            matrix = coo_array((data, (i, j)), shape=edges.shape).tocsr()
            return matrix.maximum(matrix.T.tocsr())

        return write

    i, j = edges.row, edges.col
    orders = np.argsort(j - i, kind="stable"), np.arange(edges.nnz)
    return {"ours": ours} | dict(zip(PEERS, map(scipy, orders), strict=True))


def _row(window, dtype, seconds, n_pixels):
    row = {"window": window, "type": np.dtype(dtype).name}
    for name, times in seconds.items():
        row[f"{name} ns/pixel"] = 1e9 * median(times) / n_pixels
        if name != "ours":
            row[f"{name} / ours"] = ratio(times, seconds["ours"])
    return row


def _describe(image):
    height, width = image.shape
    sigmas = f"sigma_d {SIGMA_D:g}, sigma_f {SIGMA_F:g}"
    return f"camera {height}x{width}, noisy, sigma 20; {sigmas}; one thread"


def _spec(pixels, window):
    return pruning.GraphSpec(check_image(pixels), window, SIGMA_D, SIGMA_F)


def _compiled(folder):
    """dtype -> scalar pruning, and which flags it has; or None and why not."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    flags = list(FLAGS)
    if _core.simd_variant() in ("avx2", "avx512"):
        flags += AVX2_FLAGS
    source, scalar = Path(__file__).with_name("scalar_prune.c"), {}
    for dtype, real in zip(DTYPES, ("float", "double"), strict=True):
        library = Path(folder, f"{real}.so")
        command = [*compiler, *flags, f"-DREAL={real}", "-fPIC", "-shared"]
        try:
            subprocess.run([*command, source, "-o", library], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return None, f"No scalar loop: {compiler[0]} does not compile it ({error})."
        scalar[dtype] = _Scalar(ctypes.CDLL(library).scalar_prune, dtype)
    return scalar, f"Scalar: scalar_prune.c by {compiler[0]} {' '.join(flags)}."


class _Scalar:
    """The compiled loop of one type, called with a `GraphSpec`."""

    def __init__(self, function, dtype):
        array, size = np.ctypeslib.ndpointer, ctypes.c_int64
        real, steps, words = (array(t, flags="C") for t in (dtype, np.int64, np.uint64))
        self._function, function.restype = function, None
        function.argtypes = [real, *[size] * 4, steps, size, array(np.int16, flags="C")]
        function.argtypes += [words, real, words]
        self._tables = {}

    def __call__(self, spec):
        """(H, W, words) bits of the offsets, by increasing distance, that survive."""
        (height, width), (planes,) = spec.image.shape, spec.planes
        window, stride = spec.window, planes.shape[1]
        if window.radius not in self._tables:  # like ours, kept: in the round not counted
            self._tables[window.radius] = _tables_of(window)
        delta, can_prune = self._tables[window.radius]
        step = window.offsets.astype(np.int64) @ [stride, 1]
        alive = np.empty((height, width, can_prune.shape[1]), np.uint64)
        args = planes, stride, window.radius, height, width, step, len(step), delta, can_prune
        thresholds = spec.thresholds(np.arange(window.max_delta + 1))
        self._function(*args, thresholds, alive)
        return alive


def _tables_of(window):
    """Threshold factors [j, k], and per j the bits of the k that it may prune."""
    delta = window.delta()
    n_offsets = len(delta)
    can_prune = np.zeros((n_offsets, -(-n_offsets // 64) * 64), bool)
    can_prune[:, :n_offsets] = (delta >= 0) & ~np.eye(n_offsets, dtype=bool)
    bits = np.packbits(can_prune, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    return delta.astype(np.int16), bits


def _check(scalar, pixels, window):
    """The loop keeps the very edges of `image_graph`."""
    alive = scalar[pixels.dtype.type](_spec(pixels, window)).astype("<u8").view(np.uint8)
    pixel, k = np.nonzero(np.unpackbits(alive.reshape(pixels.size, -1), axis=1, bitorder="little"))
    other = pixel + (window_of(window).offsets @ [pixels.shape[1], 1])[k]
    ours = nnk_image.image_graph(pixels, window, SIGMA_D, SIGMA_F, directed=True).adjacency
    ours = ours.tocoo()
    i, j = ours.row, ours.col
    order = np.lexsort((other, pixel))
    assert np.array_equal(i, pixel[order]), window
    assert np.array_equal(j, other[order]), window
