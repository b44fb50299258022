"""Image files and stacks: read and written whole or not at all; and the standard images."""

from nnk_image.base.atomic import ImageFileError
from nnk_image.io.formats import ImageFile
from nnk_image.io.images import read_image, standard_image, standard_images, write_image
from nnk_image.io.stacks import StackFile, read_stack, write_stack

__all__ = [
    "ImageFile",
    "ImageFileError",
    "StackFile",
    "read_image",
    "read_stack",
    "standard_image",
    "standard_images",
    "write_image",
    "write_stack",
]
