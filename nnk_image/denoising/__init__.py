"""Denoising: `denoise` checks, scales and dispatches; each method is one file."""

from nnk_image.denoising.api import METHODS, denoise
from nnk_image.denoising.noise_estimation import estimate_noise, estimate_sigma
from nnk_image.denoising.noise_model import NoiseModel

__all__ = ["METHODS", "NoiseModel", "denoise", "estimate_noise", "estimate_sigma"]
