"""Denoising: `denoise` checks, scales and dispatches; each method is one file."""

from nnk_image.denoising.api import METHODS, denoise

__all__ = ["METHODS", "denoise"]
