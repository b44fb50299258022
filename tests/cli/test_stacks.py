"""The command line with volumes and time series: calls of the library, and written files."""

import json
import os
import signal
import subprocess
import time

import nibabel
import numpy as np
import pytest
import tifffile
from command import command
from on_posix import heed_interrupts, only_on_posix

import nnk_image
from nnk_image.cli.common import range_of
from nnk_image.io import read


def noisy(shape, dtype=np.uint16):
    """Return a smooth pattern with noise of 60, with any number of axes."""
    grid = np.meshgrid(*map(np.arange, shape), indexing="ij")
    values = 2000 + 1500 * np.sin(sum((n + 1) * places / 15 for n, places in enumerate(grid)))
    values = values + np.random.default_rng(0).normal(0, 60, shape)
    return np.clip(np.rint(values), 0, np.iinfo(dtype).max).astype(dtype)


@pytest.fixture
def uneven(tmp_path):
    """Return a NIfTI file of scaled magnitudes with noise from 4 to 12: path, level, affine."""
    affine = np.array([[-2.0, 0, 0, 30], [0, 2, 0.1, -20], [0, 0, 3, 5], [0, 0, 0, 1]])
    level = np.linspace(4, 12, 40)[:, None, None] * np.ones((40, 36, 32))
    real, imaginary = level * np.random.default_rng(5).normal(size=(2, *level.shape))
    magnitudes = np.hypot(150 + real, imaginary)
    image = nibabel.Nifti1Image(np.round(magnitudes / 0.05).astype(np.int16), affine)
    image.header.set_slope_inter(0.05, 0)
    image.header["descrip"] = b"of the test"
    path = tmp_path / "t1.nii.gz"
    nibabel.save(image, path)
    return path, level, affine


@pytest.fixture
def stack(tmp_path):
    """Return path and pixels of an ImageJ stack: 5 slices 0.5 um apart, pixels of 0.25 um."""
    path, pixels = tmp_path / "in" / "stack.tif", noisy((5, 40, 48))
    path.parent.mkdir()
    about = {"axes": "ZYX", "spacing": 0.5, "unit": "um", "Info": "of the test"}
    tifffile.imwrite(path, pixels, imagej=True, resolution=(4, 4), metadata=about)
    return path, pixels


def denoised(pixels, sigma, picture=False, **options):
    """Return what the command must write for `pixels` of a picture, or of a part of a stack."""
    image = pixels if picture else pixels.astype(np.float32)
    result = nnk_image.denoise(image, sigma, **options)
    ends = np.iinfo(pixels.dtype)
    return np.clip(np.rint(result), ends.min, ends.max).astype(pixels.dtype)


# --- written files -----------------------------------------------------------------------


CHANNELS = ("ZCYX", (3, 2, 32, 36))
VOLUMES = ("TZYX", (4, 5, 20, 24))
STAINED_VOLUMES = ("TZCYX", (2, 3, 2, 20, 24))


