"""Plots of noise: its standard deviation by intensity, and its spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnk_image.base.image import Array
from nnk_image.noise.model import NoiseModel, deviations
from nnk_image.plotting.figures import row_of_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FREQUENCIES = 65  # least number of frequencies shown along each axis


def plot_noise(
    model: NoiseModel, axes: Any = None, *, value_range: tuple[float, float] = (0, 255)
) -> list[Axes]:
    """Draw the level of noise by intensity, and its power spectrum.

    Parameters
    ----------
    model : NoiseModel
        Noise, for instance as estimated by `estimate_noise`.
    axes : sequence of two matplotlib.axes.Axes, optional
        Default: a new figure.
    value_range : (float, float)
        Intensities to draw the noise for, in the image's units; default 0 to 255.

    Returns
    -------
    list of two matplotlib.axes.Axes
        On the left a line for each channel; on the right the spectrum by frequency in cycles per
        pixel, or the map of standard deviations if the model has one. Of volumes, both show the
        middle plane: the spectrum is that within a slice.

    Examples
    --------
    >>> import nnk_image
    >>> model = nnk_image.NoiseModel(3.0, gain=0.5)
    >>> curve, spectrum = nnk_image.plotting.plot_noise(model)
    >>> spectrum.get_title()
    'power by frequency'
    """
    if not isinstance(model, NoiseModel):
        raise TypeError(f"model must be a NoiseModel, such as NoiseModel(3.0), not {model!r}")
    curve, field = row_of_axes(axes, 2, 4, 3.4)
    _draw_curve(curve, model, value_range)
    if model.levels is not None:
        shown = field.imshow(_middle_plane(model.levels), cmap="magma")
        field.set_title("standard deviation of each pixel", fontsize="medium")
    else:
        extent = (-0.5, 0.5, 0.5, -0.5)
        shown = field.imshow(_spectrum(model), cmap="magma", vmin=0, extent=extent)
        field.set_title("power by frequency", fontsize="medium")
    field.figure.colorbar(shown, ax=field)
    return [curve, field]


def _draw_curve(ax: Axes, model: NoiseModel, value_range: tuple[float, float]) -> None:
    """Draw the standard deviation of each channel by intensity."""
    intensity = np.linspace(*value_range, 200)
    levels = deviations(model, intensity)
    n = len(levels)
    names = ("red", "green", "blue") if n == 3 else [f"channel {c}" for c in range(n)]
    for level, name in zip(levels, names, strict=True):
        ax.plot(intensity, level, color=name if n == 3 else None, label=name)
    if n > 1:
        ax.legend(fontsize="small")
    ax.update_datalim([(value_range[0], 0)])  # so that the margin above is a share of the height
    ax.autoscale_view()
    ax.set(ylim=(0, None), xlabel="intensity")
    ax.set_title("standard deviation of the noise", fontsize="medium")


def _middle_plane(values: Array) -> Array:
    while values.ndim > 2:
        values = values[len(values) // 2]
    return values


def _spectrum(model: NoiseModel) -> Array:
    """Return the power by frequency, averaged over channels; white noise of equal variance is 1."""
    correlation = model.mean_correlation()
    correlation = np.ones((1, 1)) if correlation is None else _middle_plane(correlation)
    size = max(_FREQUENCIES, *correlation.shape) | 1
    padded = np.pad(correlation, [((size - n) // 2,) * 2 for n in correlation.shape])
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(padded)).real.clip(0))
