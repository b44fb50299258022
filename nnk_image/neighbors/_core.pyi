"""The compiled core of points; arguments are checked in Python before."""

from typing import Any

def __getattr__(name: str) -> Any: ...
