"""The options of NNK in one value, checked in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar, cast

from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.parallel import resolve_n_jobs
from nnk_image.neighbors import _core
from nnk_image.neighbors.widths import check_sigma

METHODS = tuple(_core.METHODS)
SYMMETRIZE = tuple(_core.RULES)

Function = TypeVar("Function", bound=Callable[..., Any])

TOL = 1e-8
"""Weights below this part of a query's largest similarity are dropped by default."""


@dataclass
class MethodOptions:
    """What `method_params` of the public functions may hold, with defaults."""

    l1: float = 0.0
    tol: float = TOL
    duplicates: str = "first"
    psd: str = "warn"
    lc_ratio: float = 1.0

    def __post_init__(self) -> None:
        for name in ("l1", "tol", "lc_ratio"):
            setattr(self, name, check_number(name, getattr(self, name)))
        check_choice("duplicates", self.duplicates, ("first", "share"))
        check_choice("psd", self.psd, ("warn", "raise", "clip"))


@dataclass
class NeighborhoodOptions(MethodOptions):
    """All options of `NeighborhoodModel`, with defaults.

    `kernel` and `kernel_params` are checked by `NeighborhoodModel`, which knows the
    points. `sigma_scale`, which only the estimators offer, multiplies the kernel's width.
    """

    kernel: str | Callable[..., Any] = "gaussian"
    sigma: float | str = "kth"
    method: str = "nnk"
    kernel_params: Mapping[str, Any] | None = None
    n_jobs: int | None = None
    sigma_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("method", self.method, METHODS)
        object.__setattr__(self, "sigma", check_sigma(self.sigma))
        object.__setattr__(
            self, "sigma_scale", check_number("sigma_scale", self.sigma_scale, 1e-100)
        )
        resolve_n_jobs(self.n_jobs)  # refuses nonsense before scikit-learn sees it


def check_method_params(method_params: Mapping[str, Any] | None) -> dict[str, Any]:
    """`method_params` of the public functions as keywords of `NeighborhoodOptions`."""
    known = [field.name for field in fields(MethodOptions)]
    params = dict(method_params or {})
    if unknown := [name for name in params if name not in known]:
        raise ValueError(f"method_params has no option {unknown[0]!r}; it takes {', '.join(known)}")
    return params


def without_metric(function: Function) -> Function:
    """Let a function that is called with `metric`, as scikit-learn has it, say what to write."""

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if "metric" in options:
            metric = options["metric"]
            instead = {"cosine": "kernel='cosine'", "euclidean": "nothing, which is the default"}
            hint = instead.get(
                metric,
                f"neighbors=sklearn.neighbors.NearestNeighbors(metric={metric!r}) for candidates "
                "by that distance, or your own function as kernel",
            )
            raise TypeError(f"metric={metric!r} is no option of {function.__name__}; write {hint}")
        return function(*args, **options)

    return cast(Function, checked)
