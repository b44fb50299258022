"""The structure of the package: order of imports, and limits on files, names and parameters."""

import ast
import inspect
import re
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from child import python
from public_names import public_names
from sklearn.base import BaseEstimator

import nnk_image

ROOT = Path(nnk_image.__file__).parent
ORDER = (
    *("base", "configuration", "io", "neighbors", "graph", "spectral", "solvers", "wavelets"),
    *("noise", "denoising", "tiled", "napari", "learning", "plotting", "cli"),
)
"""Top-level modules of `nnk_image`; each may import from itself and from those before it."""

MOST_LINES, MOST_NAMES, MOST_PARAMETERS = 450, 60, 10
MORE_PARAMETERS = {"denoise": 11, "SpectralGraphWavelets": 12, "energy_compaction": 14}
MORE_PARAMETERS |= {"solvers.gglr": 11}
LAZY = {"cli"}  # its functions import what they need, for a fast start
SOURCES = {p.relative_to(ROOT.parent).with_suffix("").parts: p for p in ROOT.rglob("*.py")}


def name_of(parts):
    return ".".join(parts).removesuffix(".__init__")


def imports(parts):
    """Yield the full name of each import of a module, and whether it is inside a function."""
    tree = ast.parse(SOURCES[parts].read_text(encoding="utf-8"))
    for node in ast.walk(tree):  # imports only for types do not count
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name_of(parts)}: relative import"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in found:
            yield name, id(node) in inside


def own_imports(parts):
    """Yield each module of `nnk_image` that a module imports, and whether inside a function."""
    modules = {name_of(other) for other in SOURCES}
    for name, in_function in imports(parts):
        module = name if name in modules else name.rpartition(".")[0]
        if module.startswith("nnk_image."):
            yield module, in_function


def top_level_of(name):
    return name.split(".")[1]


def test_the_order_lists_every_module():
    top_level = {parts[1] for parts in SOURCES}
    assert top_level - {"__init__", "__main__"} == set(ORDER)
    assert len(ORDER) <= 16


def test_modules_import_only_earlier_ones_and_outside_functions():
    upwards, hidden = [], []
    for parts in SOURCES:
        if parts[1] not in ORDER:
            continue
        for name, in_function in own_imports(parts):
            if ORDER.index(top_level_of(name)) > ORDER.index(parts[1]):
                upwards.append((name_of(parts), name))
            if in_function and parts[1] not in LAZY:
                hidden.append((name_of(parts), name))
    assert not upwards
    assert not hidden


def test_imports_have_no_cycles():
    graph = {name_of(parts): {name for name, _ in own_imports(parts)} for parts in SOURCES}
    for package in [name_of(parts) for parts in SOURCES if parts[-1] == "__init__"]:
        # Importing a module runs its package first, so modules may import their own package.
        for importers in graph.values():
            importers.discard(package)
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
    # `denoise` exists for numpy and for dask arrays.
    assert {name for name in last if last.count(name) > 1} <= {"denoise"}


def test_public_functions_have_few_parameters():
    many = {
        name: len(inspect.signature(thing).parameters)
        for name, thing in public_names()
        if not (inspect.isclass(thing) and issubclass(thing, BaseEstimator | Exception))
    }
    assert {k: n for k, n in many.items() if n > MORE_PARAMETERS.get(k, MOST_PARAMETERS)} == {}


PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTS = {"scikit-image": "skimage", "pillow": "PIL", "scikit-learn": "sklearn"}
IMPORTS |= {"pillow-heif": "pillow_heif"}


def test_imported_packages_are_declared_and_vice_versa():
    used = {name.partition(".")[0] for parts in SOURCES for name, _ in imports(parts)}
    used -= {"nnk_image"} | sys.stdlib_module_names
    declared = [*PROJECT["dependencies"]]
    for extra in set(EXTRAS) - {"test", "docs", "dev"}:
        declared += EXTRAS[extra]
    names = {re.match(r"[\w.-]+", requirement)[0] for requirement in declared}
    assert used == {IMPORTS.get(name, name) for name in names}


DENOISE = "import numpy as np; nnk_image.denoise(np.random.default_rng(0).random((40, 50)), 0.2)"
UNUSED = {"PIL", "tifffile", "sklearn", "skimage.io", "dask", "matplotlib", "tqdm"}


@pytest.mark.parametrize(
    ("use", "unneeded"), [("", {*UNUSED, "numpy", "scipy", "skimage", "pygsp"}), (DENOISE, UNUSED)]
)
def test_unneeded_packages_are_not_imported(use, unneeded):
    loaded = python(f"import sys, nnk_image\n{use}\nprint(*sys.modules)", flags=("-W", "error"))
    assert {"nnk_image", "lazy_loader"} <= set(loaded)
    assert not unneeded & set(loaded)
