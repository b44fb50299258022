"""Fixtures shared by the denoising tests."""

import pytest

from nnk_image.denoising.methods import METHODS


@pytest.fixture(scope="module", params=METHODS)
def method(request):
    """Return each denoising method in turn."""
    return request.param
