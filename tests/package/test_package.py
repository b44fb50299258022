"""The package as a whole: public names, their documentation, imports."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import is_dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import nnk_image
from nnk_image import graph, io, learning, neighbors, plotting, wavelets
from nnk_image.cli import main

README = Path(__file__).parents[2] / "README.md"
REFERENCE = README.with_name("docs") / "api"

MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(nnk_image.__path__, "nnk_image.")
    if not m.name.endswith(("__main__", "_core"))
)

PLOTS = [
    name
    for name, plot in inspect.getmembers(plotting, inspect.isfunction)
    if plot.__module__.startswith(plotting.__name__) and not name.startswith("_")
]

PUBLIC = {
    f"{package.__name__}.{name}".removeprefix("nnk_image."): getattr(package, name)
    for package in (neighbors, learning, graph, io, wavelets)
    for name in sorted(set(package.__all__) - set(nnk_image.__all__))
}
PUBLIC |= {
    name: getattr(nnk_image, name)
    for name in nnk_image.__all__
    if not inspect.ismodule(getattr(nnk_image, name))
}
PUBLIC |= {f"plotting.{name}": getattr(plotting, name) for name in PLOTS}
"""Public names as they are documented, below `nnk_image`, and what they are."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def wanted_sections(name, thing):
    """Sections of the docstring of a public name."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return set()
    if is_dataclass(thing):  # fields are parameters, or attributes where the library makes it
        return {"Attributes"} if "Attributes\n" in thing.__doc__ else {"Parameters"}
    if name == "bilateral_graph":  # all but what it is stands at image_graph
        return {"References", "Examples"}
    if name.startswith("plotting."):
        return {"Returns"}
    wanted = {"Examples"}
    signature = inspect.signature(thing)
    if inspect.isclass(thing):
        wanted.add("Attributes")
    elif signature.return_annotation not in (None, "None"):
        wanted.add("Returns")
    return wanted | ({"Parameters"} if signature.parameters else set())


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name):
    lines = inspect.getdoc(PUBLIC[name]).splitlines()
    found = {title for title, rule in pairwise(lines) if title and rule == "-" * len(title)}
    assert wanted_sections(name, PUBLIC[name]) <= found


def test_the_reference_holds_every_public_name_once():
    listed = Counter()
    for page in REFERENCE.glob("*.rst"):
        listed.update(
            re.findall(r"^   ([\w.]+)$", page.read_text().partition("autosummary")[2], re.M)
        )
    assert {name for name, times in listed.items() if times > 1} == set()
    assert set(PUBLIC) - set(listed) == set()


def test_the_reference_holds_every_command(capsys):
    assert main(["--help"]) == 0
    commands = re.findall(r"^ {4}(\w+)", capsys.readouterr().out, re.M)
    page = (REFERENCE / "command_line.rst").read_text()
    assert re.findall(r"^\.\. command-help:: (\w+)$", page, re.M) == commands


def test_the_examples_of_the_readme_run():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.S):
        exec(block, names)
    assert np.abs(names["image_again"] - names["image"]).max() < 1e-6
    assert round(names["graph"].nnz / 2 / len(names["X"]), 1) == 7.8
    assert round(names["model"].leave_one_out_error(), 4) == 0.0067


def test_public_names_and_subpackages_are_lazy_attributes():
    assert {*nnk_image.__all__, "__version__"} == set(dir(nnk_image))
    done = run("import nnk_image; nnk_image.io, nnk_image.plotting.plot_noise, nnk_image.learning")
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="sharpen"):
        nnk_image.sharpen  # noqa: B018


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, **options
    )


def test_import_is_light():
    code = "import nnk_image, sys; print('scipy' in sys.modules, 'pygsp' in sys.modules)"
    assert run(code).stdout.split() == ["False", "False"]


def test_without_the_compiled_core_the_error_tells_what_to_do(tmp_path):
    sources = Path(nnk_image.__file__).parent
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "images")
    shutil.copytree(sources, tmp_path / "nnk_image", ignore=ignored)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    # An editable install puts a finder of its own before the folder: leave it out.
    plain = "import sys; sys.meta_path[:] = [f for f in sys.meta_path if isinstance(f, type)]; "
    for code in ("import nnk_image; nnk_image.denoise", "from nnk_image import _core"):
        done = run(plain + code, env=environment, cwd=tmp_path)
        assert done.returncode == 1
        assert "pip install ." in done.stderr


@pytest.mark.parametrize(
    ("missing", "call"),
    [
        ("matplotlib", "from nnk_image.plotting.figures import new_figure; new_figure()"),
        ("networkx", "nnk_image.image_graph(np.zeros((3, 3))).to_networkx()"),
        ("tqdm", "nnk_image.denoise(np.eye(8), 0.1, progress=True)"),
    ],
)
def test_missing_extras_are_named(missing, call):
    done = run(
        f"import sys; sys.modules[{missing!r}] = None; import numpy as np, nnk_image; {call}"
    )
    assert "ImportError" in done.stderr
    assert "pip install 'nnk_image[" in done.stderr
