"""Every imported package is declared as a dependency, and every declared one is imported."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import nnk_image

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
PACKAGE = Path(nnk_image.__file__).parent
EXTRAS = PROJECT["optional-dependencies"]
FOR_USERS = set(EXTRAS) - {"test", "docs", "dev"}
WITHOUT_IMPORT = {"napari"}  # napari imports this package
IMPORTS = {"scikit-image": "skimage", "pillow": "PIL", "scikit-learn": "sklearn"}
IMPORTS |= {"pillow-heif": "pillow_heif"}


def names(requirements):
    """Return the import names of required packages."""
    found = {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}
    return {IMPORTS.get(name, name) for name in found}


def imported(path):
    """Return the third-party packages that a module imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    found = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    found |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    return {name.partition(".")[0] for name in found} - {"nnk_image"} - sys.stdlib_module_names


def test_imported_packages_are_declared_and_vice_versa():
    found = set().union(*map(imported, PACKAGE.rglob("*.py")))
    needed = names(PROJECT["dependencies"])
    optional = names(r for extra in FOR_USERS for r in EXTRAS[extra])
    assert found - needed - optional == set()
    assert (needed | optional) - found - WITHOUT_IMPORT == set()
