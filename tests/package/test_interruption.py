"""Ctrl-C and errors in progress reports end a call and its threads; later calls are correct."""

import numpy as np
import pytest
from child import JOBS, leaving_no_task, on_linux, python
from whole_chain import GRAY

import nnk_image.base.parallel
from nnk_image import NoiseModel, denoise, denoise_bands

CUBE = GRAY[:40, :48, None] * np.array([0.5, 1, 1.5]) + np.random.default_rng(4).normal(
    0, 25, (40, 48, 3)
)
RICIAN = NoiseModel(25, rician=True)

CONTROL_C = """
    import os, signal, sys, threading, time
    import numpy as np
    import nnk_image
    from whole_chain import tasks, whole_chain

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
    elif name in ("smooth", "total_variation", "gglr"):
        image = noise(600)
        graph, solver = nnk_image.image_graph(image), getattr(nnk_image.solvers, name)
        graph.adjacency
        call = lambda: solver(graph, image, 1e4, tol=1e-30, n_jobs=n_jobs)
    elif name in ("pairs", "tree"):  # searches of several seconds, by scikit-learn and scipy
        points = noise(1000).reshape((40_000, 25) if name == "pairs" else (250_000, 4))
        nnk_image.nnk_graph(points[:100], n_jobs=n_jobs)
        call = lambda: nnk_image.nnk_graph(points, n_jobs=n_jobs)
    else:
        image = noise(4000 if name == "sgw" else 2000)
        call = lambda: nnk_image.denoise(image, 0.1, method=name, n_jobs=n_jobs)

    def press():
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    before, latencies = tasks(), []
    for delay in (0.5, 0.3):
        pressed, timer = [], threading.Timer(delay, press)
        try:
            timer.start()
            call()
            timer.join()
        except KeyboardInterrupt:
            latencies.append(time.process_time() - pressed[0])
        timer.join()
        patience = time.monotonic() + 100
        while tasks() - before and time.monotonic() < patience:
            time.sleep(0.01)
        assert not tasks() - before
        assert whole_chain(n_jobs) == expected
    print(*latencies)
"""


CALLS = ["graph", "wavelets", "sgw", "fast", "pairs", "tree"]


@on_linux
@pytest.mark.slow
@JOBS
@pytest.mark.parametrize("call", [*CALLS, "smooth", "total_variation", "gglr"])
def test_control_c_stops_a_call_soon(call, n_jobs):
    """The call ends within little processor time, and later calls give the same results."""
    latencies = [float(word) for word in python(CONTROL_C, call, n_jobs)]
    assert len(latencies) == 2
    assert min(latencies) < 2 * n_jobs


class Stop(Exception):
    pass


WITH_REPORTS = {
    "sgw": lambda **options: denoise(GRAY, 25, method="sgw", **options),
    "fast": lambda **options: denoise(GRAY, 25, method="fast", **options),
    "bands": lambda **options: denoise_bands(CUBE, 25, **options),
    "magnitudes": lambda **options: denoise_bands(abs(CUBE), RICIAN, **options),
}


@JOBS
@pytest.mark.parametrize("call", WITH_REPORTS.values(), ids=WITH_REPORTS)
def test_errors_in_progress_reports_do_not_affect_later_calls(call, n_jobs, monkeypatch):
    monkeypatch.setattr(nnk_image.base.parallel, "PIXELS_PER_CHUNK", 300)

    def stop_after(fraction):
        def report(done, total):
            if done > total * fraction:
                raise Stop

        return report

    expected = call(n_jobs=n_jobs)
    for fraction in (0, 0.2, 0.7):
        with leaving_no_task(), pytest.raises(Stop):
            call(n_jobs=n_jobs, progress=stop_after(fraction))
        again = call(n_jobs=n_jobs, progress=stop_after(1))
        np.testing.assert_array_equal(again, expected)
