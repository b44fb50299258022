"""Run experiments on images, and write figures, tables and a report."""

import sys
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.papers import figure_module
from benchmarks.papers.shared import Setup, as_csv, as_markdown
from benchmarks.timing import header


def reproduce(figures, pictures, folder, seed=0, n_jobs=None):
    """Repeat figures of the papers, and write them into a folder.

    Each figure is written to NAME.png and its measurements to NAME.csv. The file report.md has the
    claims, and then all figures.

    Parameters
    ----------
    figures : iterable of str
        Names from `FIGURES`.
    pictures : sequence of Picture
        Images of the experiments.
    folder : Path
        It is created if it does not exist. Files of an earlier run are replaced.
    seed : int
        Seed of the noise; default 0.
    n_jobs : int, optional
        Number of threads. Times are always measured on one thread.

    Returns
    -------
    Path
        Path of the report.
    """
    setup = Setup(tuple(pictures), seed, n_jobs)
    folder.mkdir(parents=True, exist_ok=True)
    claims, sections = [], []
    for name in figures:
        module = figure_module(name)
        rows = _measure_all(module, setup)
        module.draw(rows, setup).savefig(folder / f"{name}.png", dpi=110)
        Path(folder, f"{name}.csv").write_text(as_csv(rows))
        claims += [vars(claim) for claim in module.claims(rows)]
        sections += [f"## {module.TITLE}", module.SOURCE, f"![]({name}.png)", module.CAPTION]
        sections.append(as_markdown(module.summary(rows)))
    names = ", ".join(picture.name for picture in pictures)
    head = f"Measured on {names}; seed {seed}.\n\n    {header(machine()).replace(chr(10), '; ')}"
    path = folder / "report.md"
    path.write_text("\n\n".join([head, "## Claims", as_markdown(claims), *sections]))
    return path


def _measure_all(module, setup):
    """Return the rows of all pictures, with the name of the picture as first column."""
    rows = []
    for picture in setup.pictures[: getattr(module, "MAX_PICTURES", None)]:
        print(f"{module.TITLE}: {picture.name}", file=sys.stderr)
        rows += [{"image": picture.name, **row} for row in module.measure(picture, setup)]
    return rows
