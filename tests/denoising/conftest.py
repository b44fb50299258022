"""Fixtures shared by the denoising tests."""

import numpy as np
import pytest

from nnk_image.denoising.methods import METHODS


@pytest.fixture(scope="module", params=METHODS)
def method(request):
    """Return each denoising method in turn."""
    return request.param


@pytest.fixture(autouse=True)
def _same_random_numbers(request):
    """Restart the module's `RNG`, so that no result depends on the order of the tests."""
    if hasattr(request.module, "RNG"):
        request.module.RNG.bit_generator.state = np.random.default_rng(1).bit_generator.state
