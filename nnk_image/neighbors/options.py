"""The options that say how candidates are compared and weighed, checked in one place."""

from collections.abc import Callable
from dataclasses import dataclass

from nnk_image.base.checks import check_choice, check_number
from nnk_image.base.parallel import resolve_n_jobs
from nnk_image.neighbors import _core
from nnk_image.neighbors.kernels import check_sigma

METHODS = tuple(_core.METHODS)

TOL = 1e-8
"""Weights below this part of a query's largest similarity are dropped by default."""


@dataclass
class NeighborhoodOptions:
    """Options of `nnk_neighbors`, with their defaults; numbers and names are checked here.

    `kernel`, `metric` and `kernel_params` are checked by `NeighborhoodModel`, which knows the
    points.  `sigma_scale`, which only the estimators offer, is a factor of the kernel's width.
    """

    kernel: str | Callable = "gaussian"
    sigma: float | str = "kth"
    method: str = "nnk"
    l1: float = 0.0
    tol: float = TOL
    metric: str | None = None
    kernel_params: dict | None = None
    duplicates: str = "first"
    psd: str = "warn"
    lc_ratio: float = 1.0
    n_jobs: int | None = None
    sigma_scale: float = 1.0

    def __post_init__(self):
        check_choice("method", self.method, METHODS)
        self.lc_ratio = check_number("lc_ratio", self.lc_ratio)
        self.sigma = check_sigma(self.sigma)
        self.sigma_scale = check_number("sigma_scale", self.sigma_scale, 1e-100)
        self.l1, self.tol = check_number("l1", self.l1), check_number("tol", self.tol)
        check_choice("duplicates", self.duplicates, ("first", "share"))
        check_choice("psd", self.psd, ("warn", "raise", "clip"))
        resolve_n_jobs(self.n_jobs)  # refuses nonsense before scikit-learn sees it
