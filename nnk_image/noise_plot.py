"""A picture of a noise model: its strength at each brightness, and how neighbours share it."""

import numpy as np

from nnk_image.plotting import new_figure


def plot_noise(model, value_range=(0, 255)):
    """Draw a `NoiseModel`.

    Parameters
    ----------
    model : NoiseModel
    value_range : (float, float)
        Intensities to draw the noise for, in the image's units.

    Returns
    -------
    matplotlib.figure.Figure
        Left the standard deviation of the noise by intensity, for each channel; right the power
        spectrum, or the map of levels if the model has one.

    Examples
    --------
    >>> import nnk_image
    >>> from nnk_image.noise_plot import plot_noise
    >>> figure = plot_noise(nnk_image.NoiseModel(3.0, gain=0.5))
    >>> len(figure.axes)
    2
    """
    figure = new_figure(figsize=(8, 3.4))
    curve, field = figure.subplots(1, 2)
    _draw_curve(curve, model, value_range)
    if model.levels is not None:
        picture, title = model.levels, "standard deviation of each pixel"
        shown = field.imshow(picture, cmap="magma")
    else:
        picture, title = _spectrum(model), "power by frequency (0 in the middle)"
        shown = field.imshow(picture, cmap="magma", vmin=0, extent=(-0.5, 0.5, 0.5, -0.5))
    field.set_title(title, fontsize=9)
    figure.colorbar(shown, ax=field)
    return figure


def _draw_curve(axes, model, value_range):
    intensity = np.linspace(*value_range, 200)
    n = max(len(model.sigma), len(model.gain), len(model.offset))
    names = ("red", "green", "blue") if n == 3 else [f"channel {c}" for c in range(n)]
    numbers = (model.of_channels(name, n) for name in ("sigma", "gain", "offset"))
    for c, (sigma, gain, offset) in enumerate(zip(*numbers, strict=True)):
        variance = sigma**2 + gain * np.maximum(intensity - offset, 0)
        axes.plot(intensity, np.sqrt(variance), color=names[c] if n == 3 else None, label=names[c])
    if n > 1:
        axes.legend(fontsize=8)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("intensity")
    axes.set_title("standard deviation of the noise", fontsize=9)


def _spectrum(model, size=65):
    """Power of the noise by frequency over that of white noise, the mean of the channels."""
    if model.correlation is None:
        return np.ones((size, size))
    own = model.correlation
    if own.ndim == 4:
        own = np.mean([own[c, c] for c in range(len(own))], axis=0)
    size = max(size, *own.shape) | 1
    around = np.zeros((size, size))
    y, x = (slice((size - n) // 2, (size + n) // 2) for n in own.shape)
    around[y, x] = own
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(around)).real.clip(0))
