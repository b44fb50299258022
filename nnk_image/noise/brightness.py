"""A line through the variances of the noise by brightness, or through the standard deviations."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

CHANGE = 1.2  # of the levels by brightness that is worth modeling
_STRAIGHT = 0.15  # relative deviation of variances from a line, up to which they are on it
_BETTER = 2.0  # times which a line of another power must fit better than that of shot noise
_ROUNDS = 6


@dataclass(frozen=True)
class Line:
    """Variances ``(slope * brightness + intercept) ** power``, those of shot noise or of speckle.

    `deviation` is the relative one of those measured.
    """

    slope: float
    intercept: float
    power: int
    deviation: float

    @classmethod
    def through(cls, brightness, variances, certainty=1.0, texture=1.0, powers=(1, 2)):
        """Fit a line to (B,) variances, whose errors are relative; texture can only increase them.

        So the farther a variance is above the line, the less it counts, in proportion to the share
        of `texture` in it (1 if unknown). Nowhere between the darkest and the brightest place is
        the line negative. `certainty` holds the weights of the variances, at most 1. As far as they
        are uncertain, the line is level. The first of `powers` is taken, unless another one fits
        far better.
        """
        variances = np.maximum(variances, 1e-24)
        certainty, texture = (np.broadcast_to(a, variances.shape) for a in (certainty, texture))
        lines = [cls._of_power(brightness, variances, certainty, texture, p) for p in powers]
        best = min(lines, key=lambda line: line.deviation)
        return best if _BETTER * best.deviation < lines[0].deviation else lines[0]

    @classmethod
    def _of_power(cls, brightness, variances, certainty, texture, power):
        """Fit a line to the roots of (B,) variances: they themselves, or standard deviations."""
        darkest, span = brightness.min(), np.ptp(brightness)
        if span == 0:
            return cls(0.0, float(variances.mean() ** (1 / power)), power, 0.0)
        usual = weighted_medians(variances[None], certainty)[0]
        place = np.append((brightness - darkest) / span, [0, 1])
        ends = np.stack([1 - place, place], axis=1)
        values = np.append(variances, [usual, usual])
        roots = values ** (1 / power)
        least = (0.05 * np.median(variances)) ** (1 / power)
        weights = np.append(certainty, 2 * [1 - certainty.mean()])
        texture = np.append(texture, [1, 1])
        fitted, above = roots, 1.0
        for _ in range(_ROUNDS):
            relative = weights / (above * fitted)
            first, last = nnls(ends * relative[:, None], roots * relative)[0]
            fitted = np.maximum(ends @ (first, last), least)
            deviations = values / fitted**power - 1
            above = 1 + texture * (np.maximum(deviations, 0) / _STRAIGHT) ** 2
        slope = (last - first) / span
        deviation = np.sqrt(np.mean(deviations[: len(variances)] ** 2))
        return cls(float(slope), float(first - slope * darkest), power, float(deviation))

    def at(self, brightness):
        """Return the variances there, at least 5 % of the middle one."""
        found = np.maximum(self.slope * np.asarray(brightness) + self.intercept, 0) ** self.power
        return np.maximum(found, 0.05 * np.median(found))

    def grows(self, darkest, brightest):
        """Whether the variances are on the line, and clearly greater at the brightest place."""
        dark, bright = self.at([darkest, brightest])
        return self.power == 1 and self.deviation < _STRAIGHT and bright > CHANGE**2 * dark


def weighted_medians(values, weights):
    """Return the (C,) medians of (C, B) values with weights, (B,) or (C, B)."""
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    sums = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, 1), axis=1)
    middle = (sums - np.diff(sums, axis=1, prepend=0) / 2) / sums[:, -1:]
    return np.array([np.interp(0.5, m, v) for m, v in zip(middle, values, strict=True)])
