"""Errors of the command line: bad files, full disks, closed streams.

Each error has its exit status and one line on standard error. Afterwards an existing output file
is either unchanged or completely rewritten.
"""

import json
import os
import re
import subprocess

import numpy as np
import pytest
import tifffile
from command import command, process, run
from on_posix import limit_files_to, on_a_terminal, only_on_posix
from PIL import Image

import nnk_image
from nnk_image.denoising import api
from nnk_image.io import read, write


def truncated(photo):
    data = photo.read_bytes()
    return data[: len(data) // 2]


FILES = {
    "truncated": (truncated, "is damaged or truncated"),
    "empty": (lambda _: b"", "is empty; fetch or export the file again"),
    "text": (lambda _: b"hello, world", "known image format"),
}


@pytest.mark.parametrize("name", ["denoise", "graph", "compaction"])
@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES)
def test_bad_files_are_refused_and_leave_the_output_unchanged(
    capsys, photo, tmp_path, name, content, message
):
    bad, out = tmp_path / "bad.png", tmp_path / ("out.tif" if name == "denoise" else "out.png")
    bad.write_bytes(content(photo))
    out.write_bytes(b"old content")
    target = {"denoise": [out], "graph": ["--plot", out], "compaction": ["--plot", out]}[name]
    status, text, err = run(capsys, name, bad, *target, "--overwrite")
    assert (status, text) == (1, "")
    assert err.startswith("nnk-image: ")
    assert err.count("\n") == 1
    assert message in err
    assert out.read_bytes() == b"old content"
    assert {p.name for p in tmp_path.iterdir()} == {"bad.png", out.name, "photos"}


