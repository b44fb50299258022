"""Arrays in files that are read and written in parts: .npy, .zarr and TIFF."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain, compress, product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile

from nnk_image.base.atomic import ImageFileError
from nnk_image.base.checks import warn
from nnk_image.base.extras import requires_extra
from nnk_image.base.reach import Slices
from nnk_image.io import metadata as meta
from nnk_image.io import tiff
from nnk_image.io.files import damaged_file_error, one_line
from nnk_image.io.metadata import Lengths, Metadata

_MOST_CHUNK = 1024  # pixels along a side of a chunk of a zarr array
_ATTRIBUTE = "nnk_image"  # of a zarr array that is written in parts: the note for `resume`
_CONFIG = {"write_empty_chunks": True}  # so that a chunk exists exactly if it was written
_SPACE_AND_COLOR = set("TZYXS")
_writing = threading.Lock()


class FileArray:
    """An array in a file, without axes of length 1 other than Y and X, if they have names.

    Integers of at most 16 bits are read as float32, which is exact.
    """

    def __init__(self, array: Any, path: Path, axes: str, lengths: Lengths) -> None:
        self.path, self._array, self.stored = path, array, np.dtype(array.dtype)
        named = axes or " " * array.ndim
        self._kept = [n > 1 or axis in "YX " for axis, n in zip(named, array.shape, strict=True)]
        self.shape = tuple(compress(array.shape, self._kept))
        axes = "".join(compress(axes, self._kept))
        self.metadata = Metadata(
            axes=axes, spacing=tuple(map(lengths[0].get, axes)), unit=lengths[1]
        )
        self.channel_axis = axes.index("S") if "S" in axes else None
        space = axes.replace("S", "")
        relative = meta.in_units_of_x(meta.lengths_in_space(self.metadata), space)
        self.spacing = relative if len(space) > 2 else None  # None: an image, not a volume
        small = self.stored.kind in "bui" and self.stored.itemsize <= 2
        self.dtype = np.dtype(np.float32) if small else self.stored

    def __getitem__(self, slices: Slices) -> npt.NDArray[Any]:
        wanted = iter(slices)
        index = tuple(next(wanted, slice(None)) if kept else 0 for kept in self._kept)
        try:
            return np.asarray(self._array[index]).astype(self.dtype, copy=False)
        except MemoryError:
            raise
        except Exception as error:  # decoders fail in many ways on damaged bytes
            raise damaged_file_error(self.path, error) from error


@contextmanager
def open_source(source: Any, given: str | None = None, named: bool = False) -> Iterator[Any]:
    """Open a file as a `FileArray`, with `given` axes if any; yield other sources unchanged.

    If it must be `named`, axes that neither the caller nor the file names are assumed.
    """
    if not isinstance(source, str | os.PathLike):
        yield source
        return
    path, axes = Path(source), ""
    lengths: Lengths = {}, None
    suffix = path.suffix.lower()
    with ExitStack() as stack:
        try:
            path.stat()  # a missing file: libraries raise many different errors
            if suffix == ".npy":
                array = np.lib.format.open_memmap(path, "r")
            elif suffix == ".zarr":
                array, about = _first_array(_zarr().open(path, mode="r"))
                axes, lengths = _ome_axes(about)
            elif suffix in (".tif", ".tiff"):
                with tiff.no_damage():
                    file = stack.enter_context(tifffile.TiffFile(path))
                    series, _ = tiff.checked_series(file)
                level = series[0].levels[0]
                if len(series) > 1:
                    warn(f"{path}: of its {len(series)} images only the first is read")
                tiff.check_in_parts(level.keyframe)
                axes, lengths = tiff.axes_of(level, given)[0], tiff.lengths_of(file, level.keyframe)
                zarr = _zarr()  # tifffile needs it too, but does not name the extra
                store = stack.enter_context(closing(level.aszarr()))
                array, _ = _first_array(zarr.open(store, mode="r"))
            else:
                raise ValueError("only .npy, .zarr and TIFF can be read in parts; convert it")
            axes = meta.checked_axes(given, tuple(array.shape)) if given else axes
            axes = axes or (meta.assumed_axes(tuple(array.shape)) if named else "")
            opened = FileArray(array, path, axes, lengths)
            if not set(opened.metadata.axes) <= _SPACE_AND_COLOR:
                raise ValueError(
                    f"it has axes {axes}; only time, space and color, TZYXS, are read: save each "
                    "channel as a file of its own"
                )
        except OSError as error:
            unnamed = "holds no zarr array" if suffix == ".zarr" else error
            raise ImageFileError(f"{path}: {error.strerror or unnamed}") from error
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # libraries fail in many ways on damaged files
            raise ImageFileError(f"{path}: cannot be read in parts ({one_line(error)})") from error
        yield opened


def version_of(array: Any) -> list[Any] | None:
    """Return the version of the file behind an array; None for arrays without a known file."""
    if isinstance(array, FileArray):
        return _version(array.path)
    if type(array).__module__.startswith("h5py"):  # whose dask token differs each time
        with suppress(OSError, TypeError):
            return [*_version(Path(array.file.filename)), array.name]
    return None


def storage_location(array: Any) -> str | None:
    """Return the storage location of a zarr or HDF5 array, or of the array behind a `FileArray`.

    It is None for others.
    """
    array = array._array if isinstance(array, FileArray) else array
    if hasattr(array, "store_path"):  # of zarr
        return os.path.realpath(str(array.store_path).removeprefix("file://"))
    if type(array).__module__.startswith("h5py"):
        return os.path.realpath(array.file.filename) + str(array.name)
    return None


def _version(path: Path) -> list[Any]:
    """Return the name and size of a file or folder, and the last change of anything in it."""
    changed = max(each.stat().st_mtime_ns for each in chain([path], path.rglob("*")))
    return [path.name, path.stat().st_size, changed]


def resume(path: Path, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Return the zarr array that a call with these arguments has begun, and its note.

    None if there is nothing at `path`; ImageFileError if there is something else.
    """
    if path.suffix.lower() != ".zarr":
        raise ImageFileError(
            f"{path}: only .zarr can be written in parts; for others give an array that takes "
            "values in slices, such as numpy.lib.format.open_memmap or tifffile.memmap make"
        )
    if not path.exists():
        return None
    try:
        array = _zarr().open_array(path, mode="r+", config=_CONFIG)
        noted = array.attrs[_ATTRIBUTE]
    except (OSError, LookupError, ValueError) as error:
        raise ImageFileError(
            f"{path}: exists, but cannot be resumed; remove it or choose another name"
        ) from error
    if noted["arguments"] != arguments:
        raise ImageFileError(
            f"{path}: was begun with another source or other arguments (including max_memory "
            "and n_jobs); repeat that call to resume it, or remove the file"
        )
    return array, noted


