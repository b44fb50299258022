"""Input paths of the command line: files, folders and patterns."""

from pathlib import Path

from image_files import refusal
from on_posix import not_as_root, only_on_posix
from PIL import Image

from nnk_image.cli import main
from nnk_image.cli.paths import image_paths


def test_files_folders_and_patterns_give_image_paths(tmp_path, monkeypatch):
    for name in ("b.png", "a.JPG", "w.webp", "c.txt", ".hidden.png", "odd[1].png"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "d.tif").touch()
    monkeypatch.chdir(tmp_path)
    in_folder = [tmp_path / name for name in ("a.JPG", "b.png", "odd[1].png", "w.webp")]
    assert image_paths([tmp_path]) == in_folder
    assert image_paths(["b.png", "*.png", "odd[1].png"]) == [Path("b.png"), Path("odd[1].png")]
    assert image_paths(["c.txt"]) == [Path("c.txt")]
    assert image_paths(["**/*.tif"]) == [Path("sub/d.tif")]


def test_paths_without_images_are_refused(tmp_path):
    assert "no image given" in refusal(image_paths, [])
    assert "no image in this folder" in refusal(image_paths, [tmp_path])
    assert "no file matches" in refusal(image_paths, [str(tmp_path / "*.png")])
    assert "no such file" in refusal(image_paths, [tmp_path / "x.png"])
    assert "denoise' only" in refusal(image_paths, [tmp_path / "stack.zarr"])


@only_on_posix
def test_links_to_nothing_are_images_that_cannot_be_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "photos"
    (folder / "closed").mkdir(parents=True)
    Image.new("L", (8, 8)).save(folder / "good.png")
    (folder / "lost.png").symlink_to("nowhere.png")
    (folder / "loop.png").symlink_to("loop.png")
    for images in ("photos", "photos/*.png"):
        assert main(["denoise", images, f"{images[:6]}-{len(images)}/", "--recursive"]) == 1
        lines = capsys.readouterr().err
        assert "photos/lost.png: No such file" in lines
        assert "photos/loop.png: Too many levels of symbolic links" in lines
        assert "2 of 3 images failed" in lines


@not_as_root
def test_folders_that_cannot_be_read_are_named(tmp_path, capsys):
    (tmp_path / "a.png").touch()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert image_paths([tmp_path], recursive=True) == [tmp_path / "a.png"]
    assert f"{closed}: skipped, because it cannot be read: Permission" in capsys.readouterr().err
