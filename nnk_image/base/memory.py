"""How large things get: what a call needs against what is free, and how wide indices must be.

A clear MemoryError comes before any thrashing.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

import numpy as np

SMALL = 1 << 26
"""Needs of fewer bytes are not compared with what is free: asking would take longer."""

INDEX32_LIMIT = 2**31 - 1
"""Largest number that indices of 32 bits hold."""


IMAGE_ADVICE = (
    "use float32, a smaller window, or tiles: nnk_image.denoise_tiles, "
    "nnk_image.wavelets.TiledWavelets, or the border that nnk_image.halo gives"
)


def index_dtype(largest):
    """int32 where it holds indices and counts up to `largest`, else int64."""
    return np.dtype(np.int32 if largest <= INDEX32_LIMIT else np.int64)


def require(n_bytes, what, advice=IMAGE_ADVICE):
    """Raise MemoryError unless `n_bytes` are free.

    Parameters
    ----------
    n_bytes : int
        Needed at the least.
    what : str
        What needs them, for the message.
    advice : str
        What to do, for the message.

    Raises
    ------
    MemoryError
        With both figures and what to do.
    """
    if n_bytes < SMALL:
        return
    free = available()
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs at least {n_bytes / 2**30:.1f} GiB, {max(free, 0) / 2**30:.1f} GiB are "
            f"free; {advice}"
        )


def require_per_pixel(image, channel_axis, bytes_of, what):
    """`require` for an image that has not been looked at yet, by its shape alone.

    Parameters
    ----------
    image : array_like
    channel_axis : int or None
    bytes_of : callable
        ``bytes_of(itemsize, channels)`` per pixel, itemsize that of the floating type the
        image is computed in.
    what : str
        As for `require`.
    """
    if not isinstance(getattr(image, "dtype", None), np.dtype | None):
        image = np.asarray(image)  # such as a tensor of PyTorch, whose memory the array shares
    shape, dtype = getattr(image, "shape", ()), getattr(image, "dtype", None)
    if dtype is None or not 2 <= len(shape) <= 5:
        return  # a list is small; a wrong number of axes is reported by `check_image`
    channels = 1
    if isinstance(channel_axis, int) and -len(shape) <= channel_axis < len(shape) > 2:
        channels = int(shape[channel_axis])
    pixels = 1
    for side in shape:
        pixels *= int(side)
    pixels //= max(1, channels)
    itemsize = 4 if dtype.kind == "f" and dtype.itemsize <= 4 else 8
    size = "x".join(map(str, shape))
    require(int(pixels * bytes_of(itemsize, channels)), f"{what} of an image of shape {size}")


def bytes_of_text(size):
    """A number of bytes from a number, or a text such as '500MB', '4GiB'.

    Raises
    ------
    ValueError
        It is no such thing, or not positive.
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?)(i?)B?\s*", str(size))
    with suppress(ValueError):
        if match:
            number, prefix, binary = match.groups()
            n_bytes = float(number) * (1024 if binary else 1000) ** " kMGT".index(prefix or " ")
            if n_bytes >= 1:
                return int(n_bytes)
    raise ValueError(f"max_memory={size!r} must be a number of bytes, or a text such as '4GiB'")


def available():
    """Bytes this process may still take, None where the system does not tell."""
    known = [n for n in (_system(), _control_group(), _address_space()) if n is not None]
    return min(known, default=None)


def _system():
    meminfo = _fields("/proc/meminfo")
    if "MemAvailable" in meminfo:
        return 1024 * int(meminfo["MemAvailable"].split()[0])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _control_group():
    """Bytes left of a container's limit; caches count as left, for they can be given back."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((folder / "memory.current").read_text())
        statistics = (folder / "memory.stat").read_text().split()
    except (OSError, ValueError):
        return None
    cached = dict(zip(statistics[::2], statistics[1::2], strict=True)).get("inactive_file", 0)
    return int(limit) - used + int(cached)


def _address_space():
    """Bytes left of the limit of the address space (RLIMIT_AS)."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    mapped = _fields("/proc/self/status").get("VmSize")
    if limit == resource.RLIM_INFINITY or mapped is None:
        return None
    return limit - 1024 * int(mapped.split()[0])


def _fields(path):
    """A file of 'name: value' lines as a dictionary, empty where there is none."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":", 1) for line in lines if ":" in line)
