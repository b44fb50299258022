"""The papers' experiments: measured once, resumed, written whole; and right in themselves."""

import csv
import json
import re
from pathlib import Path

import command
import dense
import numpy as np
import pytest
from PIL import Image
from scipy.optimize import nnls

import nnk_image
from nnk_image.base.atomic import ImageFileError
from nnk_image.reproduce import FIGURES, contenders, denoising, figure_module, peers, sparsity
from nnk_image.reproduce import compaction as compaction_figure
from nnk_image.reproduce import time as time_figure
from nnk_image.reproduce.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    Claim,
    between,
    markdown,
    share,
    verdict_of,
)
from nnk_image.reproduce.parts import Part, Setup, Store
from nnk_image.reproduce.pictures import BUNDLED, Picture, bundled_pictures, pictures_of
from nnk_image.reproduce.run import reproduce
from nnk_image.wavelets.filter_bank import design
from nnk_image.wavelets.transform import SpectralGraphWavelets

SHARED = Path(__file__).parents[3] / "shared"
SET12_ENERGY = SHARED / "golden" / "restricted" / "energy_set12.json"
SET12 = SHARED / "images" / "set12"

CAMERA = nnk_image.standard_image("camera")
PICTURES = [
    Picture.of_pixels("face", CAMERA[40:64, 100:126]),
    Picture.of_pixels("grass", CAMERA[200:224, 40:66]),
]