@pytest.mark.parametrize(
    ("axes", "shape", "options", "expected", "says"),
    [
        ("ZYX", (5, 40, 48), (), lambda p: denoised(p, 60, spacing=(2, 1, 1)),
         "5x40x48 ZYX uint16, ZYX together, spacing 2, 1, 1 (Z 0.5, Y 0.25"),
        ("ZYX", (5, 40, 48), ("--slices",), lambda p: [denoised(page, 60) for page in p],
         "YX together"),
        ("TYXS", (4, 32, 36, 3), (),
         lambda p: denoised(p, 60, channel_axis=-1, spacing=(1, 1, 1)),
         "4x32x36x3 TYXS uint16, TYX with colors, spacing 1, 1, 1"),
        (*CHANNELS, ("--slices",), lambda p: [[denoised(c, 60) for c in page] for page in p], ""),
        (*CHANNELS, ("--slices", "--axes", "ZSYX"),
         lambda p: [denoised(page, 60, channel_axis=0) for page in p], "YX with colors"),
        (*VOLUMES, ("--spacing", "3,1,0.5"), lambda p: denoised(p, 60, spacing=(1, 6, 2, 1)), ""),
        (*VOLUMES, ("--axes", "czyx"),
         lambda p: [denoised(volume, 60, spacing=(2, 1, 1)) for volume in p], ""),
        (*STAINED_VOLUMES, (),
         lambda p: np.stack(
             [denoised(p[:, :, c], 60, spacing=(1, 2, 1, 1)) for c in range(2)], axis=2), ""),
        (*STAINED_VOLUMES, ("--axes", "TZSYX"),
         lambda p: denoised(p, 60, channel_axis=2, spacing=(1, 2, 1, 1)), "TZYX with colors"),
        ("ZYX", (32, 36, 5), ("--axes", "YXS"),
         lambda p: denoised(p, 60, picture=True, channel_axis=2), ""),
        ("YXS", (32, 36, 3), ("--channels", "independent"),
         lambda p: np.dstack([denoised(p[..., c], 60, picture=True) for c in range(3)]), ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.uint16, np.int16])
def test_results_are_those_of_the_library(
    run, tmp_path, axes, shape, options, expected, says, dtype
):
    path, out = tmp_path / "in.tif", tmp_path / "out.tif"
    pixels = (noisy(shape).astype(int) - (0 if dtype == np.uint16 else 2000)).astype(dtype)
    known = {"Z": 0.5, "Y": 0.25, "X": 0.25}
    about = {"axes": axes, "unit": "um", "spacing": [known.get(axis) for axis in axes]}
    nnk_image.io.write(path, pixels, about)
    text = run.prints("denoise", path, out, "--sigma", "60", *options)
    assert says.replace("uint16", np.dtype(dtype).name) in text
    found, metadata = read(out)
    np.testing.assert_array_equal(found, expected(pixels))
    assert (found != pixels).mean() > 0.9
    assert (found.dtype, metadata.spacing) == (dtype, read(path)[1].spacing)


def test_noise_of_a_volume_is_estimated(run, stack, tmp_path):
    path, pixels = stack
    report = tmp_path / "r.json"
    text = run.prints("noise", path, "--out", tmp_path / "m.json")
    expected = nnk_image.estimate_noise(pixels, spacing=(2.0, 1.0, 1.0))
    level, extent = f"{expected.sigma[0]:.2g}", np.ptp(range_of(pixels))
    share = 100 * expected.sigma[0] / extent
    assert f"noise {level} of {extent:.0f} ({share:.1f} %): {expected}" in text
    assert expected.sigma[0] == pytest.approx(60, rel=0.15)
    run.prints("denoise", path, tmp_path / "out.npy", "--json", report)
    (about,) = json.loads(report.read_text())["images"]
    assert about["sigma_estimated"] is True
    assert (about["shape"], about["dtype"]) == ([5, 40, 48], "uint16")
    found = nnk_image.NoiseModel.from_json(json.dumps(about["noise"]))
    assert found == nnk_image.estimate_noise(pixels.astype("f4"), spacing=(2, 1, 1))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("words", ["denoise in.tif out.tif", "noise in.tif", "graph in.tif"])
def test_errors_name_the_channel(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    pixels = noisy((3, 2, 20, 20)).astype(np.float32)
    pixels[:, 1] = np.nan
    nnk_image.io.write("in.tif", pixels, {"axes": "ZCYX"})
    status, _, err = run(*words.split(), *(["--sigma-f", 9] if "graph" in words else []))
    assert status == 1
    assert "nnk-image: in.tif C=1: mask is False everywhere" in err
    assert not (tmp_path / "out.tif").exists()


@pytest.mark.filterwarnings("default")
def test_warnings_name_the_channel(run, tmp_path):
    path, pixels = tmp_path / "in.tif", noisy((2, 3, 20, 20))
    pixels[1] //= 100
    nnk_image.io.write(path, pixels, {"axes": "CZYX"})
    _, _, err = run("denoise", path, tmp_path / "out.tif", "--sigma", np.ptp(pixels[1]) + 1)
    assert err.startswith(f"nnk-image: warning: {path} C=1: sigma=")
    assert err.count("\n") == 1


def test_noise_is_estimated_in_each_slice(run, stack, tmp_path):
    path, pixels = stack
    text = run.prints("denoise", path, tmp_path / "o.tif", "--slices")
    assert "estimated in each of 5" in text
    expected = [denoised(page, None) for page in pixels]
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "o.tif"), expected)


