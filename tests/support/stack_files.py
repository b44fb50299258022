"""Volumes for tests of files, and round trips of reading and writing."""

import numpy as np
import tifffile

from nnk_image.io import read, write
from nnk_image.io.files import extension_of

_RNG = np.random.default_rng(20261124)
DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32", "float64")


def samples(shape, dtype):
    """Return random values of `dtype`; for integers over the whole range, with both limits."""
    if not np.dtype(dtype).isnative:
        return samples(shape, np.dtype(dtype).newbyteorder("=")).astype(dtype)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return _RNG.normal(0, 100, shape).astype(dtype)
    ends = np.iinfo(dtype)
    values = _RNG.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    values.flat[:2] = ends.min, ends.max
    return values


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
