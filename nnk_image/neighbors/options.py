"""Options of neighborhoods."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from nnk_image.base.checks import check_choice, check_number
from nnk_image.neighbors import _core

METHODS = tuple(_core.METHODS)
SYMMETRIZE = ("min_error", "min_error_onesided", "max", "mean", "min", None)


class MethodParams(NamedTuple):
    """What `method_params` of the public functions may hold, with defaults."""

    l1: float = 0.0
    tol: float = 1e-8
    duplicates: str = "first"
    lc_ratio: float = 1.0


def check_params(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a copy of parameters that are given as a dictionary; None has none."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dictionary of parameters, not {given!r}")
    return dict(given or {})


def check_method_params(given: Mapping[str, Any] | None) -> MethodParams:
    """Return `method_params` of the public functions, checked."""
    options, known = check_params("method_params", given), MethodParams._fields
    if unknown := [name for name in options if name not in known]:
        raise ValueError(f"method_params has no option {unknown[0]!r}; it takes {', '.join(known)}")
    params = MethodParams(**options)
    check_choice("duplicates", params.duplicates, ("first", "share"))
    return params._replace(
        l1=check_number("l1", params.l1, least=0.0),
        tol=check_number("tol", params.tol, least=0.0),
        lc_ratio=check_number("lc_ratio", params.lc_ratio, least=0.0),
    )


@dataclass(eq=False, repr=False)
class KernelOptions:
    """Options of `nnk_neighbors`, and `sigma_scale`, by which the kernel's width is multiplied.

    Estimators whose weights come from a kernel have these options too.
    """

    n_neighbors: int = 30
    _: KW_ONLY
    kernel: str | Callable[..., Any] = "gaussian"
    kernel_params: Mapping[str, Any] | None = None
    sigma: float | str = "kth"
    sigma_scale: float = 1.0
    method: str = "nnk"
    method_params: Mapping[str, Any] | None = None
    neighbors: Any = None
    n_jobs: int | None = None
