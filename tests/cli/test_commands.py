"""Output and files of the `nnk-image` commands."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from command import process
from PIL import Image

import nnk_image
from nnk_image.base.parallel import resolve_n_jobs
from nnk_image.io import read

COMMANDS = ("demo", "denoise", "noise", "graph", "compaction")


@pytest.fixture
def pixels(photo):
    return read(photo)[0]


def as_written(result):
    return np.clip(np.rint(result), 0, 255).astype(np.uint8)


def check_plot(path, width=200):
    with Image.open(path) as plot:
        assert plot.width > width


# --- denoise -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "noise", "strength", "says"),
    [
        ("--sigma 15", 15, 1, "noise 15 of 255 (5.9 %) (given), "),
        ("--sigma 10 --strength 1.5 --method sgw", 10, 1.5, "noise 10 of 255 (3.9 %)"),
        ("--gain 2 --read 3 --offset 9", nnk_image.NoiseModel(3.0, gain=2.0, offset=9.0), 1,
         "noise 16 of 255 (6.2 %) (given)"),
    ],
)  # fmt: skip
def test_denoise_writes_the_result_of_the_library(
    run, photo, pixels, tmp_path, options, noise, strength, says
):
    out, method = tmp_path / "out.tif", "sgw" if "sgw" in options else "fast"
    assert says in run.prints("denoise", photo, out, *options.split())
    expected = nnk_image.denoise(pixels, noise, strength=strength, method=method)
    np.testing.assert_array_equal(read(out)[0], as_written(expected))


def test_alpha_is_kept_when_the_input_is_overwritten(run, pixels, tmp_path):
    alpha = np.arange(pixels.size, dtype=np.uint8).reshape(pixels.shape)
    path = tmp_path / "alpha.png"
    Image.fromarray(np.stack([pixels, pixels, pixels, alpha], axis=-1)).save(path)
    run.prints("denoise", path, path, "--sigma", "15", "--overwrite")
    result = np.asarray(Image.open(path))
    np.testing.assert_array_equal(result[..., 3], alpha)
    assert (result[..., 0] != pixels).any()


def test_noise_is_printed_saved_plotted_and_used(run, photo, pixels, tmp_path):
    """The noise that is estimated is that of `noise --out` and of the report, bit for bit."""
    model, plot, report = (tmp_path / name for name in ("m.json", "m.png", "r.json"))
    text = run.prints("noise", photo, "--out", model, "--plot", plot)
    expected = nnk_image.estimate_noise(pixels)
    assert 10 < expected.sigma[0] < 20
    level, share = f"{expected.sigma[0]:.2g}", expected.sigma[0] / 2.55
    assert f"{photo}: noise {level} of 255 ({share:.1f} %): {expected}" in text
    assert nnk_image.NoiseModel.from_json(model.read_text()) == expected
    check_plot(plot, 300)

    blind, out = tmp_path / "blind.png", tmp_path / "out.png"
    assert "(estimated)" in run.prints("denoise", photo, blind, "--json", report)
    run.prints("denoise", photo, out, "--noise", model)
    assert out.read_bytes() == blind.read_bytes()
    content = json.loads(report.read_text())
    assert (content["version"], content["method"]) == (nnk_image.__version__, "fast")
    assert content["strength"] == 1
    (image,) = content["images"]
    assert image["noise"] == json.loads(model.read_text())
    assert image["sigma"] == pytest.approx(expected.sigma[0], rel=0.1)
    assert image["sigma_estimated"] is True
    assert (image["input"], image["output"]) == (str(photo), str(blind))
    assert (image["shape"], image["dtype"]) == ([64, 80], "uint8")


@pytest.mark.filterwarnings("default")  # about the gap
@pytest.mark.parametrize("kind", ["integers", "floats", "gap"])
def test_an_image_without_noise_gives_a_message(run, tmp_path, kind):
    image, out = np.tile(np.arange(0, 200, 2, dtype=np.uint8), (80, 1)), tmp_path / "out.npy"
    if kind != "integers":
        image = image / np.float32(255)
        image[3, 4] = np.nan if kind == "gap" else image[3, 4]
    np.save(tmp_path / "in.npy", image)
    status, _, err = run("denoise", tmp_path / "in.npy", out)
    assert status == 0
    assert "the image is unchanged: found no noise to remove" in err
    np.testing.assert_array_equal(np.load(out), image)
    if kind == "integers":
        _, _, err = run("denoise", tmp_path / "in.npy", out, "--sigma", "0.05", "--overwrite")
        assert "the given noise, 0.05 in the units of the file, changes no value" in err


def test_a_jpeg_without_noise_is_copied_unchanged(run, tmp_path):
    halves = np.repeat(np.array([[90, 160]], np.uint8), 50, axis=1).repeat(80, axis=0)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Kamera"
    path = tmp_path / "in.jpg"
    Image.fromarray(halves).save(path, quality=90, exif=exif, comment="text")
    for name in ("out.jpg", "out.jpeg"):
        status, text, err = run("denoise", path, tmp_path / name)
        assert status == 0
        assert "found no noise to remove" in err
        assert "noise 0 of 255 (0.0 %)" in text
        assert (tmp_path / name).read_bytes() == path.read_bytes()
    assert run("denoise", path, tmp_path / "out.png")[0] == 0
    np.testing.assert_array_equal(read(tmp_path / "out.png")[0], read(path)[0])


# --- several images ----------------------------------------------------------------------


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_folder_to_a_new_folder(run, photo, tmp_path):
    Image.open(photo).convert("1").save(photo.parent / "bits.pbm")
    text = run.prints("denoise", photo.parent, tmp_path / "out", "--sigma", "9")
    assert text.count("\n") == 2
    # PBM holds only black and white, so the result is written as PNG.
    assert names_in(tmp_path / "out") == ["bits.png", "photo.png"]
    run.prints("denoise", photo, f"{tmp_path / 'alone'}/", "--sigma", "9")
    one, other = (tmp_path / name / "photo.png" for name in ("out", "alone"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "words",
    ["denoise photos out --sigma 9 --json report.json", "graph photos --out out",
     "compaction photos --orders 4 --json report.json"],
)  # fmt: skip
def test_one_bad_image_does_not_stop_the_others(run, photo, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (photo.parent / "bad.png").write_bytes(b"hello, world")
    status, text, err = run(*words.split())
    assert status == 1
    first, last = err.splitlines()
    bad, good = (os.path.join("photos", name) for name in ("bad.png", "photo.png"))
    assert first.startswith(f"nnk-image: {bad}: ")
    assert last == "nnk-image: 1 of 2 images failed"
    count = "" if "compaction" in words else " (2 of 2)"
    assert text.startswith(f"{good}{count}: ")
    if "--json" in words:
        report = json.loads((tmp_path / "report.json").read_text())
        parts = report.get("images") or [report[bad], report[good]]
        assert parts[0] == {"input": bad, "error": first.removeprefix("nnk-image: ")}
        assert "error" not in parts[1]
    if "graph" in words:
        assert names_in(tmp_path / "out") == ["photo.npz"]
    if "denoise" in words:
        assert names_in(tmp_path / "out") == ["photo.png"]


def test_the_report_of_a_single_image_that_fails_has_the_error(run, tmp_path):
    broken, report = tmp_path / "broken.png", tmp_path / "report.json"
    broken.write_bytes(b"not an image")
    status, _, err = run("denoise", broken, tmp_path / "out.png", "--json", report)
    assert status == 1
    (image,) = json.loads(report.read_text())["images"]
    assert image["input"] == str(broken)
    assert err.strip() == f"nnk-image: {image['error']}"


# --- compaction --------------------------------------------------------------------------


def test_report_and_plot_show_the_energy_compaction(run, photo, pixels, tmp_path):
    report, plot = tmp_path / "energy.json", tmp_path / "energy.png"
    options = ("--orders", "4", "6", "--window", "7", "--json", report, "--plot", plot)
    text = run.prints("compaction", photo, *options)
    graphs = {
        "bilateral": nnk_image.bilateral_graph(pixels, 7),
        "nnk": nnk_image.image_graph(pixels, 7),
    }
    expected = nnk_image.energy_compaction(pixels, graphs, orders=[4, 6])
    found = json.loads(report.read_text())[str(photo)]
    assert found["n_edges"] == expected.n_edges
    assert found["orders"] == [4, 6]
    for name in ("energy", "normalized", "cumulative"):
        for graph, table in getattr(expected, name).items():
            np.testing.assert_allclose(found[name][graph], table, rtol=1e-12)
    check_plot(plot)
    assert f"{100 * expected.reduction:.1f} % fewer edges" in text


def test_summary_of_a_folder(run, photo):
    words = ("compaction", photo.parent, "--orders", "4", "--sigma-f", 30, "--blocks", "8")
    text = run.prints(*words)
    assert text.count("% fewer edges") == 1  # a single image has no summary
    assert ", klt " not in text  # it needs another image
    photo.with_name("other.png").write_bytes(photo.read_bytes())
    text = run.prints(*words)
    assert text.count("% fewer edges") == 3
    assert "2 images: the NNK graph has" in text
    assert text.count(", klt ") == 2


# --- graph -------------------------------------------------------------------------------


def test_graph_is_saved_and_reported(run, photo, pixels, tmp_path):
    out = tmp_path / "graph.npz"
    text = run.prints("graph", photo, "--window", "7", "--sigma-f", "12", "--out", out)
    expected = nnk_image.image_graph(pixels, 7, sigma_f=12)
    loaded = nnk_image.ImageGraph.load(out)
    assert (loaded.adjacency != expected.adjacency).nnz == 0
    assert (loaded.window, loaded.sigma_f) == (7, 12)
    assert f"{expected}, built in" in text
    assert str(out) in text


# --- demo, version and help --------------------------------------------------------------


def test_demo_prints_scores_and_writes_a_picture(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "nnk-image-demo.png"
    status, text, _ = run("demo")
    assert status == 0
    scores = {line[:22].strip(): float(line[22:31]) for line in text.splitlines()[2:-1]}
    assert scores["nnk_image, sgw"] > scores["bilateral filter"] > scores["noisy"]
    assert str(out) in text
    check_plot(out, 1000)


def test_version_names_the_simd_variant_and_the_threads():
    variant, n = nnk_image._core.simd_variant(), resolve_n_jobs(-1)
    expected = f"nnk-image {nnk_image.__version__} ({variant}, {n} thread{'s' * (n > 1)})\n"
    assert process("--version").stdout == expected
    assert process("denoise").returncode == 2


def test_help_lists_the_commands_and_has_examples_of_each(run):
    overview = run.prints("--help")
    for name in COMMANDS:
        assert re.search(rf"^    {name}\b", overview, re.M)
        assert f"examples:\n  nnk-image {name}" in run.prints(name, "--help")


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from nnk_image.cli import main; main(['--help']); "
        "assert not {'scipy', 'pygsp', 'matplotlib', 'skimage'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
