"""Denoising: `denoise` checks, scales and dispatches; each method is one file."""

from nnk_image.denoising.api import denoise
from nnk_image.denoising.large import denoise_tiles
from nnk_image.denoising.methods import METHODS
from nnk_image.noise import NoiseModel, estimate_noise, estimate_sigma

__all__ = [
    "METHODS",
    "NoiseModel",
    "denoise",
    "denoise_tiles",
    "estimate_noise",
    "estimate_sigma",
]
