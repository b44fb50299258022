"""Releases: one version everywhere, the conda recipe, and the configuration."""

import re
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


def test_the_version_is_the_same_everywhere():
    """It is defined in pyproject.toml; the citation and the changelog must agree."""
    version = PROJECT["version"]
    assert nnk_image.__version__ == metadata.version("nnk_image") == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version
    for path in (ROOT / "nnk_image").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(encoding="utf-8"), path


def test_the_conda_recipe_agrees_with_pyproject():
    if not RECIPE.exists():
        pytest.skip("the sdist has no recipe")
    recipe = RECIPE.read_text()
    assert f'version: "{PROJECT["version"]}"' in recipe
    run = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.M)[1]
    needed = ["python" + PROJECT["requires-python"], *PROJECT["dependencies"]]
    assert [line.removeprefix("    - ").replace(" ", "") for line in run.splitlines()] == needed


def test_show_config_lists_versions_and_settings(capsys, monkeypatch):
    packages = (*configuration.PACKAGES, "not-a-package")
    monkeypatch.setattr(configuration, "PACKAGES", packages)
    nnk_image.show_config()
    lines = capsys.readouterr().out.splitlines()
    facts = {line[:14].rstrip(): line[14:] for line in lines}
    assert facts["nnk_image"] == nnk_image.__version__
    assert facts["simd"].startswith(f"{_core.simd_variant()} (of ")
    assert facts["threads"] == str(resolve_n_jobs(-1))
    assert facts["numpy"] == metadata.version("numpy")
    assert facts["pillow"][0].isdigit()
    assert facts["tifffile"][0].isdigit()
    assert "openblas" in facts["blas"] or facts["blas"] == "not installed"
    assert facts["not-a-package"] == "not installed"
