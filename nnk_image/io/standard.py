"""The standard test images, which come with the package."""

from pathlib import Path
from typing import Any

import numpy.typing as npt

from nnk_image.base.atomic import ImageFileError
from nnk_image.base.checks import check_choice
from nnk_image.io.files import read


def standard_images() -> dict[str, Path]:
    """Return the paths of the standard test images, by name.

    Returns
    -------
    dict from str to pathlib.Path
        All are free of copyright (CC0 or public domain).

    Raises
    ------
    ImageFileError
        If the images were not installed with the package.

    Examples
    --------
    >>> import nnk_image
    >>> sorted(nnk_image.standard_images())[:3]
    ['astronaut', 'astronaut_grey', 'brick']
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "images", package.parent / "images"):  # installed; checked out
        if (folder / "camera.png").is_file():
            return {path.stem: path for path in sorted(folder.glob("*.png"))}
    raise ImageFileError(
        f"{package / 'images'}: the standard images are missing; "
        "reinstall nnk_image, or use a complete checkout of its repository"
    )


def standard_image(name: str) -> npt.NDArray[Any]:
    """Return the pixels of a standard test image.

    Parameters
    ----------
    name : str
        A key of `standard_images`, for example 'camera'.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, 3), uint8
        Gray levels or RGB.

    Raises
    ------
    ValueError
        If there is no such image; the message lists all names.

    Examples
    --------
    >>> import nnk_image
    >>> nnk_image.standard_image("camera").shape
    (256, 256)
    """
    images = standard_images()
    return read(images[check_choice("name", name, images)])[0]
