"""Spectral graph wavelets: filter banks, the transform, what of an image its low bands hold."""

from nnk_image.wavelets.compaction import (
    BandEnergy,
    EnergyCompaction,
    GraphCompaction,
    energy_compaction,
)
from nnk_image.wavelets.large import TiledWavelets
from nnk_image.wavelets.tiling import halo
from nnk_image.wavelets.transform import SpectralGraphWavelets

__all__ = [
    "BandEnergy",
    "EnergyCompaction",
    "GraphCompaction",
    "SpectralGraphWavelets",
    "TiledWavelets",
    "energy_compaction",
    "halo",
]
