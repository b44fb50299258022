"""Paths of the command line: files, folders and patterns in; a file or a folder out."""

import argparse
import glob
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nnk_image.base.atomic import ImageFileError, check_output
from nnk_image.cli.common import Report, for_each, print_error
from nnk_image.io.files import READABLE, extension_of

PLOTS = (".png", ".pdf", ".svg")
"""Extensions of plots."""

MAPS = (".tif", ".tiff", ".npy", ".nii", ".nii.gz", ".ome.tif", ".ome.tiff")
"""Extensions of maps of the noise level: formats that hold floating-point numbers."""

Files = dict[str, Any]
"""Option -> file to write for an image, None if it is not given; 'count' is like ' (3 of 200)'."""


def for_each_image(
    options: argparse.Namespace,
    work: Callable[[Path, Files, argparse.Namespace], Report],
    **formats: Sequence[str],
) -> list[Report]:
    """Call ``work(path, files, options)`` for each image that the options name; gather reports.

    `formats` holds the allowed extensions for each option that names a file or folder to write.
    """
    given = vars(options)
    results = [given[name] for name in formats if given[name] is not None]
    images = image_paths(options.images, options.recursive, results)
    targets = {
        name: paired_outputs(images, options.images, given[name], extensions)
        for name, extensions in formats.items()
    }
    if given.get("no_clobber"):
        number, outputs = len(images), targets["output"]
        images = [path for path in images if not outputs[path].exists()]
        if len(images) < number:
            print_error(f"{number - len(images)} of {number} results exist: skipped")
    by_option = {name: [pairs.get(path) for path in images] for name, pairs in targets.items()}
    planned = {path for paths in by_option.values() for path in paths if path is not None}
    planned -= set(map(Path, results))  # a file that is named itself needs an existing folder
    folders = {path.parent for path in planned if not path.parent.exists()}
    by_option["json"] = [given.get("json")]
    check_targets(images, options.overwrite, by_option, formats, folders)
    for folder in folders:  # only now, so that a refused call leaves none behind
        folder.mkdir(parents=True, exist_ok=True)

    number_of = {path: number for number, path in enumerate(images, 1)}

    def work_on(path: Path) -> Report:
        files: Files = {name: pairs.get(path) for name, pairs in targets.items()}
        count = f" ({number_of[path]} of {len(images)})" if len(images) > 1 else ""
        return work(path, files | {"count": count}, options)

    return for_each(images, work_on)


def image_paths(
    arguments: Iterable[str | os.PathLike[str]],
    recursive: bool = False,
    results: Iterable[str] = (),
) -> list[Path]:
    """Return the image files that command line arguments name, each once.

    Arguments are files; folders, which stand for the images in them, sorted by name, at any depth
    if `recursive`; or patterns. Folders of `results` inside a folder are skipped.
    """
    images: list[Path] = []
    for argument in arguments:
        images += _expand(os.fspath(argument), recursive, [_real(name) for name in results])
    if not images:
        raise ImageFileError("no image given; name a file, a folder or a pattern like '*.png'")
    return list(dict.fromkeys(images))


def _expand(argument: str, recursive: bool, results: Sequence[Path]) -> list[Path]:
    """Return the image files that one argument names."""
    path = Path(argument)
    if path.suffix.lower() == ".zarr":
        raise ImageFileError(
            f"{argument}: .zarr is read by 'nnk-image denoise' only; save a part of it as .tif"
        )
    if path.is_dir():
        return _images_in(path, recursive, results)
    if path.exists():  # also a file whose name happens to look like a pattern
        return [path]
    if not glob.has_magic(argument):
        raise ImageFileError(f"{argument}: no such file or folder; check the name")
    folder, names = os.path.split(argument)
    folder = glob.escape(folder) if os.path.isdir(folder) else folder  # such as 'scans [2020]'
    matches = map(Path, sorted(glob.glob(os.path.join(folder, names), recursive=True)))
    files = [p for p in matches if not p.is_dir()]
    if not files:
        raise ImageFileError(f"{argument}: no file matches; check the pattern and the folder")
    return files


