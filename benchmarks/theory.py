"""What the thesis says of scales, subvectors, features of networks and manifolds, measured.

Its sections 2.6, 3.3 and 4; the verdicts stand in `docs/claims.md`.
"""


def add_options(group):
    """Command line of this table."""
    group.add_argument(
        "--theory-seeds",
        type=int,
        default=5,
        metavar="N",
        help="random shapes, and networks trained, of each kind (default %(default)s)",
    )


def tables(options):
    """Scales, kernel ratios and subvectors, features of networks, manifold metrics."""
    # Here, for the other tables do without scikit-learn.
    try:
        from benchmarks import theory_features, theory_pairs, theory_scales, theory_stopping
    except ImportError as error:
        raise SystemExit(
            f"{error}; pip install 'nnk_image[neighbors]' for the table theory"
        ) from None
    seeds = options.theory_seeds
    yield from theory_scales.tables(seeds)
    yield theory_scales.roles()
    yield theory_pairs.ratios()
    yield theory_pairs.propositions()
    yield theory_pairs.from_parts()
    yield theory_features.interpolation()
    yield from theory_features.tables(seeds)
    yield theory_stopping.table(seeds)
    yield theory_features.distances(seeds)
    yield theory_features.manifolds()
