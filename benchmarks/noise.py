"""Noise that is not white, or whose level is not given."""

from benchmarks import noise_photographs, noise_synthetic, noise_unknown
from benchmarks.timing import add_choice, existing_folder

TABLES = {
    "white": noise_synthetic.white,
    "poisson": noise_synthetic.poisson,
    "sensor": noise_synthetic.poisson_gaussian,
    "correlated": noise_synthetic.correlated,
    "uneven": noise_synthetic.uneven,
    "cameras": noise_unknown.synthetic_cameras,
    "raw": noise_unknown.raw,
    "photographs": noise_photographs.photographs,
    "white-part": noise_photographs.white_part,
}


def add_options(group):
    """Add the options of these tables to an argparse group."""
    add_choice(group, "--noise-tables", TABLES)
    group.add_argument(
        "--noise-images",
        type=existing_folder,
        metavar="FOLDER",
        help="8-bit images, gray but for the photographs (default: bundled images)",
    )


def tables(options):
    """Yield one table for each kind of noise."""
    for name in options.noise_tables:
        yield TABLES[name](options)
