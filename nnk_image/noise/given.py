"""Noise that a caller specifies, checked against the image."""

from typing import Any

import numpy as np

from nnk_image.base.image import Image
from nnk_image.noise.model import PER_CHANNEL, NoiseModel, PerChannel

OUTLIER_SHARE, _OUTLIER_LEVELS = 0.001, 5.0  # share of pixels, and their distance in noise levels


def given_noise(sigma: PerChannel | NoiseModel, image: Image) -> NoiseModel:
    """Return the model that a caller has given as `sigma`, checked against the image."""
    if isinstance(sigma, NoiseModel):
        model = sigma
    elif isinstance(sigma, np.ndarray) and sigma.ndim > 1:
        model = NoiseModel(levels=_levels(sigma, image))
    else:
        model = NoiseModel(sigma)
    _check_fits(model, image)
    return model


def _levels(levels: Any, image: Image) -> Any:
    """Return the levels of all pixels, with any positive number where the image is masked."""
    if image.valid is None or levels.shape != image.shape:
        return levels
    levels = np.ma.getdata(levels)
    known = levels[image.valid]
    return np.where(image.valid, levels, known[0] if known.size else 1)


def _check_fits(model: NoiseModel, image: Image) -> None:
    """Raise a ValueError if this cannot be the noise of `image`."""
    if model.rician:
        check_magnitudes(image.low)
    for name in PER_CHANNEL:
        values = getattr(model, name)
        if len(values) not in (1, image.channels):
            raise ValueError(
                f"{name} has {len(values)} values, but the image has {image.channels} "
                f"channel{'s' * (image.channels > 1)}: give one number, or one per channel"
            )
    if model.levels is not None and model.levels.shape != image.shape:
        raise ValueError(
            f"sigma has levels of shape {model.levels.shape}, the image has shape {image.shape}: "
            "give one standard deviation for each pixel, the same for all channels"
        )
    axes = 2 if model.correlation is None else model.correlation.ndim
    if axes == 4 and len(model.correlation) != image.channels:
        raise ValueError(
            f"the noise model's correlation is that of {len(model.correlation)} channels, the "
            f"image has {image.channels}: give the correlation of as many channels, or one for all"
        )
    if axes == 3 and len(image.shape) < 3:
        raise ValueError(
            f"the noise model's correlation has 3 axes, for volumes, but the image has shape "
            f"{image.shape}: give a correlation of 2 axes"
        )
    if model.has_row_or_column_noise and len(image.shape) > 2:
        raise ValueError(
            f"row and column noise (rows={model.rows:g}, columns={model.columns:g}) is removed "
            f"from images of 2 axes, this one has {len(image.shape)}: denoise its slices one by one"
        )


def many_below_offset(noise: NoiseModel, image: Image) -> bool:
    """Return whether many pixels are so far below the offset that noise cannot explain it."""
    some = image.pixels[image.inside]
    some = some.reshape(-1, image.channels)[:: 1 + (some.size >> 18)].astype(np.float64)
    gain, read, offset = (np.array(v) for v in (noise.gain, noise.sigma, noise.offset))
    with np.errstate(over="ignore"):
        level = np.sqrt(gain * np.maximum(image.center - offset, 0) + read**2)
    below = np.quantile(some, OUTLIER_SHARE, axis=0) < offset - _OUTLIER_LEVELS * level
    return bool(np.any(below & (gain > 0)))


def check_magnitudes(low: float) -> None:
    """Raise a ValueError if an image with this lowest value cannot hold magnitudes."""
    if low < 0:
        raise ValueError(
            f"magnitudes cannot be negative, but the image goes down to {low:g}: for Rician "
            "noise give the magnitudes as the scanner stores them; real and imaginary parts, and "
            "differences of magnitudes, have Gaussian noise"
        )
