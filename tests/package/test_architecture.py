"""The house: rooms import only from rooms before them; files, functions and names stay few."""

import ast
import inspect
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import nnk_image

ROOT = Path(nnk_image.__file__).parent
ORDER = (
    *("base", "configuration", "io", "neighbors", "graph", "spectral", "solvers", "wavelets"),
    *("noise", "denoising", "tiled", "napari", "learning", "plotting", "cli"),
)
"""Modules directly below `nnk_image`: each may import from those before it, and from itself."""

MOST_LINES, MOST_NAMES, MOST_PARAMETERS = 450, 60, 10
MORE_PARAMETERS = {"denoise": 11, "SpectralGraphWavelets": 12, "energy_compaction": 14}
MORE_PARAMETERS |= {"solvers.gglr": 11}
NAMES = nnk_image.__all__
LAZY = {"cli"}  # whose functions import what they need, to start fast
SOURCES = {p.relative_to(ROOT.parent).with_suffix("").parts: p for p in ROOT.rglob("*.py")}


def name_of(parts):
    return ".".join(parts).removesuffix(".__init__")


def imports(parts):
    """(module, whether in a function) for the modules of `nnk_image` that a module imports."""
    names = {name_of(other) for other in SOURCES}
    tree = ast.parse(SOURCES[parts].read_text(encoding="utf-8"))
    for node in ast.walk(tree):  # imports for types only do not count
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(parts)}: relative import"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if name in names else node.module for name in full]
        for name in found:
            if name.startswith("nnk_image."):
                yield name, id(node) in inside


def room_of(name):
    return name.split(".")[1]


def public_names():
    """Every public name with its path."""
    modules = [nnk_image, *filter(inspect.ismodule, (getattr(nnk_image, n) for n in NAMES))]
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                yield f"{module.__name__}.{name}".removeprefix("nnk_image."), thing


def test_the_order_names_everything_there_is():
    rooms = {parts[1] for parts in SOURCES}
    assert rooms - {"__init__", "__main__"} == set(ORDER)
    assert len(ORDER) <= 16


def test_no_import_goes_upwards_or_hides_in_a_function():
    upwards, hidden = [], []
    for parts in SOURCES:
        if parts[1] not in ORDER:
            continue
        for name, in_function in imports(parts):
            if ORDER.index(room_of(name)) > ORDER.index(parts[1]):
                upwards.append((name_of(parts), name))
            if in_function and parts[1] not in LAZY:
                hidden.append((name_of(parts), name))
    assert not upwards
    assert not hidden


def test_no_cycle_of_imports():
    graph = {name_of(parts): {name for name, _ in imports(parts)} for parts in SOURCES}
    for package in [name_of(parts) for parts in SOURCES if parts[-1] == "__init__"]:
        for importers in graph.values():  # importing a module runs its package first, and may then
            importers.discard(package)  # come from within it
    TopologicalSorter(graph).prepare()


def test_no_file_is_too_long():
    lines = {name_of(k): len(p.read_text("utf-8").splitlines()) for k, p in SOURCES.items()}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def test_public_names_are_few_and_have_one_path():
    names = dict(public_names())
    assert len(names) <= MOST_NAMES
    things = [id(thing) for thing in names.values()]
    assert len(set(things)) == len(things)
    last = [name.rpartition(".")[2] for name in names]
    assert {name for name in last if last.count(name) > 1} <= {"denoise"}  # of arrays, and lazily


@pytest.mark.parametrize(("name", "thing"), list(public_names()))
def test_public_functions_have_few_parameters(name, thing):
    if not (inspect.isclass(thing) and issubclass(thing, BaseEstimator | Exception)):
        most = MORE_PARAMETERS.get(name, MOST_PARAMETERS)
        assert len(inspect.signature(thing).parameters) <= most


def test_a_first_denoise_imports_no_more_than_it_needs():
    script = """
        import sys, numpy as np, nnk_image
        nnk_image.denoise(np.random.default_rng(0).normal(size=(40, 50)), 1.0)
        loaded = {name.partition(".")[0] for name in sys.modules} | set(sys.modules)
        print(*loaded & {"PIL", "tifffile", "sklearn", "skimage.io", "dask", "matplotlib"})
    """
    lines = "\n".join(line.strip() for line in script.splitlines())
    run = [sys.executable, "-W", "error", "-c", lines]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
