"""How well Algorithm 4 finds the neighbors that exact NNK has on the window."""

from dataclasses import dataclass

from nnk_image.base.image import check_image
from nnk_image.graph.build import bilateral_graph, image_graph
from nnk_image.graph.exact_weights import solve_on


@dataclass(frozen=True)
class WindowAgreement:
    """Neighbors found by Algorithm 4 against exact NNK on the whole window.

    Attributes
    ----------
    recall : float
        Part of the exact neighbors that are found.
    precision : float
        Part of the found neighbors that are exact ones.
    jaccard : float
        Both, over either.
    found, exact : float
        Neighbors per pixel.
    """

    recall: float
    precision: float
    jaccard: float
    found: float
    exact: float


def window_agreement(
    image,
    window=11,
    sigma_d=2.0,
    sigma_f=None,
    *,
    channel_axis=None,
    mask=None,
    n_jobs=None,
):
    """Compare `image_graph` with exact NNK that has the whole window as candidates.

    Takes some hundred times as long as `image_graph`.

    Parameters
    ----------
    image, window, sigma_d, sigma_f, channel_axis, mask, n_jobs
        As for `image_graph`.

    Returns
    -------
    WindowAgreement

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `bilateral_graph`.

    References
    ----------
    Thesis section 3.1, Algorithm 4; S. Shekkizhar, A. Ortega, "Neighborhood and graph
    constructions using non-negative kernel regression", eq. 6.
    """
    options = {"channel_axis": channel_axis, "mask": mask}
    found = image_graph(image, window, sigma_d, sigma_f, directed=True, n_jobs=n_jobs, **options)
    whole = bilateral_graph(image, window, sigma_d, sigma_f, n_jobs=n_jobs, **options)
    pixels = check_image(image, channel_axis, mask).pixels
    exact = solve_on(whole, pixels, n_jobs).neighborhoods().to_csr()
    a, b = found.adjacency.astype(bool), exact.astype(bool)
    both = a.multiply(b).nnz
    return WindowAgreement(
        recall=both / max(1, b.nnz),
        precision=both / max(1, a.nnz),
        jaccard=both / max(1, a.nnz + b.nnz - both),
        found=a.nnz / found.n_nodes,
        exact=b.nnz / found.n_nodes,
    )
