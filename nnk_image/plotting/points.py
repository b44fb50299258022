"""Points of any space: dimension by scale, what hides what, why a prediction was made."""

import numpy as np

from nnk_image.base.checks import check_count
from nnk_image.learning.gram import kernel_matrix
from nnk_image.learning.manifold import intrinsic_dimension
from nnk_image.neighbors.features import check_features
from nnk_image.neighbors.kernel_ratio import is_hidden
from nnk_image.neighbors.kernels import check_kernel, check_sigma
from nnk_image.plotting.figures import COLORS, row_of_axes, show, value_range_of

_GRID = 300  # places per side at which the kernel ratio is drawn


def plot_scales(scales, axes=None, *, threshold=0.05, label=None):
    """Dimension and number of neighbours of data against the scale.

    Parameters
    ----------
    scales : list of NNKScale
        As from `nnk_scales`.
    axes : sequence of two matplotlib.axes.Axes, optional
    threshold : float
        Of `pca_dimension`.
    label : str, optional
        Of the lines, for a legend.

    Returns
    -------
    list of 2 matplotlib.lines.Line2D
        Means over the points given: the local dimension, which stays at that of the data
        from the scale of the noise to that of the curvature; and the number of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from nnk_image.neighbors import nnk_scales
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 800)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> circle += 0.02 * rng.standard_normal(circle.shape)
    >>> dimension, neighbours = plot_scales(nnk_scales(circle))
    >>> float(min(dimension.get_ydata()))
    1.0
    """
    if not scales:
        raise ValueError("there is no scale to draw; give nnk_scales other sigmas")
    axes = row_of_axes(axes, 2, 4, 3.2)
    dimension, neighbours = [], []
    for scale in scales:
        local = intrinsic_dimension(scale.neighborhoods, scale.points, threshold=threshold)
        dimension.append(np.average(local, weights=scale.counts))
        neighbours.append(np.average(scale.neighborhoods.n_neighbors, weights=scale.counts))
    sigma = [scale.sigma for scale in scales]
    means = {"dimension": dimension, "neighbours": neighbours}
    lines = []
    for ax, (name, values) in zip(axes, means.items(), strict=False):
        lines += ax.plot(sigma, values, "o-", color=COLORS["nnk"], label=label, markersize=4)
        ax.set_xscale("log", base=2)
        ax.set(xlabel="scale sigma", ylim=(0, None))
        ax.set_title(f"{name} of a point", fontsize=9)
    return lines