@pytest.mark.parametrize("name", ["denoise", "graph", "compaction"])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.png", "missing.png: no such file or folder; check the name"),
        ("*.png", "*.png: no file matches; check the pattern and the folder"),
        ("empty", "empty: no image in this folder"),
        ("x" * 5000, "no such file or folder" if os.name == "nt" else "too long"),
    ],
)
def test_missing_inputs_are_reported(capsys, tmp_path, monkeypatch, name, source, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    status, out, err = run(capsys, name, source, *(["out.png"] if name == "denoise" else []))
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("shape", [(24, 28), (24, 28, 3), (5, 24, 28)])
def test_nonfinite_pixels_are_masked_with_a_warning(capsys, tmp_path, shape):
    pixels = np.random.default_rng(0).normal(100, 9, shape).astype(np.float32)
    pixels[4, 5], pixels.flat[0] = np.nan, np.inf
    path, out = tmp_path / "nan.tif", tmp_path / "out.tif"
    write(path, pixels)
    expected = f"nnk-image: warning: {path}: values that are NaN or infinite: "
    calls = [("denoise", path, out), ("noise", path), ("graph", path, "--sigma-f", 20)]
    if shape != (5, 24, 28):
        calls.append(("compaction", path, "--sigma-f", 20, "--orders", 4, "--blocks", 4))
    for words in calls:
        status, text, err = run(capsys, *words)
        assert status == 0
        assert "nan" not in text.replace("nan.tif", "")
        assert err.startswith(expected)
        assert err.count("\n") == 1
    clean = read(out)[0]
    np.testing.assert_array_equal(clean[~np.isfinite(pixels)], pixels[~np.isfinite(pixels)])
    assert np.nanstd(clean[np.isfinite(clean)]) < 5


def test_images_without_finite_pixels_are_refused(capsys, tmp_path):
    path = tmp_path / "nan.npy"
    np.save(path, np.full((20, 20), np.nan))
    status, out, err = run(capsys, "noise", path)
    assert (status, out) == (1, "")
    assert err == f"nnk-image: {path}: all values are NaN or infinite\n"


def test_error_messages_name_command_line_options(capsys, tmp_path):
    np.save(tmp_path / "small.npy", np.eye(5))
    status, _, err = run(capsys, "denoise", tmp_path / "small.npy", tmp_path / "out.npy")
    assert status == 1
    assert err.endswith("check --axes, or give --sigma to denoise\n")
    name = tmp_path / "sigma_f n_jobs.npy"  # option names in file names are kept
    np.save(name, 300 * np.eye(5))
    status, _, err = run(capsys, "graph", name)
    assert status == 1
    assert err.startswith(f"nnk-image: {name}: the data range")
    assert "pass --sigma-f in the image's units, such as 10 for values up to 255\n" in err


def test_unreadable_files_are_reported(capsys, photo, tmp_path, monkeypatch):
    """Root may read every file, so the test raises the error itself."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nnk_image.io.files.open", refuse, raising=False)
    status, _, err = run(capsys, "denoise", photo, tmp_path / "out.png")
    assert status == 1
    assert err == f"nnk-image: {photo}: Permission denied; check the name and the permissions\n"


BAD_OUTPUTS = {
    "folder missing": ("nowhere/out.png", "does not exist; create it first"),
    "unknown extension": ("out.xcf", "unknown extension '.xcf'; use one of"),
    "no extension": ("out", "or end it with / for a folder"),
}
if hasattr(os, "mkfifo"):
    BAD_OUTPUTS["special file"] = "pipe.png", "is not an ordinary file and will not be replaced"


@pytest.mark.parametrize(("output", "message"), BAD_OUTPUTS.values(), ids=BAD_OUTPUTS)
def test_bad_output_paths_are_refused(capsys, photo, tmp_path, monkeypatch, output, message):
    monkeypatch.chdir(tmp_path)
    if output == "pipe.png":
        os.mkfifo(output)
    status, out, err = run(capsys, "denoise", photo, output, "--sigma", "15")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_reports_that_cannot_be_written_are_refused_early(capsys, photo, tmp_path, option):
    (tmp_path / "folder.png").mkdir()
    status, out, err = run(capsys, "compaction", photo, option, tmp_path / "folder.png")
    assert (status, out) == (1, "")
    assert "folder.png: is a folder; add a file name to it" in err


# --- pixel formats -----------------------------------------------------------------------


def test_alpha_is_kept_when_the_input_is_overwritten(capsys, photo, tmp_path):
    gray = np.asarray(Image.open(photo))
    alpha = np.arange(gray.size, dtype=np.uint8).reshape(gray.shape)
    path = tmp_path / "alpha.png"
    Image.fromarray(np.stack([gray, gray, gray, alpha], axis=-1)).save(path)
    assert run(capsys, "denoise", path, path, "--sigma", "15", "--overwrite")[0] == 0
    result = np.asarray(Image.open(path))
    np.testing.assert_array_equal(result[..., 3], alpha)
    assert (result[..., 0] != gray).any()


def test_16_bit_stays_16_bit(capsys, photo, tmp_path):
    deep = np.asarray(Image.open(photo)).astype(np.uint16) * 257
    path, out = tmp_path / "deep.png", tmp_path / "deep_out.tif"
    Image.fromarray(deep).save(path)
    assert run(capsys, "denoise", path, out, "--sigma", 15 * 257)[0] == 0
    result = tifffile.imread(out)
    assert result.dtype == np.uint16
    expected = np.clip(np.rint(nnk_image.denoise(deep, 15 * 257)), 0, 65535)
    np.testing.assert_array_equal(result, expected)
    status, _, err = run(capsys, "denoise", path, tmp_path / "out.jpg")
    assert status == 1
    assert "JPEG cannot hold uint16; write .png or .tif" in err


# --- disk and memory ---------------------------------------------------------------------


@only_on_posix
@pytest.mark.parametrize("name", ["denoise", "graph"])
def test_outputs_beyond_the_file_size_limit_are_left_unchanged(photo, tmp_path, name):
    """The limit is set in the operating system."""
    out = tmp_path / ("out.png" if name == "denoise" else "out.npz")
    out.write_bytes(b"old content")
    target = [out, "--sigma", "15"] if name == "denoise" else ["--out", out]
    done = process(name, photo, *target, "--overwrite", preexec_fn=limit_files_to(1000))
    assert done.returncode == 1
    message, nothing, zip_file = done.stderr.partition("\n")
    assert message == (
        f"nnk-image: {out}: could not be written (File too large) and was left as it was; "
        "make room or choose another place"
    )
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # earlier versions leave a zip file open
        assert (nothing, zip_file) == ("\n", "")
    assert out.read_bytes() == b"old content"
    assert {p.name for p in tmp_path.iterdir()} == {out.name, "photos"}


def test_memory_errors_are_one_line(capsys, photo, tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError("denoise needs 7.0 TiB")

    monkeypatch.setattr(api, "estimated_noise", full)
    status, _, err = run(capsys, "denoise", photo, tmp_path / "out.png")
    assert (status, err) == (1, f"nnk-image: {photo}: denoise needs 7.0 TiB\n")


# --- standard streams --------------------------------------------------------------------


def test_warnings_are_single_lines_that_name_the_file(tmp_path):
    rng = np.random.default_rng(0)
    names = [str(tmp_path / name) for name in ("a.gif", "b.gif")]
    for name in names:
        frames = [Image.fromarray(rng.integers(0, 9, (16, 16), np.uint8)) for _ in range(3)]
        frames[0].save(name, save_all=True, append_images=frames[1:])
    expected = [
        f"nnk-image: warning: {name}: of the 3 frames of a GIF file only the first is read\n"
        for name in names
    ]
    done = process("noise", *names)
    assert (done.returncode, done.stderr) == (0, "".join(expected))
    done = process("denoise", names[0], tmp_path / "out.png", "--sigma", "3")
    assert (done.returncode, done.stderr) == (0, expected[0])


@only_on_posix
def test_progress_bar_is_drawn_on_a_terminal_and_erased(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("large.npy", np.random.default_rng(0).normal(100, 15, (1024, 1024)))
    done, shown = on_a_terminal(command("denoise", "large.npy", "o.tif", "--sigma", "15"))
    assert done.returncode == 0
    assert re.search(rb"\rdenoise: +\d+%\|.* left", shown)
    assert b"%|" not in done.stdout
    assert re.search(rb"\r {70,}\r$", shown)  # the bar is erased


def test_a_broken_pipe_gives_no_message(photo):
    child = subprocess.Popen(
        command("compaction", photo, "--orders", "4"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait() == 1
    assert err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_reported(photo, unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("graph", photo),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@only_on_posix
@pytest.mark.parametrize(
    ("closed", "status"), [(">&- 2>&-", 0), ("<&-", 0), (">&-", 1), ("2>&-", 1), (">&- 2>&-", 1)]
)
def test_closed_streams_cause_no_traceback(photo, tmp_path, closed, status):
    source = tmp_path / "missing.png" if status else photo
    out = tmp_path / "out.png"
    words = command("denoise", source, out, "--sigma", "15")
    line = " ".join(f"'{word}'" for word in words)
    shell = ["sh", "-c", f"{line} {closed}"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert out.exists() == (status == 0)
    assert "Traceback" not in done.stderr


@only_on_posix
def test_file_names_that_are_not_utf_8(photo, tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\n.png"
    try:
        os.rename(photo, name)
    except OSError:
        pytest.skip("needs a file system that allows names that are not UTF-8")
    arguments = [*command("compaction"), name, "--orders", "4", "--json", tmp_path / "e.json"]
    done = subprocess.run(arguments, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "e.json").read_bytes())
    assert os.fsencode(found) == name


@pytest.mark.parametrize(
    ("command", "name", "allowed"),
    [("graph", "x.npy", ".npz"), ("noise", "x.png", ".json"), ("graph", "x", ".npz")],
)
def test_outputs_need_the_extension_of_their_format(
    capsys, photo, tmp_path, command, name, allowed
):
    status, _, err = run(capsys, command, photo, "--out", tmp_path / name)
    assert (status, err.count("\n")) == (1, 1)
    assert allowed in err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("spacing", ["3,a,1", "3,,1", ""])
def test_invalid_spacing_is_refused(capsys, photo, spacing):
    status, _, err = run(capsys, "denoise", photo, "out.png", "--spacing", spacing)
    assert status == 2
    assert f"argument --spacing: {spacing!r} is not numbers with commas between them" in err
