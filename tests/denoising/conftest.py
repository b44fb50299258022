"""What all tests of denoising share."""

import pytest

from nnk_image.denoising.methods import METHODS


@pytest.fixture(scope="module", params=METHODS)
def method(request):
    """Each method in turn."""
    return request.param
