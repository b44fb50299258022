"""Spectral graph wavelets: filter banks, the transform, and energy compaction."""

from nnk_image.wavelets.compaction import EnergyCompaction

__all__ = ["EnergyCompaction"]
