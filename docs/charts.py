"""Charts of the tables of figures.md, for the landing page and for compared.md."""

import re
from pathlib import Path

from matplotlib.figure import Figure

FIGURES = Path(__file__).with_name("figures.md")

SHORT = {
    "OpenCV, non-local means": "NLM, OpenCV",
    "scikit-image, non-local means": "NLM, scikit-image",
    "non-local means (scikit-image)": "NLM, scikit-image",
}
"""First cell of a row -> its label in a chart."""

OURS = {"fast": "tab:red", "best": "tab:purple", "sgw": "tab:orange"}
"""Method of the library -> its color; everything else is gray."""

SIZE = (4.6, 4.3)
"""Inches of a chart; the letters are chosen for a picture that is shown 300 pixels wide."""

TIME = "time"
"""Name of the column with the time, relative to that of OpenCV's non-local means."""


def table(section):
    """Rows of the table below a heading of figures.md: names, and the cells by column."""
    text = FIGURES.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2]
    lines = re.findall(r"^\|(.*)\|$", text.partition("\n## ")[0], re.M)
    header, _, *rows = ([cell.strip(" `*") for cell in line.split("|")] for line in lines)
    return [(row[0], dict(zip(header[1:], row[1:], strict=True))) for row in rows]


def numbers(cell):
    """The numbers of a cell: none, one, or the two ends of "77 to 85"."""
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", cell)]


def draw_photographs(data_set):
    """Quality against time on real photographs, of every method with both."""
    figure = Figure(figsize=SIZE, layout="constrained")
    ax = figure.subplots()
    rows = [(name, cells) for name, cells in table("Denoising, other noise") if cells[data_set]]
    for name, cells in rows:
        decibels, times = float(cells[data_set]), numbers(cells[TIME])
        if name == "noisy":
            note = f"noisy: {decibels:.1f} dB"
            ax.text(0.97, 0.04, note, transform=ax.transAxes, ha="right", fontsize=12)
        elif times:
            blind = cells["given"] == "nothing"
            color = OURS.get(name, "dimgray")
            place = (times[0] * times[-1]) ** 0.5, decibels
            ax.plot(*place, "o", ms=11, mew=2, color=color, mfc=color if blind else "white")
            best = max(float(other[data_set]) for row, other in rows if row == name)
            label = f"{name}, blind" if blind else SHORT.get(name, name)
            side = -1 if name == "fast" or place[0] > 20 else 1  # 'fast' is left of 'best'
            way = 1 if place[0] > 20 or (name in OURS and decibels == best) else -1
            align = {"ha": ("left", "right")[side < 0], "va": ("bottom", "top")[way < 0]}
            _label(ax, label, place, (5 * side, 8 * way), color=color, **align)
    ax.set_xscale("log")
    ax.set_xlim(0.4, 250)
    ax.set_xticks([1, 10, 100], ["1", "10", "100"])
    ax.margins(y=0.2)
    _finish(ax, f"Real photographs, {data_set}", "time, relative to NLM of OpenCV", "PSNR, dB")
    return figure


def draw_white_noise():
    """What each method gains on BM3D at each level of white noise."""
    figure = Figure(figsize=SIZE, layout="constrained")
    ax = figure.subplots()
    rows = dict(table("Denoising, white noise"))
    for name, cells in rows.items():
        sigmas = [key for key in cells if key.isdigit() and cells[key]]
        gains = [float(cells[sigma]) - float(rows["BM3D"][sigma]) for sigma in sigmas]
        color = OURS.get(name, "dimgray")
        ax.plot([int(sigma) for sigma in sigmas], gains, "o-", ms=7, lw=2, color=color)
        label = "NLM" if "non-local" in name else name
        align = {"best": "bottom", "sgw": "bottom"}.get(label, "top")
        place = int(sigmas[-1]), gains[-1]
        _label(ax, label, place, (8, 0), color=color, ha="left", va=align)
    ax.set_xticks([10, 15, 25, 50], ["10", "15", "25", "50"])
    ax.set_xlim(8, 66)
    ax.margins(y=0.15)
    _finish(ax, "White noise, Set12", "standard deviation of the noise", "dB, relative to BM3D")
    return figure


def _label(ax, text, place, shift, **style):
    """Write the name of a point or a line beside it."""
    ax.annotate(text, place, shift, textcoords="offset points", fontsize=13, **style)


def _finish(ax, title, below, left):
    ax.set_title(title, fontsize=15, weight="bold")
    ax.set_xlabel(below, fontsize=13)
    ax.set_ylabel(left, fontsize=13)
    ax.tick_params(labelsize=12)
    ax.grid(color="gainsboro")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
