"""Typical use of the command line: patterns, nested folders, typing errors."""

import os

import numpy as np
import pytest
from command import run
from PIL import Image

import nnk_image
from nnk_image.io import read

SIGMA = ("--sigma", "15")


@pytest.fixture
def folders(photo):
    """Return a folder with an image, other files and a similar folder in it."""
    (photo.parent / "notes.txt").touch()
    (photo.parent / "inner").mkdir()
    for name in ("inner/photo.png", "inner/second.png", ".hidden.png"):
        (photo.parent / name).write_bytes(photo.read_bytes())
    (photo.parent / "inner" / "raw.cr3").touch()
    return photo.parent


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


# --- existing files ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3])
def test_a_pattern_that_the_shell_expands_overwrites_nothing(capsys, photo, n):
    names = [photo, photo.with_name("second.png"), photo.with_name("third.png")][:n]
    for name in names:
        name.write_bytes(photo.read_bytes())
    status, text, err = run(capsys, "denoise", *names, *SIGMA)
    assert (status, text, err.count("\n")) == (1, "", 1)
    assert ("--overwrite" if n == 2 else "need a folder") in err
    assert {name.read_bytes() for name in names} == {photo.read_bytes()}


@pytest.mark.parametrize("name", ["other.png", "other.jpg", "photo.png", "folder"])
def test_an_existing_file_is_replaced_only_with_overwrite(capsys, photo, name):
    target = photo.with_name(name)
    arguments = ("denoise", photo, target, *SIGMA)
    if name == "folder":  # the output is the input folder
        target, arguments = photo, ("denoise", photo.parent, photo.parent, *SIGMA)
    elif target != photo:
        target.write_bytes(b"old")
    before = target.read_bytes()
    status, text, err = run(capsys, *arguments)
    assert (status, text) == (1, "")
    assert err == (
        f"nnk-image: {target} exists already; add --overwrite to replace it, or choose another "
        "name or folder\n"
    )
    assert target.read_bytes() == before
    assert run(capsys, *arguments, "--overwrite")[0] == 0
    assert target.read_bytes() != before


@pytest.mark.parametrize(
    ("name", "option", "replaced"),
    [
        *(("denoise", "--compare", "input"), ("denoise", "--compare", "result")),
        *(("denoise", "--json", "input"), ("denoise", "--json", "result")),
        *(("noise", "--out", "input"), ("noise", "--plot", "input"), ("graph", "--out", "input")),
        *(("graph", "--json", "input"), ("compaction", "--plot", "input")),
        ("compaction", "--json", "input"),
    ],
)
def test_reports_replace_neither_inputs_nor_results(
    capsys, photo, tmp_path, name, option, replaced
):
    before, result = photo.read_bytes(), tmp_path / "out.png"
    files = (photo, result) if name == "denoise" else (photo,)
    target = photo if replaced == "input" else result
    status, text, err = run(capsys, name, *files, option, target, "--overwrite")
    assert (status, text) == (1, "")
    assert f"{option} would replace an input or a result" in err
    assert photo.read_bytes() == before
    assert not result.exists()


def test_no_clobber_skips_existing_results(capsys, folders, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "photo.png").write_bytes(b"old")
    arguments = ("denoise", folders, out, "--recursive", "--no-clobber", *SIGMA)
    status, text, err = run(capsys, *arguments)
    assert status == 0
    assert err.endswith("1 of 3 results exist: skipped\n")
    assert text.count("\n") == 2
    assert (out / "photo.png").read_bytes() == b"old"
    status, text, err = run(capsys, *arguments)
    assert (status, text) == (0, "")
    assert run(capsys, *arguments, "--overwrite")[0] == 2
    single = ("denoise", folders / "photo.png", out / "photo.png", "--no-clobber", *SIGMA)
    both = tmp_path / "both.png"
    assert run(capsys, *single, "--compare", both)[0] == 0
    assert not both.exists()


# --- folders -----------------------------------------------------------------------------


def test_recursive_keeps_the_folder_structure(capsys, folders, tmp_path):
    out = folders / "clean"  # inside the input folder
    for _ in range(2):  # results are not denoised again
        names = folders, out, "--recursive", *SIGMA, "--overwrite"
        status, _, err = run(capsys, "denoise", *names)
        assert status == 0
        assert err == (
            f"nnk-image: {folders}: skipped, because they are not images: inner{os.sep}raw.cr3, "
            "notes.txt\n"
        )
        names = [os.path.join("inner", name) for name in ("photo.png", "second.png")]
        assert files_below(out) == [*names, "photo.png"]


@pytest.mark.parametrize("option", ["--no-clobber", "--overwrite"])
def test_repeated_calls_ignore_their_own_comparisons_and_plots(capsys, folders, option):
    names = folders, folders / "clean", "--compare", folders / "both", "--recursive", *SIGMA
    before = None
    for _ in range(2):
        assert run(capsys, "denoise", *names, option)[0] == 0
        after = files_below(folders)
        assert before in (None, after)
        before = after
    names = folders / "inner", "--plot", folders / "inner" / "plots", "--recursive", "--overwrite"
    for _ in range(2):
        assert run(capsys, "noise", *names)[1].count("\n") == 2


