"""Early stopping of a network, channel by channel, without a validation set."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from benchmarks.timing import Table
from nnk_image import NNKClassifier

CHANNELS, UNITS = 16, 4
EPOCHS = 150
PATIENCE = 10
TRAIN = 600
FALSE = 0.2  # of the labels to train on


def channels(network, X):
    """Outputs of the hidden units (CHANNELS, N, UNITS), in groups called channels."""
    outputs = np.maximum(X @ network.coefs_[0] + network.intercepts_[0], 0)
    return outputs.reshape(len(X), CHANNELS, UNITS).swapaxes(0, 1)


def stopped(errors):
    """Which columns of a history of errors have not improved within the last PATIENCE rows."""
    history = np.nan_to_num(errors, nan=1.0)
    return len(history) - 1 - history.argmin(axis=0) >= PATIENCE


def train(X, y, watch, seed):
    """A network trained until ``watch(network)``, an array of errors, has stopped falling.

    What the array has one error per channel for is frozen as soon as that channel's stops.
    """
    network = MLPClassifier(
        (CHANNELS * UNITS,), learning_rate_init=0.003, alpha=0.0, random_state=seed
    )
    history = []
    for _ in range(EPOCHS):
        first = [network.coefs_[0].copy(), network.intercepts_[0].copy()] if history else []
        network.partial_fit(X, y, classes=np.arange(10))
        if history and len(history[0]) == CHANNELS:
            frozen = np.repeat(stopped(np.array(history)), UNITS)
            network.coefs_[0][:, frozen] = first[0][:, frozen]
            network.intercepts_[0][frozen] = first[1][frozen]
        history.append(watch(network))
        if stopped(np.array(history)).all():
            break
    return network, len(history)


def table(seeds):
    """Test errors without stopping, with a validation set, and by channels without one."""
    result = Table(
        f"Early stopping: digits, {TRAIN} to train on, {FALSE:.0%} of their labels wrong",
        {"stopped by": "", "test error, %": ".2f", "+-": ".2f", "epochs": ".0f"},
        notes=(
            f"{CHANNELS} channels of {UNITS} hidden units; patience {PATIENCE} epochs of at most",
            f"{EPOCHS}. A validation set takes a fifth of the training data. By channels: one is",
            "frozen when its leave-one-out error by NNK (k=15) stops falling; training ends with",
            f"the last. Means and standard deviations over {seeds} seeds.",
        ),
    )
    found = {"nothing": [], "validation set": [], "channels, leaving one out": []}
    X, y = load_digits(return_X_y=True)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        Q, z = X[order[TRAIN:]] / 16, y[order[TRAIN:]]
        P, labels = X[order[:TRAIN]] / 16, y[order[:TRAIN]].copy()
        wrong = rng.random(TRAIN) < FALSE
        labels[wrong] = rng.integers(0, 10, wrong.sum())
        rest = 4 * TRAIN // 5
        valid = P[rest:], labels[rest:]
        runs = {
            "nothing": (P, labels, lambda network: -np.array([network.t_])),
            "validation set": (P[:rest], labels[:rest], lambda n, v=valid: [1 - n.score(*v)]),
            "channels, leaving one out": (P, labels, lambda n, p=P, c=labels: _errors(n, p, c)),
        }
        for name, run in runs.items():
            network, epochs = train(*run, seed)
            found[name].append((100 * (1 - network.score(Q, z)), epochs))
    for name, values in found.items():
        errors, epochs = np.transpose(values)
        row = {"stopped by": name, "test error, %": errors.mean(), "+-": errors.std()}
        result.rows.append(row | {"epochs": epochs.mean()})
    return result


def _errors(network, X, y):
    """Leave-one-out error of each channel; NaN for those that never fire."""
    return np.array(
        [
            NNKClassifier(15).fit(x, y).leave_one_out_error() if np.ptp(x, axis=0).any() else np.nan
            for x in channels(network, X)
        ]
    )
