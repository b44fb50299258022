"""Whatever goes wrong around it, the library gives the right bits or a clear error."""

import itertools
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from whole_chain import COLOUR, GREY, checksum, graph_sum, n_tasks, wavelet_sum, whole_chain

import nnk_image
import nnk_image.bands
import nnk_image.graph
from nnk_image import SpectralGraphWavelets, _core, bilateral_graph, denoise, image_graph

HERE = Path(__file__).parent
JOBS = pytest.mark.parametrize("n_jobs", [1, 2])
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def python(script, *arguments, flags=(), timeout=120, **environment):
    """Run a script in a fresh interpreter that finds `whole_chain`; the words it prints."""
    folders = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(script), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


PRINT_THE_CHAIN = "from whole_chain import whole_chain; print(whole_chain(), whole_chain(2))"


@pytest.fixture(scope="module")
def expected():
    """The check sums of everything, computed here."""
    return whole_chain()


# --- sizes -------------------------------------------------------------------------------


def directed_graph(image, **options):
    return image_graph(image, directed=True, **options)


@pytest.fixture
def low_limit(monkeypatch):
    """Graphs have int64 indices from 100 entries on."""

    def lower():
        monkeypatch.setattr(nnk_image.graph, "INDEX32_LIMIT", 100)

    return lower


@pytest.mark.parametrize("build", [image_graph, directed_graph, bilateral_graph])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_int64_graphs_are_the_int32_ones(low_limit, build, dtype):
    images = [
        (GREY.astype(dtype), {"sigma_f": 10}),
        ((COLOUR * 255).astype(dtype), {"sigma_f": 20, "channel_axis": 2}),
    ]
    narrow = [build(image, **given) for image, given in images]
    low_limit()
    for (image, given), expected in zip(images, narrow, strict=True):
        for n_jobs in (1, 3):
            wide = build(image, **given, n_jobs=n_jobs)
            assert wide.adjacency.indices.dtype == wide.adjacency.indptr.dtype == np.int64
            assert wide.adjacency.data.dtype == expected.adjacency.data.dtype
            for name in ("indptr", "indices", "data"):
                found = getattr(wide.adjacency, name)
                np.testing.assert_array_equal(found, getattr(expected.adjacency, name))
            assert repr(wide) == repr(expected)
            np.testing.assert_array_equal(wide.degrees, expected.degrees)


@pytest.mark.parametrize("laplacian", ["combinatorial", "normalized", "random_walk", "regularized"])
@pytest.mark.parametrize("build", [image_graph, bilateral_graph])
def test_wavelets_of_int64_graphs(low_limit, build, laplacian):
    def results(graph):
        directed = replace(graph, directed=True)  # its edges go both ways all the same
        for given, dtype in itertools.product((graph, directed, graph.adjacency), "fd"):
            wavelets = SpectralGraphWavelets(given, order=20, laplacian=laplacian, dtype=dtype)
            yield wavelets.lmax, wavelet_sum(wavelets, GREY.reshape(wavelets.shape))
        yield checksum(graph.laplacian(laplacian).data)

    expected = list(results(build(GREY, window=5)))
    low_limit()
    wide = build(GREY, window=5)
    assert wide.adjacency.indices.dtype == np.int64
    assert list(results(wide)) == expected


def test_wavelets_refuse_a_directed_int64_graph(low_limit):
    with pytest.raises(ValueError, match="symmetric") as narrow:
        SpectralGraphWavelets(directed_graph(GREY))
    low_limit()
    with pytest.raises(ValueError, match="symmetric") as wide:
        SpectralGraphWavelets(directed_graph(GREY))
    assert str(wide.value) == str(narrow.value)


def test_everything_below_the_int32_limit_is_as_above(low_limit):
    def results():
        compaction = nnk_image.energy_compaction(GREY, n_jobs=2)
        return [
            *(checksum(denoise(GREY, 25, method=m, n_jobs=2)) for m in ("sgw", "fast")),
            *(checksum(order.energy) for graph in compaction.graphs for order in graph.orders),
        ]

    expected = results()
    low_limit()
    assert results() == expected


