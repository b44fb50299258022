"""Make the standard test images of this folder from those of scikit-image and matplotlib.

    python images/make_images.py            write the images and SOURCES.md
    python images/make_images.py --check    compare both with what would be written

Only images that are CC0 or in the public domain are used, as stated in the docstrings of
`skimage.data`; for the one of matplotlib see `HEADER`. The pixels are the same on every machine.
The bytes of the files depend on the version of zlib, so --check compares pixels with pixels, and
the files with the sha256 sums noted in SOURCES.md.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
import skimage.data
from PIL import Image

FOLDER = Path(__file__).resolve().parent
SOURCES = FOLDER / "SOURCES.md"

CC0 = "CC0 1.0"
PUBLIC_DOMAIN = "public domain"


@dataclass(frozen=True)
class Recipe:
    """How one image is made: gray or color, cropped around its center, then shrunk."""

    name: str
    source: str  # function of skimage.data, or a file of matplotlib's sample data
    license: str
    author: str
    gray: bool = False  # color to luma
    crop: int | None = None  # side of the centered square kept
    shrink: int = 1  # side of the blocks averaged into one pixel

    def steps(self) -> str:
        """Describe in words what `make` does."""
        steps = ["silhouette as 0 and 255"] if self.source == "horse" else []
        if self.gray:
            steps.append("luma (Rec. 601)")
        if self.crop:
            steps.append(f"centered {self.crop}x{self.crop} crop")
        if self.shrink > 1:
            steps.append(f"{self.shrink}x{self.shrink} block means, rounded half up")
        return ", ".join(steps) or "unchanged"

    def origin(self) -> str:
        """Say where the image comes from."""
        if self.is_sample:
            return f"`{self.source}` of matplotlib's sample data"
        return f"`skimage.data.{self.source}`"

    @property
    def is_sample(self) -> bool:
        """Whether it is one of matplotlib's sample data."""
        return "." in self.source


LAV = "Lav Varshney"
NASA = "NASA"
STEFAN = "Stefan van der Walt"
RACHEL = "Rachel Michetti"
NAVY = "U.S. Navy"

RECIPES = (
    Recipe("astronaut", "astronaut", PUBLIC_DOMAIN, NASA),
    Recipe("astronaut_grey", "astronaut", PUBLIC_DOMAIN, NASA, gray=True, shrink=2),
    Recipe("brick", "brick", CC0, "CC0Textures (Bricks25)", shrink=2),
    Recipe("camera", "camera", CC0, LAV, shrink=2),
    Recipe("camera_512", "camera", CC0, LAV),
    Recipe("cell", "cell", CC0, "Paul Müller et al. (2018)", crop=512, shrink=2),
    Recipe("chelsea", "chelsea", CC0, STEFAN),
    Recipe("chelsea_grey", "chelsea", CC0, STEFAN, gray=True, crop=256),
    Recipe("coffee", "coffee", CC0, RACHEL),
    Recipe("coffee_grey", "coffee", CC0, RACHEL, gray=True, crop=256),
    Recipe("grass", "grass", CC0, "linolafett (DeviantArt)", shrink=2),
    Recipe("gravel", "gravel", CC0, "CC0Textures (Gravel04)", shrink=2),
    Recipe("hopper", "grace_hopper.jpg", PUBLIC_DOMAIN, NAVY),
    Recipe("horse", "horse", CC0, "Andreas Preuss (marauder)"),
    Recipe("retina", "retina", CC0, "Mikael Häggström", gray=True, crop=1024, shrink=4),
    Recipe("text", "text", PUBLIC_DOMAIN, "Wikipedia (File:Corner.png)"),
)

HEADER = f"""# Sources of the standard images

Made by `make_images.py` from the images of scikit-image (`skimage.data`), whose
docstrings state the licenses given here, and from one that matplotlib brings along. {CC0} is the
dedication to the public domain at
<https://creativecommons.org/publicdomain/zero/1.0/>. No image needs attribution; the
authors are named out of courtesy. The sums are those of the PNG files;
`python images/make_images.py --check` verifies them, and the pixels too.

`hopper.png` is the official portrait of Commodore Grace M. Hopper of 1984, a photograph of the U.S.
Navy, and as a work of the federal government in the public domain. Matplotlib took it in as such
(<https://github.com/matplotlib/matplotlib/pull/1599>); a comment in the file names the page it came
from, <https://commons.wikimedia.org/wiki/File:Grace_Hopper.jpg>. It is a scan of a print, stored as
JPEG, and the one color photograph here whose noise is plainly visible.

| file | size (width x height) | origin | what was done | license, author | sha256 |
| --- | --- | --- | --- | --- | --- |
"""


