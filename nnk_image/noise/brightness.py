"""A line through the variances of the noise by brightness."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

CHANGE = 1.2  # of the levels by brightness that is worth modeling
_STRAIGHT = 0.15  # relative deviation of variances from a line, up to which they are on it
_ROUNDS = 6


@dataclass(frozen=True)
class Line:
    """Variances ``slope * brightness + intercept``; `deviation` of those measured, relative."""

    slope: float
    intercept: float
    deviation: float

    @classmethod
    def through(cls, brightness, variances, certainty=1.0):
        """Fit a line to (B,) variances, whose errors are relative; texture can only increase them.

        So the farther a variance is above the line, the less it counts. Nowhere between the darkest
        and the brightest place is the line negative. `certainty` holds the weights of the
        variances, at most 1. As far as they are uncertain, the line is level.
        """
        darkest, span = brightness.min(), np.ptp(brightness)
        variances = np.maximum(variances, 1e-24)
        if span == 0:
            return cls(0.0, float(variances.mean()), 0.0)
        certainty = np.broadcast_to(certainty, variances.shape)
        usual = weighted_medians(variances[None], certainty)[0]
        place = np.append((brightness - darkest) / span, [0, 1])
        values = np.append(variances, [usual, usual])
        certainty = np.append(certainty, 2 * [1 - certainty.mean()])
        ends = np.stack([1 - place, place], axis=1)
        fitted, above = values, 1.0
        for _ in range(_ROUNDS):
            weights = certainty / (above * fitted)
            first, last = nnls(ends * weights[:, None], values * weights)[0]
            fitted = np.maximum(ends @ (first, last), 0.05 * np.median(variances))
            deviations = values / fitted - 1
            above = 1 + (np.maximum(deviations, 0) / _STRAIGHT) ** 2
        slope = (last - first) / span
        deviation = np.sqrt(np.mean(deviations[: len(variances)] ** 2))
        return cls(float(slope), float(first - slope * darkest), float(deviation))

    def at(self, brightness):
        """Return the variances there, at least 5 % of the middle one."""
        found = self.slope * np.asarray(brightness) + self.intercept
        return np.maximum(found, 0.05 * np.median(found))

    def grows(self, darkest, brightest):
        """Whether the variances are on the line, and clearly greater at the brightest place."""
        dark, bright = self.at([darkest, brightest])
        return self.deviation < _STRAIGHT and bright > CHANGE**2 * dark


def weighted_medians(values, weights):
    """Return the (C,) medians of (C, B) values with weights, (B,) or (C, B)."""
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    sums = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, 1), axis=1)
    middle = (sums - np.diff(sums, axis=1, prepend=0) / 2) / sums[:, -1:]
    return np.array([np.interp(0.5, m, v) for m, v in zip(middle, values, strict=True)])