def test_int64_graphs_are_written_and_read(low_limit, tmp_path):
    low_limit()
    graph = image_graph(GREY)
    graph.save(tmp_path / "graph.npz")
    back = nnk_image.ImageGraph.load(tmp_path / "graph.npz")
    assert back.adjacency.indices.dtype == np.int64
    assert graph_sum(back) == graph_sum(graph)


IMPOSSIBLE = """
    import sys, time
    import numpy as np
    import nnk_image

    calls = {
        "image_graph": nnk_image.image_graph,
        "directed": lambda x, **given: nnk_image.image_graph(x, directed=True, **given),
        "bilateral_graph": nnk_image.bilateral_graph,
        "sgw": lambda x, **given: nnk_image.denoise(x, 10, method="sgw", **given),
        "fast": lambda x, **given: nnk_image.denoise(x, 10, method="fast", **given),
        "no sigma": nnk_image.denoise,
    }
    dtype, call = np.dtype(sys.argv[1]), calls[sys.argv[2]]
    # The last ones overflow 64 bits once multiplied by neighbours and bytes.
    shapes = [(300_000, 300_000), (1 << 31, 1 << 28), (1 << 59, 1), (3, 1 << 57)]
    for shape in shapes:
        for channel_axis in (None, 2, 0):
            channels = [] if channel_axis is None else [3]
            full = (*shape, *channels) if channel_axis != 0 else (*channels, *shape)
            if int(np.prod([float(n) for n in full])) * dtype.itemsize >= 2**63:
                continue  # numpy has no such array
            image = np.broadcast_to(dtype.type(0), full)
            start = time.perf_counter()
            try:
                call(image, channel_axis=channel_axis)
            except MemoryError as error:
                assert " needs at least " in str(error), error
                assert " GiB, " in str(error), error
                assert time.perf_counter() - start < 5, time.perf_counter() - start
            else:
                raise AssertionError(full)
    peak = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
    assert int(peak) < 1 << 20, f"{peak} kB were touched"
    print("refused")
"""


@on_linux
@pytest.mark.parametrize("dtype", ["u1", "f4"])
@pytest.mark.parametrize(
    "call",
    [
        "image_graph",
        "directed",
        "bilateral_graph",
        "sgw",
        "fast",
        "no sigma",
    ],
)
def test_impossible_sizes_are_refused_before_memory_is_touched(call, dtype):
    assert python(IMPOSSIBLE, dtype, call, timeout=30) == ["refused"]


# --- failing allocations -----------------------------------------------------------------

FAIL_EACH_ALLOCATION = """
    import ctypes, itertools, sys
    import numpy as np
    from nnk_image import SpectralGraphWavelets, _core, bilateral_graph, denoise, image_graph
    from whole_chain import GREY, checksum, graph_sum

    faults, dtype, n_jobs = ctypes.CDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[0].split("-") for line in maps if _core.__file__ in line]
    ends = [int(address, 16) for pair in ranges for address in pair]
    faults.watch(ctypes.c_size_t(min(ends)), ctypes.c_size_t(max(ends)))

    image = (GREY / 255).astype(dtype) if dtype[0] == "f" else GREY.astype(dtype)
    graph = image_graph(image)
    wavelets = SpectralGraphWavelets(graph, order=12, n_jobs=n_jobs)
    calls = {
        "graph": lambda: graph_sum(image_graph(image, n_jobs=n_jobs)),
        "bilateral": lambda: graph_sum(bilateral_graph(image, n_jobs=n_jobs)),
        "operator": lambda: SpectralGraphWavelets(graph, order=1, n_jobs=n_jobs).bound,
        "wavelets": lambda: checksum(wavelets.synthesize(wavelets.analyze(image))),
        "sgw": lambda: checksum(denoise(image, 25, method="sgw", n_jobs=n_jobs)),
        "fast": lambda: checksum(denoise(image, 25, method="fast", n_jobs=n_jobs)),
    }
    for name, call in calls.items():
        faults.fail(0)
        expected, held = call(), faults.n_held()
        n_allocations = faults.n_asked()
        assert n_allocations > 0, name
        for n in range(1, n_allocations + 1):
            faults.fail(n)
            try:
                call()
            except MemoryError as error:
                assert "ran out of memory" in str(error), error
            else:
                raise AssertionError(f"{name}: allocation {n} failed and nobody noticed")
            assert faults.n_asked() >= n
            faults.fail(0)
            assert faults.n_held() == held, f"{name}: {n} left {faults.n_held() - held} blocks"
            if n < 9 or n % 16 == 0:
                assert call() == expected, (name, n)
        assert call() == expected, name
        print(name, n_allocations)
"""


