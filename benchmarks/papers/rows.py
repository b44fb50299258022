"""Functions on rows of measurements, which are dicts: choose, average, write as CSV."""

import csv
import io
from statistics import fmean

import numpy as np


def chosen(rows, **values):
    """Rows that have these values."""
    return [row for row in rows if all(row.get(k) == v for k, v in values.items())]


def column(rows, name, **values):
    """One column of the rows that have these values, as an array."""
    return np.array([row[name] for row in chosen(rows, **values)])


def distinct(rows, name):
    """Different values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def means(rows, by, of):
    """One row per combination of the columns `by`, with the means of the columns `of`."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        dict(zip(by, key, strict=True)) | {name: fmean(row[name] for row in group) for name in of}
        for key, group in groups.items()
    ]


def as_csv(rows):
    """CSV text; columns in the order in which they first appear."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