def _images_in(folder: Path, recursive: bool, results: Sequence[Path]) -> list[Path]:
    """Return the images in a folder, and say on stderr which other files are skipped."""
    inner = [result for result in results if not _real(folder).is_relative_to(result)]
    files: list[Path] = []
    others: list[Path] = []
    for p in sorted(_inside(folder) if recursive else folder.iterdir()):
        hidden = any(part.startswith(".") for part in p.relative_to(folder).parts)
        is_result = any(_real(p).is_relative_to(result) for result in inner)
        # A link to nothing is reported as an image that cannot be read.
        if not (p.is_dir() or hidden or is_result):
            (files if p.name.lower().endswith(READABLE) else others).append(p)
    if not files:
        known = ", ".join(f"*{extension}" for extension in READABLE)
        raise ImageFileError(f"{folder}: no image in this folder; wanted: {known}")
    if others:
        names = ", ".join(str(p.relative_to(folder)) for p in others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        print_error(f"{folder}: skipped, because their format is not read: {names}{more}")
    return files


def _inside(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder at any depth; say on stderr which folders cannot be read."""

    def skip(error: OSError) -> None:
        print_error(f"{error.filename}: skipped, because it cannot be read: {error.strerror}")

    for above, _, names in os.walk(folder, onerror=skip):
        yield from (Path(above, name) for name in names)


def _real(path: str | os.PathLike[str]) -> Path:
    """Return the path with links followed; unlike `Path.resolve` also if they form a loop."""
    return Path(os.path.realpath(path))


def paired_outputs(
    paths: Sequence[Path], arguments: Sequence[str], output: str | None, extensions: Sequence[str]
) -> dict[Path, Path]:
    """Return the file for the result of each image; none if `output` is None.

    `output` is a file for one image, and a folder, which may be missing, for a folder or several
    images. In the folder, results keep subfolders and names of the images; an extension that is
    not among `extensions` becomes the first of these.
    """
    if output is None:
        return {}
    folder = Path(output)
    to_file = not (folder.is_dir() or output.endswith(("/", os.sep)) or Path(arguments[0]).is_dir())
    if to_file and len(paths) == 1:
        if not extension_of(folder):
            raise ImageFileError(
                f"{output}: no extension; use one of {', '.join(extensions)}, or end it with / for "
                "a folder"
            )
        return {paths[0]: folder}
    if not folder.is_dir():
        if folder.exists() or extension_of(folder) in extensions:
            raise ImageFileError(
                f"{output} is a file, but several images or a folder need a folder"
            )
        check_output(folder)
    folders = [Path(argument) for argument in arguments if Path(argument).is_dir()]
    sources: dict[Path, Path] = {}
    clashes = []
    for path in paths:
        extension = extension_of(path)
        stem = path.name[: len(path.name) - len(extension)]
        name = path.name if extension in extensions else stem + extensions[0]
        above = next((f for f in folders if path.is_relative_to(f)), path.parent)
        target = folder / path.parent.relative_to(above) / name
        if sources.setdefault(target, path) != path:
            clashes.append(f"{sources[target]} and {path} would both be written to {target}")
    if clashes:
        more = f" (and {len(clashes) - 1} more)" if len(clashes) > 1 else ""
        raise ImageFileError(
            f"{clashes[0]}{more}; rename one of them, or write them to two folders in two calls"
        )
    return {path: target for target, path in sources.items()}


def check_targets(
    taken: Iterable[Path],
    overwrite: bool,
    options: Mapping[str, Iterable[str | Path | None]],
    formats: Mapping[str, Sequence[str]] | None = None,
    folders: Collection[Path] = (),
) -> None:
    """Check, before the long computation, that the files of all options can be written.

    They must not exist, unless `overwrite`, nor replace each other or an input, `taken`; only
    the option 'output' may replace inputs. `formats` holds allowed extensions of options, and
    `folders` those that will be created.
    """
    inputs, seen = {_real(path) for path in taken}, set[Path]()
    existing = []
    for option, targets in options.items():
        for path in (Path(target) for target in targets if target is not None):
            if _real(path) in (seen if option == "output" else seen | inputs):
                raise ImageFileError(
                    f"{path}: --{option} would replace an input or a result; choose another name"
                )
            seen.add(_real(path))
            allowed = (formats or {}).get(option, ())
            if option != "output" and allowed and extension_of(path) not in allowed:
                raise ImageFileError(f"{path}: --{option} writes {', '.join(allowed)} only")
            if option == "plot":
                from nnk_image.plotting.figures import new_figure

                new_figure()  # raises if matplotlib is not installed
            if path.parent not in folders and check_output(path).exists() and not overwrite:
                existing.append(path)
    if existing:
        more = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
        raise ImageFileError(
            f"{existing[0]} exists already{more}; add --overwrite to replace it, or choose another "
            "name or folder"
        )