@pytest.fixture(scope="module")
def failing_malloc(tmp_path_factory):
    """The library of failing_malloc.c, to be preloaded."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc" or compiler is None:
        pytest.skip("needs Linux, glibc and a C compiler")
    library = tmp_path_factory.mktemp("faults") / "failing_malloc.so"
    source = HERE / "failing_malloc.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "n_jobs"), [("u1", 1), ("f4", 1), ("f4", 2), ("f8", 1)])
def test_each_allocation_of_the_core_may_fail(failing_malloc, dtype, n_jobs):
    preload = f"{failing_malloc} {os.environ.get('LD_PRELOAD', '')}".strip()
    words = python(FAIL_EACH_ALLOCATION, failing_malloc, dtype, n_jobs, LD_PRELOAD=preload)
    assert words[::2] == ["graph", "bilateral", "operator", "wavelets", "sgw", "fast"]


LITTLE_ADDRESS_SPACE = """
    import resource
    import numpy as np
    import nnk_image
    from whole_chain import whole_chain

    n_jobs = int(__import__("sys").argv[1])
    expected = whole_chain(n_jobs)
    image = np.random.default_rng(5).random((200, 300), dtype=np.float32)
    graph = nnk_image.image_graph(image)
    wavelets = nnk_image.SpectralGraphWavelets(graph, n_jobs=n_jobs)
    huge = np.broadcast_to(np.float32(0), (30_000, 30_000))
    calls = [
        lambda: nnk_image.image_graph(image, n_jobs=n_jobs),
        lambda: nnk_image.bilateral_graph(image, n_jobs=n_jobs),
        lambda: wavelets.analyze(image),
        lambda: nnk_image.denoise(image, 0.1, method="sgw", n_jobs=n_jobs),
        lambda: nnk_image.denoise(image, 0.1, method="fast", n_jobs=n_jobs),
        lambda: nnk_image.image_graph(huge, n_jobs=n_jobs),
    ]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    refused = [0] * len(calls)
    for i, call in enumerate(calls):
        for megabytes in (0, 1, 2, 5, 12, 40):
            mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (mapped + (megabytes << 20), hard))
            try:
                call()
            except MemoryError:
                refused[i] += 1
            except RuntimeError as error:  # a thread's stack did not fit
                assert n_jobs > 1 and "start new thread" in str(error), error
                refused[i] += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    assert whole_chain(n_jobs) == expected
    assert refused[-1] == 6, refused
    print(*refused)