def plot_kernel_ratio(
    query, neighbours, ax=None, *, kernel="gaussian", sigma=1.0, kernel_params=None, limits=None
):
    """Where a further candidate would be hidden behind one of the neighbours.

    Parameters
    ----------
    query : (2,) array_like
        A point of the plane.
    neighbours : (k, 2) array_like
    ax : matplotlib.axes.Axes, optional
    kernel, sigma, kernel_params
        As for `nnk_neighbors`; `sigma` is a number here.
    limits : (float, float, float, float), optional
        Left, right, bottom and top of the part of the plane drawn. Default: all points, with
        room around them.

    Returns
    -------
    list of matplotlib.contour.QuadContourSet
        For each neighbour the edge of what it hides: for the Gaussian kernel the line through
        the neighbour at right angles to the line of sight. What stays white is where another
        candidate would become a neighbour too.

    Examples
    --------
    >>> len(plot_kernel_ratio([0, 0], [[1.0, 0.0], [-0.4, 0.7]]))
    2
    """
    query = check_features("query", np.reshape(query, (1, -1)), 2).astype(np.float64)
    neighbours = check_features("neighbours", neighbours, 2).astype(np.float64)
    name = kernel if isinstance(kernel, str) else "function"
    kernel = check_kernel(kernel, kernel_params, 2)
    if kernel.name in ("lle", "angular", "precomputed"):
        raise ValueError(f"kernel={kernel.name!r} is no function of two points; choose another")
    sigma = check_sigma(sigma)
    if isinstance(sigma, str) or sigma == 0:
        raise ValueError(f"sigma={sigma!r} must be a positive number here")
    left, right, bottom, top = limits or _limits_of(np.vstack([query, neighbours]))
    x, y = np.meshgrid(np.linspace(left, right, _GRID), np.linspace(bottom, top, _GRID))
    places = np.column_stack([x.ravel(), y.ravel()])
    similarity = kernel_matrix(kernel, sigma, places, query)[:, 0]
    between = kernel_matrix(kernel, sigma, places, neighbours)
    of_neighbour = kernel_matrix(kernel, sigma, query, neighbours)[0]
    own = np.diagonal(kernel_matrix(kernel, sigma, neighbours, neighbours))
    hidden = is_hidden(similarity[:, None], between, of_neighbour, own)
    ax = row_of_axes(ax, 1, 4.4, 4.4)[0]
    shade = hidden.sum(axis=1).reshape(x.shape)
    ax.contourf(x, y, shade, [0.5, len(neighbours) + 0.5], colors=["0.9"])
    edges = [
        ax.contour(x, y, column.reshape(x.shape), [0.5], colors=COLORS["nnk"], linewidths=1)
        for column in hidden.T
    ]
    ax.scatter(*neighbours.T, s=40, color=COLORS["nnk"], zorder=3)
    ax.scatter(*query[0], s=90, color="gold", edgecolor="black", zorder=4)
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    ax.set_title(f"{name}: hidden behind a neighbour", fontsize=9)
    return edges


def _limits_of(points):
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.6 * max((high - low).max(), 1e-9)
    return low[0] - room, high[0] + room, low[1] - room, high[1] + room


def plot_explanation(
    image, neighborhoods, query, images, labels, axes=None, *, title=None, n_shown=7
):
    """The neighbours that explain a prediction, as pictures with their shares.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) array_like
        What was classified.
    neighborhoods : Neighborhoods
        As from ``NNKClassifier.neighborhoods``; its features may be others than the pixels.
    query : int
        Which of its queries the image is.
    images : (N, H, W) or (N, H, W, 3) array_like
        Those of the fitted points.
    labels : (N,) array_like
        Their classes.
    axes : sequence of matplotlib.axes.Axes, optional
        One for the image, the others for neighbours.
    title : str, optional
        Of the image.
    n_shown : int
        Most neighbours drawn, if no axes are given.

    Returns
    -------
    list of matplotlib.image.AxesImage
        The image, then its neighbours by falling share, which their titles tell.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nnk_image import NNKClassifier
    >>> digits = load_digits()
    >>> model = NNKClassifier(30, sigma_scale=3).fit(digits.data[1:], digits.target[1:])
    >>> near = model.neighborhoods(digits.data[:1])
    >>> parts = plot_explanation(
    ...     digits.images[0], near, 0, digits.images[1:], digits.target[1:]
    ... )
    >>> parts[1].axes.get_title()
    '0: 28 %'
    """
    query = check_count("query", query, 0, len(neighborhoods) - 1)
    near, share = neighborhoods.neighbors(query)
    for name, given in (("images", images), ("labels", labels)):
        if len(given) != neighborhoods.n_points:
            raise ValueError(
                f"there are {len(given)} {name} for {neighborhoods.n_points} points; give those "
                "of the fitted points, in their order"
            )
    order = np.argsort(-share, kind="stable")
    shown = order[: check_count("n_shown", n_shown)]
    axes = row_of_axes(axes, 1 + len(shown), 1.3, 1.6)
    value_range = value_range_of(image)
    pictures = [show(axes[0], image, value_range, title)]
    for ax, j in zip(axes[1:], order, strict=False):
        picture = images[near[j]]
        words = f"{labels[near[j]]}: {100 * share[j] / share.sum():.0f} %"
        pictures.append(show(ax, picture, value_range_of(picture), words))
    for ax in axes[len(pictures) :]:
        ax.set_axis_off()
    return pictures
