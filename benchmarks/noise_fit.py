"""Fit how far the correlated part of an estimate is noise: ``python -m benchmarks.noise_fit``.

Each picture is denoised with six factors of the correlated part. The weights of
`nnk_image.noise.trust` are those that come closest to the best factor of each, in the mean over
sets of pictures. They are fitted on all sets, and again with each one left out: cameras, or the
pictures under the synthetic noise.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import minimize
from skimage import data
from skimage.color import rgb2gray

from benchmarks import cameras, micrographs, noises
from benchmarks.noise_scores import psnr
from benchmarks.timing import existing_folder
from nnk_image import denoise, standard_image, standard_images
from nnk_image.base.image import check_image
from nnk_image.io import read
from nnk_image.noise import trust
from nnk_image.noise.estimation import measured
from nnk_image.noise.fit import model_of

FACTORS = 0.0, 0.3, 0.7, 1.2, 2.0, 3.2
SIDE = 256  # pixels of a crop
CLEAN = 42.0  # dB to itself that are enough for a picture without noise
HARM = 3.0  # a loss against the picture as it came counts so many times more
PENALTY = 0.003  # of the sum of squared weights
LEAST_SCORE = -6.0  # dB; one picture must not decide
SHARES = dict.fromkeys(["sidd", "cc", "cc as JPEG", "processed", "clean"], 4)
SHARES |= {f"white {sigma}": 4 for sigma in (5, 10, 25, 50)}
SHARES |= dict.fromkeys(["sidd in gray", "cc in gray", "clean, JPEG 75", "clean, JPEG 90"], 2)
"""Weights of families in the mean over all; those of others are 1."""

FROM_SCIKIT_IMAGE = "rocket", "immunohistochemistry", "hubble_deep_field"
LEFT_OUT = "horse", "text"  # drawings
STARTS = 8


@dataclass(frozen=True)
class Trial:
    """One picture: PSNR as it came, features, and PSNR with each of the `FACTORS`.

    `family` is the kind of noise, `source` the camera or the picture under the noise.
    """

    family: str
    source: str
    noisy: float
    features: np.ndarray
    scores: np.ndarray


def trials(folder):
    """Return the trials: pairs in the subfolders of `folder`, and pictures with noise."""
    pictures = [*_pairs(folder), *_synthetic()]
    with ProcessPoolExecutor() as executor:
        return [t for t in executor.map(_trial, pictures, chunksize=4) if t is not None]


def _trial(picture):
    family, source, noisy, clean = picture
    axis = -1 if noisy.ndim == 3 else None
    image = check_image(noisy, axis, None)
    found = measured(image)
    if not found:
        return None
    models = [model_of(found, image, factor) for factor in FACTORS]
    results = [denoise(noisy, model, channel_axis=axis).clip(0, 255) for model in models]
    scores = np.array([min(psnr(clean, result), 99.0) for result in results])
    return Trial(family, source, psnr(clean, noisy), trust.features(found), scores)


def _pairs(folder):
    """Yield (family, source, noisy, clean) of real noise, and of what is without noise there."""
    paths = sorted(folder.glob("*/*_noisy.png")) if folder else []
    for number, path in enumerate(paths):
        pair = path, path.with_name(path.name.replace("_noisy", "_clean"))
        family, source = path.parent.name, path.name.split("_")[0]
        if family == "sidd":
            source = f"scenes {int(source) % 5} of 5"
        pictures = [read(file)[0] for file in pair]
        if family == "microscopy":
            yield from _processed_micrographs(source, pictures[1], number)
        for index, (noisy, clean) in enumerate(zip(*map(_corners, pictures), strict=True)):
            yield family, source, noisy, clean
            if clean.ndim == 3:
                yield f"{family} in gray", source, _gray(noisy), _gray(clean)
                yield _processed(source, clean, [5, number, index])
            if family == "cc":
                quality = (75, 90)[index % 2]
                yield "cc as JPEG", source, cameras.jpeg(noisy, quality), clean
                yield from _without_noise(source, clean, quality)


def _processed(source, scene, seed):
    """Return a picture of a scene by a camera that reduces noise, sharpens and stores JPEG."""
    rng = np.random.default_rng(seed)
    light = np.exp(rng.uniform(np.log(150), np.log(2500)))
    processing = cameras.Processing(
        chroma=rng.choice([0, 1, 2, 3]),
        smoothing=rng.choice([0, 0, 6, 12]),
        sharpening=rng.choice([0, 0.4, 0.8]),
    )
    shot = cameras.shoot(source, scene, light, rng, processing)
    quality = int(rng.choice([75, 85, 92, 97]))
    return "processed", source, cameras.jpeg(shot.noisy, quality), shot.clean


def _processed_micrographs(source, scene, number):
    for index, kind in enumerate(micrographs.PROCESSING):
        rng = np.random.default_rng([6, number, index])
        yield "microscopy, processed", source, *micrographs.processed(scene, kind, rng)


def _gray(picture):
    return np.rint(255 * rgb2gray(picture)).astype(np.uint8)


def _synthetic():
    for index, shot in enumerate(cameras.shots((60, 300))):
        noisy = cameras.jpeg(shot.noisy, (60, 75, 85, 95)[index % 4])
        yield "simulated camera", _scene(shot.name.split(",")[0]), noisy, shot.clean
    for number, (source, picture) in enumerate(_clean()):
        for index, clean in enumerate(_corners(picture)):
            seed = [3, number, index]
            yield from _without_noise(source, clean, (75, 90)[index % 2])
            sigma = (5, 10, 25, 50)[(number + index) % 4]
            yield f"white {sigma}", source, noises.as_8_bit(noises.white(clean, sigma, seed)), clean
            kind, sigma = ("binomial", "mild")[index % 2], (5, 8, 12, 20)[(number + index) % 4]
            noise = _grain(kind, clean.shape, seed, gray=(number + index) % 3 == 0)
            noisy = noises.as_8_bit(clean + sigma * noise)
            yield "correlated", source, noisy, clean
            quality = (70, 80, 90, 95)[(3 * index + number) % 4]
            yield "correlated as JPEG", source, cameras.jpeg(noisy, quality), clean


def _clean():
    """Yield (name, picture); a name is the same for all pictures of one scene."""
    for name in standard_images():
        if name not in LEFT_OUT:
            yield _scene(name), standard_image(name)
    for name in FROM_SCIKIT_IMAGE:
        yield _scene(name), getattr(data, name)()
    yield "motorcycle", data.stereo_motorcycle()[0]


def _scene(name):
    return name.split("_")[0]


def _without_noise(source, clean, quality):
    yield "clean", source, clean, clean
    yield f"clean, JPEG {quality}", source, cameras.jpeg(clean, quality), clean


def _grain(kind, shape, seed, gray):
    """Return correlated noise, the same in all channels if `gray`."""
    fields = range(1 if gray or len(shape) == 2 else shape[2])
    noise = np.stack([noises.grain(kind, shape[:2], [*seed, i]).noise for i in fields], axis=-1)
    return noise[..., 0] if len(shape) == 2 else np.broadcast_to(noise, shape)


def _corners(picture):
    """Yield the squares at the corners of a picture; all of it if it is smaller."""
    tops, lefts = (sorted({0, max(0, n - SIDE)}) for n in picture.shape[:2])
    for top, left in product(tops, lefts):
        yield np.ascontiguousarray(picture[top : top + SIDE, left : left + SIDE])


class Scores:
    """How far results with some factors are below the best ones, in dB, for all trials at once."""

    def __init__(self, found):
        self.features = np.array([trial.features for trial in found])
        self._results = np.array([trial.scores for trial in found])
        self._noisy = np.array([trial.noisy for trial in found])
        families = [trial.family for trial in found]
        shares = [SHARES.get(family, 1) / families.count(family) for family in families]
        self._shares = np.array(shares) / np.sum(shares)

    def at(self, factors):
        """Return one score per trial."""
        places = np.log(0.1 + np.array(FACTORS))
        asked = np.log(0.1 + np.clip(factors, 0, FACTORS[-1]))
        above = np.clip(np.searchsorted(places, asked), 1, len(places) - 1)
        share = (asked - places[above - 1]) / (places[above] - places[above - 1])
        number = np.arange(len(asked))
        values = self._results[number, above] * share
        values += self._results[number, above - 1] * (1 - share)
        lost = values - self._results.max(axis=1)
        lost += (HARM - 1) * np.minimum(0, values - self._noisy + 0.05)
        lost = np.where(np.isinf(self._noisy), np.minimum(values, CLEAN) - CLEAN, lost)
        return LEAST_SCORE * np.tanh(lost / LEAST_SCORE)

    def mean(self, weights):
        """Return the mean over families."""
        return float(self._shares @ self.at(trust.factor(self.features, weights)))


def fitted(found):
    """Return the weights that suit these trials best, and the mean score."""
    scores, rng = Scores(found), np.random.default_rng(0)

    def loss(weights):
        return -scores.mean(np.clip(weights, -30, 30)) + PENALTY * np.sum(np.square(weights)) / 10

    best = None
    for number in range(STARTS):
        start = rng.normal(0, 2 if number else 0, len(trust.WEIGHTS))
        for method in ("Nelder-Mead", "Powell", "Nelder-Mead"):
            step = minimize(loss, start, method=method, options={"maxfev": 4000})
            start = step.x
        best = step if best is None or step.fun < best.fun else best
    return best.x, -best.fun


def _lines(found, weights):
    """Yield a line for each family: dB below the best factor, in the mean and for the worst."""
    scores = Scores(found)
    factors = trust.factor(scores.features, np.array(weights))
    families, lost = np.array([trial.family for trial in found]), scores.at(factors)
    for family in dict.fromkeys(families.tolist()):
        own, among = lost[families == family], factors[families == family]
        range_ = f"{among.min():.2f} to {among.max():.2f}"
        yield f"{family:20} {len(own):3} {own.mean():7.2f} {own.min():7.2f}   {range_}"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise_fit", description=__doc__)
    parser.add_argument(
        "--data", type=existing_folder, help="folder of folders of NAME_noisy and _clean.png"
    )
    parser.add_argument("--leave-out", action="store_true", help="fit again without each source")
    options = parser.parse_args()
    found = trials(options.data)
    weights, score = fitted(found)
    print(f"weights {np.round(weights, 2).tolist()}, {score:.3f}")
    print("set, pictures, dB below the best factor: mean and worst, factors")
    print(*_lines(found, weights), sep="\n", flush=True)
    print("today's weights:", *_lines(found, trust.WEIGHTS), sep="\n", flush=True)
    for source in dict.fromkeys(t.source for t in found) if options.leave_out else ():
        own = [t for t in found if t.source == source]
        without, _ = fitted([t for t in found if t.source != source])
        scores = Scores(own)
        both = [scores.at(trust.factor(scores.features, w)).mean() for w in (weights, without)]
        print(f"{source:28} fitted on all {both[0]:.2f}, on all others {both[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