"""


@on_linux
@pytest.mark.slow
@JOBS
def test_little_address_space_is_an_error(n_jobs):
    """And the process goes on."""
    # Freed memory goes back at once, so that what is mapped is what is used.
    refused = python(LITTLE_ADDRESS_SPACE, n_jobs, timeout=60, MALLOC_MMAP_THRESHOLD_="65536")
    assert "0" not in refused


@JOBS
def test_threads_that_do_not_start_are_an_error(monkeypatch, n_jobs):
    """And those that did start are gone."""
    start, calls = nnk_image.bands.start_new_thread, itertools.count()

    def only_one(*arguments):
        if next(calls):
            raise RuntimeError("can't start new thread")
        return start(*arguments)

    expected = graph_sum(image_graph(GREY))
    monkeypatch.setattr(nnk_image.bands, "start_new_thread", only_one)
    with leaving_no_task():
        if n_jobs == 1:
            assert graph_sum(image_graph(GREY)) == expected
        else:
            with pytest.raises(RuntimeError, match="can't start new thread"):
                image_graph(GREY, n_jobs=n_jobs)
    monkeypatch.undo()
    assert graph_sum(image_graph(GREY, n_jobs=n_jobs)) == expected


@JOBS
def test_a_thread_that_dies_at_birth_hangs_nobody(n_jobs):
    """As one does that finds no memory for its first frame."""
    script = f"""
        import _thread, sys
        import nnk_image.bands
        from whole_chain import GREY

        def stillborn(function, arguments):
            return _thread.start_new_thread(lambda: None, ())

        sys.unraisablehook = lambda *_: None
        nnk_image.bands.start_new_thread = stillborn
        try:
            nnk_image.image_graph(GREY, n_jobs={n_jobs})
        except (MemoryError, RuntimeError):
            pass
        print("goes on")
        """
    assert python(script, timeout=20) == ["goes", "on"]


# --- interruptions -----------------------------------------------------------------------


@contextmanager
def leaving_no_task():
    """The process has no more threads afterwards than before, native ones included."""
    if sys.platform != "linux":
        yield
        return
    before = n_tasks()
    yield
    patience = time.monotonic() + 10  # a thread that has nothing left to do may still be there
    while n_tasks() > before and time.monotonic() < patience:
        time.sleep(0.01)
    assert n_tasks() <= before


CONTROL_C = """
    import os, signal, sys, threading, time
    import numpy as np
    import nnk_image
    from whole_chain import n_tasks, whole_chain

    name, n_jobs = sys.argv[1], int(sys.argv[2])
    expected = whole_chain(n_jobs)

    def noise(side):
        return np.random.default_rng(2).random((side, side), dtype=np.float32)

    if name == "wavelets":
        image = noise(800)
        graph = nnk_image.image_graph(image)
        wavelets = nnk_image.SpectralGraphWavelets(graph, order=1000, n_jobs=n_jobs)
        call = lambda: wavelets.analyze(image)
    elif name == "graph":
        image = noise(4000)
        call = lambda: nnk_image.image_graph(image, n_jobs=n_jobs)
    else:
        image = noise(4000 if name == "sgw" else 2000)
        call = lambda: nnk_image.denoise(image, 0.1, method=name, n_jobs=n_jobs)

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    tasks, latencies = n_tasks(), []
    for delay in (0.7, 0.3, 0.5):
        pressed, timer = [], threading.Timer(delay, press)
        try:
            timer.start()
            call()
            timer.join()
        except KeyboardInterrupt:
            latencies.append(time.perf_counter() - pressed[0])
        timer.join()
        patience = time.monotonic() + 10
        while n_tasks() > tasks and time.monotonic() < patience:
            time.sleep(0.01)
        assert n_tasks() <= tasks, (n_tasks(), tasks)
        assert whole_chain(n_jobs) == expected
    print(*latencies)