@pytest.fixture
def counted(monkeypatch):
    """The parts that are measured, as (figure, name of the picture)."""
    measured, measure = [], Store.measure

    def counting(store, figure, part):
        measured.append((figure, part.picture.name))
        return measure(store, figure, part)

    monkeypatch.setattr(Store, "measure", counting)
    return measured


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A folder with all figures of the small pictures, at fewer noise levels."""
    folder = tmp_path_factory.mktemp("everything")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(denoising, "SIGMAS", (10, 30))
        reproduce(FIGURES, PICTURES, folder)
    return folder


# --- parts -------------------------------------------------------------------------------


def test_finished_parts_are_not_measured_again(tmp_path, counted):
    reproduce(["bands"], PICTURES, tmp_path)
    assert counted == [("bands", "face"), ("bands", "grass")]
    before = (tmp_path / "bands.json").read_bytes()
    reproduce(["bands"], PICTURES, tmp_path, n_jobs=2)
    assert len(counted) == 2
    assert (tmp_path / "bands.json").read_bytes() == before
    reproduce(["bands"], PICTURES, tmp_path, fresh=True)
    assert len(counted) == 4


def test_interrupted_run_resumes_with_the_same_files(tmp_path, counted):
    def interrupt(done, total, figure):
        if done == total // 2:
            raise KeyboardInterrupt

    figures = ["bands", "compaction"]
    with pytest.raises(KeyboardInterrupt):
        reproduce(figures, PICTURES, tmp_path / "a", progress=interrupt)
    assert len(counted) == 2
    assert not (tmp_path / "a" / "compaction.csv").exists()
    reproduce(figures, PICTURES, tmp_path / "a")
    assert len(counted) == 4
    reproduce(figures, PICTURES, tmp_path / "b")
    for name in ("bands.csv", "bands.png", "bands.json", "compaction.csv", "report.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    # A report keeps to its pictures.
    report = tmp_path / "a" / "report.html"
    assert report.read_text().count("<img") == 2
    assert reproduce(["compaction"], PICTURES[:1], tmp_path / "a") == report
    assert report.read_text().count("<img") == 1


def test_nothing_is_left_of_a_part_that_fails(tmp_path):
    def fail():
        raise RuntimeError

    store = Store(tmp_path)
    with pytest.raises(RuntimeError):
        store.measure("bands", Part(PICTURES[0], {}, fail))
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": 1, "rows": []}', '{"rows": 1}', "\0"])
def test_damaged_part_is_measured_again(tmp_path, damage):
    part = Part(PICTURES[0], {"a": (1, 2)}, lambda: [{"x": 1.5}])
    store = Store(tmp_path)
    assert store.find("bands", part) is None
    rows = store.measure("bands", part)
    assert store.find("bands", part) == rows == [{"image": "face", "x": 1.5}]
    (path,) = tmp_path.rglob("*.json")
    path.write_text(damage)
    assert store.find("bands", part) is None


def test_parts_depend_on_all_that_changes_them(tmp_path, monkeypatch):
    def rows():
        return [{"x": 1.0}]

    part = Part(PICTURES[0], {"sigma": 10}, rows)
    Store(tmp_path).measure("denoising", part)
    pixels = CAMERA[40:64, 100:126].copy()
    pixels[0, 0] ^= 1
    others = [
        Part(Picture.of_pixels("face", pixels), {"sigma": 10}, rows),
        Part(Picture.of_pixels("other", CAMERA[40:64, 100:126]), {"sigma": 10}, rows),
        Part(PICTURES[0], {"sigma": 15}, rows),
        Part(PICTURES[0], {"sigma": 10}, rows, timed=True),
    ]
    assert Store(tmp_path).find("denoising", part) is not None
    assert [Store(tmp_path).find("denoising", other) for other in others] == [None] * 4
    assert Store(tmp_path).find("bands", part) is None
    monkeypatch.setattr("nnk_image.reproduce.parts.versions", lambda: {"nnk_image": "0"})
    assert Store(tmp_path).find("denoising", part) is None


def test_seed_and_lmax_are_among_the_parameters():
    pictures = tuple(PICTURES)
    for figure, setup in (
        ("denoising", Setup(pictures, seed=1)),
        ("compaction", Setup(pictures, lmax={"face": {"bilateral": 30.0, "nnk": 9.0}})),
    ):
        module = figure_module(figure)
        first, other = module.parts(Setup(pictures))[0], module.parts(setup)[0]
        assert first.parameters != other.parameters


# --- files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_a_picture_and_two_tables(everything, name):
    about = json.loads((everything / f"{name}.json").read_text())
    with Image.open(everything / f"{name}.png") as picture:
        assert picture.width > 800
        assert np.asarray(picture.convert("L")).std() > 10
    with open(everything / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(about["rows"]) > 0
    for row, kept in zip(rows, about["rows"], strict=True):
        assert {k: v for k, v in row.items() if v} == {
            k: str(v) for k, v in kept.items() if v != ""
        }
        assert np.isfinite([v for v in kept.values() if isinstance(v, float)]).all()
    assert set(about["images"]) == {"face", "grass"}
    assert about["machine"]["versions"]["nnk_image"] == nnk_image.__version__
    assert about["seed"] == 0
    assert about["parameters"]
    assert {claim["verdict"] for claim in about["claims"]} <= {HOLDS, PARTLY, FAILS}
    assert all(all(claim.values()) for claim in about["claims"])


def test_report_opens_offline(everything):
    text = (everything / "report.html").read_text()
    assert len(re.findall(r'src="data:image/png;base64,', text)) == len(FIGURES)
    assert len(re.findall(r"src=|href=|url\(|@import", text)) == len(FIGURES)
    claims = [c for name in FIGURES for c in json.loads((everything / f"{name}.json").read_text())
              ["claims"]]  # fmt: skip
    assert text.count('class="verdict') == len(claims)
    lines = (everything / "claims.md").read_text().splitlines()
    assert len([line for line in lines if "**" in line]) == len(claims)
    assert sum(line.count("|") - line.count("\\|") for line in lines[2:]) == 6 * (len(claims) + 2)


def test_names_are_escaped(tmp_path):
    picture = Picture.of_pixels("<b>|&", CAMERA[:20, :20])
    text = reproduce(["bands", "sparsity"], [picture], tmp_path).read_text()
    assert "<b>" not in text
    assert "&lt;b&gt;|&amp;" in text


# --- pictures ----------------------------------------------------------------------------


def test_pictures_are_grey_from_0_to_1(tmp_path):
    assert [p.name for p in bundled_pictures()] == list(BUNDLED)
    grey = CAMERA[:20, :30]
    deep = grey.astype(np.uint16) * 257
    expected = grey / 255
    for pixels in (grey, deep, np.stack([grey] * 3, axis=-1)):
        np.testing.assert_allclose(Picture.of_pixels("x", pixels).unit, expected, rtol=1e-15)
    np.testing.assert_array_equal(
        Picture.of_pixels("x", expected.astype(np.float32)).unit, expected.astype(np.float32)
    )
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        Image.fromarray(grey).save(tmp_path / folder / "same.png")
    names = [p.name for p in pictures_of(sorted(tmp_path.rglob("*.png")))]
    assert names == ["a/same.png", "b/same.png"]


@pytest.mark.parametrize(
    ("pixels", "says"),
    [
        (np.full((20, 20), 7, np.uint8), "all pixels are equal"),
        (CAMERA[:15, :30], "15x30 pixels are too few"),
        (CAMERA[:20, :20].astype(float), "from 0 to 1"),
        (np.full((20, 20), np.nan), "from 0 to 1"),
    ],
)
def test_picture_that_no_experiment_can_use(pixels, says):
    with pytest.raises(ImageFileError, match=says):
        Picture.of_pixels("x", pixels)


def test_noise_is_the_pictures_own():
    noises = []
    for picture in bundled_pictures()[:2]:
        clean, noisy = denoising.noisy_picture(picture, 20, seed=3)
        np.testing.assert_array_equal(clean, 255 * picture.unit)
        _, stronger = denoising.noisy_picture(picture, 30, seed=3)
        np.testing.assert_allclose((stronger - clean) / 1.5, noisy - clean, atol=1e-10)
        noises.append(noisy - clean)
    assert abs(np.std(noises) / 20 - 1) < 0.01
    assert abs(np.corrcoef(noises[0].ravel(), noises[1].ravel())[0, 1]) < 0.02


# --- methods -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(17, 23), (12, 15, 3)])
def test_bilateral_filter_is_the_graph_with_its_own_weight(shape):
    noisy = np.random.default_rng(0).normal(100, 40, shape)
    graph = nnk_image.bilateral_graph(noisy, 11, 2.0, 34.0, channel_axis=2 if len(shape) == 3
                                      else None)  # fmt: skip
    kernel = graph.adjacency.toarray() + np.eye(graph.n_nodes)
    pixels = noisy.reshape(graph.n_nodes, -1)
    expected = (kernel @ pixels / kernel.sum(axis=1, keepdims=True)).reshape(shape)
    ours = peers.bilateral_filter(noisy, 20, 1.7, 2.0, window=11)
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["combinatorial", "random_walk"])
@pytest.mark.parametrize("n_kept", [3, 4])
def test_keeping_bands_by_eigenvectors(kind, n_kept):
    noisy = np.random.default_rng(1).normal(100, 20, (9, 8))
    graph = nnk_image.image_graph(noisy, 5, sigma_f=34.0)
    wavelets = SpectralGraphWavelets(
        graph, laplacian=kind, order=300, approximation="projection"
    )  # fmt: skip
    values, right, left = dense.spectrum(graph.adjacency.toarray(), kind)
    power = design("abspline", 6, wavelets.lmax).evaluate(np.maximum(values, 0)) ** 2
    kept = power[:n_kept].sum(axis=0) / power.sum(axis=0)
    signal = noisy.ravel() - noisy.mean()
    expected = noisy.mean() + right @ (kept * (left @ signal))
    ours = contenders.keep_bands(wavelets, noisy, n_kept)
    np.testing.assert_allclose(ours.ravel(), expected, atol=2e-3)
    flat = contenders.keep_bands(wavelets, np.full((9, 8), 7.0), n_kept)
    np.testing.assert_array_equal(flat, 7.0)


def test_published_settings_come_first():
    found = contenders.contenders()
    for name in ("sgw_nnk", "sgw_bilateral"):
        first = found[name].settings[0]
        assert first == {"width": 1.7, "laplacian": "combinatorial", "kept": 3}
    assert {f"denoise_{method}" for method in nnk_image.denoising.METHODS} <= set(found)
    noisy = 255 * PICTURES[0].unit
    for contender in found.values():
        results = list(contender.run(noisy, 20, None, contender.settings))
        assert len(results) == len(contender.settings)
        assert all(result.shape == noisy.shape for result in results)


def test_chebyshev_by_scipy_is_the_transform():
    image = np.random.default_rng(2).random((14, 11))
    graph = nnk_image.bilateral_graph(image, 5, sigma_f=0.3)
    wavelets = SpectralGraphWavelets(graph, order=12)
    bands = sparsity.chebyshev_by_scipy(
        graph.laplacian(), image.ravel(), wavelets.coefficients, wavelets.bound
    )
    np.testing.assert_allclose(bands.reshape(7, 14, 11), wavelets.analyze(image), atol=1e-12)


def test_exact_nnk_solves_the_problem_of_each_window():
    pixels = CAMERA[60:72, 100:113] / 255
    graph = nnk_image.bilateral_graph(pixels, 5, 2.0, 30 / 255)
    _, weights = time_figure.exact_nnk(graph, pixels)
    y, x = np.indices(pixels.shape)
    distance = sum(
        np.subtract.outer(f.ravel(), f.ravel()) ** 2 for f in (y / 2, x / 2, pixels * 255 / 30)
    )
    kernel = np.exp(-distance / 2)
    for i in (0, 30, 77, 155):
        near = graph.adjacency.indices[slice(*graph.adjacency.indptr[i : i + 2])]
        lower = np.linalg.cholesky(kernel[np.ix_(near, near)])
        expected, _ = nnls(lower.T, np.linalg.solve(lower, kernel[near, i]))
        np.testing.assert_allclose(weights.toarray()[i, near], expected, atol=1e-7)


# --- published figures -------------------------------------------------------------------


@pytest.mark.skipif(not (SET12.is_dir() and SET12_ENERGY.exists()), reason="Set12 is not here")
@pytest.mark.parametrize("name", ["02_house"])
def test_energies_of_set12_at_their_lmax(tmp_path, name):
    golden = json.loads(SET12_ENERGY.read_text())[name]
    lmax = {name: {"bilateral": golden["bf_lmax"], "nnk": golden["nnk_lmax"]}}
    reproduce(["compaction"], pictures_of([SET12 / f"{name}.png"]), tmp_path, lmax=lmax)
    rows = json.loads((tmp_path / "compaction.json").read_text())["rows"]
    for kind, prefix in (("bilateral", "bf"), ("nnk", "nnk")):
        for order in compaction_figure.ORDERS:
            mine = [
                row for row in rows
                if (row["reading"], row["graph"], row["order"]) == ("upright", kind, order)
            ]  # fmt: skip
            assert {row["edges"] for row in mine} == {golden[f"{prefix}_edges"]}
            expected = golden[f"{prefix}_rowmajor_m{order}"]
            np.testing.assert_allclose([row["energy"] for row in mine], expected, rtol=1e-9)


# --- claims ------------------------------------------------------------------------------


def test_verdicts():
    assert [verdict_of(*flags) for flags in ((True, True), (True, False), (False, False))] == [
        HOLDS,
        PARTLY,
        FAILS,
    ]
    assert [share(f) for f in ([True] * 3, [False] * 3, [True, False])] == [
        "all 3",
        "none of 3",
        "1 of 2",
    ]
    assert (between([3, 1, 2]), between([1.001, 1.002])) == ("1.00 to 3.00", "1.00")
    table = markdown([Claim("a|b", "p", "m", HOLDS, "w")])
    assert table.splitlines()[2] == "| a\\|b | p | m | **holds** | w |"


@pytest.mark.parametrize(
    ("nnk_edges", "nnk_ms", "verdicts"),
    [(50, 1.0, [HOLDS, HOLDS]), (150, 4.0, [FAILS, PARTLY]), (900, 16.0, [FAILS, FAILS])],
)
def test_claims_follow_from_the_rows(nnk_edges, nnk_ms, verdicts):
    rows = [
        {"image": "a", "graph": graph, "edges": edges, "neighbors": edges / 50}
        | {f"{operation}_ms": ms for operation in sparsity.OPERATIONS}
        for graph, edges, ms in (("bilateral", 1000, 16.0), ("nnk", nnk_edges, nnk_ms))
    ]
    assert [claim.verdict for claim in sparsity.claims(rows)] == verdicts


def test_best_setting_is_that_of_the_best_mean():
    rows = [
        {"image": image, "sigma": sigma, "method": "nlm", "label": "n", "setting": setting,
         "psnr": psnr, "ssim": 0.5}
        for sigma in denoising.SIGMAS
        for setting, values in (("usual", (20.0, 30.0)), ("other", (26.0, 25.0)))
        for image, psnr in zip("ab", values, strict=True)
    ]  # fmt: skip
    (row,) = denoising.summary(rows)
    assert row["setting"] == "other"
    assert row["sigma 10"] == "25.50 / 0.500"


# --- command -----------------------------------------------------------------------------


def test_command(capsys, tmp_path):
    photo, out = tmp_path / "photo.png", tmp_path / "out"
    Image.fromarray(CAMERA[:24, :24]).save(photo)
    (tmp_path / "lmax.json").write_text('{"photo": {"bilateral": 40, "nnk": 20}}')
    arguments = "reproduce", "compaction", "--images", photo, "--out", out
    status, text, err = command.run(capsys, *arguments, "--lmax", tmp_path / "lmax.json")
    assert (status, err) == (0, "")
    assert str(out / "report.html") in text
    rows = json.loads((out / "compaction.json").read_text())["rows"]
    assert {(row["graph"], row["lmax"]) for row in rows} == {("bilateral", 40.0), ("nnk", 20.0)}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nix",), "figure 'nix' is unknown; choose from time, bands"),
        (("bands", "--jobs", "0"), "n_jobs=0"),
        (("bands", "--seed", "-1"), "--seed -1"),
        (("bands", "--images", "nowhere.png"), "nowhere.png: no such file"),
        (("bands", "--out", "file/x"), "no folder can be made there"),
        (("bands", "--lmax", "nowhere.json"), "nowhere.json"),
    ],
)
def test_command_refuses(capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    status, _, err = command.run(capsys, "reproduce", *arguments)
    assert status == 1
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[1]", "is not JSON of the form"),
        ("{", "is not JSON of the form"),
        ('{"camera": {"nnk": "x"}}', "is not JSON of the form"),
        ('{"camera": {"nnk": 5}}', "needs the two numbers"),
        ('{"nobody": {"nnk": 5, "bilateral": 30}}', "none of astronaut_grey"),
    ],
)
def test_lmax_file_is_checked(capsys, tmp_path, content, says):
    path = tmp_path / "lmax.json"
    path.write_text(content)
    status, _, err = command.run(
        capsys, "reproduce", "compaction", "--out", tmp_path, "--lmax", path
    )
    assert status == 1
    assert says in err
