"""Any image to checked pixels, and to the feature planes of the C core.

An image is an array (H, W), or (H, W, C) with ``channel_axis``.  Whatever its
memory layout, byte order or dtype, the same values give the same result.
"""

import numbers
from dataclasses import dataclass

import numpy as np

from nnk_image.base.checks import check_positive, working_dtype
from nnk_image.base.geometry import PixelGrid

_EXACT_IN_FLOAT32 = ("b", "u1", "i1")  # products of differences stay below 2^24
_MAX_EXACT_CHANNELS = 64


@dataclass(frozen=True)
class Image:
    """A checked image.

    Attributes
    ----------
    pixels : (H, W, C) ndarray
        The values, channels last, in the caller's dtype (or a float one).
    dtype : numpy.dtype
        Floating type of everything computed from it: float32 or float64.
    valid : (H, W) bool ndarray or None
        Pixels that take part; None means all.
    low, high : float
        Smallest and largest valid value.
    channel_axis : int or None
        Where the caller had the channels, non-negative.
    """

    pixels: np.ndarray
    dtype: np.dtype
    valid: np.ndarray | None
    low: float
    high: float
    channel_axis: int | None

    @property
    def shape(self):
        """(H, W)."""
        return self.pixels.shape[:2]

    @property
    def channels(self):
        """Number of channels, 1 for a grey image."""
        return self.pixels.shape[2]

    @property
    def largest_square(self):
        """Largest squared distance that two pixels may have; infinite beyond float64."""
        with np.errstate(over="ignore"):
            return (np.float64(self.high) - self.low) ** 2 * self.channels

    def restore(self, pixels):
        """Bring (H, W, C) back to the caller's axes."""
        if self.channel_axis is None:
            return pixels[..., 0]
        return np.ascontiguousarray(np.moveaxis(pixels, -1, self.channel_axis))


