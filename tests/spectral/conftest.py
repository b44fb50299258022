"""Fixtures shared by the spectral tests."""

import pytest

from nnk_image.spectral import time_skewing


@pytest.fixture
def tiles(monkeypatch):
    """Return a list to which each computation appends its number of tiles."""
    numbers, boundaries = [], time_skewing.tile_boundaries

    def recorded(*arguments):
        rows = boundaries(*arguments)
        numbers.append(len(rows) + 1)
        return rows

    monkeypatch.setattr(time_skewing, "tile_boundaries", recorded)
    return numbers
