"""A page to look at: clean, noisy and denoised images side by side, with error maps."""

import base64
import html
import io
from pathlib import Path

import numpy as np
from PIL import Image

import nnk_image
from benchmarks import denoisers
from nnk_image.cli.demo import scores
from nnk_image.io.images import atomic_output

IMAGES = ("camera", "coffee_grey", "brick")
METHODS = ("nlm", "bm3d", "sgw", "fast", "best")
ERROR_GAIN = 4
"""Grey levels in an error map per grey level of error; 128 is no error."""

_STYLE = """
body { font: 14px sans-serif; margin: 2em; } td { padding: 4px; vertical-align: top; }
img { display: block; width: 256px; image-rendering: pixelated; } small { color: #555; }
"""


def add_options(group):
    """Command line of the page."""
    group.add_argument("--page", type=Path, metavar="FILE", default=Path("denoising.html"))
    group.add_argument("--page-sigma", type=float, default=25.0, metavar="S")


def tables(options):
    """No table: writes the page and says where."""
    write_page(options.page, options.page_sigma)
    print(f"page: {options.page.resolve()}")
    return ()


def write_page(path, sigma):
    """Denoise the images of `IMAGES` by the methods of `METHODS` that are there."""
    available = denoisers.available()
    methods = {name: available[name] for name in METHODS if name in available}
    rows = [_rows(name, sigma, methods) for name in IMAGES]
    text = (
        f"<!doctype html><meta charset=utf-8><title>Denoising, sigma {sigma:g}</title>"
        f"<style>{_STYLE}</style><h1>Denoising, sigma {sigma:g}</h1>"
        f"<p>nnk_image {nnk_image.__version__}. Below each result its error, "
        f"{ERROR_GAIN} times enlarged; grey is none.</p><table>{''.join(rows)}</table>"
    )
    with atomic_output(path) as file:
        file.write(text.encode())


def _rows(name, sigma, methods):
    clean = nnk_image.standard_image(name).astype(float)
    noisy = clean + np.random.default_rng(0).normal(0, sigma, clean.shape)
    results = {"noisy": noisy}
    results |= {key: m.run(noisy, sigma, **m.usual) for key, m in methods.items()}
    top = [_cell(name, clean, "")]
    below = ["<td></td>"]
    for key, result in results.items():
        psnr, ssim = scores(clean, result)
        top.append(_cell(key, result, f"{psnr:.2f} dB, SSIM {ssim:.3f}"))
        below.append(_cell("", 128 + ERROR_GAIN * (result - clean), ""))
    return f"<tr>{''.join(top)}</tr><tr>{''.join(below)}</tr>"


def _cell(title, image, note):
    pixels = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    source = base64.b64encode(data.getvalue()).decode()
    heading = f"<b>{html.escape(title)}</b> <small>{note}</small>" if title else ""
    return (
        f'<td>{heading}<img src="data:image/png;base64,{source}" alt="{html.escape(title)}"></td>'
    )
