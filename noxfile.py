"""What is checked, and how: `nox --list`; `.ci/run` runs the session that a change must pass."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["check"]
nox.needs_version = ">=2024.4"

BUILD = "scikit-build-core>=0.11", "cython>=3.1", "cmake>=3.20", "ninja"
BITS = "tests/fuzz/test_fuzz.py::test_same_bits_whatever_computes_them"
SANITIZED = {
    "address": [
        *("tests/base", "tests/graph", "tests/spectral", "tests/neighbors", "tests/solvers"),
        *(BITS, "tests/wavelets/test_compaction.py::test_energies_match_those_by_eigenvectors"),
        *("tests/denoising/test_patch_filter.py", "tests/denoising/test_patch_positions.py"),
        "tests/package/test_simd.py",
    ],
    "thread": [
        *("tests/spectral", "tests/base/test_parallel.py", BITS),
        "tests/package/test_processes.py::test_eight_threads_share_a_graph_and_its_wavelets",
        "tests/neighbors/test_graph.py::test_threads_do_not_change_a_bit",
        "tests/solvers/test_solvers.py::test_results_do_not_depend_on_threads",
        "tests/denoising/test_patch_filter.py::test_same_bits_for_threads_and_variants",
    ],
}
"""Tests that run all of the C core; those for races run few others, which are slow under it."""


def built(session, *kinds):
    """Build the package in a scratch folder; the paths of what was built."""
    session.install("build")
    folder = session.create_tmp()
    shutil.rmtree(Path(folder, "dist"), ignore_errors=True)
    session.run("python", "-m", "build", *kinds, "--outdir", f"{folder}/dist", ".", silent=True)
    return sorted(Path(folder, "dist").iterdir())


@nox.session
def check(session):
    """Everything that a change must pass: package, linters, types, documentation, tests."""
    wheel, _ = built(session)  # sorted: the wheel comes before the sdist
    session.run("python", ".ci/check_contents.py", str(wheel.parent))
    session.install(f"{wheel}[dev,docs]")
    _lint(session)
    _docs(session)
    session.run("python", "-P", "-m", "pytest", "-q", *session.posargs)


@nox.session
def tests(session):
    """The tests; arguments go to pytest: `nox -s tests -- tests/graph`."""
    session.install(".[test]")
    session.run("python", "-P", "-m", "pytest", "-q", *session.posargs)


@nox.session
def coverage(session):
    """Lines of Python that the tests run, without the slow ones."""
    session.install(".[test]", "pytest-cov")
    session.run("python", "-P", "-m", "pytest", "-q", "-m", "not slow", "--cov", *session.posargs)


@nox.session
def lint(session):
    """Linters and types, by pre-commit; `pre-commit install` runs them before each commit."""
    session.install(".[dev]")
    _lint(session)


def _lint(session):
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure")


@nox.session
def docs(session):
    """The site, in docs/_build; a warning is an error, also about a docstring."""
    session.install(".[docs]")
    _docs(session)


def _docs(session):
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", "docs/_build")
    session.run("python", "images/make_images.py", "--check")


@nox.session(python="3.11")
def lowest(session):
    """The tests with the lowest versions of all dependencies that pyproject.toml allows."""
    session.install("--constraint", ".ci/lowest.txt", ".[test]")
    session.run("python", "-P", "-m", "pytest", "-q", *session.posargs)


@nox.session
def sdist(session):
    """The sdist builds where nothing else is, and passes its tests alone."""
    (archive,) = built(session, "--sdist")
    shutil.unpack_archive(archive, archive.parent, filter="data")
    session.chdir(str(archive).removesuffix(".tar.gz"))
    session.install(".[test]")
    session.run("python", "-P", "-m", "pytest", "-q", *session.posargs)


@nox.session
def reproducible(session):
    """Two builds of the wheel, in folders of different names, are the same bytes."""
    last = ["git", "log", "-1", "--format=%ct"]
    time = subprocess.run(last, capture_output=True, text=True, check=True).stdout.strip()
    session.env["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH", time)
    (archive,) = built(session, "--sdist")
    digests = set()
    for name in ("one", "another/folder"):
        folder = archive.parent / name
        shutil.unpack_archive(archive, folder, filter="data")
        (source,) = folder.iterdir()
        session.run("python", "-m", "build", "--wheel", str(source), silent=True)
        (wheel,) = source.glob("dist/*.whl")
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    if len(digests) > 1:
        session.error(f"the wheels differ: {digests}")


@nox.session
@nox.parametrize("kind", ["address", "thread"])
def sanitize(session, kind):
    """Tests of the C core under sanitizers: addresses and undefined behavior, or races."""
    session.install(".[test]", *BUILD)
    folder = Path(session.create_tmp(), "sanitized")
    also = ",undefined" if kind == "address" else ""
    flags = f"-fsanitize={kind}{also} -fno-omit-frame-pointer -g -O1"
    session.install(
        *("--no-deps", "--no-build-isolation", "--upgrade", "--target", str(folder), "."),
        *("-C", "cmake.build-type=Debug", "-C", f"cmake.define.CMAKE_C_FLAGS={flags}"),
    )
    known = folder / "known"  # glibc frees what an ended thread kept for scipy's transforms
    known.write_text("race:_dl_deallocate_tls\n")
    names = ("libasan.so", "libubsan.so") if kind == "address" else ("libtsan.so",)
    files = [["gcc", f"-print-file-name={name}"] for name in names]
    found = [subprocess.run(f, capture_output=True, text=True).stdout.strip() for f in files]
    environment = {
        "LD_PRELOAD": " ".join(found),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "halt_on_error=1",
        "TSAN_OPTIONS": f"report_signal_unsafe=0 die_after_fork=0 suppressions={known}",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(folder),
    }
    runner = ["setarch", "-R"] if kind == "thread" else []
    options = ["-s", "-n", "0"] if kind == "thread" else ["-m", "not slow"]
    tests = session.posargs or SANITIZED[kind]
    run = *runner, "python", "-P", "-m", "pytest", *options, *tests
    session.run(*run, external=True, env=environment)


@nox.session
@nox.parametrize("target", ["aarch64-linux-musl", "aarch64-macos", "x86_64-macos"])
def cross(session, target):
    """Compile and link the C core for another system by zig: that it builds, not that it runs."""
    session.install("ziglang", *BUILD)
    work = Path(session.create_tmp())
    compiler = work / "zig-cc"
    compiler.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "drop = lambda a: a.startswith('-Wl,-headerpad')\n"  # zig's linker for macOS fails on both
        "args = ['-shared' if a == '-bundle' else a for a in sys.argv[1:] if not drop(a)]\n"
        f"zig = [{session.bin!r} + '/python', '-m', 'ziglang', 'cc', '-target', {target!r}]\n"
        "os.execv(zig[0], zig + args)\n"
    )
    compiler.chmod(0o755)
    processor, system = target.split("-")[:2]
    definitions = {
        "CMAKE_SYSTEM_NAME": {"linux": "Linux", "macos": "Darwin"}[system],
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_C_COMPILER": compiler,
        "SKBUILD_SABI_COMPONENT": "Development.SABIModule",
        "SKBUILD_SABI_VERSION": "3.11",
        "Python_EXECUTABLE": Path(session.bin, "python"),
    }
    given = [f"-D{name}={value}" for name, value in definitions.items()]
    session.run("cmake", "-GNinja", "-S", "src_c", "-B", f"{work}/{target}", *given, silent=True)
    session.run("cmake", "--build", f"{work}/{target}")
