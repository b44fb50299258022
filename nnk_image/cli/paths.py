"""Paths of the command line: files, folders and patterns in; a file or a folder out."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from nnk_image.base.atomic import ImageFileError, check_output
from nnk_image.io.files import READABLE, extension_of, one_line


def image_paths(arguments: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the image files that command line arguments name, each once.

    Parameters
    ----------
    arguments : iterable of str or path-like
        Files; folders, which stand for the image files directly in them, sorted by name; and
        patterns such as ``photos/*.png`` (``**`` for any depth).

    Raises
    ------
    ImageFileError
        If there is no argument, or one of them names nothing.
    """
    found: list[Path] = []
    for argument in arguments:
        try:
            found += _expand(os.fspath(argument))
        except OSError as error:  # a folder that may not be searched, a name too long
            raise ImageFileError(f"{argument}: {one_line(error)}; name other files") from error
    if not found:
        raise ImageFileError("no image given; name a file, a folder or a pattern like '*.png'")
    return list(dict.fromkeys(found))


def _expand(argument: str) -> list[Path]:
    """Return the image files that one argument names."""
    path = Path(argument)
    if path.is_dir():
        names = [p for p in sorted(path.iterdir()) if not p.name.startswith(".") and p.is_file()]
        files = [p for p in names if p.name.lower().endswith(READABLE)]
        if not files:
            known = ", ".join(f"*{extension}" for extension in READABLE)
            raise ImageFileError(f"{argument}: no image in this folder; wanted: {known}")
        return files
    if path.exists():  # also a file whose name happens to look like a pattern
        return [path]
    if glob.has_magic(argument):
        files = [Path(p) for p in sorted(glob.glob(argument, recursive=True)) if Path(p).is_file()]
        if not files:
            raise ImageFileError(f"{argument}: no file matches; check the pattern and the folder")
        return files
    raise ImageFileError(f"{argument}: no such file or folder; check the name")


def paired_outputs(
    paths: Sequence[Path], arguments: Sequence[str], output: str | None, extensions: Sequence[str]
) -> dict[Path, Path]:
    """Return where the result for each image goes; nothing if `output` is None.

    Parameters
    ----------
    paths : list of Path
        The images that `arguments` name.
    arguments : list of str
        Arguments of the command line.
    output : str or None
        A file for one image; a folder for a folder or for several images, created if missing.
    extensions : sequence of str
        Extensions that can be written. In a folder images keep their names, except for other
        extensions, which become the first of these.
    """
    if output is None:
        return {}
    folder = Path(output)
    to_file = not (folder.is_dir() or output.endswith(("/", os.sep)) or Path(arguments[0]).is_dir())
    if to_file and len(paths) == 1:
        return {paths[0]: folder}
    if not folder.is_dir():
        if folder.exists() or extension_of(folder) in extensions:
            raise ImageFileError(
                f"{output}: names a file; a folder or several images need a folder"
            )
        check_output(folder)
        folder.mkdir()
    pairs: dict[Path, Path] = {}
    sources: dict[str, Path] = {}
    for path in paths:
        extension = extension_of(path)
        stem = path.name[: len(path.name) - len(extension)]
        name = path.name if extension in extensions else stem + extensions[0]
        if name in sources:
            raise ImageFileError(
                f"{sources[name]} and {path} would both become {folder / name}; rename one, or "
                "give them folders of their own"
            )
        pairs[path], sources[name] = folder / name, path
    return pairs


def check_outputs(*paths: str | os.PathLike[str] | None) -> None:
    """Refuse files that cannot be written before the long computation."""
    for path in paths:
        if path is not None:
            check_output(path)
