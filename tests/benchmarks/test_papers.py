"""The papers' experiments run on tiny images, and their computations are correct."""

import csv
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from exact import kernel_by_nnls
from PIL import Image

import nnk_image

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that an installed nnk_image is found first
pytest.importorskip("pywt")

from benchmarks import peers  # noqa: E402
from benchmarks.papers import FIGURES, denoising, sparsity, time  # noqa: E402
from benchmarks.papers.__main__ import POINTS  # noqa: E402
from benchmarks.papers.claims import FAILS, HOLDS, PARTLY  # noqa: E402
from benchmarks.papers.run import reproduce  # noqa: E402
from benchmarks.pictures import Picture  # noqa: E402

CAMERA = nnk_image.standard_image("camera")
PICTURES = [
    Picture.from_pixels("face", CAMERA[40:64, 100:126]),
    Picture.from_pixels("grass", CAMERA[200:224, 40:66]),
]


@pytest.mark.filterwarnings("ignore:Level value")  # from pywt, because the images are small
def test_report_contains_all_figures_and_claims(tmp_path, monkeypatch):
    monkeypatch.setattr(denoising, "SIGMAS", (10, 30))
    text = reproduce(FIGURES, PICTURES, tmp_path).read_text()
    claims = re.findall(rf"\| ({HOLDS}|{PARTLY}|{FAILS}) \|", text)
    assert len(claims) >= 2 * len(FIGURES)
    assert "nan" not in text
    for name in FIGURES:
        assert f"![]({name}.png)" in text
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert np.asarray(picture.convert("L")).std() > 10
        with open(tmp_path / f"{name}.csv", newline="") as file:
            assert {row["image"] for row in csv.DictReader(file)} == {"face", "grass"}


def test_benchmarks_can_be_imported():
    tables = (path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
    for name in (*tables, *(f"papers.{name}" for names in POINTS.values() for name in names)):
        import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("shape", [(17, 23), (12, 15, 3)])
def test_bilateral_filter_equals_averaging_on_the_bilateral_graph(shape):
    noisy = np.random.default_rng(0).normal(100, 40, shape)
    axis = 2 if len(shape) == 3 else None
    graph = nnk_image.bilateral_graph(noisy, 11, 2.0, 34.0, channel_axis=axis)
    kernel = graph.adjacency.toarray() + np.eye(graph.n_nodes)
    pixels = noisy.reshape(graph.n_nodes, -1)
    expected = (kernel @ pixels / kernel.sum(axis=1, keepdims=True)).reshape(shape)
    ours = peers.bilateral_filter(noisy, 20, 1.7, 2.0, window=11)
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_exact_nnk_weights_equal_those_of_scipy_nnls():
    image = CAMERA[80:92, 90:105]
    whole = nnk_image.bilateral_graph(image, 5, 1.5, 25)
    _, exact = time.exact_nnk(whole, image)
    for node in range(0, whole.n_nodes, 7):
        expected = np.zeros(whole.n_nodes)
        for other, theta in kernel_by_nnls(whole, image, node).items():
            expected[other] = theta
        np.testing.assert_allclose(exact[[node]].toarray()[0], expected, atol=1e-7)


def test_chebyshev_polynomials_by_scipy_equal_the_wavelet_transform():
    image = np.random.default_rng(2).random((14, 11))
    graph = nnk_image.bilateral_graph(image, 5, sigma_f=0.3)
    wavelets = nnk_image.SpectralGraphWavelets(graph, order=12)
    bands = sparsity.chebyshev_by_scipy(
        graph.laplacian(), image.ravel(), wavelets.coefficients, wavelets.bound
    )
    np.testing.assert_allclose(bands.reshape(7, 14, 11), wavelets.analyze(image), atol=1e-12)
