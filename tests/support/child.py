"""Child processes of tests, and a check that no threads are left running."""

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
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PRINT_THE_CHAIN = "from whole_chain import whole_chain; print(whole_chain(), whole_chain(2))"


def run(script, *arguments, flags=(), cwd=None, **environment):
    """Run a script in a new interpreter that can import `whole_chain`; return the process.

    There is no timeout, because the machine may be busy; pytest's own limit ends a hanging child.
    """
    folders = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(script), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def python(script, *arguments, **options):
    """Run a script as `run` does, without an error; return the printed words."""
    done = run(script, *arguments, **options)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.split()


@contextmanager
def leaving_no_task():
    """Check that no threads, native ones included, are left that did not exist before."""
    if sys.platform != "linux":
        yield
        return
    before = tasks()
    yield
    patience = time.monotonic() + 100  # a finished thread may take a moment to disappear
    while tasks() - before and time.monotonic() < patience:
        time.sleep(0.01)
    assert not tasks() - before
