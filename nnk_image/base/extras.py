"""Optional packages."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Name the extra that installs what is imported inside, if it is missing."""
    try:
        yield
    except ImportError:
        raise ImportError(f"{what}: pip install 'nnk_image[{extra}]'") from None


def optional(module: str, what: str, extra: str) -> Callable[[], Any]:
    """Return a function that imports a module when it is needed."""

    def imported() -> Any:
        with needing(what, extra):
            return import_module(module)

    return imported