def check_image(image, channel_axis=None, mask=None):
    """Check an image and its mask, once, for every public function.

    An `Image` has been checked and is returned as it is.

    Returns
    -------
    Image

    Raises
    ------
    TypeError
        The dtype holds no real numbers.
    ValueError
        Wrong number of axes, no pixel, a bad `channel_axis` or `mask`, or a value
        that is not finite outside the mask.
    """
    if isinstance(image, Image):
        return image
    pixels = np.ma.getdata(image) if isinstance(image, np.ma.MaskedArray) else np.asarray(image)
    _check_dtype(pixels.dtype)
    channel_axis = _check_axes(pixels, channel_axis)
    pixels = pixels[..., None] if channel_axis is None else np.moveaxis(pixels, channel_axis, -1)
    if pixels.size == 0:
        raise ValueError(f"the image has no pixel: shape {np.shape(image)}")
    dtype = working_dtype(pixels.dtype)
    if pixels.dtype.kind == "f" and pixels.dtype.newbyteorder("=") != dtype:
        pixels = pixels.astype(dtype)
    valid = _check_mask(mask, pixels.shape[:2])
    if isinstance(image, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(image)
        if channel_axis is not None:
            hidden = hidden.any(axis=channel_axis)
        valid = _check_mask(~hidden if valid is None else valid & ~hidden, pixels.shape[:2])
    low, high = _finite_range(pixels, valid)
    return Image(pixels, dtype, valid, low, high, channel_axis)


def data_range_of(image, data_range=None):
    """The range of values `image` may take: given, or known from its dtype.

    Raises
    ------
    ValueError
        Neither given nor known; the message says what to pass.
    """
    if data_range is not None:
        return check_positive("data_range", data_range, "largest minus smallest possible value")
    kind, size = image.pixels.dtype.kind, image.pixels.dtype.itemsize
    if kind == "b":
        return 1.0
    if kind == "u" and size <= 2:
        return float(np.iinfo(image.pixels.dtype).max)
    if kind == "f" and image.low >= 0 and image.high <= 1:
        return 1.0
    raise ValueError(
        f"the data range of this {image.pixels.dtype} image with values from {image.low:g} to "
        f"{image.high:g} is not known; pass sigma_f in the image's units, or "
        "data_range= (255 for 8-bit values)"
    )


def exact_in_float32(image):
    """True where float32 holds every product of differences of this image exactly."""
    return image.pixels.dtype.str[1:] in (*_EXACT_IN_FLOAT32, "b1") and (
        image.channels <= _MAX_EXACT_CHANNELS
    )


def feature_planes(image, radius):
    """The features of an image's pixels as the C core reads them.

    Parameters
    ----------
    image : Image
    radius : int
        Of the window: so wide is the border.

    Returns
    -------
    exact : bool
        Whether float32 holds every product of differences of the features.  It does for values
        of 8 bits: their graph is then that of the float64 image, bit for bit.
    planes : (C, rows, stride) ndarray
        NaN on the border and where pixels are masked; float32 if `exact`, else of the
        image's floating type.
    """
    exact = exact_in_float32(image)
    height, width = image.shape
    shape = image.channels, *PixelGrid(image.shape).feature_planes(radius)
    planes = np.empty(shape, np.float32 if exact else image.dtype)
    planes[:, :radius] = planes[:, radius + height :] = np.nan
    rows = planes[:, radius : radius + height]
    rows[:, :, :radius] = rows[:, :, radius + width :] = np.nan
    inside = rows[:, :, radius : radius + width]
    inside[...] = np.moveaxis(image.pixels, -1, 0)
    if image.valid is not None:
        inside[:, ~image.valid] = np.nan
    return exact, planes


def _check_dtype(dtype):
    if dtype.kind not in "buif":
        raise TypeError(
            f"an image of dtype {dtype} holds no real numbers; convert it first, for example "
            "image.real, numpy.abs(image) or image.astype(float)"
        )


def _check_axes(pixels, channel_axis):
    """`channel_axis` as a non-negative axis or None, checked against the shape."""
    if channel_axis is None:
        if pixels.ndim == 2:
            return None
        hint = (
            f"; a colour image of shape {pixels.shape} needs channel_axis= "
            "(-1 where the channels come last)"
            if pixels.ndim == 3
            else ""
        )
        raise ValueError(f"an image has 2 axes (rows, columns), this one {pixels.ndim}{hint}")
    if not isinstance(channel_axis, numbers.Integral) or isinstance(channel_axis, bool):
        raise TypeError(f"channel_axis must be an integer or None, not {channel_axis!r}")
    if pixels.ndim != 3:
        raise ValueError(
            f"channel_axis={channel_axis} is for arrays of 3 axes, this one has {pixels.ndim}: "
            f"shape {pixels.shape}; use channel_axis=None for a grey image"
        )
    if not -3 <= channel_axis < 3:
        raise ValueError(f"channel_axis={channel_axis} is outside an array of shape {pixels.shape}")
    return int(channel_axis) % 3


def _check_mask(mask, shape):
    if mask is None:
        return None
    valid = np.array(mask)
    if valid.dtype != bool:
        raise TypeError(f"mask must be boolean (True: the pixel takes part), not {valid.dtype}")
    if valid.shape != shape:
        raise ValueError(f"mask has shape {valid.shape}, the image {shape}: they must be equal")
    if not valid.any():
        raise ValueError("mask leaves no pixel: it must be True for at least one")
    return valid


def _finite_range(pixels, valid):
    """Smallest and largest value; an error that says where values are not finite."""
    values = pixels if valid is None else pixels[valid]
    low, high = values.min(), values.max()
    if np.isfinite(low) and np.isfinite(high):
        return float(low), float(high)
    bad = ~np.isfinite(pixels).all(axis=-1)
    if valid is not None:
        bad &= valid
    row, column = (int(i) for i in np.argwhere(bad)[0])
    raise ValueError(
        f"{int(bad.sum())} of {bad.size} pixels are not finite, the first at row {row}, column "
        f"{column} ({pixels[row, column].squeeze()}); replace them, or leave them out with "
        f"mask=numpy.isfinite(image){'.all(axis=channel_axis)' if pixels.shape[2] > 1 else ''}"
    )
