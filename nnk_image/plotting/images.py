"""Plots of images side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.image import image_array
from nnk_image.plotting.figures import finite, of_finite, row_of_axes, show, value_range_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_comparison(
    images: Mapping[str, npt.ArrayLike],
    axes: Any = None,
    value_range: tuple[float, float] | None = None,
    *,
    clean: npt.ArrayLike | None = None,
    difference: bool = False,
) -> list[Axes]:
    """Draw images side by side, such as one before and after denoising.

    Parameters
    ----------
    images : dict from title to (H, W) or (H, W, 3) array_like
        Images, drawn in this order.
    axes : sequence of matplotlib.axes.Axes, optional
        One for each image, and one for the difference. Default: a new figure.
    value_range : (float, float), optional
        Values that are drawn as black and white. Default: the range of `clean`, or the first image.
    clean : array_like, optional
        The image without noise. Titles then show the root mean square errors of finite pixels.
    difference : bool
        True also draws the last image's difference from `clean` or the first one; default False.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each image, and one for the difference, which is averaged over the channels and
        saturates at 1.5 times the root mean square of that of the first image.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    >>> images = {"noisy": noisy, "denoised": nnk_image.denoise(noisy, 25)}
    >>> axes = nnk_image.plotting.plot_comparison(images, clean=clean, difference=True)
    >>> axes[0].get_title()
    'noisy: error 25'
    """
    if not isinstance(images, Mapping) or not images:
        raise TypeError(
            "images must be a dictionary of at least one image by title, such as "
            f"{{'noisy': noisy}}, not {type(images).__name__}"
        )
    arrays = [image_array(image) for image in images.values()]
    row = row_of_axes(axes, len(arrays) + difference, 2.6, 2.9)
    if value_range is None:
        value_range = value_range_of(arrays[0] if clean is None else clean)
    titles = list(images)
    if clean is not None or difference:
        reference = image_array(arrays[-1] if clean is None else clean).astype(float)
        if any(array.shape != reference.shape for array in arrays):
            shapes = " and ".join(str(array.shape) for array in (*arrays, reference))
            raise ValueError(f"images to compare must have the same shape, got {shapes}")
        errors = [finite(array) - finite(reference) for array in arrays]
        rms = [np.sqrt(of_finite(np.mean, error**2)) for error in errors]
    if clean is not None:
        titles = [f"{title}: error {value:.3g}" for title, value in zip(titles, rms, strict=True)]
    for ax, array, title in zip(row, arrays, titles, strict=False):
        show(ax, array, value_range, title)
    if difference:
        left, title = (errors[0], "removed") if clean is None else (errors[-1], "error left")
        left = left.mean(axis=2) if left.ndim == 3 else left
        top = 1.5 * rms[0] or 1.0
        show(row[-1], left, (-top, top), title, cmap="RdBu_r")
    return row