def test_nifti_keeps_its_header_and_is_stored_as_float(run, uneven, tmp_path):
    path, out = uneven[0], tmp_path / "o.nii.gz"
    text = run.prints("denoise", path, out, "--slices", "--rician", "--sigma", "8")
    assert "32x36x40 ZYX float32, YX together" in text
    assert "(Z 3.002, Y 2, X 2 in the file)" in text
    header = nibabel.load(path).header
    header.set_data_dtype(np.float32)
    assert nibabel.load(out).header == header
    noise = nnk_image.NoiseModel(8.0, rician=True)
    expected = [nnk_image.denoise(page, noise) for page in read(path)[0]]
    np.testing.assert_array_equal(read(out)[0], expected)


def test_axes_that_a_file_does_not_name_are_assumed(run, tmp_path):
    pixels = noisy((5, 20, 24))
    np.save(tmp_path / "v.npy", pixels)
    text = run.prints("denoise", tmp_path / "v.npy", tmp_path / "o.npy", "--sigma", "60")
    assert "does not name its axes: assumed to be ZYX; --axes gives others, --slices" in text
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), denoised(pixels, 60, spacing=1))


# --- graphs and noise --------------------------------------------------------------------


def test_graph_of_a_volume(run, stack, tmp_path):
    path, pixels = stack
    out = tmp_path / "g.npz"
    run.prints("graph", path, "--sigma-f", "200", "--out", out)
    expected = nnk_image.image_graph(pixels, sigma_f=200, spacing=(2, 1, 1))
    assert (nnk_image.ImageGraph.load(out).adjacency != expected.adjacency).nnz == 0


@pytest.mark.parametrize("options", [("--axes", "PYX"), ("--slices",)])
def test_independent_images_have_separate_graphs_and_noise(run, stack, tmp_path, options):
    path, pixels = stack
    text = run.prints("noise", path, *options)
    letter = "P" if "PYX" in options else "Z"
    for number, page in enumerate(pixels):
        assert f"{path} {letter}={number}: " in text
        assert f": {nnk_image.estimate_noise(page)}" in text
    text = run.prints("graph", path, *options, "--sigma-f", "150")
    for number, page in enumerate(pixels):
        expected = nnk_image.image_graph(page, sigma_f=150)
        assert f"{path} {letter}={number}: {expected}, built in" in text


# --- interruption ------------------------------------------------------------------------