def create(path: Path, note: dict[str, Any], chunks: Sequence[int], **options: Any) -> Any:
    """Create a zarr array to be written in parts, with a note for `resume`."""
    options |= {"chunks": tuple(chunks), "attributes": {_ATTRIBUTE: note}, "config": _CONFIG}
    return _zarr().create_array(path, **options)


def chunk_side(side: int, n: int) -> int:
    """Return the side of chunks that divide parts of the given side, along an axis of n pixels."""
    pieces = -(-side // _MOST_CHUNK)
    while side < n and side % pieces:
        pieces += 1
    return -(-side // pieces)


def is_written(array: Any, path: Path, slices: Slices) -> bool:
    """Return whether all chunks of a part of a zarr array exist."""
    axes = zip(slices, array.chunks, array.shape, strict=True)
    parts = ((*s.indices(n)[:2], chunk) for s, chunk, n in axes)
    numbers = (range(start // chunk, -(-stop // chunk)) for start, stop, chunk in parts)
    return all((path / array.metadata.encode_chunk_key(c)).exists() for c in product(*numbers))


def write(array: Any, slices: Slices, values: npt.NDArray[Any]) -> None:
    """Write a part of an array, rounded and clipped for integers."""
    samples = meta.to_samples(values, array.dtype)
    try:
        with _writing:  # two parts may share a chunk of an array made by the caller
            array[slices] = samples
    except OSError as error:
        raise ImageFileError(
            f"the result could not be written ({error.strerror or error}); make room, and repeat "
            "the call: a .zarr is then resumed"
        ) from error


def _first_array(opened: Any, about: Mapping[str, Any] = MappingProxyType({})) -> tuple[Any, Any]:
    """Return an array, or the first level of a pyramid, and its group's attributes."""
    if hasattr(opened, "dtype"):
        return opened, about
    if "0" not in opened:
        raise ValueError(
            f"it is a group without an array '0'; open one of {sorted(opened)} by zarr, and pass it"
        )
    return _first_array(opened["0"], opened.attrs)


def _ome_axes(attributes: Mapping[str, Any]) -> tuple[str, Lengths]:
    """Return the axes that the attributes of an OME-Zarr group name, else '', and the spacing."""
    with suppress(LookupError, TypeError):
        image = attributes.get("ome", attributes)["multiscales"][0]
        axes = "".join(axis["name"][0] for axis in image["axes"]).upper()
        (transformation, *_) = image["datasets"][0].get("coordinateTransformations", [{}])
        pairs = zip(image["axes"], transformation.get("scale", []), strict=False)
        lengths = {a["name"].upper(): (n, a.get("unit")) for a, n in pairs if a["name"] in "zyx"}
        return axes, meta.common_unit(lengths)
    return "", ({}, None)


def _zarr() -> Any:
    with requires_extra("this needs zarr", "tiled"):
        import zarr
    return zarr
