"""Refused calls have an exit status and one line on standard error, and change no file."""

import os
import shlex

import numpy as np
import pytest
import tifffile
from PIL import Image


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with images, stacks, damaged files and other files."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    pixels, stack = rng.normal(120, 15, (64, 80)), rng.normal(2000, 60, (5, 40, 48))
    for name in ("photo.png", "old.png", "two/photo.png", "two/second.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    Image.new("L", (20, 20), 7).save(folder / "flat.png")
    options = {"imagej": True, "metadata": {"axes": "ZYX"}}
    tifffile.imwrite(folder / "stack.tif", stack.astype(np.uint16), **options)
    arrays = {"small": np.eye(5), "nan": np.full((20, 20), np.nan), "two": np.zeros((5, 20, 20))}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    data = (folder / "photo.png").read_bytes()
    (folder / "truncated.png").write_bytes(data[: len(data) // 2])
    (folder / "empty.png").touch()
    (folder / "text.png").write_bytes(b"hello, world")
    (folder / "empty").mkdir()
    (folder / "list.json").write_text("[]")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.png")
    return folder


def contents(folder):
    return {p: p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


EACH_COMMAND = [
    "denoise {} old.png --overwrite",
    "noise {} --plot old.png --overwrite",
    "graph {} --out old.npz --overwrite",
    "compaction {} --plot old.png --overwrite",
]
BAD_INPUTS = [
    ("empty.png", "empty.png: is empty; fetch or export the file again"),
    ("text.png", "known image format"),
    ("missing.png", "missing.png: no such file or folder; check the name"),
    ("'*.xyz'", "*.xyz: no file matches; check the pattern and the folder"),
    ("empty", "empty: no image in this folder"),
    ("x" * 5000, "no such file or folder" if os.name == "nt" else "too long"),
]
DENOISE = [
    # outputs
    ("photo.png nowhere/out.png", "does not exist; create it first"),
    ("photo.png out", "or end it with / for a folder"),
    ("photo.png old.png", "old.png exists already; add --overwrite to replace it, or choose an"),
    ("two two", f"two{os.sep}photo.png exists already (and 1 more); add --overwrite"),
    ("two/photo.png two/second.png photo.png", "need a folder"),
    ("two out.png", "need a folder"),
    ("two out/ --map map.tif", "need a folder"),
    ("photo.png two empty", "would both be written to"),
    # noise
    ("photo.png out.png --noise list.json", "list.json: is not a noise model (the text is JSON,"),
    ("photo.png out.png --read 9", "--read and --offset need --gain"),
    ("photo.png out.npy --rician --gain 2", "--rician can be combined with --sigma only"),
    ("small.npy out.npy", "check channel_axis, or give sigma to denoise\n"),
    ("stack.tif out.tif --map m.png", "m.png: --map writes .tif, .tiff, .npy,"),
    ("stack.tif out.tif --map stack.tif", "--map would replace an input"),
    ("stack.tif out.tif --map m.tif --sigma 3", "--map writes the estimated level"),
    # other options
    ("photo.png out.png --method bset", "'fast', 'best', 'sgw'; did you mean 'best'?\n"),
    ("photo.png out.png --max-pixels 10", "raise the limit (max_pixels) to"),
    ("stack.tif out.tif --spacing 1,2,3,4", "a number for each axis of space, Z,Y,X"),
    ("stack.tif out.tif --spacing 1,0,1", "must be positive"),
    ("stack.tif out.tif --channels bands", "axis of the bands"),
    ("stack.tif out.tif --channels bands --strength 2", "--strength cannot be combined"),
    ("photo.png out.png --spacing 1,1", "is a picture; --spacing is for stacks"),
    ("photo.png out.png --axes YX", "is a picture (PNG), whose axes are known"),
]
OTHERS = [
    ("noise stack.zarr", ".zarr is read by 'nnk-image denoise' only"),
    ("noise nan.npy", "nnk-image: nan.npy: all values are NaN or infinite\n"),
    ("noise stack.tif --slices --out m.json", "are 5 independent images or volumes"),
    ("noise photo.png --out m.png", ".json"),
    ("graph stack.tif --slices --sigma-f 99 --out g.npz", "are 5 independent images or volumes"),
    ("graph photo.png --out g.npy", ".npz"),
    ("noise photo.png --plot picture.xyz", "xyz"),
    ("compaction flat.png --orders 4 --plot e.png", "all channels of the image are constant"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *((command.format("truncated.png"), "is damaged or truncated") for command in EACH_COMMAND),
        *((f"noise {name}", message) for name, message in BAD_INPUTS),
        *((f"denoise {words}", message) for words, message in DENOISE),
        *OTHERS,
    ],
    ids=lambda text: text[:70],
)
def test_errors_are_one_line_and_no_file_changes(run, files, monkeypatch, words, message):
    monkeypatch.chdir(files)
    before = contents(files)
    assert message in run.refuses(*shlex.split(words))
    assert contents(files) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_special_files_are_not_replaced(run, files, monkeypatch):
    monkeypatch.chdir(files)
    for options in ((), ("--overwrite",)):
        error = run.refuses("denoise", "photo.png", "pipe.png", *options)
        assert "pipe.png: is not an ordinary file and will not be replaced" in error


@pytest.mark.parametrize(
    "words",
    ["denoise photo.png out.png --json photo.png",
     "denoise photo.png out.png --json out.png",
     "noise photo.png --out photo.png", "noise photo.png --plot photo.png",
     "graph photo.png --out photo.png",
     "compaction photo.png --plot photo.png", "compaction photo.png --json photo.png"],
)  # fmt: skip
def test_reports_replace_neither_inputs_nor_results(run, files, monkeypatch, words):
    monkeypatch.chdir(files)
    before = contents(files)
    error = run.refuses(*words.split(), "--overwrite")
    assert f"{words.split()[-2]} would replace an input or a result" in error
    assert contents(files) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("denoise", "usage:"),
        ("denoise a.png b.png --sigma 3 --gain 2", "--gain: not allowed with argument --sigma"),
        ("denoise a.png b.png --no-clobber --overwrite", "not allowed with argument --no-clobber"),
        ("denoise a.png b.png --spacing 3,a,1",
         "argument --spacing: '3,a,1' is not numbers with commas between them"),
    ],
)  # fmt: skip
def test_wrong_usage_has_exit_status_2(run, words, message):
    status, text, err = run(*shlex.split(words))
    assert (status, text) == (2, "")
    assert message in err
