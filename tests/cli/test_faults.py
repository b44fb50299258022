"""Full disks, closed streams and other faults give a line on standard error, and no traceback.

Afterwards an existing output file is either unchanged or completely rewritten.
"""

import json
import os
import re
import subprocess

import numpy as np
import pytest
from command import command, process
from on_posix import limit_files_to, on_a_terminal, only_on_posix
from PIL import Image

from nnk_image.io import read, write

# --- values and files --------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("shape", [(24, 28), (24, 28, 3), (5, 24, 28)])
def test_nonfinite_pixels_are_masked_with_a_warning(run, tmp_path, shape):
    pixels = np.random.default_rng(0).normal(100, 9, shape).astype(np.float32)
    pixels[4, 5], pixels.flat[0] = np.nan, np.inf
    path, out = tmp_path / "nan.tif", tmp_path / "out.tif"
    write(path, pixels)
    calls = [("denoise", path, out), ("noise", path), ("graph", path, "--sigma-f", 20)]
    if shape != (5, 24, 28):
        calls.append(("compaction", path, "--sigma-f", 20, "--orders", 4, "--blocks", 4))
    for words in calls:
        status, text, err = run(*words)
        assert (status, err.count("\n")) == (0, 1)
        assert "nan" not in text.replace("nan.tif", "")
        assert err.startswith(f"nnk-image: warning: {path}: values that are NaN or infinite: ")
    clean = read(out)[0]
    np.testing.assert_array_equal(clean[~np.isfinite(pixels)], pixels[~np.isfinite(pixels)])
    assert np.nanstd(clean[np.isfinite(clean)]) < 5


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("nnk_image.io.files.open", PermissionError(13, "Permission denied"),  # also for root
         "Permission denied; check the name and the permissions"),
        ("nnk_image.denoising.api.estimated_noise", MemoryError("denoise needs 7.0 TiB"),
         "denoise needs 7.0 TiB"),
    ],
)  # fmt: skip
def test_errors_of_the_system_are_reported(
    run, photo, tmp_path, monkeypatch, place, error, message
):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(place, fail, raising=False)
    expected = f"nnk-image: {photo}: {message}\n"
    assert run.refuses("denoise", photo, tmp_path / "out.png") == expected


# --- full disks --------------------------------------------------------------------------


@only_on_posix
@pytest.mark.parametrize(
    "words", [("denoise", "out.png", "--sigma", "9"), ("graph", "--out", "out.npz")]
)
def test_outputs_beyond_the_file_size_limit_are_left_unchanged(photo, tmp_path, words):
    """The limit is set in the operating system."""
    name, *options = words
    out = next(word for word in words if word.startswith("out."))
    (tmp_path / out).write_bytes(b"old content")
    limit = {"preexec_fn": limit_files_to(1000), "cwd": tmp_path}
    done = process(name, photo, *options, "--overwrite", **limit)
    assert done.returncode == 1
    message, nothing, zip_file = done.stderr.partition("\n")
    assert message == (
        f"nnk-image: {out}: could not be written (File too large) and was left as it was; "
        "make room or choose another place"
    )
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # earlier versions leave a zip file open
        assert (nothing, zip_file) == ("\n", "")
    assert (tmp_path / out).read_bytes() == b"old content"
    assert {p.name for p in tmp_path.iterdir()} == {out, "photos"}


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
@pytest.mark.parametrize("shape", [(1024, 1024), (5, 512, 512)], ids=["image", "slices"])
def test_one_progress_bar_is_drawn_on_a_terminal_and_erased(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    np.save("large.npy", np.random.default_rng(0).normal(100, 15, shape))
    options = ["--slices"] if len(shape) == 3 else []
    done, shown = on_a_terminal(command("denoise", "large.npy", "o.tif", "--sigma", "15", *options))
    assert done.returncode == 0
    shares = [int(share) for share in re.findall(rb"\rdenoise: +(\d+)%\|[^\r]* left", shown)]
    assert len(shares) > 1
    assert shares == sorted(shares)
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
    line = " ".join(f"'{word}'" for word in command("denoise", source, out, "--sigma", "15"))
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
