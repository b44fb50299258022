"""Images and volumes in files, and how the axes of a stack are processed."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.base.checks import finite_mask, warn
from nnk_image.io.files import read, write
from nnk_image.io.metadata import Metadata, in_units_of_x, lengths_in_space
from nnk_image.io.volumes import float_metadata

SPACE = "TZYX"
"""Letters of the axes that the library treats as space, in their order; time is one of them."""


def add_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--recursive", action="store_true", help="search folders for images at any depth")
    add(
        "--axes",
        metavar="LETTERS",
        help="the axes of a stack, such as ZYX, TZYX, ZCYX, ZYXS: T for time, Z Y X for space, S "
        "for colors, C and others for independent images (default: as the file says)",
    )
    add(
        "--channels",
        choices=("colors", "independent", "bands"),
        help="what the channels (C or S) are: colors of one scene; independent images, such as "
        "stains; or many bands or volumes of one scene, as in hyperspectral images and, with "
        "--axes CZYX, diffusion MRI (default: colors for S, independent for C)",
    )
    add("--slices", action="store_true", help="take each slice of a stack as an image by itself")
    add(
        "--spacing",
        metavar="Z,Y,X",
        type=_numbers,
        help="distance of a stack's pixels along Z, Y, X or T, Z, Y, X (default: as the file says)",
    )
    add_max_pixels(command)


def add_noise_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rician", action="store_true", help="pixels are magnitudes, as in MRI")
    command.add_argument(
        "--map",
        metavar="FILE",
        help="estimate the level of white noise at each pixel, which varies in parallel MRI, and "
        "write it (.tif, .npy, .nii, .nii.gz); a folder for several images; not for photographs, "
        "whose noise is correlated and would remain",
    )


def add_max_pixels(command: argparse.ArgumentParser) -> None:
    command.add_argument("--max-pixels", type=int, metavar="N", help="refuse larger images")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        message = f"{text!r} is not numbers with commas between them, such as 3,1,1"
        raise argparse.ArgumentTypeError(message) from None


class Source(NamedTuple):
    """The content of a file, and how the library is to treat its axes."""

    path: Path
    pixels: npt.NDArray[Any]  # all that the file holds
    metadata: Metadata
    space: str  # letters of the axes that are processed together
    spacing: tuple[float, ...]  # along each of them, in units of that along X
    places: list[tuple[Any, ...]]  # index of each independent image in `pixels`
    channel_axis: int | None  # of each of them

    @property
    def parts(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Each independent image or volume, and what to call it."""
        for place in self.places:
            pairs = zip(self.metadata.axes, place, strict=True)
            name = "".join(f" {axis}={at}" for axis, at in pairs if isinstance(at, int))
            yield f"{self.path}{name if len(self.places) > 1 else ''}", self.pixels[place]

    def arguments(self, pixels: npt.NDArray[Any]) -> dict[str, Any]:
        """Return the arguments of the library for one of the parts, which may have gaps."""
        mask = finite_mask(pixels, self.channel_axis)
        arguments: dict[str, Any] = {"channel_axis": self.channel_axis, "mask": mask}
        return arguments | ({"spacing": self.spacing} if len(self.space) > 2 else {})

    @property
    def size(self) -> str:
        """Shape, axes and type as text."""
        axes = "" if self.metadata.is_picture else f"{self.metadata.axes} "
        return f"{'x'.join(map(str, self.pixels.shape))} {axes}{self.pixels.dtype}"


def read_with_gaps(
    path: Path, options: argparse.Namespace, axes: str | None = None
) -> tuple[npt.NDArray[Any], Metadata]:
    """Read a file; warn of values that are not finite, whose pixels the caller must mask."""
    pixels, metadata = read(path, axes=axes, max_pixels=options.max_pixels)
    wrong = pixels.size - np.count_nonzero(np.isfinite(pixels))
    if 0 < wrong == pixels.size:
        raise ImageFileError(f"{path}: all values are NaN or infinite")
    if wrong:
        warn(f"values that are NaN or infinite: {wrong}; their pixels are left out")
    return pixels, metadata


