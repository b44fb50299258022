"""The demonstration: a real image, added noise, several denoisers, one picture."""

import time

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from skimage.restoration import (
    denoise_bilateral,
    denoise_nl_means,
    denoise_tv_chambolle,
    denoise_wavelet,
)

from nnk_image.denoising import denoise
from nnk_image.io.images import standard_image

ZOOM_FROM, ZOOM_SIZE, ZOOM = (40, 96), 64, 4
_MARGIN, _LINE = 8, 26


def run_demo(sigma=25.0, seed=0, name="camera"):
    """Denoise a bundled image by several methods.

    Parameters
    ----------
    sigma : float
        Standard deviation of the added white Gaussian noise, for values 0 to 255.
    seed : int
        Of the noise.
    name : str
        A grey bundled image.

    Returns
    -------
    clean : (H, W) ndarray
    rows : list of (name, image, psnr, ssim, seconds)
        The noisy image first, ours last.
    """
    clean = standard_image(name).astype(float)
    noisy = clean + np.random.default_rng(seed).normal(0, sigma, clean.shape)
    rows = [("noisy", noisy, *scores(clean, noisy), 0.0)]
    denoise(noisy[:16, :16], sigma, method="fast")  # loads what is loaded on first use
    for label, method in _methods(sigma).items():
        start = time.perf_counter()
        result = method(noisy)
        seconds = time.perf_counter() - start
        rows.append((label, result, *scores(clean, result), seconds))
    return clean, rows


def scores(clean, image):
    """PSNR in dB and SSIM (Gaussian weights) of an image with values 0 to 255."""
    psnr = peak_signal_noise_ratio(clean, image, data_range=255)
    ssim = structural_similarity(
        clean,
        image,
        data_range=255,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
    )
    return float(psnr), float(ssim)


def _methods(sigma):
    """scikit-image's denoisers, at settings that suit white noise, and ours, by name.

    scikit-image's work on values of 0 to 1.
    """
    s = sigma / 255

    def bilateral(y):  # negative values break it, and its default border is black
        low = y.min()
        return low + denoise_bilateral(
            y - low, sigma_color=2.5 * s, sigma_spatial=1.5, mode="symmetric"
        )

    peers = {
        "bilateral filter": bilateral,
        "wavelet, BayesShrink": lambda y: denoise_wavelet(y, sigma=s, rescale_sigma=True),
        "total variation": lambda y: denoise_tv_chambolle(y, weight=0.9 * s),
        "non-local means": lambda y: denoise_nl_means(
            y, patch_size=5, patch_distance=10, h=0.6 * s, sigma=s, fast_mode=True
        ),
    }
    scaled = {label: lambda y, f=f: 255 * f(y / 255) for label, f in peers.items()}
    ours = {
        f"nnk_image, {name}": lambda y, name=name: denoise(y, sigma, method=name)
        for name in ("sgw", "fast", "best")
    }
    return {**scaled, **ours}


def table(rows):
    """The scores as text."""
    lines = [f"{'method':<22}{'PSNR dB':>9}{'SSIM':>8}{'ms':>8}"]
    for name, _, psnr, ssim, seconds in rows:
        took = f"{1000 * seconds:8.1f}" if seconds else f"{'':8}"
        lines.append(f"{name:<22}{psnr:9.2f}{ssim:8.3f}{took}")
    return "\n".join(lines)


def picture(clean, rows, names=("noisy", "non-local means", "nnk_image, fast")):
    """Clean image and some results side by side, with a zoom below each: a PIL image."""
    chosen = [("original", clean, "")] + [
        (name, image, f"{psnr:.2f} dB, SSIM {ssim:.3f}")
        for name, image, psnr, ssim, _ in rows
        if name in names
    ]
    height, width = clean.shape
    column, zoomed = max(width, ZOOM * ZOOM_SIZE), ZOOM * ZOOM_SIZE
    sheet = Image.new(
        "L",
        (
            len(chosen) * (column + _MARGIN) + _MARGIN,
            2 * _LINE + height + zoomed + 3 * _MARGIN,
        ),
        255,
    )
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    top, left = ZOOM_FROM
    for i, (name, image, note) in enumerate(chosen):
        x = _MARGIN + i * (column + _MARGIN)
        tile = Image.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8))
        zoom = tile.crop((left, top, left + ZOOM_SIZE, top + ZOOM_SIZE))
        zoom = zoom.resize((zoomed, zoomed), Image.Resampling.NEAREST)
        framed = tile.copy()
        ImageDraw.Draw(framed).rectangle(
            (left, top, left + ZOOM_SIZE, top + ZOOM_SIZE), outline=255, width=2
        )
        draw.text((x, _MARGIN), name, fill=0, font=font)
        draw.text((x, _MARGIN + _LINE - 6), note, fill=0, font=font)
        sheet.paste(framed, (x, 2 * _LINE))
        sheet.paste(zoom, (x, 2 * _LINE + height + _MARGIN))
    return sheet
