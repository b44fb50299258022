"""What the sub-commands do with stacks: which axis is what, and how far its pixels are apart."""

import itertools
from dataclasses import dataclass

from nnk_image.cli import common
from nnk_image.io.images import ImageFileError
from nnk_image.io.stacks import StackFile, is_stack, read_stack

SPACE = "TZYX"
"""Letters of the axes that the library takes for space, in their order."""


def add_stack_options(command):
    """Add the options of stacks."""
    command.add_argument(
        "--axes",
        metavar="LETTERS",
        help="what the axes of a stack are, such as ZYX, TZYX, ZCYX, ZYXS: T time, Z Y X space, "
        "S colours, C and others each by itself (default: as the file says)",
    )
    command.add_argument(
        "--spacing",
        metavar="Z,Y,X",
        type=_numbers,
        help="distance of a stack's pixels along Z, Y, X or T, Z, Y, X (default: as the file says)",
    )


def _numbers(text):
    """The numbers of ``--spacing``; a ValueError is told by argparse."""
    return tuple(float(word) for word in text.split(","))


def read_source(path, options):
    """The `ImageFile` of a picture, the `StackFile` of a stack."""
    if options.axes is not None or is_stack(path):
        with common.quiet_libraries():
            return read_stack(path, axes=options.axes, max_pixels=options.max_pixels)
    if options.spacing is not None:
        raise ImageFileError(f"{path}: is a picture; --spacing is for stacks")
    return common.read_source(path, options)


@dataclass(frozen=True)
class Layout:
    """How the library is to see a stack.

    Attributes
    ----------
    apart : tuple of int
        Axes each place of which holds an image, or a volume, of its own.
    channel : int or None
        The axis of colours, which are taken together.
    space : tuple of int
        The axes of space and time.
    spacing : tuple of float
        Distance along each of `space`, in units of that along the last.
    """

    apart: tuple[int, ...]
    channel: int | None
    space: tuple[int, ...]
    spacing: tuple[float, ...]

    def places(self, shape):
        """What to index the array with, for each image or volume of its own."""
        ranges = (range(n) if axis in self.apart else [slice(None)] for axis, n in enumerate(shape))
        return list(itertools.product(*ranges))

    def options(self):
        """How the functions of the library are told of one of them."""
        kept = sorted(axis for axis in (*self.space, self.channel) if axis is not None)
        told = {"channel_axis": None if self.channel is None else kept.index(self.channel)}
        if len(self.space) > 2:
            told["spacing"] = self.spacing
        return told


def layout_of(path, stack, options, slices=False):
    """The `Layout` of a stack that was read from `path`.

    Axes of length 1 say nothing and are apart, as are all that are neither of space nor of
    colours.  With `slices` time and depth are apart too.  So are channels C: two stains show two
    things, and to take them together costs 1 to 2 dB, where like channels would gain as little as
    .2; whoever has such calls the axis S.
    """
    shape = dict(zip(stack.axes, stack.pixels.shape, strict=True))
    channel = "S" if shape.get("S", 1) > 1 else None
    # Lines and single pixels too are images of two axes.
    wanted = "YX" if slices else SPACE
    space = [axis for axis in stack.axes if axis in "YX" or (axis in wanted and shape[axis] > 1)]
    apart = tuple(n for n, axis in enumerate(stack.axes) if axis not in space and axis != channel)
    given = _given_spacing(path, stack, options)
    spacing = _relative([given.get(axis) for axis in space], space)
    return Layout(
        apart,
        None if channel is None else stack.axes.index(channel),
        tuple(map(stack.axes.index, space)),
        spacing,
    )


def _given_spacing(path, stack, options):
    """Distance along each axis of space, told by the option or by the file; dict by letters.

    Seconds and micrometres cannot be compared: of time only the user knows how far it goes.
    """
    if options.spacing is None:
        told = zip(stack.axes, stack.spacing, strict=True)
        return {axis: length for axis, length in told if axis in "ZYX"}
    axes = [axis for axis in stack.axes if axis in SPACE]
    here = axes if len(options.spacing) == len(axes) else [axis for axis in axes if axis != "T"]
    if len(options.spacing) != len(here):
        raise ImageFileError(
            f"{path}: --spacing has {len(options.spacing)} numbers, the axes of space are "
            f"{','.join(axes)}: give one for each, T may be left out"
        )
    if not all(0 < length < float("inf") for length in options.spacing):
        raise ImageFileError(f"{path}: --spacing {options.spacing} must be positive numbers")
    return dict(zip(here, options.spacing, strict=True))


def _relative(lengths, axes):
    """Distances in units of that along X, 1 where unknown; rounded, for files round them too."""
    unit = dict(zip(axes, lengths, strict=True))["X"]
    if unit is None:
        return (1.0,) * len(lengths)
    return tuple(1.0 if length is None else float(f"{length / unit:.4g}") for length in lengths)


def tell(path, stack, layout):
    """Print what a stack is taken to be; in a line of its own if the file did not say it."""
    if stack.assumed:
        print(
            f"{path}: the file does not say what its axes are: taken to be {stack.axes}; "
            "--axes says otherwise"
        )
    names = "".join(stack.axes[axis] for axis in layout.space)
    what = f"{names} together" if layout.channel is None else f"{names} with colours "
    what += "" if layout.channel is None else stack.axes[layout.channel]
    spacing = ", ".join(f"{length:g}" for length in layout.spacing)
    print(f"{path}: {size(stack)}, {what}, spacing {spacing}{_in_units(stack)}", flush=True)


def _in_units(stack):
    """What the file says of its spacing, in brackets."""
    told = [
        f"{axis} {length:.4g}"
        for axis, length in zip(stack.axes, stack.spacing, strict=True)
        if axis in "ZYX" and length is not None
    ]
    return f" ({', '.join(told)} {stack.unit or ''}".rstrip() + " in the file)" if told else ""


def size(stack):
    """Shape, axes and dtype of a stack, as text."""
    return f"{'x'.join(map(str, stack.pixels.shape))} {stack.axes} {stack.dtype}"


def read_one(path, options):
    """Read a file that is one image or volume; tell what a stack is taken to be.

    Returns
    -------
    pixels : ndarray
    told : dict
        What tells the functions of the library which axis is what.

    Raises
    ------
    ImageFileError
        The file is bad, or holds several.
    """
    source = read_source(path, options)
    if not isinstance(source, StackFile):
        return source.pixels, {"channel_axis": -1 if source.pixels.ndim == 3 else None}
    layout = layout_of(path, source, options)
    places = layout.places(source.pixels.shape)
    if len(places) > 1:
        names = ", ".join(source.axes[axis] for axis in layout.apart)
        raise ImageFileError(
            f"{path}: {size(source)} are {len(places)} images or volumes, apart along {names}; "
            "save one of them, or say with --axes what these axes are, S for channels together"
        )
    tell(path, source, layout)
    return source.pixels[places[0]], layout.options()


class Progress:
    """One bar for several calls of the library, and none where nobody would see it."""

    def __init__(self, calls):
        self._calls, self._bar, self._begun = calls, None, 0
        self._wanted = common.wants_progress()

    def __enter__(self):
        if self._wanted and self._calls > 1:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._calls, desc="denoise", unit="part", leave=False)
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    def next(self):
        """What the next call gets as ``progress``."""
        if self._bar is None:
            return self._wanted
        begun, self._begun = self._begun, self._begun + 1
        return lambda done, total: self._bar.update(begun + done / total - self._bar.n)
