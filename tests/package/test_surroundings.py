"""Interpreter flags, environment variables and locale do not change results."""

import sysconfig

import numpy as np
import pytest
from child import PRINT_THE_CHAIN, python
from PIL import Image
from whole_chain import GRAY

from nnk_image import denoise

ENVIRONMENTS = {
    "developer mode": (("-X", "dev", "-W", "error", "-bb"), {}),
    "optimized twice": ((), {"PYTHONOPTIMIZE": "2"}),
    "more OpenMP threads": ((), {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}),
    "C locale": ((), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "without home": ((), {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}),
}


CHAIN_AND_COMMAND = f"""
    import contextlib, io, os, sys
    from nnk_image import cli
    {PRINT_THE_CHAIN}

    source, target = sys.argv[1:]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as text:
        cli.main(["denoise", "--help"])
    print("sigma" in text.getvalue())
    with contextlib.redirect_stdout(sys.stderr):
        status = cli.main(["denoise", source, target, "--sigma", "20", "--jobs", "2"])
    print(status)
    print(cli.main(["denoise", source + "-", target, "--sigma", "20"]))
"""


@pytest.mark.parametrize(("flags", "environment"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_results_do_not_depend_on_flags_and_environment(flags, environment, expected, tmp_path):
    """The command also gets file names that are not ASCII."""
    source, target = tmp_path / "Größe 東.png", tmp_path / "größer 東.png"
    Image.fromarray(GRAY).save(source)
    words = python(CHAIN_AND_COMMAND, source, target, flags=flags, **environment)
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
