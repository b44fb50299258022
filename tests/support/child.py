"""Child processes of tests, and what they leave behind."""

import os
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from whole_chain import tasks

HERE = Path(__file__).parent
JOBS = pytest.mark.parametrize("n_jobs", [1, 2])
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

PRINT_THE_CHAIN = "from whole_chain import whole_chain; print(whole_chain(), whole_chain(2))"


def python(script, *arguments, flags=(), **environment):
    """Run a script in a fresh interpreter that finds `whole_chain`; the words it prints.

    How long it takes says nothing on a busy machine: only pytest's own limit ends what hangs.
    """
    folders = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(script), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.split()


@contextmanager
def leaving_no_task():
    """The process has no more threads afterwards than before, native ones included."""
    if sys.platform != "linux":
        yield
        return
    before = tasks()
    yield
    patience = time.monotonic() + 100  # a thread that has nothing left to do may still be there
    while tasks() - before and time.monotonic() < patience:
        time.sleep(0.01)
    assert not tasks() - before
