"""Denoising: `denoise` checks, standardizes and dispatches; each method is one file."""
