"""Denoising: `denoise` checks, scales and dispatches; each method is one file."""

from nnk_image.denoising.api import METHODS, denoise
from nnk_image.denoising.noise_estimation import estimate_sigma

__all__ = ["METHODS", "denoise", "estimate_sigma"]
