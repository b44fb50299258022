"""What the thesis (sections 2.6, 3.3 and 4) says of scales, subvectors and manifolds, measured.

The verdicts stand in `docs/claims.md`.
"""

from benchmarks.papers import manifolds, pairs, scales


def tables(options):
    """Scales, kernel ratios and subvectors, manifold metrics."""
    yield from scales.tables(options.seeds)
    yield pairs.ratios()
    yield pairs.propositions()
    yield pairs.from_parts()
    yield manifolds.interpolation()
    yield manifolds.manifolds()