"""


@on_linux
@pytest.mark.slow
@JOBS
@pytest.mark.parametrize("call", ["graph", "wavelets", "sgw", "fast"])
def test_control_c_is_answered(call, n_jobs):
    """Each time, at once (the quickest counts: machines stall), and nothing is spoilt."""
    latencies = [float(word) for word in python(CONTROL_C, call, n_jobs)]
    assert len(latencies) == 3
    assert min(latencies) < 2


class Stop(Exception):
    pass


@JOBS
@pytest.mark.parametrize("call", ["wavelets", "sgw", "fast"])
def test_errors_in_the_progress_report_spoil_nothing(call, n_jobs, monkeypatch):
    monkeypatch.setattr(nnk_image.bands, "PIXELS_PER_BAND", 300)
    graph = image_graph(GREY)

    def report(done, total):
        if stopping and done > total * next(fractions):
            raise Stop

    wavelets = SpectralGraphWavelets(graph, n_jobs=n_jobs, progress=report)
    calls = {
        "wavelets": lambda: wavelet_sum(wavelets, GREY),
        "sgw": lambda: checksum(denoise(GREY, 25, method="sgw", n_jobs=n_jobs, progress=report)),
        "fast": lambda: checksum(denoise(GREY, 25, method="fast", n_jobs=n_jobs, progress=report)),
    }
    stopping = False
    expected = calls[call]()
    for fraction in (0, 0.2, 0.7):
        stopping, fractions = True, itertools.repeat(fraction)
        with leaving_no_task(), pytest.raises(Stop):
            calls[call]()
        stopping = False
        assert calls[call]() == expected


# --- threads and processes ---------------------------------------------------------------


def test_eight_threads_share_a_graph_and_its_wavelets():
    given = {"channel_axis": -1}
    graph = image_graph(COLOUR, **given)
    wavelets = SpectralGraphWavelets(graph, n_jobs=2)
    signal = COLOUR[..., 0]

    def all_of(graph, wavelets):
        heat = wavelets.filter(signal, lambda x: np.exp(-x))
        return (
            wavelet_sum(wavelets, signal),
            checksum(heat, graph.degrees, graph.laplacian().data),
            wavelet_sum(wavelets.at_order(9), signal),
            wavelet_sum(SpectralGraphWavelets(graph, laplacian="normalized"), signal),
            graph_sum(image_graph(COLOUR, **given, n_jobs=2)),
            checksum(denoise(COLOUR, 0.1, **given, n_jobs=2)),
        )

    expected = all_of(replace(graph), SpectralGraphWavelets(graph))
    together = threading.Barrier(8, timeout=60)

    def call(_):
        together.wait()
        return [all_of(graph, wavelets) for _ in range(3)]

    with leaving_no_task(), ThreadPoolExecutor(8) as pool:
        for found in pool.map(call, range(8)):
            assert found == [expected] * 3


def test_any_number_of_threads_gives_the_same_bits(expected, monkeypatch):
    monkeypatch.setattr(nnk_image.bands, "PIXELS_PER_BAND", 100)
    monkeypatch.setattr("nnk_image.recurrence._PIXELS_PER_SWEEP", 1)
    for n_jobs in (None, 1, 2, 3, -1, 10**4):
        assert whole_chain(n_jobs) == expected


@can_fork
def test_a_forked_child_uses_its_parents_objects(expected):
    answers = python(
        """
        import os, sys, warnings
        from nnk_image import SpectralGraphWavelets, image_graph
        from whole_chain import GREY, wavelet_sum, whole_chain

        warnings.simplefilter("ignore", DeprecationWarning)  # of forks while threads run
        wavelets = SpectralGraphWavelets(image_graph(GREY, n_jobs=2), n_jobs=2)

        def answer():
            return f"{wavelet_sum(wavelets, GREY)} {whole_chain(2)}"

        print(answer(), flush=True)
        for _ in range(2):
            child = os.fork()
            if not child:
                print(answer(), flush=True)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
        print(answer())
        """
    )
    assert answers == answers[:2] * 4
    assert answers[1] == expected


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=can_fork)])
def test_spawned_processes(expected, method):
    answers = python(
        f"""
        import multiprocessing
        from nnk_image import image_graph
        from whole_chain import GREY, graph_sum, whole_chain

        if __name__ == "__main__":
            graph = image_graph(GREY)
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                found = pool.map_async(whole_chain, [None, 2]).get(100)
                print(*found, pool.apply(graph_sum, (graph,)) == graph_sum(graph))
        """
    )
    assert answers == [expected, expected, "True"]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_inside_joblib(expected, backend):
    pytest.importorskip("joblib")
    answers = python(
        f"""
        from joblib import Parallel, delayed
        from whole_chain import whole_chain

        parallel = Parallel(2, backend="{backend}")
        print(*parallel(delayed(whole_chain)(n_jobs) for n_jobs in (None, 2, -1, 10)))
        """
    )
    assert answers == [expected] * 4


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_inside_dask(expected, scheduler):
    pytest.importorskip("dask")
    answers = python(
        f"""
        import dask
        from whole_chain import whole_chain

        if __name__ == "__main__":
            tasks = [dask.delayed(whole_chain)(n_jobs) for n_jobs in (None, 2, -1, 10)]
            print(*dask.compute(*tasks, scheduler="{scheduler}", num_workers=2))
        """
    )
    assert answers == [expected] * 4


START_NONE = """
    import sys
    from whole_chain import threads_started

    worker, method = sys.argv[1:]
    if worker == "plain":
        print(threads_started(method), threads_started(method))
    elif worker == "joblib":
        from joblib import Parallel, delayed
        print(*Parallel(2, backend="loky")(delayed(threads_started)(method) for _ in range(2)))
    elif worker == "joblib threads":
        from joblib import Parallel, delayed
        first = Parallel(2, backend="threading", batch_size=2)
        print(*first(delayed(threads_started)(method) for _ in range(2)))
    elif worker == "dask" and __name__ == "__main__":
        import dask
        tasks = [dask.delayed(threads_started)(method, dask_key_name=f"t{i}") for i in range(2)]
        print(*dask.compute(*tasks, scheduler="processes", num_workers=2))