def test_names_of_skipped_files_are_printed(capsys, folders):
    for n in range(7):
        (folders / f"{n}.doc").touch()
    status, text, err = run(capsys, "noise", folders)
    assert status == 0
    assert text.count("\n") == 1
    assert "because they are not images: 0.doc, 1.doc, 2.doc, 3.doc, 4.doc and 3 more\n" in err
    assert run(capsys, "noise", folders, "--recursive")[1].count("\n") == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("denoise", "-", "o.png"), "-: no such file or folder; check the name"),
        (("noise", "-"), "-: no such file or folder; check the name"),
        (("denoise", "photo.png", "-"), "-: no extension; use one of .png, "),
    ],
)
def test_a_dash_is_a_file_name_and_not_a_pipe(capsys, photo, monkeypatch, words, message):
    monkeypatch.chdir(photo.parent)
    status, text, err = run(capsys, *words)
    assert (status, text) == (1, "")
    assert err.startswith(f"nnk-image: {message}")
    assert files_below(photo.parent) == ["photo.png"]


# --- comparisons -------------------------------------------------------------------------


def test_comparison_shows_input_and_result_side_by_side(capsys, photo, tmp_path):
    out, both = tmp_path / "out.png", tmp_path / "both.png"
    assert run(capsys, "denoise", photo, out, *SIGMA, "--compare", both)[0] == 0
    expected = np.concatenate([read(photo)[0], read(out)[0]], axis=1)
    np.testing.assert_array_equal(read(both)[0], expected)
    np.save(tmp_path / "v.npy", np.zeros((5, 20, 20), np.uint8))
    for name, place, message in (
        (tmp_path / "v.npy", both, "is a stack"),
        (photo, tmp_path / "nowhere" / "b.png", "does not exist"),
    ):
        arguments = (name, tmp_path / "o.npy", *SIGMA, "--compare", place, "--overwrite")
        status, text, err = run(capsys, "denoise", *arguments)
        assert (status, text) == (1, "")
        assert message in err
        assert not (tmp_path / "o.npy").exists()


def test_comparisons_of_a_folder(capsys, folders, tmp_path):
    names = (tmp_path / "out", *SIGMA, "--recursive", "--compare", tmp_path / "both")
    assert run(capsys, "denoise", folders, *names)[0] == 0
    assert files_below(tmp_path / "both") == files_below(tmp_path / "out")


# --- images without noise ----------------------------------------------------------------


def test_a_jpeg_without_noise_is_copied_unchanged(capsys, tmp_path):
    halves = np.repeat(np.array([[90, 160]], np.uint8), 50, axis=1).repeat(80, axis=0)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Kamera"
    Image.fromarray(halves).save(tmp_path / "in.jpg", quality=90, exif=exif, comment="text")
    for name in ("out.jpg", "out.jpeg"):
        status, text, err = run(capsys, "denoise", tmp_path / "in.jpg", tmp_path / name)
        assert status == 0
        assert "found no noise to remove" in err
        assert "no noise" in text
        assert (tmp_path / name).read_bytes() == (tmp_path / "in.jpg").read_bytes()
    assert run(capsys, "denoise", tmp_path / "in.jpg", tmp_path / "out.png")[0] == 0
    np.testing.assert_array_equal(read(tmp_path / "out.png")[0], read(tmp_path / "in.jpg")[0])


@pytest.mark.filterwarnings("default")
def test_an_unchanged_image_with_gaps_is_reported(capsys, tmp_path):
    image = np.full((40, 40), 7, np.float32)
    image[3, 4] = np.nan
    np.save(tmp_path / "in.npy", image)
    err = run(capsys, "denoise", tmp_path / "in.npy", tmp_path / "out.npy")[2]
    assert "the image is unchanged: found no noise to remove" in err


# --- typing errors -----------------------------------------------------------------------


def test_misspelled_methods_get_a_suggestion(capsys, photo, tmp_path):
    status, _, err = run(capsys, "denoise", photo, tmp_path / "o.png", "--method", "bset")
    assert status == 1
    assert err.endswith("did you mean 'best'?\n")
    with pytest.raises(ValueError, match=r"'fast', 'best', 'sgw'; did you mean 'fast'\?"):
        nnk_image.denoise(np.eye(8), 1.0, method="fasst")


def test_unknown_commands_and_options_are_named(capsys):
    status, _, err = run(capsys, "denois", "a.png", "b.png")
    assert status == 2
    assert "invalid choice: 'denois'" in err
    status, _, err = run(capsys, "denoise", "a.png", "b.png", "--xyzzy")
    assert status == 2
    assert err.endswith("unrecognized arguments: --xyzzy\n")


# --- noise -------------------------------------------------------------------------------


def test_gain_read_noise_and_offset(capsys, photo, tmp_path):
    out = tmp_path / "o.npy"
    arguments = (
        "denoise",
        photo,
        tmp_path / "o.tif",
        "--gain",
        "2",
        "--read",
        "3",
        "--offset",
        "9",
    )
    status, text, _ = run(capsys, *arguments)
    assert status == 0
    assert "strong noise, about 16 of 255, stronger in bright parts (given)" in text
    model = nnk_image.NoiseModel(3.0, gain=2.0, offset=9.0)
    expected = nnk_image.denoise(read(photo)[0], model)
    expected = np.clip(np.rint(expected), 0, 255)
    np.testing.assert_array_equal(read(tmp_path / "o.tif")[0], expected)
    for option in ("--offset", "--read"):
        status, _, err = run(capsys, "denoise", photo, out, option, "9")
        assert status == 1
        assert "--read and --offset need --gain" in err
