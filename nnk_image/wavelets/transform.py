"""Spectral graph wavelets: analysis, synthesis, inverse and filtering on a graph."""

import copy
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_choice, check_count, check_number, check_signal, ready_for_c
from nnk_image.base.image import Array
from nnk_image.base.parallel import RowExecutor
from nnk_image.spectral.operator import LaplacianOperator
from nnk_image.wavelets import filter_bank

MAX_ORDER = 100_000  # far beyond any use, so that a typing error does not cost hours
LANCZOS_MARGIN = 1.01  # for lmax='lanczos', `lmax` over the estimate of the largest eigenvalue
_TOLERANCE = 1e-4  # in units of bound / 2: rounding may move an eigenvalue out of [0, bound]


class SpectralGraphWavelets:
    """Split an image into frequency bands of its graph (spectral graph wavelet transform).

    The frequencies of a graph are the eigenvalues of its Laplacian L: low ones belong to signals
    that hardly change along edges of large weight. Band s of a signal f is ``g_s(L) f``, where the
    filter g_s is a function of the eigenvalue, approximated by a Chebyshev polynomial. Band 0 (the
    scaling function) keeps the lowest frequencies; the wavelets follow from low to high.

    Parameters
    ----------
    graph : ImageGraph, PyGSP or networkx graph, or (N, N) adjacency, sparse or dense
        Undirected graph, with weights that are not negative and no self loops. A signal has the
        image's shape for an ImageGraph, and (N,) for all others.
    filters : str, callable, list of callables, or pygsp Filter
        Name of a filter design of PyGSP, default 'abspline'. 'abspline', 'mexican_hat', 'meyer',
        'itersine', 'simple_tight' and 'half_cosine' have ``n_scales + 1`` bands. 'heat' and
        'expwin' have one band, 'held', 'papadakis', 'regular' and 'simoncelli' have two; these
        ignore `n_scales`.

        Or functions, one per band, that take an ndarray of eigenvalues and return the response at
        each; or a `pygsp.filters.Filter`, for which the default of `lmax` is that of its graph, if
        it has as many nodes and the same Laplacian, and if it is less than the bound. These ignore
        `n_scales`, and `lmax` only sets the default of `bound`.
    n_scales : int
        Wavelet bands besides the scaling function, 1 to 1000 ('half_cosine': from 2); default 6.
    order : int
        Degree of the Chebyshev polynomials, 0 to 100000; default 30. Time is proportional to it.
    laplacian : {'combinatorial', 'normalized', 'random_walk', 'regularized'}, optional
        Which Laplacian of the graph to use, as in `ImageGraph.laplacian`. Default: the `lap_type`
        of a PyGSP graph, else 'combinatorial'.
    lmax : float or 'lanczos', optional
        Eigenvalue at which the highest band ends, not below the largest eigenvalue unless `bound`
        is given too; 'lanczos' takes 1.01 times an estimate of it. Default: `bound`. See Notes.
    bound : float, optional
        Upper bound on the eigenvalues: the polynomials approximate the filters on [0, bound].
        Default: `lmax` if that is given, else a bound computed from the graph.
    tau : float, optional
        Constant added to the degrees in the regularized Laplacian, in the units of the degrees; an
        error for other Laplacians. Default: the mean degree of the pixels that have edges.
    approximation : {'interpolation', 'projection', 'jackson'}
        How the polynomials are fitted: by interpolation (default), as a truncated Chebyshev
        series, or as such a series with Jackson damping, which does not overshoot.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all. Results do not depend on it. Graphs
        that are no ImageGraph are processed on one thread.

    Attributes
    ----------
    laplacian, order
        As given, or the default.
    shape : tuple of int
        Shape of a signal: that of the image for an `ImageGraph`, (N,) for other graphs.
    dtype : numpy.dtype
        Type of all results: float32 if the weights of the graph are float32, else float64.
    n_bands : int
        Number of bands, the scaling function included.
    bound, lmax : float
        The numbers in use, see Notes.
    coefficients : (n_bands, order + 1) ndarray of float64
        Chebyshev coefficients c of each band on [0, bound], in numpy's convention: the response at
        the eigenvalue x is ``sum_k c[k] T_k(2 x / bound - 1)``.
    bank : FilterBank
        The filters: ``bank.evaluate(x)`` returns their (n_bands, n) responses at n eigenvalues.

    Notes
    -----
    **lmax and bound.** Above `bound` the polynomials grow without limit, so it must not be below
    the largest eigenvalue. `lmax` decides where bands begin and end. By default both are a
    guaranteed bound (:doc:`/theory`), so that part of the highest band is empty.
    With ``lmax='lanczos'`` the bands fit the spectrum closely; the end of the interval then rests
    on an estimate (30 Lanczos steps) unless `bound` is given too. To get the same result for a part
    of an image as for the whole, give the `bound` of the whole.

    **Masked pixels** have no edges and do not influence others, but signals must be finite there.

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
        laplacian: str | None = None,
        lmax: float | str | None = None,
        bound: float | None = None,
        tau: float | None = None,
        approximation: str = "interpolation",
        n_jobs: int | None = None,
    ) -> None:
        n_scales = check_count("n_scales", n_scales, 1, 1000)
        self.order = check_count("order", order, 0, MAX_ORDER)
        self.n_jobs = n_jobs
        self._approximation = approximation
        if laplacian is None:
            laplacian = getattr(graph, "lap_type", "combinatorial")
        with RowExecutor(n_jobs) as executor:
            operator = LaplacianOperator.of_graph(graph, laplacian, executor, tau)
            self.laplacian, self.shape, self.dtype = operator.kind, operator.shape, operator.dtype
            self._operator = operator
            theirs = getattr(filters, "G", None)  # the graph of a PyGSP filter, maybe another one
            ours = math.prod(self.shape), self.laplacian
            if lmax is None and bound is None and theirs and (theirs.N, theirs.lap_type) == ours:
                lmax = min(theirs.lmax, operator.bound)
            self.lmax, self.bound = self._interval(lmax, bound, executor)
        self.bank = filter_bank.design(filters, n_scales, self.lmax)
        self.n_bands = self.bank.n_bands
        self.coefficients = self._fit(self.bank)

    def analyze(self, image: npt.ArrayLike) -> Array:
        """Compute the wavelet coefficients of an image: one image per band.

        Parameters
        ----------
        image : array_like of `shape`, or with one more, last axis of channels
            Values in any units and of any real dtype, finite, at most the square root of the
            largest number of `dtype`. Channels are transformed one by one.

        Returns
        -------
        (n_bands, H, W[, C]) ndarray of `dtype`
            Bands in the units of the image: first the scaling function, then wavelets from low to
            high frequencies. For volumes and other graphs, the axes of `shape` replace H and W.
        """
        signal = self._check_signal(image, (), "image values")
        return self._apply(self._operator.analyze, signal, self.coefficients)

    def filter(self, image: npt.ArrayLike, response: Callable[[Array], npt.ArrayLike]) -> Array:
        """Multiply each frequency of an image f by a response: ``response(L) f``.

        Parameters
        ----------
        image : as for `analyze`
        response : callable
            Function of an array of n eigenvalues that returns n factors, or one number, such as
            ``lambda x: np.exp(-x)``. It is approximated like the filters, by one polynomial.

        Returns
        -------
        ndarray of `dtype`, of the image's shape
        """
        if not callable(response):
            raise TypeError(f"response must be a function of the eigenvalues, not {response!r}")
        coefficients = self._fit(filter_bank.design([response], 0, self.lmax))
        signal = self._check_signal(image, (), "image values")
        return self._apply(self._operator.analyze, signal, coefficients)[0]

    def synthesize(self, coefficients: npt.ArrayLike) -> Array:
        """Apply the adjoint of `analyze`: filter each band again and add up the bands.

        The result is ``sum_s g_s(L) c_s`` for the bands c_s. It is not the inverse of `analyze`,
        unless the filters are a tight frame (their squares add up to 1); see `reconstruct`.

        Parameters
        ----------
        coefficients : (n_bands, H, W[, C]) array_like
            Bands as returned by `analyze`, possibly changed: finite real values, at most the
            largest number of `dtype` to the power 3/4.

        Returns
        -------
        (H, W[, C]) ndarray of `dtype`
            For the random-walk Laplacian it is the adjoint in the inner product weighted by the
            degrees (regularized: by degrees plus tau).
        """
        values = self._check_signal(coefficients, (self.n_bands,), "coefficients")
        return self._apply(self._operator.synthesize, values, self.coefficients, 1)

    def reconstruct(self, coefficients: npt.ArrayLike) -> Array:
        """Compute the image from its wavelet coefficients: the inverse of `analyze`.

        If no image has exactly these coefficients, the result is the one whose coefficients are
        closest in the sense of least squares, in the inner product of `synthesize`.

        Parameters
        ----------
        coefficients : as for `synthesize`

        Returns
        -------
        (H, W[, C]) ndarray of `dtype`
            The image, in the units that it had.

        Raises
        ------
        ValueError
            If the filters are almost 0 at some frequency, so that rounding in `dtype` could change
            the image by more than 1 %.

        Notes
        -----
        The inverse of ``sum_s g_s(L)^2`` is itself a smooth function of the Laplacian. It is
        applied after `synthesize`, as one polynomial whose series has converged to rounding.
        """
        inverse = filter_bank.inverse_coefficients(self.coefficients, self.dtype)
        return self._apply(self._operator.analyze, self.synthesize(coefficients), inverse[None])[0]

    def frame_bounds(self, of: str = "polynomials") -> tuple[float, float]:
        """Return the smallest and the largest total energy of the bands, for an image of energy 1.

        These are the frame bounds A and B: ``A |f|^2 <= sum_s |g_s(L) f|^2 <= B |f|^2``, equal if
        the frame is tight. For the random-walk and the regularized Laplacian, ``|f|^2 = sum_i d_i
        f_i^2`` with d the degrees (regularized: plus tau).

        Parameters
        ----------
        of : {'polynomials', 'kernels'}
            Whether to measure the polynomials that are applied (default), or the filters that they
            approximate, both over the interval [0, bound].

        Returns
        -------
        A, B : float
            Computed on a fine grid of eigenvalues.
        """
        check_choice("of", of, ("polynomials", "kernels"))
        evaluate = self.bank.evaluate if of == "kernels" else self.evaluate
        return filter_bank.frame_bounds(evaluate, self.bound)

    def at_order(self, order: int) -> Self:
        """Return a transform with polynomials of degree `order`, 0 to 100000, on the same graph.

        Its filters, `lmax` and `bound` are the same.
        """
        other = copy.copy(self)
        other.order = check_count("order", order, 0, MAX_ORDER)
        other.coefficients = other._fit(self.bank)
        return other

    def evaluate(self, eigenvalues: npt.ArrayLike) -> Array:
        """Return the response of the polynomial of each band, (n_bands, n) ndarray of float64.

        ValueError unless the n eigenvalues, (n,) array_like, are in [0, bound].
        """
        x = 2 * np.asarray(eigenvalues, float) / self.bound - 1
        if not (abs(x) <= 1 + _TOLERANCE).all():
            raise ValueError(
                f"eigenvalues must be in [0, bound={self.bound:g}], where the polynomials "
                "approximate the filters; beyond, they grow without limit"
            )
        return np.polynomial.chebyshev.chebval(x, self.coefficients.T)

    def __repr__(self) -> str:
        return (
            f"<SpectralGraphWavelets {self.bank.name}: {self.n_bands} bands of order {self.order} "
            f"on {'x'.join(map(str, self.shape))} {self.laplacian} Laplacian, "
            f"lmax={self.lmax:.6g}, interval [0, {self.bound:.6g}], {self.dtype}>"
        )

    def _fit(self, bank: filter_bank.FilterBank) -> Array:
        """Return the Chebyshev coefficients of polynomials that approximate a bank."""
        return filter_bank.chebyshev_coefficients(
            bank.evaluate, self.order, self.bound, self._approximation
        )

    def _interval(
        self, lmax: float | str | None, bound: float | None, executor: RowExecutor
    ) -> tuple[float, float]:
        """Return `lmax` and `bound` with defaults filled in; ValueError if they are too small."""
        if isinstance(lmax, str) and lmax != "lanczos":
            raise ValueError(f"lmax={lmax!r} must be a number, 'lanczos' or None")
        given = None
        if lmax is not None and not isinstance(lmax, str):
            given = check_number("lmax", lmax, "largest eigenvalue to design for")
        if bound is not None:
            bound = check_number("bound", bound, "end of the interval")
            self._check_end("bound", bound, executor)
        elif given is not None:
            self._check_end("lmax", given, executor)
        design_end = given or bound or self._operator.bound
        if lmax == "lanczos":
            estimate = sum(self._operator.largest_eigenvalue(executor))
            if estimate > 0:  # it is 0 without edges
                design_end = LANCZOS_MARGIN * min(estimate, design_end)
        return design_end, bound or design_end

    def _check_end(self, name: str, end: float, executor: RowExecutor) -> None:
        """Raise ValueError if the interval [0, end] does not contain all eigenvalues."""
        if end >= self._operator.bound:
            return
        least, _ = self._operator.largest_eigenvalue(executor)
        if end < least * (1 - 1e-5):
            raise ValueError(
                f"{name}={end:g} lies below the largest eigenvalue, which is at least {least:g}; "
                f"give a larger {name}, or leave it out if you gave it"
            )

    def _check_signal(self, values: npt.ArrayLike, leading: tuple[int, ...], name: str) -> Array:
        """Check shape and values; return a contiguous array of the transform's dtype."""
        array = check_signal(name, values, (*leading, *self.shape))
        with np.errstate(over="ignore"):
            ready = ready_for_c(array, self.dtype)
        # Neither squares of values nor sums of many terms may overflow.  The limit for coefficients
        # is larger, because they may exceed the image that they are computed from.
        limit = float(np.finfo(self.dtype).max) ** (0.75 if leading else 0.5)
        if not (-limit <= ready.min() and ready.max() <= limit):
            where = tuple(int(i) for i in np.argwhere(~(abs(ready) <= limit))[0])
            raise ValueError(
                f"{name} must be finite, and at most {limit:.2g} in {self.dtype} arithmetic: "
                f"{array[where]} at {where} is not; scale or replace them"
            )
        return ready

    def _apply(
        self, method: Callable[..., Array], values: Array, coefficients: Array, n_leading: int = 0
    ) -> Array:
        """Apply a method of the operator to each channel."""
        has_channels = values.ndim > n_leading + len(self.shape)
        channels = np.moveaxis(values, -1, 0) if has_channels else values[None]
        with RowExecutor(self.n_jobs) as executor:
            found = [
                method(np.ascontiguousarray(c), coefficients, self.bound, executor)
                for c in channels
            ]
        return np.stack(found, axis=-1) if has_channels else found[0]