"""


@on_linux
@pytest.mark.parametrize("method", ["sgw", "fast"])
@pytest.mark.parametrize("worker", ["plain", "joblib", "joblib threads", "dask"])
def test_no_thread_is_started_unless_asked_for(worker, method):
    """So workers of joblib and dask are not oversubscribed."""
    if worker != "plain":
        pytest.importorskip(worker.split()[0])
    assert python(START_NONE, worker, method) == ["0", "0"]


# --- interpreters, locales, vector variants ----------------------------------------------


@pytest.mark.parametrize("name", _core.simd_variants())
def test_each_vector_variant_from_the_environment_gives_the_same_bits(name, expected):
    script = f"from nnk_image import _core; print(_core.simd_variant()); {PRINT_THE_CHAIN}"
    assert python(script, NNK_IMAGE_SIMD=name) == [name, expected, expected]


SURROUNDINGS = {
    "warnings are errors": ((), {"PYTHONWARNINGS": "error"}),
    "developer mode": (("-X", "dev", "-W", "error", "-bb"), {}),
    "optimised twice": ((), {"PYTHONOPTIMIZE": "2"}),
    "one OpenMP thread": ((), {"OMP_NUM_THREADS": "1"}),
    "C locale": ((), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "latin-1 locale": ((), {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"}),
    "without home": ((), {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}),
}


@pytest.fixture(params=SURROUNDINGS)
def surroundings(request, tmp_path):
    """Flags and environment of a Python process."""
    flags, environment = SURROUNDINGS[request.param]
    if request.param == "latin-1 locale":
        name, localedef = environment["LC_ALL"], shutil.which("localedef")
        command = [localedef, "-i", "en_US", "-f", "ISO-8859-1", str(tmp_path / name)]
        if not localedef or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no localedef here, or no sources of locales")
        environment = environment | {"LOCPATH": str(tmp_path)}
    return {"flags": flags, **environment}


def test_the_chain_in_any_surroundings(surroundings, expected):
    assert python(PRINT_THE_CHAIN, **surroundings) == [expected, expected]


COMMAND = """
    import contextlib, io, os, sys
    from nnk_image import cli

    source, target = sys.argv[1:]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as text:
        cli.main(["denoise", "--help"])
    print("sigma" in text.getvalue())
    print(cli.main(["denoise", source, target, "--sigma", "20", "--jobs", "2"]), file=sys.stderr)
    print(cli.main(["denoise", source + "-", target, "--sigma", "20"]))
"""


def test_the_command_in_any_surroundings(surroundings, tmp_path):
    """File names and messages included."""
    source, target = tmp_path / "Größe 東.png", tmp_path / "größer 東.png"
    Image.fromarray(GREY).save(source)
    words = python(COMMAND, source, target, **surroundings)
    assert words[0] == "True"
    assert words[-1] == "1"
    clean = np.clip(np.rint(denoise(GREY, 20)), 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(target)), clean)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="no free-threaded interpreter"
)
def test_free_threaded_interpreters_stay_so(expected):
    script = f"import sys; {PRINT_THE_CHAIN}; print(sys._is_gil_enabled())"
    script = script.replace("import sys", "import sys; from nnk_image import _core")
    assert python(script, flags=("-W", "error")) == [expected, expected, "False"]
    assert python(PRINT_THE_CHAIN, PYTHON_GIL="0") == [expected, expected]
