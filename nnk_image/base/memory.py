"""How much memory a call needs and what is free, and how wide indices must be."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import psutil

SMALL = 1 << 26
"""Fewer bytes are not compared with the free memory, because asking the system takes long."""

INDEX32_LIMIT = 2**31 - 1
"""Largest number that indices of 32 bits hold."""

IMAGE_ADVICE = (
    "use tiles: nnk_image.denoise_tiles (nnk-image denoise --max-memory) for files, "
    "nnk_image.tiled for lazy arrays; graphs need less in float32, or with a smaller window"
)


def index_dtype(largest: int) -> np.dtype[Any]:
    """Return int32 where it holds indices and counts up to `largest`, else int64."""
    return np.dtype(np.int32 if largest <= INDEX32_LIMIT else np.int64)


def require(n_bytes: int, what: str, advice: str = IMAGE_ADVICE) -> None:
    """Raise MemoryError, with both figures and advice, unless `n_bytes` for `what` are free."""
    if n_bytes < SMALL:
        return
    free = available()
    if n_bytes > free:
        raise MemoryError(
            f"{what} needs at least {n_bytes / 2**30:.1f} GiB, {max(free, 0) / 2**30:.1f} GiB are "
            f"free; {advice}"
        )


def available() -> int:
    """Return the bytes that this process may still take."""
    return int(min(psutil.virtual_memory().available, _of_container()))


def _of_container(folder: Path = Path("/sys/fs/cgroup")) -> float:
    """Return the bytes left of a container's limit; file caches count as free."""
    try:
        limit = float((folder / "memory.max").read_text().replace("max", "inf"))
        used = int((folder / "memory.current").read_text())
        words = (folder / "memory.stat").read_text().split()
    except (OSError, ValueError):
        return math.inf
    return limit - used + int(words[words.index("inactive_file") + 1])
