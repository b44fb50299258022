"""Numbers of a whole image from its parts."""

import numpy as np

from nnk_image import standard_image
from nnk_image.base.image import check_image
from nnk_image.denoising.parts import measured, together
from nnk_image.denoising.statistics import Statistics
from nnk_image.noise.clipping import Extremes


def test_statistics_of_parts_add_up():
    clean = standard_image("camera")[:200, :150, None] * np.linspace(0.8, 1, 3)
    image = (clean + np.random.default_rng(0).normal(0, 20, clean.shape)).clip(0)
    found = together([measured(check_image(p, -1), None) for p in np.array_split(image, 7)], None)
    whole = Statistics.of(check_image(image, -1))
    assert found.limits == whole.limits
    np.testing.assert_allclose(found.means, whole.means, rtol=1e-12)
    np.testing.assert_allclose(found.squares, whole.squares, rtol=1e-12)
    np.testing.assert_array_equal(found.clipped, Extremes.of(image).clipped)
    assert np.isfinite(found.clipped[0]).all()
