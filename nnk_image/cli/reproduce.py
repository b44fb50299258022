"""``nnk-image reproduce``: the papers' image experiments, as pictures, tables and claims."""

import json
import time
from pathlib import Path

from nnk_image.cli import common
from nnk_image.io.images import ImageFileError, image_paths
from nnk_image.reproduce import FIGURES

OUT = "nnk-image-reproduced"


def add_command(commands):
    """Add the sub-command."""
    command = common.new_command(
        commands,
        "reproduce",
        run,
        "Repeat the papers' image experiments: pictures, tables, claims, one HTML report.",
        "",
        "time denoising --images photos/ --out results",
    )
    command.description += "  Finished parts are kept: run the same again to continue."
    command.add_argument(
        "figures", nargs="*", metavar="FIGURE", help=f"{', '.join(FIGURES)} (default: all)"
    )
    command.add_argument(
        "--images",
        nargs="+",
        metavar="IMAGE",
        help="files, folders or patterns (default: the bundled grey images of 256x256)",
    )
    command.add_argument("--out", default=OUT, metavar="FOLDER", help=f"(default: {OUT})")
    command.add_argument("--seed", type=int, default=0, help="of the noise (default: 0)")
    command.add_argument(
        "--lmax",
        metavar="FILE",
        help='JSON, {"image": {"bilateral": 25.06, "nnk": 5.2}, ...}: eigenvalues to design the '
        "wavelets of energy compaction for (default: 1.01 times the largest)",
    )
    command.add_argument("--fresh", action="store_true", help="measure finished parts again")
    common.add_max_pixels(command)
    common.add_jobs(command)


def run(options):
    """Run the experiments and say where the report is."""
    from nnk_image.reproduce.pictures import bundled_pictures, pictures_of
    from nnk_image.reproduce.run import reproduce

    if options.seed < 0:
        raise ValueError(f"--seed {options.seed} must not be negative")
    if options.images:
        pictures = pictures_of(image_paths(options.images), options.max_pixels)
    else:
        pictures = bundled_pictures()
    start = time.perf_counter()
    with _Progress() as progress:
        path = reproduce(
            options.figures or FIGURES,
            pictures,
            options.out,
            seed=options.seed,
            lmax=_read_lmax(options.lmax),
            n_jobs=options.jobs,
            fresh=options.fresh,
            progress=progress,
        )
    print(f"{len(pictures)} images, {time.perf_counter() - start:.0f} s: {path.resolve()}")


def _read_lmax(path):
    """Eigenvalues by picture and kind of graph from a JSON file, None for no file."""
    if path is None:
        return None
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return {
            image: {kind: float(value) for kind, value in values.items()}
            for image, values in content.items()
        }
    except OSError as error:
        raise ImageFileError(f"{path}: {error.strerror}; name a JSON file") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ImageFileError(
            f'{path}: is not JSON of the form {{"image": {{"bilateral": 25.06, "nnk": 5.2}}}}'
        ) from error


class _Progress:
    """Shows the number of finished parts as a bar on a terminal."""

    def __init__(self):
        self._bar = None
        if common.wants_progress():
            from tqdm import tqdm

            self._bar = tqdm(unit="part", leave=False)

    def __enter__(self):
        return self

    def __call__(self, done, total, figure):
        if self._bar is not None:
            self._bar.total, self._bar.n = total, done
            self._bar.set_description(figure)

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()
