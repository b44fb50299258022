"""What a release says of itself: one version, an import that is light, facts for bug reports."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import nnk_image
from nnk_image import _core, configuration
from nnk_image.base.parallel import resolve_n_jobs

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / ".ci" / "recipe.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    """It is written in pyproject.toml; the citation and the changes must follow."""
    version = PROJECT["version"]
    assert nnk_image.__version__ == metadata.version("nnk_image") == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version
    for path in (ROOT / "nnk_image").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(encoding="utf-8"), path


def test_the_conda_recipe_follows():
    if not RECIPE.exists():
        pytest.skip("the sdist has no recipe")
    recipe = RECIPE.read_text()
    assert f'version: "{PROJECT["version"]}"' in recipe
    run = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.M)[1]
    needed = ["python" + PROJECT["requires-python"], *PROJECT["dependencies"]]
    assert [line.removeprefix("    - ").replace(" ", "") for line in run.splitlines()] == needed


def test_the_import_loads_no_other_library():
    script = "import sys, nnk_image; print(*{name.partition('.')[0] for name in sys.modules})"
    run = [sys.executable, "-c", script]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert {"nnk_image", "lazy_loader"} <= set(loaded)
    assert not {"numpy", "scipy", "PIL", "tifffile", "skimage", "sklearn", "pygsp"} & set(loaded)


def test_configuration(capsys, monkeypatch):
    facts = nnk_image.show_config("dict")
    assert None not in (facts["pillow"], facts["tifffile"])  # what reads files
    assert facts["nnk_image"] == nnk_image.__version__
    assert facts["simd"].startswith(f"{_core.simd_variant()} (of ")
    assert facts["threads"] == resolve_n_jobs(-1)
    assert facts["numpy"] == metadata.version("numpy")
    assert "openblas" in facts["blas"] or not facts["blas"]
    monkeypatch.setattr(configuration, "PACKAGES", ("numpy", "not-a-package"))
    assert nnk_image.show_config() is None
    printed = capsys.readouterr().out
    assert re.search(r"^not-a-package +not installed$", printed, re.M)
    with pytest.raises(ValueError, match="mode must be 'print' or 'dict', got 'json'"):
        nnk_image.show_config("json")
