"""Packages import only from packages before them, at the top of their modules."""

import ast
from pathlib import Path

import pytest

import nnk_image

ROOT = Path(nnk_image.__file__).parent
ORDER = (
    "base",
    "configuration",
    "io",
    "neighbors",
    "graph",
    "spectral",
    "wavelets",
    "noise",
    "denoising",
    "tiled",
    "napari",
    "learning",
    "plotting",
    "cli",
)
"""What lies directly below `nnk_image`: each may import from those before it, and from itself."""

OPTIONAL = (
    *("matplotlib", "imagecodecs", "napari", "networkx", "nibabel", "sklearn"),
    *("tifffile", "tqdm", "zarr"),
)
SLOW = ("PIL", "pygsp", "scipy.spatial", "signal", "threading")  # most calls do without them
IN_FUNCTIONS = {*OPTIONAL, *SLOW, "resource"}  # Windows has no resource
LAZY = {"cli"}  # would be slow to start otherwise


def package_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


SOURCES = sorted(p for p in ROOT.rglob("*.py") if package_of(p) in ORDER)


def imports(path):
    """(names, line, whether in a function) of the imports of a module; names are absolute."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [parent_of(path, node.level), node.module]))
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield names, node.lineno, id(node) in inside


def parent_of(path, level):
    """What a relative import with so many dots begins at; nothing for an absolute one."""
    return ".".join(path.relative_to(ROOT.parent).parts[:-level]) if level else ""


def own_packages(names):
    """The packages of `nnk_image` that are imported from."""
    below = (name.split(".")[1] for name in names if name.startswith("nnk_image."))
    return {name for name in below if name in ORDER}


def test_the_order_names_everything_there_is():
    found = {package_of(p) for p in ROOT.rglob("*.py")}
    assert found - {"__init__", "__main__"} == set(ORDER)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_import_goes_upwards(path):
    rank = ORDER.index(package_of(path))
    for names, line, _ in imports(path):
        upwards = {name for name in own_packages(names) if ORDER.index(name) > rank}
        assert not upwards, f"{path}:{line}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_functions_import_nothing_of_the_package(path):
    for names, line, in_function in imports(path):
        if in_function and package_of(path) not in LAZY:
            for name in names:
                parts = name.split(".")
                assert IN_FUNCTIONS & {parts[0], ".".join(parts[:2])}, f"{path}:{line}: {name}"
