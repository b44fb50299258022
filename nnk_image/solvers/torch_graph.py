"""Laplacian, polynomial filters and smoothing as functions that PyTorch differentiates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice
from nnk_image.base.extras import requires_extra
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.solvers.problem import Graph
from nnk_image.solvers.quadratic import smooth
from nnk_image.spectral.operator import LaplacianOperator

if TYPE_CHECKING:
    from torch import Tensor


class TorchGraph:
    """Graph operators that PyTorch can differentiate, to learn filters on a graph.

    Parameters
    ----------
    graph, n_jobs
        As for `nnk_image.solvers.smooth`.
    laplacian : {'combinatorial', 'normalized'}
        The Laplacian L, as in `ImageGraph.laplacian`; default 'combinatorial', the only one that
        the method `smooth` accepts.

    Attributes
    ----------
    shape : tuple of int
        Shape of a signal: that of the image for an ImageGraph, (N,) for other graphs.
    bound : float
        Upper bound of the eigenvalues of L; 1 for a graph without edges.

    Notes
    -----
    Signals are real tensors (..., H, W) or (..., N); leading axes are batches and channels.
    Operators run on the CPU in the type of the graph's weights, float32 or float64. That is also
    the dtype of results, on the device of the signal.

    Examples
    --------
    >>> import nnk_image, torch  # doctest: +SKIP
    >>> on_graph = nnk_image.solvers.TorchGraph(nnk_image.image_graph(image))  # doctest: +SKIP
    >>> coefficients = torch.zeros(11, requires_grad=True)  # doctest: +SKIP
    >>> filtered = on_graph.chebyshev(torch.from_numpy(image), coefficients)  # doctest: +SKIP
    """

    def __init__(
        self, graph: Graph, laplacian: str = "combinatorial", *, n_jobs: int | None = None
    ) -> None:
        with requires_extra("TorchGraph needs PyTorch", "torch"):
            import torch
        check_choice("laplacian", laplacian, ("combinatorial", "normalized"))
        self._graph, self._n_jobs = graph, n_jobs
        with RowExecutor(n_jobs) as executor:
            self._operator = LaplacianOperator.of_graph(graph, laplacian, executor)
        self._dtype = getattr(torch, self._operator.dtype.name)
        self.shape, self.bound = self._operator.shape, self._operator.bound

    def laplacian(self, x: Tensor | npt.ArrayLike) -> Tensor:
        """Multiply signals x by the Laplacian; differentiable any number of times.

        ValueError if the last axes of x are not `shape`.
        """
        return self.chebyshev(x, [self.bound / 2] * 2)  # L = bound / 2 (T_0 + T_1)

    def chebyshev(self, x: Tensor | npt.ArrayLike, coefficients: Tensor | npt.ArrayLike) -> Tensor:
        """Apply polynomials of the Laplacian L, ``sum_k c_k T_k(2 L / bound - I) x``.

        T_k are Chebyshev polynomials; `bound` is above all eigenvalues of L.

        Parameters
        ----------
        x : (..., H, W) or (..., N) tensor
            Signals.
        coefficients : (order + 1,) or (n_bands, order + 1) tensor
            Coefficients c of filters on [0, bound], as of `SpectralGraphWavelets`.

        Returns
        -------
        tensor of the shape of x, or (n_bands, ...)
            Several filters give one more, first axis. Differentiable in both arguments, any number
            of times; `coefficients` that require a gradient need the memory of order + 1 signals.
        """
        import torch

        coefficients = torch.as_tensor(coefficients, dtype=torch.float64)
        learned, n_terms = coefficients.requires_grad, coefficients.shape[-1]
        given = coefficients.detach().cpu().numpy().reshape(-1, n_terms)
        series = np.eye(n_terms) if learned else given

        def each(work: Callable[..., Array], signals: Array) -> list[Array]:
            with RowExecutor(self._n_jobs) as executor:
                return [
                    work(np.ascontiguousarray(s), series, self.bound, executor) for s in signals
                ]

        def analyze(signals: Array) -> Array:
            return np.stack(each(self._operator.analyze, signals), axis=1)

        def synthesize(bands: Array) -> Array:
            return np.stack(each(self._operator.synthesize, bands.swapaxes(0, 1)))

        result = self._apply(x, lambda signals: _functions().linear(signals, analyze, synthesize))
        shape = coefficients.shape[:-1] + result.shape[1:]
        if learned:
            result = coefficients.to(result) @ result.flatten(1)
        return result.reshape(shape)

    def smooth(self, x: Tensor | npt.ArrayLike, strength: Any, *, tol: float = 1e-6) -> Tensor:
        """Solve ``(I + strength L) y = x`` with the combinatorial Laplacian.

        Parameters
        ----------
        x : (..., H, W) or (..., N) tensor
            Signals.
        strength : float or tensor of one element
            Weight of smoothness, above 0.
        tol : float
            Relative residual at which iterations stop, as for `solvers.smooth`; default 1e-6.

        Returns
        -------
        tensor of the shape of x
            Differentiable in both arguments, any number of times.
        """
        import torch

        if self._operator.kind != "combinatorial":
            raise ValueError("smooth needs TorchGraph(graph, laplacian='combinatorial')")
        weight = torch.as_tensor(strength, dtype=torch.float64, device="cpu").reshape(())

        def solve(signals: Array, weight: float) -> Array:
            channels = np.moveaxis(signals, 0, -1)
            found = smooth(self._graph, channels, weight, tol=tol, n_jobs=self._n_jobs)
            return np.ascontiguousarray(np.moveaxis(found, -1, 0))

        return self._apply(
            x, lambda signals: _functions().solution(signals, weight, solve, self.laplacian)
        )

    def _apply(self, x: Tensor | npt.ArrayLike, function: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a function of (B, *shape) to (..., *shape); it may add leading axes."""
        import torch

        x = torch.as_tensor(x, dtype=self._dtype)
        split = x.ndim - len(self.shape)
        if split < 0 or tuple(x.shape[split:]) != self.shape:
            raise ValueError(f"signals must be (..., {self.shape}), not {tuple(x.shape)}")
        found = function(x.cpu().reshape(-1, *self.shape))
        return found.reshape(*found.shape[: -1 - len(self.shape)], *x.shape).to(x.device)


@cache
def _functions() -> Any:
    """Return the functions that PyTorch differentiates: `linear` and `solution`."""
    from torch import from_numpy
    from torch.autograd import Function

    class LinearMap(Function):
        """A linear map, whose derivative is its adjoint."""

        @staticmethod
        def forward(context: Any, x: Any, forward: Any, adjoint: Any) -> Any:
            context.maps = adjoint, forward
            return from_numpy(forward(x.numpy()))

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return LinearMap.apply(gradient, *context.maps), None, None

    class Solution(Function):
        """y with ``(I + strength L) y = x``, so that ``dy/dstrength = -(I + strength L)^-1 L y``.

        The derivatives are made of functions that can be differentiated again.
        """

        @staticmethod
        def forward(context: Any, x: Any, strength: Any, solve: Any, laplacian: Any) -> Any:
            y = from_numpy(solve(x.numpy(), strength.item()))
            context.save_for_backward(y, strength)
            context.maps = solve, laplacian
            return y

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            y, strength = context.saved_tensors
            solve, laplacian = context.maps
            z = Solution.apply(gradient, strength, solve, laplacian)
            slope = -(z * laplacian(y)).sum().to(strength) if context.needs_input_grad[1] else None
            return z, slope, None, None

    return SimpleNamespace(linear=LinearMap.apply, solution=Solution.apply)
