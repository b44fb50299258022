"""Spectral graph wavelets: analysis, synthesis, inverse and filtering on a graph."""

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_count, check_positive, ready_for_c, working_dtype
from nnk_image.base.parallel import RowExecutor
from nnk_image.spectral.operator import LaplacianOperator
from nnk_image.spectral.spectrum import lanczos
from nnk_image.wavelets import filter_bank

MAX_ORDER = 100_000
"""Largest Chebyshev order: far beyond any use, to catch a slip before it costs hours."""

LANCZOS_MARGIN = 1.01
"""The number for lmax='lanczos' divided by the estimate of the largest eigenvalue."""

KEEP = True  # the operator's entries: a transform is used more than once


class SpectralGraphWavelets:
    """Spectral graph wavelet transform by Chebyshev approximation.

    Band s of a signal f is ``g_s(L) f`` with L a Laplacian of the graph and g_0 the
    scaling function; each g_s is replaced by a polynomial of degree `order`, so
    that no eigenvector is ever computed.

    Two numbers are kept apart.  `bound` ends the Chebyshev interval: no eigenvalue
    exceeds it, or the recurrence would explode.  `lmax` is what the filters are
    designed on: bands spread over [0, lmax].

    Parameters
    ----------
    graph : ImageGraph, PyGSP or networkx graph, or (N, N) adjacency, sparse or dense
        Undirected graph; all but an ImageGraph have signals of shape (N,).
    filters : str, callable, list of callables, or pygsp Filter
        One of PyGSP's designs ('abspline', 'mexican_hat', 'meyer', 'itersine',
        'simple_tight', 'half_cosine', and with their own number of bands 'heat',
        'expwin', 'held', 'papadakis', 'regular', 'simoncelli'), or functions of the
        eigenvalue.
    n_scales : int
        Wavelet bands beside the scaling function: ``n_bands = n_scales + 1``.
    order : int
        Degree of the Chebyshev polynomials.
    laplacian : {'combinatorial', 'normalized', 'random_walk', 'regularized'}
        As in `ImageGraph.laplacian`.
    lmax : float or 'lanczos', optional
        Design number.  A value is used for the filters and the interval alike (and
        must not lie below the largest eigenvalue); 'lanczos' is the same with 1 % above
        an estimate of that, always with the same result.  Default: `bound`.
    bound : float, optional
        End of the Chebyshev interval, not below the largest eigenvalue: the whole
        image's, where this is a part of it.  Default: `lmax` if that is given, else a
        guaranteed bound; see Notes.
    tau : float, optional
        Of the regularized Laplacian, in units of the degrees.  Default: the mean degree.
    approximation : {'interpolation', 'projection', 'jackson'}
        How polynomials are fitted; see `nnk_image.wavelets.filter_bank.chebyshev_coefficients`.
    n_jobs : int, optional
        Threads at most, fewer for small images; None is 1, -1 all.  Results do not depend
        on it.

    Attributes
    ----------
    n_bands : int
    bound, lmax : float
    coefficients : (n_bands, order + 1) ndarray
        Chebyshev coefficients on [0, bound].

    Raises
    ------
    TypeError, ValueError
        Bad graph or parameter; `lmax` below the largest eigenvalue.

    Notes
    -----
    The default bound of the combinatorial Laplacian is ``max_i (Q x)_i / x_i`` with ``Q = D +
    W`` and ``x = Q d``, d the degrees.  By Collatz and Wielandt no positive x gives less than the
    largest eigenvalue of Q, which is at least that of ``D - W``.  On photographs it is 1.32 to
    1.42 times the latter.  The other Laplacians have 2, and ``2 d / (d + tau)`` with
    d the largest degree.

    With ``lmax='lanczos'`` the bands cover hardly more than the spectrum itself.  The interval
    then rests on 30 Lanczos steps and is not guaranteed, unless `bound` is given.

    References
    ----------
    D. K. Hammond, P. Vandergheynst, R. Gribonval, "Wavelets on graphs via spectral
    graph theory", Appl. Comput. Harmon. Anal. 30 (2011), sections 4 to 6.

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> image = nnk_image.standard_image("camera") / 255
    >>> wavelets = nnk_image.SpectralGraphWavelets(nnk_image.image_graph(image))
    >>> coefficients = wavelets.analyze(image)
    >>> coefficients.shape
    (7, 256, 256)
    >>> bool(np.allclose(wavelets.reconstruct(coefficients), image))
    True
    """

    def __init__(
        self,
        graph: Any,
        filters: Any = "abspline",
        n_scales: int = 6,
        order: int = 30,
        *,
        laplacian: str = "combinatorial",
        lmax: float | str | None = None,
        bound: float | None = None,
        tau: float | None = None,
        approximation: str = "interpolation",
        n_jobs: int | None = None,
    ) -> None:
        self._filters = filters
        self._n_scales = check_count("n_scales", n_scales, 1, 1000)
        self.order = check_count("order", order, 0, MAX_ORDER)
        self.n_jobs = n_jobs
        self._approximation = approximation
        with RowExecutor(n_jobs) as executor:
            if not isinstance(graph, LaplacianOperator):
                dtype = working_dtype(getattr(graph, "dtype", np.dtype(float)))
                graph = LaplacianOperator.of_graph(graph, laplacian, dtype, executor, tau, KEEP)
            self._operator = graph
            self.lmax, self.bound = self._interval(lmax, bound, executor)
        self.bank = filter_bank.design(filters, self._n_scales, self.lmax)
        self.n_bands = self.bank.n_bands
        self._fitted()

    @property
    def laplacian(self) -> str:
        """Kind of the Laplacian."""
        return self._operator.kind

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a signal: (H, W), or (N,) for a plain adjacency."""
        return self._operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._operator.dtype

    def analyze(self, image: npt.ArrayLike) -> npt.NDArray[Any]:
        """Wavelet coefficients of an image.

        Parameters
        ----------
        image : (H, W) or (H, W, C) array_like; (N,) or (N, C) for a plain adjacency
            Finite real values, at most the square root of the largest number of `dtype`;
            channels are transformed one by one.

        Returns
        -------
        (n_bands, H, W[, C]) ndarray
            Band 0 is the scaling function, then wavelets from coarse to fine.

        Raises
        ------
        TypeError, ValueError
            Values that are not such; the message says which.
        """
        return self._apply(image, self.coefficients)

    def filter(
        self, image: npt.ArrayLike, response: Callable[[npt.NDArray[Any]], npt.ArrayLike]
    ) -> npt.NDArray[Any]:
        """Apply one function of the Laplacian, as a single polynomial.

        Parameters
        ----------
        image : as for `analyze`
        response : callable
            Eigenvalues (n,) to values (n,).  A filter that scales bands, ``sum_s a_s
            g_s(x)``, is one such function: it costs one transform, not n_bands.

        Returns
        -------
        ndarray of the image's shape

        Raises
        ------
        TypeError, ValueError
            As `analyze`, or `response` returns another shape or values that are not finite.
        """
        bank = filter_bank.design([response], 0, self.lmax)
        coefficients = filter_bank.chebyshev_coefficients(
            bank.evaluate, self.order, self.bound, self._approximation
        )
        return self._apply(image, coefficients)[0]

    def synthesize(self, coefficients: npt.ArrayLike) -> npt.NDArray[Any]:
        """Apply the adjoint transform, ``sum_s g_s(L) c_s``.

        Parameters
        ----------
        coefficients : (n_bands, H, W[, C]) array_like
            Finite real values, at most the largest number of `dtype` to the power 3/4.

        Returns
        -------
        (H, W[, C]) ndarray
            For the random-walk Laplacian the adjoint in the inner product weighted by
            the degrees (regularized: by degrees plus tau).

        Raises
        ------
        TypeError, ValueError
            Coefficients that are not such; the message says which.
        """
        values = self._check_signal(coefficients, (self.n_bands,), "coefficients")
        with RowExecutor(self.n_jobs) as executor:
            return self._synthesize(values, executor)

    def reconstruct(self, coefficients: npt.ArrayLike) -> npt.NDArray[Any]:
        """Invert by least squares: ``(sum_s g_s(L)^2)^-1 sum_s g_s(L) c_s``.

        It returns the image whose coefficients these are, or the one whose coefficients
        come nearest (random walk, regularized: in the inner product of `synthesize`).

        Parameters
        ----------
        coefficients : as for `synthesize`

        Returns
        -------
        (H, W[, C]) ndarray

        Raises
        ------
        TypeError, ValueError
            As `synthesize`, or the filters do not determine the signal: rounding in `dtype`
            might change it by more than a hundredth.

        Notes
        -----
        The inverse is itself a smooth function of the Laplacian: it is applied as one
        polynomial whose series has converged to rounding, without iterations.
        """
        inverse = filter_bank.inverse_coefficients(self.coefficients, self.dtype)
        values = self._check_signal(coefficients, (self.n_bands,), "coefficients")
        with RowExecutor(self.n_jobs) as executor:
            return self._analyze(self._synthesize(values, executor), inverse[None], executor)[0]

    def frame_bounds(self, of: str = "polynomials") -> tuple[float, float]:
        """Return frame bounds A, B on [0, bound]: ``A |f|^2 <= sum_s |g_s(L) f|^2 <= B |f|^2``.

        Parameters
        ----------
        of : {'polynomials', 'kernels'}
            The polynomials that are applied, or the functions they approximate.

        Returns
        -------
        (float, float)
        """
        if of == "kernels":
            return filter_bank.frame_bounds(self.bank.evaluate, self.bound)
        if of != "polynomials":
            raise ValueError(f"of={of!r} must be 'polynomials' or 'kernels'")
        return filter_bank.frame_bounds(self.evaluate, self.bound)

    def at_order(self, order: int) -> Self:
        """Return the same transform with polynomials of another degree, sharing the operator."""
        other = copy.copy(self)
        other.order = check_count("order", order, 0, MAX_ORDER)
        return other._fitted()

    def at_lmax(self, lmax: float | str) -> Self:
        """Return the same bands designed for another lmax, which also ends the interval."""
        if lmax is None:
            raise TypeError("lmax must be a number or 'lanczos', not None")
        other = copy.copy(self)
        with RowExecutor(self.n_jobs) as executor:
            other.lmax, other.bound = self._interval(lmax, None, executor)
        other.bank = filter_bank.design(self._filters, self._n_scales, other.lmax)
        return other._fitted()

    def _fitted(self) -> Self:
        """Fit the polynomials to the bank on the interval."""
        self.coefficients = filter_bank.chebyshev_coefficients(
            self.bank.evaluate, self.order, self.bound, self._approximation
        )
        return self

    def evaluate(self, eigenvalues: npt.ArrayLike) -> npt.NDArray[Any]:
        """(n_bands, n) values of the applied polynomials at n eigenvalues in [0, bound]."""
        x = 2 * np.asarray(eigenvalues, float) / self.bound - 1
        return np.polynomial.chebyshev.chebval(x, self.coefficients.T)

    def __repr__(self) -> str:
        return (
            f"<SpectralGraphWavelets {self.bank.name}: {self.n_bands} bands of order {self.order} "
            f"on {'x'.join(map(str, self.shape))} {self.laplacian} Laplacian, "
            f"lmax={self.lmax:.6g}, interval [0, {self.bound:.6g}], {self.dtype}>"
        )

    def _interval(
        self, lmax: float | str | None, bound: float | None, executor: RowExecutor
    ) -> tuple[float, float]:
        """Design number and end of the interval, from what the caller gave of them."""
        if isinstance(lmax, str) and lmax != "lanczos":
            raise ValueError(f"lmax={lmax!r} must be a number, 'lanczos' or None")
        given = None
        if lmax is not None and not isinstance(lmax, str):
            given = check_positive("lmax", lmax, "largest eigenvalue to design for")
        if bound is not None:
            bound = check_positive("bound", bound, "end of the interval")
            self._check_interval("bound", bound, executor)
        elif given is not None:
            bound = given
            self._check_interval("lmax", bound, executor)
        if given is None:  # without edges L = 0, whose spectrum lies in any interval
            given = bound or self._operator.bound or 1.0
            if lmax is not None and self._operator.bound:
                given = min(LANCZOS_MARGIN * sum(self._lanczos(executor)), given)
        return given, bound or given

    def _check_interval(self, name: str, end: float, executor: RowExecutor) -> None:
        """Raise ValueError if [0, end] does not hold the spectrum."""
        if end >= self._operator.bound:
            return
        least, _ = self._lanczos(executor)
        if end < least * (1 - 1e-5):
            raise ValueError(
                f"{name}={end:g} lies below the largest eigenvalue, which is at least {least:g}: "
                f"the polynomials would grow without limit; leave {name} out or give a larger one"
            )

    def _lanczos(self, executor: RowExecutor) -> tuple[float, float]:
        shape = self._operator.shape
        start = np.random.default_rng(0).standard_normal(shape).astype(self.dtype)
        value, residual = lanczos(
            lambda v: self._operator.multiply(v.reshape(shape), executor).ravel(), start.ravel()
        )
        return value * self._operator.bound, residual * self._operator.bound

    def _check_signal(
        self, values: npt.ArrayLike, leading: tuple[int, ...], name: str
    ) -> npt.NDArray[Any]:
        """Signal as a contiguous array of the transform's dtype; checks shape and values."""
        if np.ma.is_masked(values):
            raise ValueError(f"{name} have masked entries; fill them first: values.filled(0)")
        array = np.asarray(values)
        if array.dtype.kind not in "buif":
            raise TypeError(f"{name} of dtype {array.dtype} are not real numbers")
        expected = (*leading, *self.shape)
        if array.shape[: len(expected)] != expected or array.ndim > len(expected) + 1:
            raise ValueError(
                f"{name} must have shape {expected} (and may have channels after it), "
                f"not {array.shape}"
            )
        if array.size == 0:
            raise ValueError(f"{name} of shape {array.shape} have no channel")
        with np.errstate(over="ignore"):
            ready = ready_for_c(array, self.dtype)
        # Energies are squares, and the recurrence adds many terms: room is left for both.
        # Coefficients of an image may themselves be larger than the image.
        limit = float(np.finfo(self.dtype).max) ** (0.75 if leading else 0.5)
        if not (-limit <= ready.min() and ready.max() <= limit):
            where = tuple(int(i) for i in np.argwhere(~(abs(ready) <= limit))[0])
            raise ValueError(
                f"{name} must be finite, and at most {limit:.2g} in {self.dtype} arithmetic: "
                f"{array[where]} at {where} is not; scale or replace them"
            )
        return ready

    def _apply(self, image: npt.ArrayLike, coefficients: npt.NDArray[Any]) -> npt.NDArray[Any]:
        signal = self._check_signal(image, (), "image values")
        with RowExecutor(self.n_jobs) as executor:
            return self._analyze(signal, coefficients, executor)

    def _analyze(
        self, signal: npt.NDArray[Any], coefficients: npt.NDArray[Any], executor: RowExecutor
    ) -> npt.NDArray[Any]:
        return self._per_channel(
            signal, 0, lambda x: self._operator.analyze(x, coefficients, self.bound, executor)
        )

    def _synthesize(self, values: npt.NDArray[Any], executor: RowExecutor) -> npt.NDArray[Any]:
        return self._per_channel(
            values,
            1,
            lambda c: self._operator.synthesize(c, self.coefficients, self.bound, executor),
        )

    def _per_channel(
        self,
        array: npt.NDArray[Any],
        n_leading: int,
        transform: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
    ) -> npt.NDArray[Any]:
        if array.ndim == n_leading + len(self.shape):
            return transform(array)
        channels = [transform(np.ascontiguousarray(array[..., c])) for c in range(array.shape[-1])]
        return np.stack(channels, axis=-1)
