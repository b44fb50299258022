"""The papers' experiments run on tiny images, and their computations are correct."""

import csv
import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from exact import kernel_by_nnls
from PIL import Image

import nnk_image
from nnk_image.io import ImageFileError

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that an installed nnk_image is found first
pytest.importorskip("pywt")

from benchmarks import noise, noise_photographs, noises, peers  # noqa: E402
from benchmarks.noise_photographs import NOISES  # noqa: E402
from benchmarks.papers import FIGURES, denoising, sparsity, time  # noqa: E402
from benchmarks.papers.__main__ import POINTS, main  # noqa: E402
from benchmarks.papers.claims import FAILS, HOLDS, PARTLY  # noqa: E402
from benchmarks.papers.run import reproduce  # noqa: E402
from benchmarks.pictures import Picture, read_8_bit_images, read_volumes  # noqa: E402

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


def test_images_are_read_from_a_folder(tmp_path, capsys):
    arguments = ["bands", "--images", str(tmp_path), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit):
        main(arguments)
    assert f"error: {tmp_path}: no image in this folder" in capsys.readouterr().err
    Image.fromarray(CAMERA[40:64, 100:126]).save(tmp_path / "face.png")
    main(arguments)
    assert "Measured on face; seed 0." in (tmp_path / "out" / "report.md").read_text()


BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))


@pytest.mark.parametrize("name", [*BENCHMARKS, *(f"papers.{name}" for name in POINTS.values())])
def test_benchmarks_can_be_imported(name):
    import_module(f"benchmarks.{name}")


def test_noise_tables_of_images_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(noises, "KINDS", ["binomial", "rows"])
    Image.fromarray(CAMERA[40:90, 100:150]).save(tmp_path / "face.png")
    options = SimpleNamespace(noise_images=tmp_path, noise_tables=["correlated", "uneven"])
    correlated, uneven = noise.tables(options)
    assert all(row["fast"] > row["as white"] for row in correlated.rows)
    assert [row["image"] for row in uneven.rows] == ["face", "mean"]
    assert uneven.rows[0]["map"] > uneven.rows[0]["noisy"] + 3


def test_photographs_of_a_folder_with_added_noise(tmp_path, monkeypatch):
    kinds = "none", "white, sigma 15", "simulated camera, JPEG", "gray: simulated camera"
    monkeypatch.setattr(noise_photographs, "NOISES", {k: NOISES[k] for k in kinds})
    monkeypatch.setattr(noise_photographs, "SIDE", 64)
    Image.fromarray(nnk_image.standard_image("coffee")).save(tmp_path / "coffee.png")
    options = SimpleNamespace(noise_images=tmp_path, noise_tables=["photographs"])
    ((clean, *noisy),) = (table.rows for table in noise.tables(options))
    assert (clean["crops"], clean["noisy"], clean["known"]) == (2, 99, 99)
    assert clean["estimated"] > 42
    assert all(row["known"] > row["noisy"] for row in noisy)
    assert noisy[0]["estimated"] > noisy[0]["noisy"] + 5


def test_folders_without_suitable_files_are_refused(tmp_path):
    with pytest.raises(ImageFileError, match=r"has no \.npy files"):
        read_volumes(tmp_path)
    Image.fromarray(np.stack([CAMERA] * 3, -1)).save(tmp_path / "color.png")
    assert [name for name, _ in read_8_bit_images(tmp_path)] == ["color"]
    with pytest.raises(ImageFileError, match=r"color\.png: is not an 8-bit grayscale image"):
        read_8_bit_images(tmp_path, color=False)
    # The noise levels of the benchmarks assume values from 0 to 255.
    Image.fromarray(CAMERA.astype(np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(ImageFileError, match=r"deep\.png: is not an 8-bit image, but .* uint16"):
        read_8_bit_images(tmp_path)


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


@pytest.mark.parametrize(
    ("nnk_edges", "nnk_ms", "verdicts"),
    [(50, 1.0, [HOLDS, HOLDS]), (150, 4.0, [FAILS, PARTLY]), (900, 16.0, [FAILS, FAILS])],
)
def test_verdicts_follow_from_the_measurements(nnk_edges, nnk_ms, verdicts):
    rows = [
        {"image": "a", "graph": graph, "edges": edges, "neighbors": edges / 50}
        | {f"{operation}_ms": ms for operation in sparsity.OPERATIONS}
        for graph, edges, ms in (("bilateral", 1000, 16.0), ("nnk", nnk_edges, nnk_ms))
    ]
    assert [claim.verdict for claim in sparsity.claims(rows)] == verdicts
