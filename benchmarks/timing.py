"""Text tables, tables of times, and command-line options that tables share."""

import argparse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.machine import interleaved


@dataclass
class Table:
    """A table of text and numbers.

    Attributes
    ----------
    title : str
        Line above the table.
    columns : dict from str to str
        Heading of each column and format of its numbers, such as '.1f'; '' for text.
    rows : list of dict
        Cells by heading. A missing cell is left blank.
    notes : tuple of str
        Lines below the table.
    """

    title: str
    columns: dict[str, str]
    rows: list[dict] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def __str__(self):
        names = list(self.columns)
        cells = [[self._cell(row.get(n), self.columns[n]) for n in names] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
        lines = [self.title, self._line(names, widths), "  ".join("-" * w for w in widths)]
        lines += [self._line(row, widths) for row in cells]
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    def to_dict(self):
        """Return the content as a dict for JSON."""
        return asdict(self)

    @staticmethod
    def _cell(value, form):
        return "" if value is None else format(value, form)

    @staticmethod
    def _line(cells, widths):
        first, *rest = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]).rstrip()


def existing_folder(text):
    """Return the path of an existing folder; the type of a command-line option."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def add_choice(group, option, names):
    """Add an option that takes some of the names; the default is all of them."""
    group.add_argument(
        option,
        nargs="+",
        choices=names,
        default=list(names),
        metavar="NAME",
        help=", ".join(names),
    )


def comparison(title, contenders, rounds, against, notes=()):
    """Time several functions, and return a table of median times and of ratios of times.

    Parameters
    ----------
    title : str
        Title of the table.
    contenders : dict from str to function without arguments
        Functions to time, by name.
    rounds : int
        Number of timed rounds.
    against : dict from str to str
        Names of the contenders that all others are compared with, and headings of their columns.
    notes : sequence of str
        Lines below the table.

    Returns
    -------
    Table
        The ratios are those of `ratio`.
    """
    seconds = interleaved(contenders, rounds)
    columns = {"": "", "ms": ".1f"} | dict.fromkeys(against.values(), "")
    table = Table(title, columns, notes=tuple(notes))
    for name, times in seconds.items():
        row = {"": name, "ms": 1000 * median(times)}
        for ours, heading in against.items():
            if name != ours:
                row[heading] = ratio(times, seconds[ours])
        table.rows.append(row)
    return table


def ratio(times, base):
    """Return the median over rounds of times / base as text, with the quartiles in brackets."""
    ratios = [t / b for t, b in zip(times, base, strict=True)]
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def header(info):
    """Return the result of `machine` as two lines of text."""
    versions = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    return (
        f"{info['processor']}, {info['cores']} cores, {info['system']}, "
        f"SIMD variant {info['SIMD variant']}\nPython {info['python']}, {versions}"
    )
