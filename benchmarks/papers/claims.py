"""Published claims and what was measured: one verdict each."""

from dataclasses import dataclass

HOLDS, PARTLY, FAILS = "holds", "holds partly", "does not hold"


@dataclass(frozen=True)
class Claim:
    """A published claim and its check.

    Attributes
    ----------
    source : str
        Where the claim is published.
    published, measured, why : str
    verdict : str
        `HOLDS`, `PARTLY` or `FAILS`.
    """

    source: str
    published: str
    measured: str
    verdict: str
    why: str


def verdict_of(*conditions):
    """`HOLDS` if all conditions do, `FAILS` if none does, else `PARTLY`."""
    if all(conditions):
        return HOLDS
    return PARTLY if any(conditions) else FAILS


def share(flags):
    """How many of some flags are true, in words: 'all 12', 'none of 12' or '7 of 12'."""
    flags = list(flags)
    if all(flags):
        return f"all {len(flags)}"
    return f"{sum(flags) or 'none'} of {len(flags)}"


def between(values, form=".2f"):
    """The range of some numbers in words, such as '1.20 to 1.35'."""
    values = list(values)
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"
