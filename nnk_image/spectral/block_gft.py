"""Graph Fourier transform of image blocks, which are small enough to compute eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from nnk_image.base.checks import check_count, check_signal
from nnk_image.base.geometry import as_blocks
from nnk_image.base.parallel import RowExecutor, one_blas_thread
from nnk_image.graph.pixel_graph import ImageGraph, check_undirected

BLOCK_SIZES = 2, 64  # smallest and largest side of a block in pixels
_TIE = 1e-6  # relative difference below which two entries of an eigenvector are equally large


def block_gft(
    values: npt.ArrayLike,
    graph: ImageGraph,
    size: int = 8,
    *,
    inverse: bool = False,
    n_jobs: int | None = None,
) -> npt.NDArray[np.float64]:
    """Compute the graph Fourier transform of each square block of an image.

    It is a block transform like the DCT in JPEG, but its basis follows the edges of the image: the
    eigenvectors of the Laplacian of the graph within the block.

    Parameters
    ----------
    values : (H, W) or (H, W, C) array_like
        Finite values of any real dtype, also at masked pixels; with `inverse` the coefficients that
        this function returns, (H // size, W // size, size**2[, C]).
    graph : ImageGraph
        Undirected graph of the H x W pixels, such as ``image_graph(image)``; not of a volume.
    size : int
        Side of the blocks in pixels, 2 to 64; default 8.
    inverse : bool
        True computes the image from its coefficients, on the same graph; default False.
    n_jobs : int, optional
        Largest number of threads; None (default) is 1, -1 all.  Results do not depend on it.

    Returns
    -------
    (H // size, W // size, size**2[, C]) ndarray of float64
        Coefficients of each block by rising graph frequency, in the units of the values; with
        `inverse` the image, (H // size * size, W // size * size[, C]).  Rows and columns beyond the
        last whole block are left out: pad the image before its graph is built to keep them.

    Notes
    -----
    The transform is orthogonal.  The Laplacian of a block is ``D - W`` of the edges within it and
    of additional links of adjacent pixels, 0.01 of the graph's largest weight, so that coefficient
    0 is `size` times the mean.  In each eigenvector, the first of the entries of largest size is
    positive.  Where eigenvalues are equal, as in constant areas, the eigenvectors are not
    unique and depend on LAPACK.

    References
    ----------
    W. Hu, G. Cheung, A. Ortega, O. C. Au, "Multiresolution graph Fourier transform for compression
    of piecewise smooth images", IEEE Trans. Image Process. 24 (2015).

    Examples
    --------
    >>> import numpy as np, nnk_image
    >>> image = nnk_image.standard_image("camera") / 255
    >>> graph = nnk_image.image_graph(image)
    >>> coefficients = nnk_image.block_gft(image, graph)
    >>> coefficients.shape
    (32, 32, 64)
    >>> bool(np.allclose(nnk_image.block_gft(coefficients, graph, inverse=True), image))
    True
    """
    size = check_count("size", size, *BLOCK_SIZES)
    if not isinstance(graph, ImageGraph):
        raise TypeError(f"graph must be an ImageGraph, not {type(graph).__name__}")
    if len(graph.shape) != 2 or min(graph.shape) < size:
        cure = "choose a smaller size" if len(graph.shape) == 2 else "pass a slice and its graph"
        raise ValueError(
            f"a graph of shape {graph.shape} has no block of {size} x {size} pixels; {cure}"
        )
    adjacency, strip_size = check_undirected(graph).adjacency, size * graph.shape[1]
    # Links that connect each block: factors 1e-6 to 0.01 differ by < 0.1 dB of gain, 0.1 loses 0.7.
    path = 0.01 * (adjacency.data.max(initial=0) or 1) * (np.eye(size, k=1) + np.eye(size, k=-1))
    links = np.kron(path, np.eye(size)) + np.kron(np.eye(size), path)
    counts = graph.shape[0] // size, graph.shape[1] // size
    array = check_signal("values", values, (*counts, size**2) if inverse else graph.shape)
    if not np.isfinite(array).all():
        raise ValueError("values must be finite, also at masked pixels; fill them first")
    blocks = np.ascontiguousarray(array if inverse else as_blocks(array, size, size), np.float64)
    result = np.empty(blocks.shape)

    def work(first: int, last: int) -> None:
        for row in range(first, last):
            start, end = row * strip_size, (row + 1) * strip_size
            bases = _bases(adjacency[start:end, start:end], links, size)
            for column, basis in enumerate(bases):
                result[row, column] = (basis if inverse else basis.T) @ blocks[row, column]

    with RowExecutor(n_jobs) as executor, one_blas_thread:
        executor.run(work, counts[0], rows_per_chunk=1)
    if not inverse:
        return result
    channels = array.shape[3:]
    pixels = result.reshape(*counts, size, size, *channels).swapaxes(1, 2)
    return pixels.reshape(counts[0] * size, counts[1] * size, *channels)


def _bases(
    strip: csr_array, links: npt.NDArray[np.float64], size: int
) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the eigenvectors, as columns, of each block in the adjacency of a row of blocks."""
    for block in as_blocks(np.arange(strip.shape[0]).reshape(size, -1), size, size)[0]:
        weights = strip[block][:, block].toarray() + links
        yield with_fixed_signs(np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)[1])


def with_fixed_signs(vectors):
    """Return columns with signs that make the first of the entries of largest size positive.

    Rounding hardly ever changes these signs, unlike that of a sum, which is 0 for many columns.
    """
    size = np.abs(vectors)
    first = (size > (1 - _TIE) * size.max(axis=0)).argmax(axis=0)
    return vectors * np.where(vectors[first, np.arange(len(first))] < 0, -1.0, 1.0)
