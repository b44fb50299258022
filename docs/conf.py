"""How Sphinx builds the documentation: ``sphinx-build -W --keep-going docs docs/_build``.

It needs what ``pip install ".[docs]"`` brings, and no network.  CONTRIBUTING.md describes the
pages.  ``-D run_notebooks=0`` leaves out the outputs of the notebooks, which take most of the time.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from numpydoc.xref import DEFAULT_LINKS
from sphinx.util.nodes import make_refnode

import nnk_image
import nnk_image.graph
import nnk_image.io
import nnk_image.learning
import nnk_image.neighbors
import nnk_image.wavelets

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the extension beside this file

URLS = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"].get("urls", {})
"""Addresses of repository, site and tracker, which stand in pyproject.toml alone."""

project = "nnk_image"
author = "The nnk_image developers"
version = release = nnk_image.__version__
html_title = f"nnk_image {version}"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "logo": {"text": "nnk_image"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["sphinx-version"],
    "footer_end": ["theme-version"],
}
if "Repository" in URLS:
    html_theme_options["icon_links"] = [
        {"name": "Repository", "url": URLS["Repository"], "icon": "fa-solid fa-code-branch"}
    ]
html_baseurl = URLS.get("Documentation", "")
html_sidebars = {"index": [], "compared": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = False
toc_object_entries_show_parents = "hide"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "notebook_gallery",
]
exclude_patterns = ["jupyter_execute", "_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

nb_execution_mode = "off"  # notebook_gallery.py runs them
nb_merge_streams = True

default_role = "py:obj"  # of what stands in single backticks: see `link`
nitpicky = True
smartquotes = False  # 'nnk' is to be copied as it stands
autodoc_typehints = "none"  # the docstrings say more
autodoc_member_order = "bysource"
# Docstrings of public names: present, one summary line in the imperative that ends with a period,
# no parameter that there is not, what is yielded.
numpydoc_validation_checks = {
    *("GL03", "GL06", "GL07", "GL08", "GL10", "SS01", "SS03", "SS04", "SS05"),
    *("PR02", "PR05", "PR06", "PR10", "RT05", "YD01"),
}
numpydoc_show_class_members = False  # the template lists them: ours, not scikit-learn's

PACKAGES = (nnk_image.neighbors, nnk_image.learning, nnk_image.graph, nnk_image.io)
PACKAGES += (nnk_image.wavelets, nnk_image)
"""Packages whose public names the reference holds; a name of several is that of the last."""

HOMES = {name: package.__name__ for package in PACKAGES for name in package.__all__}
"""Where the names are documented that docstrings mention without their module."""

OTHERS = ("matplotlib", "pygsp", "scipy", "sklearn")
"""Libraries whose names are set as they are: looking them up would need a network."""

# Of types, link our own only.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS}
numpydoc_xref_aliases |= {
    name: f"{home}.{name}" for name, home in HOMES.items() if name[0].isupper()
}


def link(app, env, node, contnode):
    """Link what stands in backticks where Python's scopes do not find it.

    A word that is no name is a parameter, set in italics. What looks like a name of ours
    and is none stays unresolved, which nitpicky reports.
    """
    if node.get("refdomain") != "py":
        return None
    first, _, rest = (target := node["reftarget"]).partition(".")
    objects = env.domains["py"].objects
    entry = objects.get(f"{HOMES.get(first)}.{target}") or objects.get(target)
    if entry:
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode)
    if first in OTHERS:
        return contnode
    is_name = rest or first in HOMES or re.match("[A-Z].*[a-z]", first)
    return None if is_name else nodes.emphasis(target, target)


def leave_out_foreign(app, what, name, obj, skip, options):
    """Leave out members that a class has from another library."""
    obj = getattr(obj, "fget", None) or getattr(obj, "func", obj)
    return skip or not (getattr(obj, "__module__", "") or "").startswith("nnk_image")


class CommandHelp(Directive):
    """What ``nnk-image COMMAND --help`` prints, or ``nnk-image --help``."""

    optional_arguments = 1

    def run(self):
        arguments = [*self.arguments, "--help"]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "nnk_image", *arguments],
            env={**os.environ, "COLUMNS": "88", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        text = f"$ nnk-image {' '.join(arguments)}\n{done.stdout}"
        return [nodes.literal_block(text, text, language="text")]


def setup(app):
    app.connect("missing-reference", link)
    app.connect("autodoc-skip-member", leave_out_foreign)
    app.add_directive("command-help", CommandHelp)
