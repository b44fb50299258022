"""Arrays in an `.npz` file whose names, types and sizes are known before anything is unpacked."""

import math
import zipfile
from dataclasses import dataclass

import numpy as np
from numpy.lib import format as npy

_KINDS_OF_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_ALWAYS_ALLOWED = 1 << 26  # bytes of arrays for which the compression is not looked at
_MOST_COMPRESSION = 100  # beyond it a small file could fill the memory


class DamagedFile(ValueError):
    """The file is not what it should be; the message says why."""


@dataclass(frozen=True)
class Header:
    """What a member says about its array.

    Attributes
    ----------
    dtype : numpy.dtype
    shape : tuple of int
    """

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def ndim(self):
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self):
        """Bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __len__(self):
        return self.shape[0]


class ArrayArchive:
    """An `.npz` file of which only the directory and the headers of its arrays have been read.

    Parameters
    ----------
    file : binary file object
        It must stay open as long as arrays are read.
    names : collection of str
        The arrays that may be in it.

    Attributes
    ----------
    headers : dict from str to Header
        Of the arrays that are in it.

    Raises
    ------
    DamagedFile
        A member is none of `names`, is there twice, holds no array, or is not as long as its
        header says; or all are compressed so much that a small file would fill the memory.
    """

    def __init__(self, file, names):
        self._archive = zipfile.ZipFile(file)
        members = self._archive.infolist()
        for member in members:
            if not member.filename.endswith(".npy") or member.filename[:-4] not in names:
                raise DamagedFile(f"{member.filename[:80]!r} is in it, which no graph file has")
            if member.compress_type not in _KINDS_OF_COMPRESSION:
                raise DamagedFile(f"{member.filename} is compressed by another method than deflate")
        if len({member.filename for member in members}) < len(members):
            raise DamagedFile("a member is there twice")
        self.headers = {member.filename[:-4]: self._header(member) for member in members}
        in_all = sum(header.nbytes for header in self.headers.values())
        packed = sum(member.compress_size for member in members)
        if in_all > max(_ALWAYS_ALLOWED, _MOST_COMPRESSION * packed):
            raise DamagedFile(
                f"{packed} bytes would become {in_all}, which looks like an attempt to fill the "
                "memory; a graph file that is not compressed has no such limit"
            )

    def read(self, name):
        """The array of that name."""
        if name not in self.headers:
            raise DamagedFile(f"{name} is missing")
        with self._archive.open(f"{name}.npy") as member:
            return npy.read_array(member, allow_pickle=False)

    def _header(self, member):
        with self._archive.open(member) as file:
            version = npy.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise DamagedFile(f"{member.filename} is of version {version}")
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file)
            begin = file.tell()
        header = Header(dtype, shape)
        if dtype.hasobject or min(shape, default=0) < 0:
            raise DamagedFile(f"{member.filename} holds {dtype} of shape {shape}")
        if begin + header.nbytes != member.file_size:
            raise DamagedFile(
                f"{member.filename} has {member.file_size} bytes, its header announces "
                f"{begin + header.nbytes}"
            )
        return header
