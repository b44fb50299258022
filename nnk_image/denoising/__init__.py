"""Denoising: to units of the noise, a method, and back."""