def make(recipe: Recipe) -> np.ndarray:
    """Return the pixels of one image: uint8, (H, W) or (H, W, 3)."""
    image = sample(recipe.source) if recipe.is_sample else getattr(skimage.data, recipe.source)()
    if image.dtype == bool:
        image = image * np.uint8(255)
    if recipe.gray:
        image = luma(image)
    if recipe.crop:
        top, left = ((side - recipe.crop) // 2 for side in image.shape[:2])
        image = image[top : top + recipe.crop, left : left + recipe.crop]
    return block_means(image, recipe.shrink)


def sample(name: str) -> np.ndarray:
    """Return the pixels of one of matplotlib's sample images."""
    with Image.open(Path(matplotlib.get_data_path(), "sample_data", name)) as picture:
        return np.asarray(picture)


def luma(image: np.ndarray) -> np.ndarray:
    """Return the Rec. 601 luma of RGB pixels, in integers so that it is exact everywhere."""
    weighted = image.astype(np.int64) @ np.array([299, 587, 114])
    return ((weighted + 500) // 1000).astype(np.uint8)


def block_means(image: np.ndarray, side: int) -> np.ndarray:
    """Average blocks of side x side pixels into one, rounding half up."""
    height, width = image.shape[0] // side, image.shape[1] // side
    blocks = image[: height * side, : width * side].reshape(height, side, width, side, -1)
    means = (blocks.sum(axis=(1, 3), dtype=np.int64) + side**2 // 2) // side**2
    return means.astype(np.uint8).reshape(height, width, *image.shape[2:])


def write_all() -> None:
    """Write every image, then SOURCES.md."""
    rows = []
    for recipe in RECIPES:
        path = FOLDER / f"{recipe.name}.png"
        Image.fromarray(make(recipe)).save(path, optimize=True)
        with Image.open(path) as picture:
            width, height = picture.size
        cells = (
            path.name,
            f"{width} x {height}, {'color' if picture.mode == 'RGB' else 'gray'}",
            recipe.origin(),
            recipe.steps(),
            f"{recipe.license}, {recipe.author}",
            f"`{sha256(path)}`",
        )
        rows.append(f"| {' | '.join(cells)} |\n")
    SOURCES.write_text(HEADER + "".join(rows), encoding="utf-8")


def check_all() -> list[str]:
    """Return one line for everything that is not as it should be."""
    noted = dict(re.findall(r"^\| (\S+\.png) .*`([0-9a-f]{64})` \|$", read_sources(), re.M))
    wanted = {f"{recipe.name}.png": recipe for recipe in RECIPES}
    present = {path.name for path in FOLDER.glob("*.png")}
    problems = [f"{name}: missing" for name in sorted(wanted.keys() - present)]
    problems += [f"{name}: has no recipe" for name in sorted(present - wanted.keys())]
    problems += [f"{name}: noted but has no recipe" for name in sorted(noted.keys() - wanted)]
    for name in sorted(wanted.keys() & present):
        if noted.get(name) != sha256(FOLDER / name):
            problems.append(f"{name}: sha256 differs from the one in {SOURCES.name}")
        with Image.open(FOLDER / name) as picture:
            if not np.array_equal(np.asarray(picture), make(wanted[name])):
                problems.append(f"{name}: pixels differ from what its recipe makes")
    return problems


def read_sources() -> str:
    """Return the text of SOURCES.md, nothing if it is missing."""
    return SOURCES.read_text(encoding="utf-8") if SOURCES.is_file() else ""


def sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of the bytes of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Write or check; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    if not parser.parse_args().check:
        write_all()
        return 0
    problems = check_all()
    for problem in problems:
        print(f"images/{problem}", file=sys.stderr)
    if problems:
        print("run images/make_images.py and review what changed", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
