"""``nnk-image demo``: a bundled photograph, noise, several denoisers, one picture."""

from pathlib import Path

import numpy as np

from nnk_image.base.checks import check_positive
from nnk_image.cli.common import new_command
from nnk_image.io.images import check_writable, write_image

OUT = "nnk-image-demo.png"


def add_command(commands):
    """Add the sub-command."""
    command = new_command(
        commands,
        "demo",
        run,
        "Add noise to a bundled photograph, denoise it, compare.",
        "",
        "--sigma 30 --out comparison.png",
    )
    command.add_argument("--sigma", type=float, default=25.0, help="noise added (default: 25)")
    command.add_argument("--out", metavar="FILE", default=OUT, help=f"picture (default: {OUT})")


def run(options):
    """Denoise the photograph; print the table, write the picture."""
    from nnk_image.reproduce import demo

    check_positive("sigma", options.sigma, "noise to add, for values 0 to 255")
    check_writable(options.out)
    clean, rows = demo.run_demo(options.sigma)
    print(f"camera, {clean.shape[0]}x{clean.shape[1]}, white noise of sigma {options.sigma:g}")
    print(demo.table(rows))
    write_image(options.out, np.asarray(demo.picture(clean, rows)))
    print(f"picture: {Path(options.out).resolve()}")
