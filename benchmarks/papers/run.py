"""Runs experiments on images: measures, then writes pictures, tables and a report."""

import sys
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.papers import figure_module
from benchmarks.papers.shared import Setup, as_csv, as_markdown
from benchmarks.timing import header


def reproduce(figures, pictures, folder, seed=0, lmax=None, n_jobs=None):
    """Measure figures of the papers and write them into a folder.

    For each figure NAME there are NAME.png and NAME.csv; report.md gathers them, claims first.

    Parameters
    ----------
    figures : iterable of str
        Of `FIGURES`.
    pictures : sequence of Picture
    folder : Path
        Made if missing; files of an earlier run are replaced.
    seed : int
        Of the noise.
    lmax : dict, optional
        Eigenvalues to design the wavelets of energy compaction for, by picture and kind of graph.
    n_jobs : int, optional
        Threads; timings always take one.

    Returns
    -------
    Path
        The report.
    """
    setup = Setup(tuple(pictures), seed, lmax or {}, n_jobs)
    folder.mkdir(parents=True, exist_ok=True)
    claims, sections = [], []
    for name in figures:
        module = figure_module(name)
        rows = _measured(module, setup)
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


def _measured(module, setup):
    rows = []
    for picture in setup.pictures[: getattr(module, "MAX_PICTURES", None)]:
        print(f"{module.TITLE}: {picture.name}", file=sys.stderr)
        rows += [{"image": picture.name, **row} for row in module.measure(picture, setup)]
    return rows
