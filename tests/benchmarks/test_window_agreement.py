"""The agreement of Algorithm 4 with exact NNK, against another solver."""

import sys
from pathlib import Path

import pytest
from exact import kernel_by_nnls

from nnk_image import bilateral_graph, image_graph, standard_image

sys.path.append(str(Path(__file__).parents[2]))  # last: an installed nnk_image goes first

from benchmarks.papers.window_agreement import window_agreement

IMAGE = standard_image("camera")[80:104, 90:120]
OPTIONS = {"window": 5, "sigma_d": 1.5, "sigma_f": 25}


def test_agreement_counts_neighbors():
    agreement = window_agreement(IMAGE, **OPTIONS)
    found = image_graph(IMAGE, directed=True, **OPTIONS).adjacency
    whole = bilateral_graph(IMAGE, **OPTIONS)
    exact, both = 0, 0
    nodes = range(0, whole.n_nodes, 7)
    for node in nodes:
        theta = kernel_by_nnls(whole, IMAGE, node)
        neighbors = {j for j, w in theta.items() if w > 1e-8 * max(theta.values())}
        exact += len(neighbors)
        both += len(neighbors & set(found[[node]].indices.tolist()))
    assert both / exact == pytest.approx(agreement.recall, abs=0.03)
    assert exact / len(nodes) == pytest.approx(agreement.exact, rel=0.06)
    assert agreement.jaccard <= min(agreement.recall, agreement.precision)
    assert agreement.found == pytest.approx(found.nnz / whole.n_nodes)
