"""Image files and stacks: read, and written whole or not at all."""

from nnk_image.base.atomic import ImageFileError
from nnk_image.io.files import read, write

__all__ = ["ImageFileError", "read", "write"]
