"""Many threads, forked and spawned processes, flags and environments give the same bits."""

import os
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from child import PRINT_THE_CHAIN, leaving_no_task, python
from PIL import Image
from whole_chain import COLOR, GRAY, checksum, graph_sum, wavelet_sum, whole_chain

import nnk_image.base.parallel
from nnk_image import SpectralGraphWavelets, denoise, image_graph

can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def test_eight_threads_share_a_graph_and_its_wavelets():
    given = {"channel_axis": -1}
    graph = image_graph(COLOR, **given)
    wavelets = SpectralGraphWavelets(graph, n_jobs=2)
    signal = COLOR[..., 0]

    def all_of(graph, wavelets):
        heat = wavelets.filter(signal, lambda x: np.exp(-x))
        return (
            wavelet_sum(wavelets, signal),
            checksum(heat, graph.degrees, graph.laplacian().data),
            wavelet_sum(wavelets.at_order(9), signal),
            wavelet_sum(SpectralGraphWavelets(graph, laplacian="normalized"), signal),
            graph_sum(image_graph(COLOR, **given, n_jobs=2)),
            checksum(denoise(COLOR, 0.1, **given, n_jobs=2)),
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
    monkeypatch.setattr(nnk_image.base.parallel, "PIXELS_PER_CHUNK", 100)
    for n_jobs in (None, 1, 2, 3, -1, 10**4):
        assert whole_chain(n_jobs) == expected


@can_fork
def test_forked_processes_use_objects_of_their_parent_and_start_their_own_threads(expected):
    answers = python(
        """
        import os, warnings
        from nnk_image import SpectralGraphWavelets, image_graph
        from nnk_image.base.parallel import RowExecutor
        from whole_chain import GRAY, wavelet_sum, whole_chain

        warnings.simplefilter("ignore", DeprecationWarning)  # about forks while threads run
        wavelets = SpectralGraphWavelets(image_graph(GRAY, n_jobs=2), n_jobs=2)

        def answer():
            return f"{wavelet_sum(wavelets, GRAY)} {whole_chain(2)}"

        with RowExecutor(2) as executor:  # its threads live until the context ends
            executor.run(lambda y0, y1: None, 8, rows_per_chunk=1)
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
def test_spawned_processes_give_the_same_bits(expected, method):
    answers = python(
        f"""
        import multiprocessing
        from nnk_image import image_graph
        from whole_chain import GRAY, graph_sum, whole_chain

        if __name__ == "__main__":
            graph = image_graph(GRAY)
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                found = pool.map_async(whole_chain, [None, 2]).get(100)
                print(*found, pool.apply(graph_sum, (graph,)) == graph_sum(graph))
        """
    )
    assert answers == [expected, expected, "True"]


COMMAND = f"""
    import contextlib, io, sys
    from nnk_image import cli
    {PRINT_THE_CHAIN}

    source, target = sys.argv[1:]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as text:
        cli.main(["denoise", "--help"])
    print("sigma" in text.getvalue())
    with contextlib.redirect_stdout(sys.stderr):
        status = cli.main(["denoise", source, target, "--sigma", "20", "--jobs", "2"])
    print(status, cli.main(["denoise", source + "-", target, "--sigma", "20"]))
"""


def test_results_do_not_depend_on_flags_and_environment(expected, tmp_path):
    """Without docstrings, and in the C locale with file names that are not ASCII."""
    source, target = tmp_path / "Größe 東.png", tmp_path / "größer 東.png"
    Image.fromarray(GRAY).save(source)
    environment = {"PYTHONOPTIMIZE": "2", "OMP_NUM_THREADS": "3", "HOME": "/nonexistent"}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    flags = "-X", "dev", "-W", "error", "-bb"
    words = python(COMMAND, source, target, flags=flags, **environment)
    assert words == [expected, expected, "True", "0", "1"]
    clean = np.clip(np.rint(denoise(GRAY, 20)), 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(target)), clean)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded interpreter"
)
def test_free_threaded_interpreters_stay_free_threaded(expected):
    script = f"import sys; {PRINT_THE_CHAIN}; print(sys._is_gil_enabled())"
    script = script.replace("import sys", "import sys; from nnk_image import _core")
    assert python(script, flags=("-W", "error")) == [expected, expected, "False"]
    assert python(PRINT_THE_CHAIN, PYTHON_GIL="0") == [expected, expected]