@only_on_posix
@pytest.mark.parametrize("options", [(), ("--slices",)], ids=["volume", "slices"])
def test_interrupt_leaves_no_output(tmp_path, options):
    path = tmp_path / "large.npy"
    np.save(path, np.random.default_rng(0).integers(0, 4096, (60, 512, 512), np.uint16))
    child = subprocess.Popen(
        command("denoise", path, tmp_path / "out.tif", "--sigma", "300", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    begun = child.stdout.readline()  # wait until the stack is read and reported
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate()
    assert "60x512x512" in begun or "does not name" in begun
    assert child.returncode == 130
    assert "interrupted" in err
    assert os.listdir(tmp_path) == ["large.npy"]


# --- magnitudes and noise maps -----------------------------------------------------------


@pytest.mark.parametrize("command", ["noise", "denoise"])
def test_noise_map_is_written(run, uneven, tmp_path, command):
    path, level, affine = uneven
    outputs = [tmp_path / "clean.nii.gz"] if command == "denoise" else []
    text = run.prints(command, path, *outputs, "--rician", "--map", tmp_path / "sigma.nii.gz")
    assert "noise 8.2 of " in text
    found = nibabel.load(tmp_path / "sigma.nii.gz")
    np.testing.assert_allclose(found.affine, affine, rtol=0, atol=1e-7)
    assert found.get_data_dtype() == np.float32
    assert found.header.get_zooms() == nibabel.load(path).header.get_zooms()
    values = np.asarray(found.dataobj)
    assert np.sqrt(np.mean((values / level - 1) ** 2)) < 0.06
    model = nnk_image.estimate_noise(read(path)[0], kind="rician", spacing=1, uneven=True)
    np.testing.assert_allclose(values.T, model.levels, rtol=1e-6)


@pytest.mark.parametrize(("axes", "shape"), [("TYX", (3, 64, 72)), ("YXS", (64, 72, 3))])
def test_noise_maps_have_the_shape_of_the_file(run, tmp_path, axes, shape):
    level = np.linspace(2, 6, 72).reshape((-1, 1) if axes == "YXS" else (-1,))
    pixels = (100 + level * np.random.default_rng(0).normal(size=shape)).astype(np.float32)
    nnk_image.io.write(tmp_path / "in.tif", pixels, {"axes": axes})
    run.prints("noise", tmp_path / "in.tif", "--slices", "--map", tmp_path / "map.tif")
    found, metadata = read(tmp_path / "map.tif")
    assert (found.shape, found.dtype, metadata.axes) == (shape, np.float32, axes)
    assert np.sqrt(np.mean((found / level - 1) ** 2)) < 0.2
    if axes == "YXS":
        np.testing.assert_array_equal(found[..., :1] * np.ones(3, np.float32), found)


@pytest.mark.parametrize(("axes", "axis"), [("TCYX", 1), ("CYX", 0)])
def test_given_noise_of_each_channel(run, tmp_path, axes, axis):
    shape = [{"T": 3, "C": 2}.get(letter, 32) for letter in axes]
    pixels, path = noisy(shape), tmp_path / "stains.tif"
    tifffile.imwrite(path, pixels, imagej=True, metadata={"axes": axes})
    model = nnk_image.NoiseModel(gain=[2, 1], sigma=[40, 9], offset=100)
    (tmp_path / "model.json").write_text(model.to_json())
    out = tmp_path / "clean.tif"
    run.prints("denoise", path, out, "--noise", tmp_path / "model.json")
    kinds = {"channel_axis": axis, "channels": "independent"}
    expected = nnk_image.denoise(pixels.astype(np.float32), model, **kinds)
    np.testing.assert_array_equal(tifffile.imread(out), np.rint(expected).clip(0, 65535))


def test_volumes_of_one_scene_are_denoised_as_bands(run, uneven, tmp_path):
    path, level, affine = uneven
    weights = np.linspace(1, 0.1, 12)
    real, imaginary = level[..., None] * np.random.default_rng(6).normal(size=(2, *level.shape, 12))
    signal = np.where(np.arange(40)[:, None, None, None] > 9, 150, 0) * weights
    signal = signal + np.zeros((*level.shape, 1))
    scan = np.hypot(signal + real, imaginary).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(scan, affine), path)
    outputs = tmp_path / "clean.nii.gz", tmp_path / "sigma.nii.gz"
    axes = ("--axes", "CZYX", "--channels", "bands", "--rician")
    text = run.prints("denoise", path, outputs[0], *axes, "--map", outputs[1])
    assert "ZYX with channels" in text
    clean, found = (nibabel.load(output) for output in outputs)
    np.testing.assert_allclose(clean.affine, affine, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.affine, affine, rtol=0, atol=1e-7)
    error = np.asarray(clean.dataobj) - signal
    assert np.sqrt(np.mean(error**2)) < 0.2 * np.sqrt(np.mean((scan - signal) ** 2))
    assert abs(np.median(np.asarray(found.dataobj)[..., 0] / level) - 1) < 0.05
    text = run.prints("denoise", path, outputs[0], *axes[:-1], "--overwrite")
    assert "noise 8 of 170 (4.7 %) (estimated)" in text
