"""Input paths of the command line: files, folders and patterns."""

from pathlib import Path

from image_files import refusal

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
