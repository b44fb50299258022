"""Image files: read and written whole or not at all; and the standard images."""

from nnk_image.base.atomic import ImageFileError
from nnk_image.io.formats import ImageFile
from nnk_image.io.images import read_image, standard_image, standard_images, write_image

__all__ = [
    "ImageFile",
    "ImageFileError",
    "read_image",
    "standard_image",
    "standard_images",
    "write_image",
]
