"""The gallery: every notebook of ``notebooks/``, run, as a page of the site with a card.

The notebooks are kept without outputs.  A build runs those that have changed since the last one,
two at a time, and writes copies with outputs below ``docs/gallery``, with a picture of each for its
card: the first one of the cell with the tag "gallery", or of the notebook.  ``sphinx-build -D
run_notebooks=0`` leaves them as they are kept, which takes seconds instead of minutes.
"""

import base64
import hashlib
import io
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
GALLERY = Path(__file__).with_name("gallery")

AT_ONCE = 2
"""Notebooks that run at the same time."""

WIDTH = 800
"""Most pixels of a card's picture from left to right."""

NOTE = "{{download}}`Download the notebook <../../notebooks/{name}.ipynb>` to run it yourself."

log = logging.getLogger(__name__)


class NotebookCards(SphinxDirective):
    """A card for each notebook, in the order of their names, and their pages in the navigation."""

    def run(self):
        paths = sorted(NOTEBOOKS.glob("*.ipynb"))
        for source in (NOTEBOOKS, *paths, __file__):
            self.env.note_dependency(str(source))
        cards = "\n".join(card(path) for path in paths)
        pages = "\n".join(path.stem for path in paths)
        grid = f":::::{{grid}} 1 2 2 2\n:gutter: 3\n\n{cards}\n:::::\n"
        return self.parse_text_to_nodes(f"{grid}\n:::{{toctree}}\n:hidden:\n\n{pages}\n:::\n")


def card(path):
    """Markdown of a notebook's card: its picture, its title, and how it begins."""
    title, first_words = heading(nbformat.read(path, as_version=4))
    picture = f"{path.stem}.png"
    shown = f":img-top: {picture}\n" if (GALLERY / picture).exists() else ""
    return (
        f"::::{{grid-item-card}} {title}\n{shown}:link: {path.stem}\n:link-type: doc\n"
        f":class-img-top: gallery-picture\n\n{first_words}\n::::\n"
    )


def heading(notebook):
    """Title of a notebook, and the first sentences below it."""
    title, _, rest = notebook.cells[0].source.partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    sentences = paragraph.split(". ")
    shown = 1 if len(sentences[0]) > 60 else 2
    return title.lstrip("# "), ". ".join(sentences[:shown]).rstrip(".") + "."


def make_pages(app):
    """Bring the notebooks below ``docs/gallery``, where Sphinx finds them, with their outputs."""
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    for stray in GALLERY.glob("*.ipynb"):
        if stray.name not in {path.name for path in paths}:
            stray.unlink()
            stray.with_suffix(".png").unlink(missing_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda path: make_page(path, app.config.run_notebooks), paths))


def make_page(path, run):
    """Write the page of a notebook and the picture of its card, if they are not there already."""
    key = f"{hashlib.sha256(path.read_bytes() + Path(__file__).read_bytes()).hexdigest()} {run:d}"
    page = GALLERY / path.name
    if page.exists() and nbformat.read(page, as_version=4).metadata.get("made_from") == key:
        return
    notebook = nbformat.read(path, as_version=4)
    if run:
        log.info("running %s", path.name)
        with tempfile.TemporaryDirectory() as folder:
            resources = {"metadata": {"path": folder}}
            quiet = ["--log-level=ERROR"]
            NotebookClient(
                notebook, timeout=600, resources=resources, extra_arguments=quiet
            ).execute()
        keep_picture(notebook, page.with_suffix(".png"))
    title, _, rest = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{NOTE.format(name=path.stem)}\n\n{rest}"
    notebook.metadata["made_from"] = key
    page.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def keep_picture(notebook, target):
    """Write the picture that stands for an executed notebook, if it has one."""
    pictures = [
        ("gallery" not in cell.metadata.get("tags", []), data)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if (data := output.get("data", {}).get("image/png"))
    ]
    if pictures:
        data = min(pictures, key=lambda picture: picture[0])[1]
        picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
        picture.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
        picture.quantize(128).save(target, optimize=True)


def setup(app):
    app.add_config_value("run_notebooks", True, "env", types=bool)
    app.connect("builder-inited", make_pages)
    app.add_directive("notebook-cards", NotebookCards)
    return {"parallel_read_safe": True}
