"""What all tables share: machine header, fair timing, text tables."""

import argparse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.machine import interleaved


@dataclass
class Table:
    """Rows of named cells, printed under a title.

    Attributes
    ----------
    title : str
    columns : dict from name to format
        Formats of numbers, such as '.1f'; '' for text.
    rows : list of dict
        Cells by column name; a missing one is left blank.
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
        """Everything as plain values, for JSON."""
        return asdict(self)

    @staticmethod
    def _cell(value, form):
        return "" if value is None else format(value, form)

    @staticmethod
    def _line(cells, widths):
        first, *rest = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]).rstrip()


def existing_folder(text):
    """Return the path of an option that must be an existing folder."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def add_choice(group, option, names):
    """Add an option that takes some of the names; all are the default."""
    group.add_argument(
        option,
        nargs="+",
        choices=names,
        default=list(names),
        metavar="NAME",
        help=", ".join(names),
    )


def comparison(title, contenders, rounds, against, notes=()):
    """A table of median times and of ratios to the contenders named in `against`.

    `against` maps a name to its column's head.  A ratio is the median over rounds of
    (time of the row / time of `against` in the same round); in brackets the quartiles.
    """
    seconds = interleaved(contenders, rounds)
    columns = {"": "", "ms": ".1f"} | dict.fromkeys(against.values(), "")
    table = Table(title, columns, notes=tuple(notes))
    for name, times in seconds.items():
        row = {"": name, "ms": 1000 * median(times)}
        for ours, head in against.items():
            if name != ours:
                row[head] = ratio(times, seconds[ours])
        table.rows.append(row)
    return table


def ratio(times, base):
    """Median of times / base in the same round, in brackets the quartiles."""
    ratios = [t / b for t, b in zip(times, base, strict=True)]
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def header(info):
    """`machine()` as two lines of text."""
    versions = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    return (
        f"{info['processor']}, {info['cores']} cores, {info['system']}, "
        f"vector variant {info['vector variant']}\nPython {info['python']}, {versions}"
    )