def read_source(path: Path, options: argparse.Namespace) -> Source:
    """Read a file, and decide which of its axes are processed together.

    Images along all other axes are independent: those that are neither of space nor of colors, and
    those of length 1; with ``options.slices`` also time and depth. Channels (C) are independent
    unless ``options.channels`` is given: stains show different things, and to process them
    together costs 1 to 2 dB, while similar channels would gain as little as 0.2 dB.
    """
    pixels, metadata = read_with_gaps(path, options, options.axes)
    shape = dict(zip(metadata.axes, pixels.shape, strict=True))
    wanted = "YX" if options.slices else SPACE
    colors = {"colors": "CS", "bands": "CS", "independent": ""}.get(options.channels, "S")
    # Y and X are kept even if of length 1: lines and single pixels are images too.
    space = [axis for axis in shape if axis in "YX" or (axis in wanted and shape[axis] > 1)]
    together = [axis for axis in shape if axis in space or (axis in colors and shape[axis] > 1)]
    ranges = ([slice(None)] if axis in together else range(n) for axis, n in shape.items())
    places = list(itertools.product(*ranges))
    spacing = spacing_of(path, metadata, options.spacing, space)
    axes = [together.index(axis) for axis in together if axis in colors]
    if options.channels == "bands" and not axes:
        raise ImageFileError(
            f"{path}: has no channels (C); name the axis of the bands, --axes CZYX"
        )
    if len(axes) > 1:
        raise ImageFileError(f"{path}: has channels (C) of colors (S); leave out --channels colors")
    return Source(
        path, pixels, metadata, "".join(space), spacing, places, axes[0] if axes else None
    )


def spacing_of(
    path: Path, metadata: Metadata, given: tuple[float, ...] | None, space: list[str]
) -> tuple[float, ...]:
    """Return the spacing of each axis relative to X, from the option or from the file.

    Only the user can give a spacing along time.
    """
    axes = [axis for axis in metadata.axes if axis in SPACE]
    if given is None:
        lengths = lengths_in_space(metadata)
    elif metadata.is_picture:
        raise ImageFileError(f"{path}: is a picture; --spacing is for stacks")
    else:
        here = axes if len(given) == len(axes) else [axis for axis in axes if axis != "T"]
        if len(given) != len(here):
            raise ImageFileError(
                f"{path}: --spacing needs a number for each axis of space, {','.join(axes)} (T "
                f"may be left out), got {','.join(map('{:g}'.format, given))}"
            )
        if not all(0 < length < float("inf") for length in given):
            raise ImageFileError(f"{path}: --spacing must be positive numbers, got {given}")
        lengths = dict(zip(here, given, strict=True))
    return in_units_of_x(lengths, space)


def print_axes(source: Source) -> None:
    """Print how the axes of a stack are treated."""
    path, metadata = source.path, source.metadata
    if metadata.is_picture:
        return
    if metadata.axes_assumed:
        unnamed = f"the file does not name its axes: assumed to be {metadata.axes}"
        print(f"{path}: {unnamed}; --axes gives others, --slices treats each by itself")
    lengths = [f"{axis} {n:.4g}" for axis, n in lengths_in_space(metadata).items()]
    in_file = f" ({', '.join(lengths)} {metadata.unit or ''}".rstrip() + " in the file)"
    name = "colors" if "S" in metadata.axes else "channels"
    what = f"{source.space} {'together' if source.channel_axis is None else f'with {name}'}"
    what += f", spacing {', '.join(f'{length:g}' for length in source.spacing)}"
    print(f"{path}: {source.size}, {what}{in_file if lengths else ''}")


def check_single(source: Source, *outputs: object) -> None:
    """Refuse outputs that hold one result where a file holds several images or volumes."""
    if len(source.places) > 1 and any(output is not None for output in outputs):
        raise ImageFileError(
            f"{source.path}: {source.size} are {len(source.places)} independent images or volumes, "
            "but --out and --plot can hold only one: leave them out, save one image as a file of "
            "its own, or combine the channels by --channels colors or --axes"
        )


def estimate(
    pixels: npt.NDArray[Any], source: Source, options: argparse.Namespace
) -> nnk_image.NoiseModel:
    """Estimate the noise of one image or volume of a file, as `add_noise_options` says."""
    kind, uneven = "rician" if options.rician else None, options.map is not None
    about = source.arguments(pixels)
    return nnk_image.estimate_noise(pixels, kind=kind, uneven=uneven, **about)


def write_map(path: Path | None, source: Source, models: list[nnk_image.NoiseModel]) -> None:
    """Write the level of each pixel in float32, if a file for it is given.

    It has the shape of what was read, with equal levels of all colors, and a NIfTI file its header.
    """
    if path is None:
        return
    levels, axis = np.empty(source.pixels.shape, np.float32), source.channel_axis
    for place, model in zip(source.places, models, strict=True):
        own = np.mean(model.sigma) if model.levels is None else model.levels
        levels[place] = own if axis is None or model.levels is None else np.expand_dims(own, axis)
    write(path, levels, float_metadata(source.metadata))
