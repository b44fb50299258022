"""Faults and warnings give a line on standard error, and no traceback."""

import re
import subprocess

import numpy as np
import pytest
from command import command, process
from on_posix import on_a_terminal, only_on_posix
from PIL import Image

from nnk_image.io import read, write


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


def test_warnings_are_single_lines_that_name_the_file(tmp_path):
    rng = np.random.default_rng(0)
    names = [str(tmp_path / name) for name in ("a.gif", "b.gif")]
    for name in names:
        frames = [Image.fromarray(rng.integers(0, 9, (16, 16), np.uint8)) for _ in range(3)]
        frames[0].save(name, save_all=True, append_images=frames[1:])
    expected = [
        f"nnk-image: warning: {name}: of the 3 frames of a GIF file only the first is read; for "
        "all, convert it to TIFF\n"
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
