"""Runs experiments: measures missing parts, then writes pictures, tables and the report."""

import json
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.papers import FIGURES, figure_module, report
from benchmarks.papers.parts import Setup, Store
from benchmarks.papers.rows import as_csv
from nnk_image.base.atomic import ImageFileError, atomic_output, check_output
from nnk_image.base.parallel import resolve_n_jobs
from nnk_image.plotting.figures import new_figure

DPI = 110
"""Resolution of the pictures, in pixels per inch of the figure."""


def reproduce(
    figures, pictures, folder, *, seed=0, lmax=None, n_jobs=None, fresh=False, progress=None
):
    """Measure figures of the papers and write them into a folder.

    Per figure NAME there are NAME.png, NAME.csv and NAME.json; report.html, which
    opens offline, and claims.md gather all figures of the folder that belong to these
    pictures.  Every measured part is kept in ``parts/`` as soon as it is finished and
    not measured again, whatever ends the run.

    Parameters
    ----------
    figures : iterable of str
        Of `FIGURES`.
    pictures : sequence of Picture
    folder : path-like
        Made if missing; files of an earlier run are replaced.
    seed : int
        Of the noise.
    lmax : dict from picture name to dict from 'bilateral' and 'nnk' to float, optional
        Eigenvalues the wavelets of energy compaction are designed for.  Default: 1.01 times
        the largest one of each graph.
    n_jobs : int, optional
        Threads; timings always take one.
    fresh : bool
        Measure finished parts again.
    progress : callable, optional
        Called with (parts done, parts in all, name of the figure) before and after each part.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    ImportError
        matplotlib is missing.
    ImageFileError
        The folder cannot be written to.
    ValueError
        Unknown figure, `lmax` of a picture that is not there, or a bad `n_jobs`.
    """
    new_figure()  # raises without matplotlib, before the long part
    resolve_n_jobs(n_jobs)
    figures = [name for name in FIGURES if name in _checked(figures)]
    setup = Setup(tuple(pictures), seed, _checked_lmax(lmax or {}, pictures), n_jobs)
    folder = _made(folder)
    store = Store(folder / "parts", fresh)
    plans = {name: figure_module(name).parts(setup) for name in figures}
    total, done = sum(map(len, plans.values())), 0
    for name, parts in plans.items():
        rows = []
        for part in parts:
            if progress:
                progress(done, total, name)
            found = store.find(name, part)
            rows += store.measure(name, part) if found is None else found
            done += 1
            if progress:
                progress(done, total, name)
        _write_figure(folder, name, rows, setup)
    return report.write(folder, [picture.digest for picture in pictures])


def _checked(figures):
    figures = list(figures)
    for name in figures:
        if name not in FIGURES:
            raise ValueError(f"figure {name!r} is unknown; choose from {', '.join(FIGURES)}")
    return figures


def _checked_lmax(lmax, pictures):
    names = [picture.name for picture in pictures]
    for name, values in lmax.items():
        if name not in names:
            raise ValueError(f"lmax is given for {name!r}, which is none of {', '.join(names)}")
        if set(values) != {"bilateral", "nnk"}:
            raise ValueError(f"lmax of {name!r} needs the two numbers 'bilateral' and 'nnk'")
    return lmax


def _made(folder):
    """The folder, made if it is missing, if files can be written into it."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImageFileError(f"{folder}: no folder can be made there; choose another") from error
    check_output(folder / "report.html")
    return folder


def _write_figure(folder, name, rows, setup):
    """Write the picture, the rows and the description of a figure."""
    module = figure_module(name)
    about = {
        "figure": name,
        "title": module.TITLE,
        "source": module.SOURCE,
        "caption": module.CAPTION,
        "images": {p.name: {"shape": p.unit.shape, "sha256": p.digest} for p in setup.pictures},
        "parameters": module.PARAMETERS,
        "seed": setup.seed,
        "lmax": setup.lmax,
        "machine": machine(),
        "claims": [vars(claim) for claim in module.claims(rows)],
        "summary": module.summary(rows),
        "rows": rows,
    }
    with atomic_output(folder / f"{name}.csv", text=True) as file:
        file.write(as_csv(rows))
    with atomic_output(folder / f"{name}.png") as file:
        # Neither version nor time in the file: the same rows give the same bytes.
        module.draw(rows, setup).savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    with atomic_output(folder / f"{name}.json", text=True) as file:
        json.dump(about, file, indent=1)
