"""Curves of several images in one picture: their mean, and a shade over their range."""


def draw_curves(ax, x, curves, color, label, style="-", alpha=0.15):
    """Draw the mean of `curves`, (images, points), shaded from the least to the largest."""
    low, high = curves.min(axis=0), curves.max(axis=0)
    ax.fill_between(x, low, high, color=color, alpha=alpha, lw=0)
    ax.plot(x, curves.mean(axis=0), color=color, ls=style, marker="o", ms=4, label=label)
