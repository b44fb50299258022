"""Optional packages."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def requires_extra(what: str, extra: str) -> Iterator[None]:
    """Name the extra that installs what is imported inside, if it is missing."""
    try:
        yield
    except ImportError:
        raise ImportError(f"{what}: pip install 'nnk_image[{extra}]'") from None
