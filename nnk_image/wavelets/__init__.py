"""Spectral graph wavelets: filter banks, the transform, what of an image its low bands hold."""

from nnk_image.wavelets.compaction import EnergyCompaction
from nnk_image.wavelets.large import TiledWavelets
from nnk_image.wavelets.tiling import halo

__all__ = ["EnergyCompaction", "TiledWavelets", "halo"]
