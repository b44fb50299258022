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
from nnk_image import denoise, standard_image, standard_images
from nnk_image.base.image import check_image
from nnk_image.io import read
from nnk_image.noise import trust
from nnk_image.noise.estimation import measured, model_of

FACTORS = (0.0, 0.3, 0.7, 1.2, 2.0, 3.2)
CLEAN = 42.0  # dB to itself that are enough for a picture without noise
HARM = 3.0  # a loss against the picture as it came counts so many times more
PENALTY = 0.02  # of squared weights
DRAWINGS = "horse", "text"
LEAST_SCORE = -4.0  # dB; one picture must not decide


@dataclass(frozen=True)
class Trial:
    """One picture: PSNR as it came, signs, and PSNR with each of the `FACTORS`.

    `device` is a set of pictures and, after a comma, the camera, or some of the scenes.
    """

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
        axis = -1 if noisy.ndim == 3 else None
        image = check_image(noisy, axis, None)
        found = measured(image)
        models = [model_of(found, image, factor) for factor in FACTORS]
        results = [denoise(noisy, model, channel_axis=axis).clip(0, 255) for model in models]
        scores = np.array([min(psnr(clean, result), 99.0) for result in results])
        yield Trial(device, psnr(clean, noisy), trust.signs(found), scores)


def _pictures(folder):
    """Yield (device, noisy, clean)."""
    for path in sorted(folder.glob("*/*_noisy.png")) if folder else ():
        pair = path, path.with_name(path.name.replace("_noisy", "_clean"))
        noisy, clean = (read(file)[0] for file in pair)
        family, device = path.parent.name, path.name.split("_")[0]
        if family == "sidd":
            device = f"scenes {int(device) % 5} of 5"
        yield f"{family}, {device}", noisy, clean
        if family == "cc":
            yield f"{family} as JPEG, {device}", cameras.jpeg(noisy, 75), clean
    for index, shot in enumerate(cameras.shots((60, 300))):
        yield "simulated camera", cameras.jpeg(shot.noisy, (60, 75, 85, 95)[index % 4]), shot.clean
    for index, name in enumerate(n for n in standard_images() if n not in DRAWINGS):
        clean = _middle(standard_image(name))
        yield "clean", clean, clean
        yield "clean JPEG", cameras.jpeg(clean, (75, 90)[index % 2]), clean
        for sigma in (5, 10, 25, 50):
            noisy = noises.white(clean, sigma, [3, sigma, index])
            yield f"white {sigma}", noises.as_8_bit(noisy), clean
        for sigma, kind in ((6, "binomial"), (12, "mild")):
            noise = noises.grain(kind, clean.shape[:2], [4, index]).noise
            noise = noise if clean.ndim == 2 else noise[..., None]
            yield f"correlated, {kind}", noises.as_8_bit(clean + sigma * noise), clean


def _middle(picture):
    """Return the middle 256 x 256 pixels."""
    return picture[tuple(slice(max(0, n // 2 - 128), n // 2 + 128) for n in picture.shape[:2])]


def fitted(found, starts=2):
    """Return the weights that suit these trials best, and the mean score."""
    families = [trial.device.split(",")[0] for trial in found]
    shares = np.array([1 / families.count(family) for family in families]) / len(set(families))

    def loss(weights):
        scores = [
            t.score(factor) for t, factor in zip(found, _factors(found, weights), strict=True)
        ]
        return -shares @ scores + PENALTY / len(set(families)) * (np.array(weights) ** 2).mean()

    best = None
    for start in [
        np.array(trust.WEIGHTS),
        *np.random.default_rng(0).normal(0, 1.5, (starts, len(trust.WEIGHTS))),
    ]:
        step = minimize(
            loss, start, method="Nelder-Mead", options={"maxfev": 3000, "adaptive": True}
        )
        step = minimize(loss, step.x, method="Powell", options={"maxiter": 8})
        best = step if best is None or step.fun < best.fun else best
    return best.x, -best.fun


def _factors(found, weights):
    return trust.factor(np.array([trial.signs for trial in found]), np.clip(weights, -30, 30))


def _lines(found, weights):
    """Yield a line for each set: dB below the best factor, in the mean and for the worst."""
    factors = _factors(found, weights)
    for device in dict.fromkeys(trial.device for trial in found):
        own = [(t, f) for t, f in zip(found, factors, strict=True) if t.device == device]
        scores = [t.score(f) for t, f in own]
        range_ = f"{min(f for _, f in own):.2f} to {max(f for _, f in own):.2f}"
        yield f"{device:28} {len(own):3} {np.mean(scores):7.2f} {min(scores):7.2f}   {range_}"


def _mean_score(found, weights):
    pairs = zip(found, _factors(found, weights), strict=True)
    return np.mean([trial.score(factor) for trial, factor in pairs])


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise_fit", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of folders of NAME_noisy and _clean.png")
    parser.add_argument("--leave-out", action="store_true", help="fit again without each set")
    options = parser.parse_args()
    found = list(trials(options.data))
    weights, score = fitted(found)
    print(f"weights {np.round(weights, 2).tolist()}, {score:.3f}")
    print("set, pictures, dB below the best factor: mean and worst, factors")
    print(*_lines(found, weights), sep="\n", flush=True)
    print("today's weights:", *_lines(found, trust.WEIGHTS), sep="\n")
    for device in dict.fromkeys(map(_camera, found)) if options.leave_out else ():
        own = [t for t in found if _camera(t) == device]
        without, _ = fitted([t for t in found if _camera(t) != device], 0)
        both = [_mean_score(own, w) for w in (weights, without)]
        print(f"{device:28} fitted on all {both[0]:.2f}, on all others {both[1]:.2f}", flush=True)


def _camera(trial):
    """Return the camera, whose pictures as JPEG count as its own; or the set."""
    return trial.device.split(", ")[-1]


if __name__ == "__main__":
    main()
