"""What must hold for every file, whatever is in it: it is read, or refused in one line."""

import zlib

import numpy as np

from nnk_image import ImageGraph, SpectralGraphWavelets
from nnk_image.io import ImageFileError, read_image, read_stack, write_image, write_stack
from nnk_image.io.stacks import is_stack

MOST_PIXELS = 1 << 16
_LARGEST_GRAPH = 1 << 12  # nodes; larger ones are only read
_WRITTEN_AGAIN = 8  # one of so many files

_EXTENSIONS = {"TIFF": ".tif", "NPY": ".npy", "NIFTI": ".nii"}


class Readers:
    """All functions that read files, tried on the bytes of a file.

    Parameters
    ----------
    folder : pathlib.Path
        Where files may be written; the file tried last is ``folder / "input"``.
    """

    def __init__(self, folder):
        self._folder = folder
        self._path = folder / "input"

    def __call__(self, data):
        """Read a file in all ways; an AssertionError or another error tells what is wrong.

        Returns
        -------
        list of str
            The readers that took it.
        """
        self._path.write_bytes(data)
        self._again = zlib.crc32(data) % _WRITTEN_AGAIN == 0
        took = []
        for name in ("image", "stack", "graph"):
            try:
                getattr(self, f"_{name}")()
                took.append(name)
            except (ImageFileError, ValueError, MemoryError) as error:
                self._check_refusal(name, error)
        return took

    def _check_refusal(self, name, error):
        """The error is of the kind that is documented, and its message one line."""
        text, kind = str(error), type(error)
        if name == "graph":
            expected = kind is MemoryError or (kind is ValueError and " graph file" in text)
        else:
            expected = kind is ImageFileError
        if not expected:
            raise error
        assert "\n" not in text, text
        assert kind is MemoryError or text.startswith(f"{self._path}: "), text

    def _image(self):
        file = read_image(self._path, max_pixels=MOST_PIXELS)
        pixels, alpha = file.pixels, file.alpha
        assert pixels.dtype in (np.uint8, np.uint16, np.float32), pixels.dtype
        assert pixels.dtype.isnative
        assert pixels.flags.c_contiguous
        assert pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3), pixels.shape
        assert 0 < pixels.shape[0] * pixels.shape[1] <= MOST_PIXELS
        if alpha is not None:
            assert (alpha.shape, alpha.dtype) == (pixels.shape[:2], pixels.dtype)
        if file.dpi is not None:
            assert np.isfinite(file.dpi).all()
            assert min(file.dpi) > 0
        if self._again:
            target = self._folder / "again.tif"
            write_image(target, pixels, like=file)
            back = read_image(target)
            np.testing.assert_array_equal(back.pixels, pixels, strict=True)
            np.testing.assert_array_equal(back.alpha, alpha)

    def _stack(self):
        expected = is_stack(self._path)
        stack = read_stack(self._path, max_pixels=MOST_PIXELS)
        pixels = stack.pixels
        assert pixels.dtype.kind in "biuf"
        assert pixels.dtype.isnative
        assert len(stack.axes) == len(stack.spacing) == pixels.ndim
        assert 0 < pixels.size <= MOST_PIXELS
        for length in stack.spacing:
            assert length is None or (np.isfinite(length) and length > 0), stack.spacing
        if self._again and expected:
            self._write_again(stack)

    def _write_again(self, stack):
        """A stack written as it was read gives the same file to read, if it can be written."""
        text = stack.kept.options["description"] if stack.format == "TIFF" else None
        if b"\0" in (text or b""):  # which ends texts in TIFF: what comes after it is not written
            return
        target = self._folder / f"again{_EXTENSIONS[stack.format]}"
        try:
            write_stack(target, stack.pixels, like=stack)
        except ImageFileError:
            return
        back = read_stack(target, axes=stack.axes)
        np.testing.assert_array_equal(back.pixels, stack.pixels, strict=True)
        assert back.spacing == stack.spacing

    def _graph(self):
        graph = ImageGraph.load(self._path)
        if graph.n_nodes > _LARGEST_GRAPH:
            return
        assert graph.degrees.shape == graph.shape
        repr(graph)
        graph.save(self._folder / "again.npz")
        back = ImageGraph.load(self._folder / "again.npz")
        for name in ("indptr", "indices", "data"):
            one, two = getattr(back.adjacency, name), getattr(graph.adjacency, name)
            np.testing.assert_array_equal(one, two, strict=True)
        if not graph.directed and np.isfinite(graph.degrees).all():
            signal = np.ones(graph.shape, graph.adjacency.dtype)
            SpectralGraphWavelets(graph, "heat", order=3).analyze(signal)  # C trusts the arrays
