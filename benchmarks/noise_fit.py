"""Fit how far the correlated part of an estimate is noise: ``python -m benchmarks.noise_fit``.

Each picture is denoised with six factors of the correlated part. The weights of
`nnk_image.noise.trust` are those that come closest to the best factor of each, in the mean over
sets of pictures. They are fitted on all sets, and again with each one left out.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from benchmarks import cameras, noises
from benchmarks.noise_scores import psnr
from nnk_image import denoise, estimate_noise, standard_image, standard_images
from nnk_image.base.image import check_image
from nnk_image.io import read
from nnk_image.noise import trust
from nnk_image.noise.estimation import measured, model_of

FACTORS = (0.0, 0.3, 0.7, 1.2, 2.0, 3.2)
CLEAN = 44.0  # dB to itself that are enough for a picture without noise
HARM = 3.0  # a loss against the picture as it came counts so many times more
PENALTY = 0.02  # of squared weights
LEAST_SCORE = -8.0  # dB; one picture must not decide


@dataclass(frozen=True)
class Trial:
    """One picture: its set, PSNR as it came, signs, and PSNR with each of the `FACTORS`."""

    device: str
    noisy: float
    signs: np.ndarray
    scores: np.ndarray

    def score(self, factor):
        """Return how far the result with this factor is below the best one, in dB."""
        at = np.log(0.1 + np.array([factor, *FACTORS]))
        found = np.interp(at[0], at[1:], self.scores)
        if np.isinf(self.noisy):
            return max(min(found, CLEAN) - CLEAN, LEAST_SCORE)
        lost = found - self.scores.max() + (HARM - 1) * min(0.0, found - self.noisy + 0.05)
        return max(lost, LEAST_SCORE)


def trials(folder):
    """Yield the trials: pairs in the subfolders of `folder`, and bundled pictures with noise."""
    for device, noisy, clean in _pictures(folder):
        image = check_image(noisy, -1 if noisy.ndim == 3 else None, None)
        found = measured(image)
        models = [model_of(found, image, factor) for factor in FACTORS]
        axis = -1 if noisy.ndim == 3 else None
        results = [denoise(noisy, m, channel_axis=axis).clip(0, 255) for m in models]
        scores = np.array([min(psnr(clean, result), 99.0) for result in results])
        yield Trial(device, psnr(clean, noisy), trust.signs(found), scores)


def _pictures(folder):
    """Yield (device, noisy, clean)."""
    for path in sorted(folder.glob("*/*_noisy.png")) if folder else ():
        noisy, clean = (read(path.with_name(path.name.replace("noisy", kind)))[0] for kind in ("noisy", "clean"))
        device = path.parent.name + " " + path.name.split("_")[0]
        middle = tuple(slice(max(0, n // 2 - 128), n // 2 + 128) for n in noisy.shape[:2])
        noisy, clean = noisy[middle], clean[middle]
        yield device, noisy, clean
        if noisy.ndim == 3 and path.parent.name == "cc":
            yield f"{device}, JPEG", cameras.jpeg(noisy, 75), clean
    for index, shot in enumerate(cameras.shots((60, 300))):
        yield "synthetic camera", cameras.jpeg(shot.noisy, (60, 75, 85, 95)[index % 4]), shot.clean
    for index, name in enumerate(standard_images()):
        clean = standard_image(name)[:256, :256]
        if name in ("horse", "text"):  # drawings
            continue
        yield "clean", clean, clean
        yield "clean, JPEG", cameras.jpeg(clean, (75, 90)[index % 2]), clean
        for sigma in (5, 10, 25):
            noisy = noises.white(clean, sigma, [3, sigma, index])
            yield f"white {sigma}", noises.as_8_bit(noisy), clean
        for sigma, kind in ((6, "binomial"), (12, "mild")):
            grain = noises.grain(kind, clean.shape[:2], [4, index])
            noise = grain.noise if clean.ndim == 2 else grain.noise[..., None]
            yield kind, noises.as_8_bit(clean + sigma * noise), clean


def fitted(found, starts=2):
    """Return the weights that suit these trials best, and the mean score."""
    devices = [trial.device for trial in found]
    shares = np.array([1 / devices.count(device) for device in devices]) / len(set(devices))

    def loss(weights):
        scores = [t.score(factor) for t, factor in zip(found, _factors(found, weights), strict=True)]
        return -shares @ scores + PENALTY / len(set(devices)) * (weights[1:] ** 2).sum()

    best = None
    for start in [np.array(trust.WEIGHTS), *np.random.default_rng(0).normal(0, 1, (starts, 9))]:
        step = minimize(loss, start, method="Nelder-Mead", options={"maxfev": 1500, "adaptive": True})
        step = minimize(loss, step.x, method="Powell", options={"maxiter": 8})
        best = step if best is None or step.fun < best.fun else best
    return best.x, -best.fun


def _factors(found, weights):
    scores = weights[0] + np.array([trial.signs for trial in found]) @ weights[1:]
    return trust.MOST_TRUST / (1 + np.exp(-np.clip(scores, -50, 50)))


def _lines(found, weights):
    """Yield a line for each set: dB below the best factor in the mean, and for the worst picture."""
    factors = _factors(found, weights)
    for device in dict.fromkeys(trial.device for trial in found):
        own = [(t, f) for t, f in zip(found, factors, strict=True) if t.device == device]
        scores = [t.score(f) for t, f in own]
        range_ = f"{min(f for _, f in own):.2f} to {max(f for _, f in own):.2f}"
        yield f"{device:28} {len(own):3} {np.mean(scores):7.2f} {min(scores):7.2f}   {range_}"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise_fit", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of folders of NAME_noisy and _clean.png")
    parser.add_argument("--leave-out", action="store_true", help="fit again without each set")
    options = parser.parse_args()
    found = list(trials(options.data))
    weights, score = fitted(found)
    print(f"weights {np.round(weights, 2).tolist()}, {score:.3f}")
    print("set, pictures, dB below the best factor: mean and worst, factors")
    print(*_lines(found, weights), sep="\n")
    print("today's weights:", *_lines(found, trust.WEIGHTS), sep="\n")
    for device in dict.fromkeys(t.device for t in found) if options.leave_out else ():
        others, own = [[t for t in found if (t.device == device) == (i == 1)] for i in (0, 1)]
        without, _ = fitted(others, 0)
        both = [np.mean([t.score(f) for t, f in zip(own, _factors(own, w))]) for w in (weights, without)]
        print(f"{device:28} fitted on all {both[0]:.2f}, on all others {both[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
