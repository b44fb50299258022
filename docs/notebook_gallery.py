"""The gallery: every notebook of ``notebooks/`` as a page of the site, with a card that shows it.

The notebooks are kept without outputs, and running them takes longer than everything else.  So

- ``sphinx-build docs OUT`` shows them as they are kept, each with one of its pictures at the top;
- ``sphinx-build -D nb_execution_mode=cache docs OUT`` runs those that have changed since the last
  time, and shows all that they print and draw;
- ``python docs/notebook_gallery.py [NAME ...]`` runs notebooks and keeps one picture of each as
  ``docs/gallery/NAME.png``: the output of the cell with the tag "gallery", or the first one.

A notebook that has no picture yet gets a page and a card all the same.
"""

import base64
import io
import sys
from pathlib import Path

import nbformat
from PIL import Image
from sphinx.util.docutils import SphinxDirective

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
GALLERY = Path(__file__).with_name("gallery")

WIDTH = 800
"""Most pixels of a kept picture from left to right."""

DOWNLOAD = "{{download}}`Download the notebook <../../notebooks/{name}.ipynb>` to run it."

HINT = " This page shows its code without what it prints and draws, but for one picture."


class NotebookCards(SphinxDirective):
    """A card for each notebook, in the order of their names, and their pages in the navigation."""

    def run(self):
        paths = sorted(NOTEBOOKS.glob("*.ipynb"))
        for source in (NOTEBOOKS, *paths, __file__):
            self.env.note_dependency(str(source))
        cards = "\n".join(card(path) for path in paths)
        pages = "\n".join(path.stem for path in paths)
        grid = f":::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{cards}\n:::::\n"
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


def copy_notebooks(app):
    """Bring the notebooks below ``docs/``, where Sphinx finds them."""
    kept = app.config.nb_execution_mode == "off"
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    for stray in set(GALLERY.glob("*.ipynb")) - {GALLERY / path.name for path in paths}:
        stray.unlink()
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        add_note(notebook, path.stem, kept)
        text, target = nbformat.writes(notebook) + "\n", GALLERY / path.name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def add_note(notebook, name, kept):
    """Offer the notebook below its title; of one `kept` without outputs, show the picture too."""
    title, _, rest = notebook.cells[0].source.partition("\n")
    note = DOWNLOAD.format(name=name) + (HINT if kept else "")
    if kept and (GALLERY / f"{name}.png").exists():
        note = f"![One of its pictures]({name}.png)\n\n{note}"
    notebook.cells[0].source = f"{title}\n\n{note}\n\n{rest}"


def picture_of(notebook):
    """The picture that stands for an executed notebook, as PNG bytes, or None."""
    first = None
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if data := output.get("data", {}).get("image/png"):
                first = first or data
                if "gallery" in cell.metadata.get("tags", []):
                    return base64.b64decode(data)
    return base64.b64decode(first) if first else None


def keep_pictures(names):
    """Run notebooks, all without names, and keep the picture of each."""
    from nbclient import NotebookClient

    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
        if data := picture_of(notebook):
            picture = Image.open(io.BytesIO(data)).convert("RGB")
            picture.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
            picture.quantize(128).save(GALLERY / f"{path.stem}.png", optimize=True)
            print("kept", path.stem)


def setup(app):
    app.connect("builder-inited", copy_notebooks)
    app.add_directive("notebook-cards", NotebookCards)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    keep_pictures(sys.argv[1:])
