"""Noise: its strength by brightness, and what neighbours share."""

import numpy as np

from nnk_image.plotting.figures import row_of_axes


def plot_noise(model, axes=None, *, value_range=(0, 255)):
    """How strong noise is at each brightness, and how neighbours share it.

    Parameters
    ----------
    model : NoiseModel
    axes : sequence of two matplotlib.axes.Axes, optional
    value_range : (float, float)
        Intensities to draw the noise for, in the image's units.

    Returns
    -------
    list of matplotlib.artist.Artist
        On the left a line for each channel, the standard deviation by intensity; then, on the
        right, the power spectrum, or the map of levels if the model has one.

    Examples
    --------
    >>> import nnk_image
    >>> line, spectrum = plot_noise(nnk_image.NoiseModel(3.0, gain=0.5))
    >>> spectrum.axes.get_title()
    'power by frequency (0 in the middle)'
    """
    curve, field = row_of_axes(axes, 2, 4, 3.4)
    lines = _draw_curve(curve, model, value_range)
    if model.levels is not None:
        shown = field.imshow(model.levels, cmap="magma")
        field.set_title("standard deviation of each pixel", fontsize=9)
    else:
        extent = (-0.5, 0.5, 0.5, -0.5)
        shown = field.imshow(_spectrum(model), cmap="magma", vmin=0, extent=extent)
        field.set_title("power by frequency (0 in the middle)", fontsize=9)
    field.figure.colorbar(shown, ax=field)
    return [*lines, shown]


def _draw_curve(axes, model, value_range):
    intensity = np.linspace(*value_range, 200)
    n = max(len(model.sigma), len(model.gain), len(model.offset))
    names = ("red", "green", "blue") if n == 3 else [f"channel {c}" for c in range(n)]
    model = model.for_channels(n)
    numbers = (model.sigma, model.gain, model.offset)
    lines = []
    for c, (sigma, gain, offset) in enumerate(zip(*numbers, strict=True)):
        factor = 1 if model.curve is None else np.interp(intensity, *model.curve)
        variance = (sigma * factor) ** 2 + gain * np.maximum(intensity - offset, 0)
        style = {"color": names[c] if n == 3 else None, "label": names[c]}
        lines += axes.plot(intensity, np.sqrt(variance), **style)
    if n > 1:
        axes.legend(fontsize=8)
    axes.set(ylim=(0, None), xlabel="intensity")
    axes.set_title("standard deviation of the noise", fontsize=9)
    return lines


def _spectrum(model, size=65):
    """Power of the noise by frequency over that of white noise, the mean of the channels."""
    own = model.mean_correlation()
    if own is None:
        return np.ones((size, size))
    size = max(size, *own.shape) | 1
    around = np.zeros((size, size))
    y, x = (slice((size - n) // 2, (size + n) // 2) for n in own.shape)
    around[y, x] = own
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(around)).real.clip(0))
