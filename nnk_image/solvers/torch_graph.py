"""Laplacian, polynomial filters and smoothing as functions that PyTorch differentiates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from nnk_image.base.checks import check_choice, working_dtype
from nnk_image.base.parallel import RowExecutor
from nnk_image.solvers.problem import Array, Graph
from nnk_image.solvers.quadratic import smooth
from nnk_image.spectral.operator import LaplacianOperator

if TYPE_CHECKING:
    from torch import Tensor


class TorchGraph:
    """Graph operators that PyTorch can differentiate, to learn filters on a graph.

    Parameters
    ----------
    graph : ImageGraph, (N, N) scipy.sparse matrix or ndarray, or graph of PyGSP or networkx
        Undirected graph with weights that are not negative and no self loops.
    laplacian : {'combinatorial', 'normalized'}
        The Laplacian L, as in `ImageGraph.laplacian`; default 'combinatorial'.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all processors. Results do not depend on
        it.

    Attributes
    ----------
    shape : tuple of int
        Shape of a signal: that of the image for an ImageGraph, (N,) for other graphs.
    bound : float
        Upper bound of the eigenvalues of L; 0 for a graph without edges.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    TypeError, ValueError
        If the graph or a parameter is invalid.

    Notes
    -----
    With the Laplacian L, ``laplacian(x)`` is L x, ``smooth(x, strength)`` solves
    ``(I + strength L) y = x``, and ``chebyshev(x, c)`` is the sum over k of
    ``c[k] T_k(2 L / bound - I) x``.

    Signals are real tensors (..., *shape); leading axes are batches and channels. Operators run on
    the CPU in the type of the graph's weights, float32 or float64. That is also the dtype of
    results, on the device of the signal. Operators are symmetric: the gradient with respect to a
    signal is the same operator applied to the gradient of the result.

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
        try:
            import torch
        except ImportError:
            message = "TorchGraph needs PyTorch: pip install 'nnk_image[torch]'"
            raise ImportError(message) from None
        check_choice("laplacian", laplacian, ("combinatorial", "normalized"))
        dtype = working_dtype(getattr(graph, "dtype", np.dtype(float)))
        self._graph, self._n_jobs, self._dtype = graph, n_jobs, getattr(torch, dtype.name)
        with RowExecutor(n_jobs) as executor:
            self._operator = LaplacianOperator.of_graph(graph, laplacian, dtype, executor)
        self.shape, self.bound = self._operator.shape, self._operator.bound
        self._end = self.bound or 1.0  # of the interval: without edges L = 0, and any will do

    def laplacian(self, x: Tensor) -> Tensor:
        """Multiply signals by the Laplacian.

        Parameters
        ----------
        x : (..., H, W) or (..., N) tensor
            Signals; a ValueError if their last axes are not `shape`.

        Returns
        -------
        tensor of the shape of x
            Differentiable any number of times.
        """
        terms = x.new_full((2,), self._end / 2, dtype=self._dtype)
        return self.chebyshev(x, terms)  # L = bound / 2 (T_0 + T_1)

    def chebyshev(self, x: Tensor, coefficients: Tensor) -> Tensor:
        """Apply polynomials of the Laplacian L, ``sum_k c_k T_k(2 L / bound - I) x``.

        T_k are Chebyshev polynomials; `bound` is above all eigenvalues of L.

        Parameters
        ----------
        x : (..., H, W) or (..., N) tensor
            Signals.
        coefficients : (order + 1,) or (n_bands, order + 1) tensor
            Coefficients c of one filter or several, as in ``SpectralGraphWavelets.coefficients``,
            for the same `bound`.

        Returns
        -------
        tensor of the shape of x, or (n_bands, ...)
            Several filters give one more, first axis. Differentiable in both arguments, any number
            of times. Where `coefficients` require a gradient, order + 1 tensors of the shape of x
            are kept for it.
        """
        learned, n_terms = coefficients.requires_grad, coefficients.shape[-1]
        given = coefficients.detach().cpu().double().numpy().reshape(-1, n_terms)
        series = np.eye(n_terms) if learned else given

        def each(work: Callable[..., Array], signals: Array) -> list[Array]:
            with RowExecutor(self._n_jobs) as executor:
                return [work(np.ascontiguousarray(s), series, self._end, executor) for s in signals]

        result = self._apply(
            x,
            lambda signals: np.stack(each(self._operator.analyze, signals), axis=1),
            lambda bands: np.stack(each(self._operator.synthesize, bands.swapaxes(0, 1))),
        )
        shape = coefficients.shape[:-1] + result.shape[1:]
        if learned:
            result = coefficients.to(result) @ result.flatten(1)
        return result.reshape(shape)

    def smooth(self, x: Tensor, strength: Any, *, tol: float = 1e-6) -> Tensor:
        """Solve ``(I + strength L) y = x`` with the combinatorial Laplacian.

        Parameters
        ----------
        x : (..., H, W) or (..., N) tensor
            Signals.
        strength : float or tensor of one element
            Weight of smoothness, above 0. If it requires a gradient, the time doubles.
        tol : float
            Relative residual at which iterations stop, as for `nnk_image.solvers.smooth`; default
            1e-6.

        Returns
        -------
        tensor of the shape of x
            Differentiable in x any number of times, in `strength` once.

        Raises
        ------
        ValueError
            If the Laplacian of this graph is not 'combinatorial'.
        """
        if self._operator.kind != "combinatorial":
            raise ValueError("smooth needs TorchGraph(graph, laplacian='combinatorial')")
        learned = getattr(strength, "requires_grad", False)
        weight = float(strength.detach() if learned else strength)

        def solve(signals: Array) -> Array:
            channels = np.moveaxis(signals, 0, -1)
            found = smooth(self._graph, channels, weight, tol=tol, n_jobs=self._n_jobs)
            return np.ascontiguousarray(np.moveaxis(found, -1, 0))

        y = self._apply(x, solve, solve)
        if learned:  # add 0 with the derivative that y has with respect to strength
            slope = self._apply(self.laplacian(y.detach()), solve, solve)
            y = y - (strength - weight) * slope
        return y

    def _apply(
        self, x: Tensor, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> Tensor:
        """Apply a linear map of (B, *shape) to (..., B, *shape), with its adjoint."""
        split = x.ndim - len(self.shape)
        if split < 0 or tuple(x.shape[split:]) != self.shape:
            raise ValueError(f"signals must be (..., {self.shape}), not {tuple(x.shape)}")
        signals = x.to(device="cpu", dtype=self._dtype)
        found = _linear_map()(signals.reshape(-1, *self.shape), forward, adjoint)
        return found.reshape(*found.shape[: -1 - len(self.shape)], *x.shape).to(x.device)


@cache
def _linear_map() -> Any:
    """Return the function (x, map, adjoint) -> map(x) that PyTorch differentiates."""
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

    return LinearMap.apply
