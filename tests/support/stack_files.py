"""OME files for tests, and round trips of reading and writing."""

import numpy as np
import tifffile

from nnk_image.io import read, write
from nnk_image.io.files import extension_of

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64")


def again(tmp_path, path, out="again"):
    """Read a file and write it again; return array, metadata and the path of the copy."""
    array, about = read(path)
    target = tmp_path / (out + extension_of(path))
    write(target, array, about)
    back, metadata = read(target)
    np.testing.assert_array_equal(back, array, strict=True)
    assert back.dtype.isnative
    for name in ("axes", "spacing", "unit", "format", "dtype", "axes_assumed"):
        assert getattr(metadata, name) == getattr(about, name), name
    return array, about, target


def ome_file(path, pixels, axes, **about):
    sizes = {
        **{"PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "PhysicalSizeY": 0.25},
        **{"PhysicalSizeYUnit": "µm", "PhysicalSizeZ": 900.0, "PhysicalSizeZUnit": "nm"},
        **{"TimeIncrement": 3.0, "TimeIncrementUnit": "s"},
    }
    tifffile.imwrite(path, pixels, ome=True, metadata={"axes": axes, **sizes, **about})
