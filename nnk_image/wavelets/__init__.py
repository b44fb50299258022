"""Spectral graph wavelets: filter banks, the transform, what of an image its low bands hold."""

from nnk_image.wavelets.compaction import EnergyCompaction

__all__ = ["EnergyCompaction"]
