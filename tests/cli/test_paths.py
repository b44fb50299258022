"""Paths of the command line: files, folders and patterns; existing files."""

import os

import pytest
from on_posix import not_as_root

from nnk_image.cli.paths import image_paths

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
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# --- inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["."], ["a.JPG", "b.png", "odd[1].png", "w.webp"]),
        (["b.png", "*.png", "odd[1].png"], ["b.png", "odd[1].png"]),
        (["c.txt"], ["c.txt"]),
        (["**/*.tif"], ["sub [1]/e.tif", "sub/d.tif"]),
        (["sub [1]/*.tif"], ["sub [1]/e.tif"]),
        (["su[ab]/*.tif"], ["sub/d.tif"]),
    ],
)
def test_files_folders_and_patterns_give_image_paths(tmp_path, monkeypatch, arguments, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub [1]").mkdir()
    (tmp_path / "sub [1]" / "e.tif").touch()
    for name in ("b.png", "a.JPG", "w.webp", "c.txt", ".hidden.png", "odd[1].png", "sub/d.tif"):
        (tmp_path / name).touch()
    assert [path.as_posix() for path in image_paths(arguments)] == expected


@not_as_root
def test_folders_that_cannot_be_read_are_named(tmp_path, capsys):
    (tmp_path / "a.png").touch()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert image_paths([tmp_path], recursive=True) == [tmp_path / "a.png"]
    assert f"{closed}: skipped, because it cannot be read: Permission" in capsys.readouterr().err


def test_images_with_the_same_result_are_named_and_counted(run, tmp_path):
    for name in ("a.gif", "a.png", "b.pbm", "b.png", "c.png"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).touch()
    err = run.refuses("denoise", tmp_path / "in", tmp_path / "out")
    gif, png = (tmp_path / "in" / name for name in ("a.gif", "a.png"))
    assert (
        f"{gif} and {png} would both be written to {tmp_path / 'out' / 'a.png'} (and 1 more);"
        in err
    )
    assert not (tmp_path / "out").exists()


def test_names_of_skipped_files_are_printed(run, folders):
    for n in range(7):
        (folders / f"{n}.doc").touch()
    status, text, err = run("noise", folders)
    assert (status, text.count("\n")) == (0, 1)
    assert "because their format is not read: 0.doc, 1.doc, 2.doc, 3.doc, 4.doc and 3 more\n" in err
    assert run("noise", folders, "--recursive")[1].count("\n") == 3


# --- existing files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "out", "replaced"),
    [
        ("photo.png", "other.png", "other.png"),
        ("photo.png", "other.jpg", "other.jpg"),
        ("photo.png", "photo.png", "photo.png"),
        (".", ".", "photo.png"),
    ],
)
def test_overwrite_replaces_existing_files(run, photo, monkeypatch, source, out, replaced):
    """Without the option, such calls are refused (test_refusals.py)."""
    monkeypatch.chdir(photo.parent)
    target = photo.with_name(replaced)
    before = target.read_bytes() if target == photo else b"old"
    target.write_bytes(before)
    run.prints("denoise", source, out, *SIGMA, "--overwrite")
    assert target.read_bytes() != before


def test_no_clobber_skips_existing_results(run, folders, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "photo.png").write_bytes(b"old")
    arguments = ("denoise", folders, out, "--recursive", "--no-clobber", *SIGMA)
    status, text, err = run(*arguments)
    assert (status, text.count("\n")) == (0, 2)
    assert err.endswith("1 of 3 results exist: skipped\n")
    assert (out / "photo.png").read_bytes() == b"old"
    status, text, err = run(*arguments)
    assert (status, text) == (0, "")
    single = ("denoise", folders / "photo.png", out / "photo.png", "--no-clobber")
    level = tmp_path / "map.tif"
    assert run(*single, "--map", level)[0] == 0
    assert not level.exists()


# --- folders -----------------------------------------------------------------------------


def test_recursive_keeps_the_folder_structure(run, folders):
    out = folders / "clean"  # inside the input folder
    for _ in range(2):  # results are not denoised again
        status, _, err = run("denoise", folders, out, "--recursive", *SIGMA, "--overwrite")
        assert status == 0
        assert err == (
            f"nnk-image: {folders}: skipped, because their format is not read: "
            f"inner{os.sep}raw.cr3, notes.txt\n"
        )
        assert files_below(out) == ["inner/photo.png", "inner/second.png", "photo.png"]


@pytest.mark.parametrize("option", ["--no-clobber", "--overwrite"])
def test_repeated_calls_ignore_their_own_maps_and_plots(run, folders, option):
    names = folders, folders / "clean", "--map", folders / "maps", "--recursive"
    before = None
    for _ in range(2):
        assert run("denoise", *names, option)[0] == 0
        after = files_below(folders)
        assert before in (None, after)
        before = after
    assert len(files_below(folders / "maps")) == len(files_below(folders / "clean"))
    names = folders / "inner", "--plot", folders / "inner" / "plots", "--recursive", "--overwrite"
    for _ in range(2):
        assert run("noise", *names)[1].count("\n") == 2
