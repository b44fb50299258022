"""The package as a whole: public names, their documentation, imports."""

import doctest
import importlib.util
import inspect
import pkgutil
import re
import shutil
from collections import Counter
from dataclasses import is_dataclass
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from child import python, run
from public_names import public_names

import nnk_image
from nnk_image.cli import main

README = Path(__file__).parents[2] / "README.md"
REFERENCE = README.with_name("docs") / "api"

MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(nnk_image.__path__, "nnk_image.")
    if not m.name.endswith(("__main__", "_core"))
)

PUBLIC = dict(public_names())


def has_examples(name):
    source = importlib.util.find_spec(name).origin
    return ">>>" in Path(source).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*filter(has_examples, MODULES)])
def test_docstring_examples_run(name):
    plt.close("all")  # plots go to the current axes, which another test may have left
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def wanted_sections(name, thing):
    """Return the sections that the docstring of a public name needs."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return set()
    if is_dataclass(thing):  # fields are parameters, or attributes if the library creates it
        return {"Attributes"} if "Attributes\n" in thing.__doc__ else {"Parameters"}
    if name == "bilateral_graph":  # the rest is documented at image_graph
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


def test_public_names_are_documented():
    missing = {}
    for name, thing in PUBLIC.items():
        lines = inspect.getdoc(thing).splitlines()
        found = {title for title, rule in pairwise(lines) if title and rule == "-" * len(title)}
        missing[name] = wanted_sections(name, thing) - found
    assert {name: sections for name, sections in missing.items() if sections} == {}


def test_the_reference_lists_every_public_name_once():
    listed = Counter()
    for page in REFERENCE.glob("*.rst"):
        listed.update(
            re.findall(r"^   ([\w.]+)$", page.read_text().partition("autosummary")[2], re.M)
        )
    assert {name for name, times in listed.items() if times > 1} == set()
    assert set(PUBLIC) - set(listed) == set()


def test_the_reference_lists_every_command(capsys):
    assert main(["--help"]) == 0
    commands = re.findall(r"^ {4}(\w+)", capsys.readouterr().out, re.M)
    page = (REFERENCE / "command_line.rst").read_text()
    assert re.findall(r"^\.\. command-help:: (\w+)$", page, re.M) == commands


def test_examples_of_the_readme_run():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.S):
        exec(block, names)
    assert names["clean"].shape == names["photo"].shape
    assert 0 < max(names["noise"].sigma) < 5
    assert names["graph"].n_edges < 5 * names["image"].size
    assert names["bands"].shape == (7, 256, 256)


def test_public_names_and_subpackages_are_lazy_attributes():
    assert {*nnk_image.__all__, "__version__"} == set(dir(nnk_image))
    python("import nnk_image; nnk_image.io, nnk_image.plotting.plot_noise", flags=STRICT)
    with pytest.raises(AttributeError, match="sharpen"):
        nnk_image.sharpen  # noqa: B018


STRICT = ("-W", "error")


@pytest.fixture
def sources(tmp_path):
    """Return a folder with the package but without its compiled core, like a clone."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "images")
    package = Path(nnk_image.__file__).parent
    shutil.copytree(package, tmp_path / "clone" / "nnk_image", ignore=ignored)
    return tmp_path / "clone"


def run_in(sources, code, installed=None):
    """Run code in a Python that looks for modules in the folder of the sources first."""
    # The import finder of an editable install would precede all folders.
    plain = f"""if True:
        import sys
        from pathlib import Path
        sys.meta_path[:] = [f for f in sys.meta_path if isinstance(f, type)]
        installed = {installed and str(installed)!r}
        others = [p for p in sys.path if installed or not Path(p, "nnk_image").is_dir()]
        sys.path[:] = ["", *filter(None, [installed, *others])]
    """
    return run(f"{plain}\n{code}", flags=STRICT, cwd=sources, PYTHONSAFEPATH="")


