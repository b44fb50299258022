"""Images side by side, before and after denoising."""

import numpy as np

from nnk_image.plotting.figures import row_of_axes, show, value_range_of


def plot_images(pictures, axes=None, value_range=None):
    """Images side by side with titles.

    Parameters
    ----------
    pictures : dict from title to (H, W) or (H, W, 3) ndarray
    axes : sequence of matplotlib.axes.Axes, optional
    value_range : (float, float), optional
        Values shown black and white; default: those of the first image.

    Returns
    -------
    list of matplotlib.image.AxesImage

    Examples
    --------
    >>> import nnk_image
    >>> image = nnk_image.standard_image("camera")
    >>> len(plot_images({"image": image, "upside down": image[::-1]}))
    2
    """
    axes = row_of_axes(axes, len(pictures))
    value_range = value_range or value_range_of(next(iter(pictures.values())))
    return [
        show(ax, picture, value_range, title)
        for (title, picture), ax in zip(pictures.items(), axes, strict=False)
    ]


def plot_before_after(before, after, axes=None, *, clean=None, value_range=None):
    """An image before and after denoising, and the error left in it.

    Parameters
    ----------
    before, after : (H, W) or (H, W, 3) array_like
    axes : sequence of 3 matplotlib.axes.Axes, optional
    clean : array_like, optional
        The image without noise: the third picture is then ``after - clean``, and titles
        give root mean square errors.  Without, it is what was taken away, ``before -
        after``, in which nothing of the image should be seen.
    value_range : (float, float), optional
        Values shown black and white; default: those of `clean` or `after`.

    Returns
    -------
    list of 3 matplotlib.image.AxesImage
        The third, averaged over channels, is red where values are too large (or were
        lowered) and saturates at 1.5 times the error before, or what was taken away.

    Raises
    ------
    ValueError
        The images have different shapes, or fewer than three axes are given.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> clean = nnk_image.standard_image("camera").astype(float)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape)
    >>> pictures = plot_before_after(noisy, nnk_image.denoise(noisy, 25), clean=clean)
    >>> pictures[0].axes.get_title()
    'before: error 25'
    """
    before, after = np.asarray(before, float), np.asarray(after, float)
    reference = after if clean is None else np.asarray(clean, float)
    if not before.shape == after.shape == reference.shape:
        shapes = " and ".join(str(picture.shape) for picture in (before, after, reference))
        raise ValueError(f"the images have shapes {shapes}; give images of the same scene")
    axes = row_of_axes(axes, 3)
    if len(axes) < 3:
        raise ValueError(f"{len(axes)} axes given; before, after and error need 3")
    value_range = value_range or value_range_of(reference)
    rms = [float(np.sqrt(np.mean((picture - reference) ** 2))) for picture in (before, after)]
    if clean is None:
        titles, error = ("before", "after", "taken away"), before - after
    else:
        titles = f"before: error {rms[0]:.3g}", f"after: error {rms[1]:.3g}", "error left"
        error = after - reference
    pictures = zip(axes[:2], (before, after), titles[:2], strict=True)
    shown = [show(ax, picture, value_range, title) for ax, picture, title in pictures]
    if error.ndim == 3:
        error = error.mean(axis=2)
    top = 1.5 * rms[0] or 1.0
    return [*shown, show(axes[2], error, (-top, top), titles[2], cmap="RdBu_r")]
