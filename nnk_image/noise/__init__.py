"""What the noise of an image is: told as a `NoiseModel`, or found by `estimate_noise`.

`model.py` holds the model.  `estimation.py` finds it, with `flat_blocks.py` for correlated noise,
`curve.py` for noise that grows with the light and `stripes.py` for offsets of rows and columns.
`standard.py` and `stabilization.py` are what denoising makes of a model.
"""

from nnk_image.noise.estimation import estimate_noise, estimate_sigma
from nnk_image.noise.model import NoiseModel

__all__ = ["NoiseModel", "estimate_noise", "estimate_sigma"]
