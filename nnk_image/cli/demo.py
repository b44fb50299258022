"""``nnk-image demo``: add noise to a bundled photograph, denoise it by several methods, compare."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nnk_image.base.checks import check_number
from nnk_image.cli.common import Report, new_command
from nnk_image.io.files import check_writable, write
from nnk_image.io.metadata import to_samples
from nnk_image.io.standard import standard_image

OUT = "nnk-image-demo.png"
SHOWN = ("noisy", "non-local means", "nnk_image, fast")
"""Rows of the table whose images the picture shows, next to the original."""

ZOOM_SIZE, ZOOM = 64, 4  # side in pixels and factor: enlarged parts are as wide as the photograph
ZOOMED = np.s_[40 : 40 + ZOOM_SIZE, 96 : 96 + ZOOM_SIZE]
MARGIN, TEXT = 8, 44  # pixels

Pixels = npt.NDArray[Any]


class Row(NamedTuple):
    """One denoised image and its scores."""

    name: str
    image: Pixels
    psnr: float
    ssim: float
    seconds: float


def add_command(commands: Any) -> None:
    summary = f"Add noise to a bundled photograph, denoise it, compare; write {OUT}."
    command = new_command(commands, "demo", run, summary, "", "--sigma 30")
    command.add_argument("--sigma", type=float, default=25.0, help="noise added (default: 25)")


def run(options: argparse.Namespace) -> list[Report]:
    check_number("sigma", options.sigma, "noise to add, for values 0 to 255")
    check_writable(OUT)
    clean = standard_image("camera").astype(float)
    rows = denoised(clean, options.sigma)
    print(f"camera, {clean.shape[0]}x{clean.shape[1]}, white noise of sigma {options.sigma:g}")
    print(table(rows))
    write(OUT, picture(clean, [row for row in rows if row.name in SHOWN]))
    print(f"picture: {Path(OUT).resolve()}")
    return []


def denoised(clean: Pixels, sigma: float) -> list[Row]:
    """Add white noise, the same in every run, and denoise; the noisy image comes first."""
    noisy = clean + np.random.default_rng(0).normal(0, sigma, clean.shape)
    rows = [Row("noisy", noisy, *scores(clean, noisy), 0.0)]
    for name, method in _methods(sigma).items():
        method(noisy[:32, :32])  # so that the first imports are not timed
        start = time.perf_counter()
        result = method(noisy)
        seconds = time.perf_counter() - start
        rows.append(Row(name, result, *scores(clean, result), seconds))
    return rows


def scores(clean: Pixels, image: Pixels) -> tuple[float, float]:
    """PSNR in dB and SSIM (Gaussian weights) of an image with values 0 to 255."""
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    psnr = peak_signal_noise_ratio(clean, image, data_range=255)
    options = {"data_range": 255, "gaussian_weights": True, "use_sample_covariance": False}
    ssim = structural_similarity(clean, image, sigma=1.5, **options)
    return float(psnr), float(ssim)


def _methods(sigma: float) -> dict[str, Callable[[Pixels], Pixels]]:
    """scikit-image's denoisers, at settings that suit white noise, and ours, by name."""
    from skimage.restoration import denoise_bilateral, denoise_nl_means, denoise_tv_chambolle

    from nnk_image import denoise

    s = sigma / 255  # scikit-image's functions get values of 0 to 1

    def bilateral(y: Pixels) -> Pixels:
        low = y.min()  # negative values break it, and its default border is black
        return low + denoise_bilateral(
            y - low, sigma_color=2.5 * s, sigma_spatial=1.5, mode="symmetric"
        )

    patches: dict[str, Any] = {"patch_size": 5, "patch_distance": 10, "h": 0.6 * s, "sigma": s}
    return {
        "bilateral filter": lambda y: 255 * bilateral(y / 255),
        "total variation": lambda y: 255 * denoise_tv_chambolle(y / 255, weight=0.9 * s),
        "non-local means": lambda y: 255 * denoise_nl_means(y / 255, **patches),
        "nnk_image, sgw": lambda y: denoise(y, sigma, method="sgw"),
        "nnk_image, fast": lambda y: denoise(y, sigma, method="fast"),
        "nnk_image, best": lambda y: denoise(y, sigma, method="best"),
    }


def table(rows: list[Row]) -> str:
    lines = [f"{'method':<22}{'PSNR dB':>9}{'SSIM':>8}{'ms':>8}"]
    for row in rows:
        took = f"{1000 * row.seconds:8.1f}" if row.seconds else f"{'':8}"
        lines.append(f"{row.name:<22}{row.psnr:9.2f}{row.ssim:8.3f}{took}")
    return "\n".join(lines)


def picture(clean: Pixels, rows: list[Row]) -> Pixels:
    """Draw the clean image and some results side by side, with a zoom below each."""
    from PIL import Image, ImageDraw, ImageFont
    from skimage.util import montage

    images = to_samples(np.stack([clean, *(row.image for row in rows)]), np.uint8)
    zooms = np.kron(images[:, *ZOOMED], np.ones((1, ZOOM, ZOOM), np.uint8))
    both = np.concatenate([images, zooms])
    sheet = montage(both, fill=255, grid_shape=(2, len(images)), padding_width=MARGIN)
    picture = Image.fromarray(np.pad(sheet, ((TEXT, 0), (0, 0)), constant_values=255))
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(14)
    texts = [f"{row.name}\n{row.psnr:.2f} dB, SSIM {row.ssim:.3f}" for row in rows]
    for number, text in enumerate(["original", *texts]):
        x = MARGIN + number * (MARGIN + clean.shape[1])
        draw.multiline_text((x, MARGIN), text, fill=0, font=font)
        x, y = x + ZOOMED[1].start, TEXT + MARGIN + ZOOMED[0].start
        draw.rectangle((x, y, x + ZOOM_SIZE, y + ZOOM_SIZE), outline=255, width=2)
    return np.asarray(picture)