def test_python_started_in_the_sources_uses_the_installed_package(sources):
    installed = Path(nnk_image.__file__).parents[1]
    code = (
        "import nnk_image; from nnk_image import _core, denoise; print(nnk_image.__file__); "
        "assert nnk_image.io.read and nnk_image.standard_image('camera').shape == (256, 256)"
    )
    done = run_in(sources, code, installed)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).samefile(nnk_image.__file__)


def test_without_an_installed_package_the_error_says_how_to_install(sources):
    done = run_in(sources, "import nnk_image")
    assert done.returncode == 1
    *_, last = done.stderr.splitlines()
    assert last.startswith("ImportError: ")
    assert str(sources.resolve()) in last
    assert last.endswith("-m pip install .")
    assert len(done.stderr.splitlines()) < 10


def documented_names():
    """Return the full names in subpackages that pages, notebooks and examples use."""
    pages = [README, *README.parent.glob("docs/**/*.md"), *README.parent.glob("docs/**/*.rst")]
    pages += README.parent.glob("notebooks/*.ipynb")
    lines = [page.read_text(encoding="utf-8") for page in pages]
    for module in Path(nnk_image.__file__).parent.glob("**/*.py"):
        lines += re.findall(r"(?:>>>|\.\.\.) (.*)", module.read_text(encoding="utf-8"))
    lines = [re.sub(r"(?m)^.*\bimport\b.*$", "", text) for text in lines]
    return sorted({name for text in lines for name in re.findall(r"nnk_image(?:\.\w+){2,}", text)})


@pytest.mark.parametrize("name", documented_names())
def test_documented_names_need_only_the_import_of_the_package(name):
    python(f"import nnk_image; {name}", flags=STRICT)


@pytest.mark.parametrize(
    "use", ["from nnk_image import *", "[getattr(nnk_image, n) for n in dir(nnk_image)]"]
)
def test_public_names_work_without_the_extras(use):
    missing = ("dask", "zarr", "sklearn", "matplotlib", "networkx", "nibabel", "imagecodecs")
    hide = f"import sys; sys.modules.update(dict.fromkeys({missing!r}))"
    names = "nnk_image.denoise, nnk_image.learning, nnk_image.plotting"
    python(f"{hide}; import nnk_image; {use}; {names}", flags=STRICT)


HEIF = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40)
NIFTI = b"\x5c\1\0\0" + bytes(340) + b"n+1\0" + bytes(40)
ESTIMATORS = ("NNKClassifier", "NNKGraphTransformer", "NNKMeans", "KStarNeighborsRegressor")


@pytest.mark.parametrize(
    ("missing", "extra", "call"),
    [
        ("dask", "tiled", "nnk_image.denoise_tiles"),
        ("dask", "tiled", "nnk_image.tiled"),
        ("matplotlib", "plot", "nnk_image.plotting.figures.new_figure()"),
        ("networkx", "networkx", "nnk_image.image_graph([[0.0, 1]]).to_networkx()"),
        ("torch", "torch", "nnk_image.solvers.TorchGraph([[0, 1], [1, 0]])"),
        ("nibabel", "nifti", "nnk_image.io.read('a.nii')"),
        ("nibabel", "nifti", "nnk_image.io.write('b.nii', [[[0.0]]])"),
        ("pillow_heif", "heif", "nnk_image.io.read('a.heic')"),
        ("imagecodecs", "codecs", "nnk_image.io.write('b.png', np.zeros((4, 5, 3), 'u2'))"),
        *(("sklearn", "neighbors", f"nnk_image.{name}") for name in ESTIMATORS),
    ],
)
def test_missing_extras_are_named(missing, extra, call, tmp_path):
    (tmp_path / "a.heic").write_bytes(HEIF)
    (tmp_path / "a.nii").write_bytes(NIFTI)
    hide = f"import sys; sys.modules[{missing!r}] = None; import numpy as np, nnk_image"
    done = run(f"{hide}; {call}", flags=STRICT, cwd=tmp_path)
    assert f"pip install 'nnk_image[{extra}]'" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("b.*"))
