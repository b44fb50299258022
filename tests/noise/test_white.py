"""Tests of the parts of white noise: independent, shared by the channels, and possible texture."""

import numpy as np
import pytest

from nnk_image.base.image import check_image
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.white import independent_white, possible_texture, shared_white


@pytest.mark.parametrize("channels", [2, 3, 5])
@pytest.mark.parametrize("shared", [0, 6])
def test_noise_in_all_channels_is_separated_from_that_of_each(channels, shared):
    rng = np.random.default_rng(0)
    image = rng.normal(100, 3, (256, 256, channels)) + rng.normal(0, shared, (256, 256, 1))
    checked = check_image(image, -1)
    scale, unit = measure_scales(checked)[0], checked.half_range**2
    tolerance = 0.1 * (shared**2 + 9)
    assert unit * shared_white(scale) == pytest.approx(shared**2, abs=tolerance)
    np.testing.assert_allclose(unit * independent_white(scale), 9, atol=tolerance)
    assert unit * np.max(possible_texture(scale)) < tolerance
