"""Noise level by brightness: a line through the variances, or through the standard deviations."""

from dataclasses import dataclass

import numpy as np

CHANGE = 1.2  # ratio of the levels at two brightnesses, above which the dependence is modeled
_MOST_DEVIATION = 0.15  # relative deviation of variances from a line, below which they lie on it
_BETTER = 2.0  # the deviation from a line of another power must be smaller by more than this factor
_LEAST_VARIANCE = 0.05  # least variance at any brightness, relative to the median
_ITERATIONS = 6  # of the weighted fit


@dataclass(frozen=True)
class Line:
    """Variances ``(slope * brightness + intercept) ** power``: 1 for shot noise, 2 for speckle."""

    slope: float
    intercept: float
    power: int
    deviation: float  # root mean square of the relative deviations of the measured variances

    @classmethod
    def through(cls, brightness, variances, certainty=1.0, texture=1.0, powers=(1, 2)):
        """Fit a line to the (B,) variances of bins, whose errors are proportional to them.

        Texture can only increase a variance. So the farther it is above the line, the less it
        counts, in proportion to the share of `texture` in it. The line is not negative from the
        darkest to the brightest bin. The smaller the weights `certainty`, at most 1, the more the
        line is drawn to the median. The first of `powers` is used unless another fits far better.
        """
        variances = np.maximum(variances, 1e-24)
        certainty, texture = (np.broadcast_to(a, variances.shape) for a in (certainty, texture))
        lines = [cls._of_power(brightness, variances, certainty, texture, p) for p in powers]
        best = min(lines, key=lambda line: line.deviation)
        return best if _BETTER * best.deviation < lines[0].deviation else lines[0]

    @classmethod
    def _of_power(cls, brightness, variances, certainty, texture, power):
        """Fit a line to (B,) variances, for `power` 1, or to standard deviations, for 2."""
        darkest, span = brightness.min(), np.ptp(brightness)
        if span == 0:
            return cls(0.0, float(variances.mean() ** (1 / power)), power, 0.0)
        usual = weighted_medians(variances[None], certainty)[0]
        # Noise is hardly stronger in the dark: there, each bin is drawn to the median by itself.
        dark = brightness < np.average(brightness, weights=certainty)
        own = (brightness - darkest) / span
        place = np.concatenate([own, own[dark], [0, 1]])
        ends = np.stack([1 - place, place], axis=1)
        values = np.append(variances, np.full(len(place) - len(variances), usual))
        roots = values ** (1 / power)
        least = (_LEAST_VARIANCE * np.median(variances)) ** (1 / power)
        lacking = 1 - certainty.mean()
        weights = np.concatenate([certainty, 1 - certainty[dark], [lacking, lacking]])
        texture = np.append(texture, np.ones(len(place) - len(texture)))
        fitted, above = roots.copy(), 1.0
        fitted[len(variances) :] = roots.max()  # relative to the median, they would weigh too much
        for _ in range(_ITERATIONS):
            relative = weights / (above * fitted)
            first, last = nonnegative_fit(ends * relative[:, None], roots * relative)
            fitted = np.maximum(ends @ (first, last), least)
            deviations = values / fitted**power - 1
            above = 1 + texture * (np.maximum(deviations, 0) / _MOST_DEVIATION) ** 2
        slope = (last - first) / span
        deviation = np.sqrt(np.mean(deviations[: len(variances)] ** 2))
        return cls(float(slope), float(first - slope * darkest), power, float(deviation))

    def at(self, brightness):
        """Return the variances at each brightness, at least 5 % of their median."""
        found = np.maximum(self.slope * np.asarray(brightness) + self.intercept, 0) ** self.power
        return np.maximum(found, _LEAST_VARIANCE * np.median(found))

    def grows(self, darkest, brightest):
        """Return whether variances lie on a line, and clearly grow up to the brightest place."""
        dark, bright = self.at([darkest, brightest])
        return self.power == 1 and self.deviation < _MOST_DEVIATION and bright > CHANGE**2 * dark


def nonnegative_fit(columns, values):
    """Return the least-squares coefficients of two `columns`, (n, 2), neither of them negative.

    `scipy.optimize.nnls` is slower, and fails for some input in versions such as 1.13.
    """
    (a, b), (_, c) = columns.T @ columns
    x, y = columns.T @ values
    determinant = a * c - b * b
    found = np.array([c * x - b * y, a * y - b * x])
    if determinant > 1e-12 * a * c and found.min() >= 0:
        return found / determinant
    squares = np.array([a, c])  # else one of them is 0: that of the column that explains less
    alone = np.divide([x, y], squares, out=np.zeros(2), where=squares > 0)
    alone = np.maximum(alone, 0)
    alone[np.argmin(alone * (x, y))] = 0
    return alone


def weighted_medians(values, weights):
    """Return the (C,) medians of (C, B) values with weights, (B,) or (C, B)."""
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    sums = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, 1), axis=1)
    middle = (sums - np.diff(sums, axis=1, prepend=0) / 2) / sums[:, -1:]
    return np.array([np.interp(0.5, m, v) for m, v in zip(middle, values, strict=True)])
