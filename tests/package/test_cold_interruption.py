"""Ctrl-C in the first call of a process, which still imports: answered, and nothing half loaded."""

import random
import signal
import subprocess
import sys
import time

import pytest
from child import HERE, on_linux, python

FIRST_CALL = """
    import os, signal, sys
    import numpy as np

    calls = {
        "tree": lambda: nnk_image.nnk_graph(np.random.default_rng(0).random((90, 3)), 8).data,
        "pairs": lambda: nnk_image.nnk_graph(np.random.default_rng(0).random((90, 30)), 8).data,
        "denoise": lambda: nnk_image.denoise(np.eye(30), 0.1),
        "wavelets": lambda: nnk_image.SpectralGraphWavelets(
            nnk_image.image_graph(np.eye(30))
        ).coefficients,
        "estimator": lambda: nnk_image.NNKClassifier(3).fit(np.eye(9), np.arange(9) % 2).predict(
            np.eye(9)
        ),
        "version": lambda: np.frombuffer(nnk_image.__version__.encode(), np.uint8),
    }
    call, at = calls[sys.argv[1]], sys.argv[2]

    class Presser:
        "Presses Ctrl-C when a certain module is about to be imported."

        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == at and not pressed:
                pressed.append(name)
                signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed = []
    sys.meta_path.insert(0, Presser)
    import nnk_image

    try:
        call()
        sys.exit(f"not interrupted; asked for {at}: {pressed}")
    except KeyboardInterrupt:
        pass
    print(call().astype(float).sum() > 0, signal.getsignal(signal.SIGINT).__name__)
"""

PLACES = [
    ("tree", "scipy.sparse._csr"),
    ("tree", "scipy.spatial._kdtree"),
    ("tree", "nnk_image.neighbors.model"),
    ("pairs", "sklearn.utils.fixes"),
    ("pairs", "sklearn.metrics._pairwise_distances_reduction"),
    ("pairs", "scipy.stats._distn_infrastructure"),
    ("denoise", "scipy.fft._basic"),
    ("denoise", "scipy.ndimage._filters"),
    ("denoise", "scipy.optimize._nnls"),
    ("denoise", "scipy.interpolate._cubic"),
    ("wavelets", "scipy._lib._ccallback"),
    ("wavelets", "scipy._cyutility"),
    ("wavelets", "scipy.sparse._csr"),
    ("denoise", "numpy.polynomial.polynomial"),
    ("wavelets", "pygsp.filters.abspline"),
    ("wavelets", "nnk_image.wavelets.filter_bank"),
    ("estimator", "sklearn.utils.validation"),
    ("estimator", "nnk_image.learning.classify"),
    ("version", "importlib.metadata"),
]


@pytest.mark.parametrize(("call", "module"), PLACES)
def test_an_import_is_finished_before_ctrl_c_is_answered(call, module):
    assert python(FIRST_CALL, call, module) == ["True", "default_int_handler"]


def test_other_threads_import_as_ever():
    script = """
        import signal, threading
        from nnk_image.base.imports import uninterrupted

        def work():
            with uninterrupted():
                found.append(signal.getsignal(signal.SIGINT))

        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may come ignored
        found = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))
        print(found == [signal.default_int_handler, signal.SIG_IGN])
    """
    assert python(script) == ["True"]


def test_an_error_in_an_import_comes_through_and_the_key_after_it():
    script = """
        import os, signal
        from nnk_image.base.imports import uninterrupted

        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may come ignored
        try:
            with uninterrupted(), uninterrupted():
                signal.raise_signal(signal.SIGINT)
                raise ImportError("missing")
        except KeyboardInterrupt as stop:
            print(stop.__context__)
    """
    assert python(script) == ["missing"]


@on_linux
@pytest.mark.slow
def test_cold_starts_with_ctrl_c_at_random_times_end():
    """`python -m benchmarks.cold_interrupts` does the same a hundred times."""
    moments, ends = random.Random(3), []
    command = [sys.executable, str(HERE / "cold_start.py")]
    for _ in range(8):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "ready\n"
            time.sleep(moments.uniform(0, 2.5))
            child.send_signal(signal.SIGINT)
            ends.append(child.communicate(timeout=100)[0])
    assert set(ends) <= {"interrupted\nsecond call\n", "second call\n"}, ends
