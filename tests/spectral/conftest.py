"""What tests of polynomials share."""

import pytest

from nnk_image.spectral import time_skewing


@pytest.fixture
def tiles(monkeypatch):
    """The numbers of tiles of all that is computed."""
    numbers, boundaries = [], time_skewing.tile_boundaries

    def noted(*arguments):
        rows = boundaries(*arguments)
        numbers.append(len(rows) + 1)
        return rows

    monkeypatch.setattr(time_skewing, "tile_boundaries", noted)
    return numbers
