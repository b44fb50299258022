"""WebP, AVIF, GIF and BMP: read as they are, refused where damaged, never written."""

import contextlib
import io

import numpy as np
import pytest
from PIL import Image, features

from nnk_image.io import ImageFileError, read_image
from nnk_image.io.formats.web import pillow_has
from nnk_image.io.images import image_paths
from tests.support.image_files import noise, refusal

RNG = np.random.default_rng(77)
EXACT = {"WEBP": {"lossless": True, "exact": True}, "BMP": {}, "GIF": {}}


def encoded(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def read(tmp_path, data, **options):
    path = tmp_path / "x.bin"  # the content decides, not the name
    path.write_bytes(data)
    return read_image(path, **options)


@pytest.mark.parametrize("kind", ["WEBP", "BMP"])
def test_colours_come_back_exactly(tmp_path, kind):
    pixels = noise((9, 14, 3))
    file = read(tmp_path, encoded(Image.fromarray(pixels), kind, **EXACT[kind]))
    np.testing.assert_array_equal(file.pixels, pixels)
    assert (file.format, file.alpha) == (kind, None)


def test_grey_bitmaps_stay_grey(tmp_path):
    pixels = noise((5, 7))
    np.testing.assert_array_equal(
        read(tmp_path, encoded(Image.fromarray(pixels), "BMP")).pixels, pixels
    )


def test_transparency_is_kept(tmp_path):
    pixels = noise((6, 8, 4))
    file = read(tmp_path, encoded(Image.fromarray(pixels), "WEBP", **EXACT["WEBP"]))
    np.testing.assert_array_equal(file.pixels, pixels[..., :3])
    np.testing.assert_array_equal(file.alpha, pixels[..., 3])


@pytest.mark.parametrize("kind", ["WEBP", "GIF"])
def test_the_first_frame_is_read_and_the_others_told(tmp_path, kind):
    frames = [Image.fromarray(np.full((4, 6, 3), value, np.uint8)) for value in (10, 200, 90)]
    options = {"save_all": True, "append_images": frames[1:], **EXACT[kind]}
    with pytest.warns(UserWarning, match=f"of the 3 frames of a {kind} file only the first"):
        file = read(tmp_path, encoded(frames[0], kind, **options))
    np.testing.assert_array_equal(file.pixels, 10)


@pytest.mark.skipif(not pillow_has("avif"), reason="Pillow without AVIF")
def test_avif(tmp_path):
    ramp = np.tile(np.arange(0, 240, 4, dtype=np.uint8), (32, 1))
    file = read(tmp_path, encoded(Image.fromarray(np.stack([ramp] * 3, -1)), "AVIF", quality=95))
    assert file.format == "AVIF"
    assert np.abs(file.pixels.astype(int) - ramp[..., None]).max() < 12


def test_a_pillow_without_the_format_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(features, "check", lambda name: False)
    data = encoded(Image.new("RGB", (4, 4)), "WEBP")
    (tmp_path / "x.webp").write_bytes(data)
    assert "install a newer Pillow" in refusal(read_image, tmp_path / "x.webp")


def test_a_pillow_that_does_not_know_the_format_is_told(tmp_path, monkeypatch):
    monkeypatch.delitem(features.modules, "avif", raising=False)
    (tmp_path / "x.avif").write_bytes(b"\0\0\0\x1cftypavif" + bytes(100))
    assert "install a newer Pillow" in refusal(read_image, tmp_path / "x.avif")


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
def test_truncated_files_are_refused_or_read(tmp_path, kind, kept):
    data = encoded(Image.fromarray(noise((64, 64, 3))), kind, **EXACT[kind])
    with contextlib.suppress(ImageFileError):
        assert read(tmp_path, data[: int(len(data) * kept)]).pixels.shape[:2] == (64, 64)


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.filterwarnings("ignore:of the")
def test_damaged_bytes_never_escape_as_other_errors(tmp_path, kind):
    intact = np.frombuffer(
        encoded(Image.fromarray(noise((16, 16, 3))), kind, **EXACT[kind]), np.uint8
    )
    for _ in range(100):
        damaged = intact.copy()
        damaged[RNG.integers(12, len(damaged), 3)] = RNG.integers(0, 256, 3)
        with contextlib.suppress(ImageFileError):
            read(tmp_path, damaged.tobytes(), max_pixels=10_000)


@pytest.mark.parametrize("kind", EXACT)
def test_the_limit_of_pixels_holds(tmp_path, kind):
    data = encoded(Image.fromarray(noise((10, 10, 3))), kind)
    (tmp_path / "x").write_bytes(data)
    assert "10x10 = 100 pixels" in refusal(read_image, tmp_path / "x", max_pixels=99)


def test_a_folder_is_searched_for_them(tmp_path):
    for name in ("a.webp", "b.bmp", "c.gif", "d.avif"):
        (tmp_path / name).touch()
    assert [path.name for path in image_paths([tmp_path])] == ["a.webp", "b.bmp", "c.gif", "d.avif"]
