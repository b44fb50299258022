"""Noise that is not white, or not told."""

from pathlib import Path

from benchmarks import noise_photographs, noise_synthetic

TABLES = {
    "white": noise_synthetic.white,
    "poisson": noise_synthetic.poisson,
    "sensor": noise_synthetic.sensor,
    "correlated": noise_synthetic.correlated,
    "uneven": noise_synthetic.uneven,
    "photographs": noise_photographs.photographs,
    "cameras": noise_photographs.synthetic_cameras,
    "raw": noise_photographs.raw,
    "clean": noise_photographs.clean,
}


def add_options(group):
    """Command line of this table."""
    group.add_argument(
        "--noise-tables",
        nargs="+",
        choices=TABLES,
        default=list(TABLES),
        metavar="NAME",
        help=", ".join(TABLES),
    )
    group.add_argument(
        "--noise-images", type=Path, metavar="FOLDER", help="8-bit grey images (default: ours)"
    )
    group.add_argument(
        "--photographs",
        type=Path,
        metavar="FOLDER",
        help="pairs NAME_real.png and NAME_mean.png, perhaps NAME_ours.png of another method",
    )


def tables(options):
    """One table for each kind of noise."""
    for name in options.noise_tables:
        if name != "photographs" or options.photographs:
            yield TABLES[name](options)
