"""Published claims, and verdicts from measurements."""

from dataclasses import dataclass

HOLDS, PARTLY, FAILS = "holds", "holds partly", "does not hold"


@dataclass(frozen=True)
class Claim:
    """A published claim, and its verdict.

    Attributes
    ----------
    source : str
        Where the claim is published.
    published : str
        The claim.
    measured : str
        What was measured.
    verdict : str
        `HOLDS`, `PARTLY` or `FAILS`.
    why : str
        Explanation.
    """

    source: str
    published: str
    measured: str
    verdict: str
    why: str


def verdict_of(*conditions):
    """Return `HOLDS` if all conditions hold, `FAILS` if none does, else `PARTLY`."""
    if all(conditions):
        return HOLDS
    return PARTLY if any(conditions) else FAILS


def share(flags):
    """Return the number of true flags in words: 'all 12', 'none of 12' or '7 of 12'."""
    flags = list(flags)
    if all(flags):
        return f"all {len(flags)}"
    return f"{sum(flags) or 'none'} of {len(flags)}"


def between(values, form=".2f"):
    """Return the range of numbers in words, such as '1.20 to 1.35'."""
    values = list(values)
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"
