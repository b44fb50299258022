"""The report: one HTML file with every picture inside, and the claims as Markdown."""

import base64
import html
import json

from benchmarks.papers import FIGURES
from benchmarks.papers.claims import FAILS, HOLDS, PARTLY, Claim, markdown
from nnk_image.base.atomic import atomic_output

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto;
       padding: 0 1rem; color: #222; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
         border-bottom: 1px solid #ddd; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: #1a7f37; } .partly { color: #9a6700; } .fails { color: #cf222e; }
.about { color: #555; font-size: .85rem; }
"""
_CLASSES = {HOLDS: "holds", PARTLY: "partly", FAILS: "fails"}


def write(folder, digests):
    """Write report.html and claims.md from the figures of a folder.

    Parameters
    ----------
    folder : Path
    digests : list of str
        Digests of the pictures; figures of others, left from an earlier run, stay out.

    Returns
    -------
    Path
        The HTML file.
    """
    figures = list(_figures(folder, digests))
    claims = [Claim(**claim) for about, _ in figures for claim in about["claims"]]
    with atomic_output(folder / "claims.md", text=True) as file:
        file.write(_origin(figures[0][0]) + "\n\n" + markdown(claims))
    path = folder / "report.html"
    with atomic_output(path, text=True) as file:
        file.write(_page(figures, claims))
    return path


def _figures(folder, digests):
    """(description, picture bytes) of each figure of these pictures."""
    for name in FIGURES:
        try:
            about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            digests_there = [image["sha256"] for image in about["images"].values()]
            picture = (folder / f"{name}.png").read_bytes()
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue
        if digests_there == digests:
            yield about, picture


def _origin(about):
    """One sentence on what was measured, with which versions and on which machine."""
    versions = ", ".join(f"{name} {v}" for name, v in about["machine"]["versions"].items())
    return (
        f"Measured on {len(about['images'])} images ({', '.join(about['images'])}), seed "
        f"{about['seed']}, with {versions}, Python {about['machine']['python']}, on "
        f"{about['machine']['processor']} ({about['machine']['vector variant']}), one thread "
        "where times are given."
    )


def _page(figures, claims):
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><title>nnk_image: the papers reproduced'
        f"</title><style>{_STYLE}</style></head><body>",
        "<h1>The papers' image experiments, reproduced</h1>",
        f"<p>{html.escape(_origin(figures[0][0]))}</p>",
        "<h2>Claims</h2>",
        _claims_table(claims),
    ]
    for about, picture in figures:
        parts += _section(about, picture)
    return "\n".join([*parts, "</body></html>\n"])


def _section(about, picture):
    name, title = about["figure"], html.escape(about["title"])
    data = base64.b64encode(picture).decode()
    parameters = "; ".join(f"{k}: {_text(v)}" for k, v in about["parameters"].items())
    return [
        f'<h2 id="{name}">{title}</h2>',
        f'<p class="about">{html.escape(about["source"])}</p>',
        f'<img alt="{title}" src="data:image/png;base64,{data}">',
        f"<p>{html.escape(about['caption'])}</p>",
        _table(about["summary"]),
        f'<p class="about">{html.escape(parameters)}. All rows: {name}.csv, {name}.json.</p>',
    ]


def _claims_table(claims):
    lines = ["<table><tr><th>source<th>published<th>measured<th>verdict<th>why</tr>"]
    for c in claims:
        cells = "".join(f"<td>{html.escape(t)}" for t in (c.source, c.published, c.measured))
        verdict = f'<td class="verdict {_CLASSES[c.verdict]}">{c.verdict}'
        lines.append(f"<tr>{cells}{verdict}<td>{html.escape(c.why)}</tr>")
    return "\n".join([*lines, "</table>"])


def _table(rows):
    if not rows:
        return ""
    heads = "".join(f"<th>{html.escape(name)}" for name in rows[0])
    lines = [f"<table><tr>{heads}</tr>"]
    for row in rows:
        cells = (
            f"<td>{html.escape(_text(v))}" if isinstance(v, str) else f'<td class="n">{_text(v)}'
            for v in row.values()
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"])


def _text(value):
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{k} {_text(v)}" for k, v in value.items())
    return str(value)
