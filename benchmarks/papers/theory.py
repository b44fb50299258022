"""Claims of the thesis (sections 2.6, 3.3 and 4) about scales, subvectors and manifolds.

`docs/claims.md` has the verdicts.
"""

from benchmarks.papers import manifolds, pairs, scales


def tables(options):
    """Yield the tables of scales, kernel ratios and subvectors, and manifold metrics."""
    yield from scales.tables(options.seeds)
    yield pairs.ratios()
    yield pairs.propositions()
    yield pairs.from_parts()
    yield manifolds.interpolation()
    yield manifolds.manifolds()
