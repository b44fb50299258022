"""Fit the weights of the correlated part of an estimate: ``python -m benchmarks.noise_fit``.

`nnk_image.noise.trust` multiplies the correlated part of the measured noise by a factor, which is
small if that part looks like texture. Here, each picture is denoised with six factors, and the
weights from which the factor follows are fitted, so that it comes close to the best one, on average
over families of pictures. With ``--leave-out``, they are also fitted without each source: a camera,
or an image to which noise was added.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import minimize
from skimage import data

from benchmarks import cameras, micrographs, noises
from benchmarks.peers import channel_axis_of
from benchmarks.pictures import NOISY, gray_of
from benchmarks.scores import psnr
from benchmarks.timing import existing_folder
from nnk_image import denoise, standard_image, standard_images
from nnk_image.base.image import check_image
from nnk_image.io import read
from nnk_image.noise import trust
from nnk_image.noise.estimation import measure_scales
from nnk_image.noise.fit import model_of

FACTORS = 0.0, 0.3, 0.7, 1.2, 2.0, 3.2
SIDE = 256  # height and width of a crop, in pixels
SUFFICIENT = 42.0  # PSNR in dB relative to the input that suffices for a picture without noise
HARM = 3.0  # multiplies the part of a loss that makes a picture worse than its input
PENALTY = 0.003  # multiplies a tenth of the sum of squared weights
LEAST_SCORE = -6.0  # limit of the scores, in dB, so that a single picture has little influence
FAMILY_WEIGHTS = dict.fromkeys(["sidd", "cc", "cc as JPEG", "processed", "clean"], 4)
FAMILY_WEIGHTS |= {f"white {sigma}": 4 for sigma in (5, 10, 25, 50)}
FAMILY_WEIGHTS |= dict.fromkeys(
    ["sidd in gray", "cc in gray", "clean, JPEG 75", "clean, JPEG 90"], 2
)
"""Weights of families in the mean score; those of other families are 1."""

FROM_SCIKIT_IMAGE = "rocket", "immunohistochemistry", "hubble_deep_field"
LEFT_OUT = "horse", "text"  # drawings
STARTS = 8  # starting points of the optimization


@dataclass(frozen=True)
class Trial:
    """Scores of one picture.

    Attributes
    ----------
    family : str
        Kind of noise.
    source : str
        Camera, or image to which noise was added.
    noisy : float
        PSNR of the noisy picture, in dB.
    features : ndarray of 5 floats
        `nnk_image.noise.trust.features` of the noisy picture.
    scores : ndarray of floats
        PSNR of the result with each of the `FACTORS`, in dB.
    """

    family: str
    source: str
    noisy: float
    features: np.ndarray
    scores: np.ndarray


def run_trials(folder):
    """Return a list of `Trial`: real pairs from the subfolders of `folder`, and simulated noise."""
    pictures = [*_pairs(folder), *_synthetic()]
    with ProcessPoolExecutor() as executor:
        trials = executor.map(_trial, pictures, chunksize=4)
        return [trial for trial in trials if trial is not None]


def _trial(picture):
    """Denoise a picture with each factor; return a `Trial`, or None if no noise was measured."""
    family, source, noisy, clean = picture
    axis = channel_axis_of(noisy)
    image = check_image(noisy, axis, None)
    found = measure_scales(image)
    if not found:
        return None
    models = [model_of(found, image, factor) for factor in FACTORS]
    results = [denoise(noisy, model, channel_axis=axis).clip(0, 255) for model in models]
    scores = np.array([min(psnr(clean, result), 99.0) for result in results])
    return Trial(family, source, psnr(clean, noisy), trust.features(found), scores)


def _pairs(folder):
    """Yield (family, source, noisy, clean): crops of real pairs, and pictures made from them."""
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
                yield f"{family} in gray", source, gray_of(noisy), gray_of(clean)
                yield _processed(source, clean, [5, number, index])
            if family == "cc":
                quality = (75, 90)[index % 2]
                yield "cc as JPEG", source, cameras.jpeg(noisy, quality), clean
                yield from _without_noise(source, clean, quality)


def _processed(source, scene, seed):
    """Simulate a camera that reduces noise, sharpens and stores JPEG, all at random."""
    rng = np.random.default_rng(seed)
    peak = np.exp(rng.uniform(np.log(150), np.log(2500)))
    noisy, clean = cameras.shoot(scene, peak, rng, cameras.random_processing(rng))
    return "processed", source, cameras.jpeg(noisy, int(rng.choice([75, 85, 92, 97]))), clean


def _processed_micrographs(source, scene, number):
    """Simulate processed micrographs of a scene, one of each kind."""
    for index, kind in enumerate(micrographs.PROCESSING):
        rng = np.random.default_rng([6, number, index])
        yield "microscopy, processed", source, *micrographs.processed(scene, kind, rng)


def _synthetic():
    """Yield (family, source, noisy, clean) of simulated noise, from images almost without noise."""
    for index, (name, noisy, clean) in enumerate(cameras.shots((60, 300))):
        stored = cameras.jpeg(noisy, (60, 75, 85, 95)[index % 4])
        yield "simulated camera", _scene(name), stored, clean
    not_clean = {_scene(name) for name in NOISY}
    for number, (source, picture) in enumerate(_clean()):
        for index, clean in enumerate(_corners(picture)):
            seed = [3, number, index]
            if source not in not_clean:
                yield from _without_noise(source, clean, (75, 90)[index % 2])
            sigma = (5, 10, 25, 50)[(number + index) % 4]
            yield f"white {sigma}", source, noises.as_8_bit(noises.white(clean, sigma, seed)), clean
            kind, sigma = ("binomial", "mild")[index % 2], (5, 8, 12, 20)[(number + index) % 4]
            noise = _correlated(kind, clean.shape, seed, gray=(number + index) % 3 == 0)
            noisy = noises.as_8_bit(clean + sigma * noise)
            yield "correlated", source, noisy, clean
            quality = (70, 80, 90, 95)[(3 * index + number) % 4]
            yield "correlated as JPEG", source, cameras.jpeg(noisy, quality), clean
            yield "weakly correlated", source, _weakly_correlated(clean, number, index), clean


def _weakly_correlated(clean, number, index):
    """Add noise between white and correlated noise."""
    rng = np.random.default_rng([7, number, index])
    correlation, sigma = rng.uniform(0.05, 0.3), np.exp(rng.uniform(np.log(4), np.log(25)))
    noise = _correlated(correlation, clean.shape, [7, number, index], gray=rng.random() < 0.3)
    return noises.as_8_bit(clean + sigma * noise)


def _clean():
    """Yield (name, picture); all pictures of one scene have the same name."""
    for name in standard_images():
        if name not in LEFT_OUT:
            yield _scene(name), standard_image(name)
    for name in FROM_SCIKIT_IMAGE:
        yield _scene(name), getattr(data, name)()
    yield "motorcycle", data.stereo_motorcycle()[0]


def _scene(name):
    """Return the scene in the name of a picture: 'camera' of 'camera_512'."""
    return name.split("_")[0]


def _without_noise(source, clean, quality):
    """Yield pictures without noise, which should not change: as they are, and as JPEG."""
    yield "clean", source, clean, clean
    yield f"clean, JPEG {quality}", source, cameras.jpeg(clean, quality), clean


def _correlated(kind, shape, seed, gray):
    """Return a sample of correlated noise, the same in all channels if `gray`."""
    channels = range(1 if gray or len(shape) == 2 else shape[2])
    samples = [noises.correlated(kind, shape[:2], [*seed, i])[0] for i in channels]
    noise = np.stack(samples, axis=-1)
    return noise[..., 0] if len(shape) == 2 else np.broadcast_to(noise, shape)


def _corners(picture):
    """Yield the squares at the corners of a picture, or all of it if it is smaller."""
    tops, lefts = (sorted({0, max(0, n - SIDE)}) for n in picture.shape[:2])
    for top, left in product(tops, lefts):
        yield np.ascontiguousarray(picture[top : top + SIDE, left : left + SIDE])


class Scores:
    """Scores of all trials, given a factor for each: dB below the result with the best factor."""

    def __init__(self, trials):
        self.features = np.array([trial.features for trial in trials])
        self._results = np.array([trial.scores for trial in trials])
        self._noisy = np.array([trial.noisy for trial in trials])
        families = [trial.family for trial in trials]
        weights = [FAMILY_WEIGHTS.get(family, 1) / families.count(family) for family in families]
        self._trial_weights = np.array(weights) / np.sum(weights)

    def at(self, factors):
        """Return one score per trial, by interpolation between the `FACTORS`.

        A result that is worse than the noisy picture has an additional loss. For pictures without
        noise, the score is the PSNR below the `SUFFICIENT` one.
        """
        positions = np.log(0.1 + np.array(FACTORS))
        wanted = np.log(0.1 + np.clip(factors, 0, FACTORS[-1]))
        above = np.clip(np.searchsorted(positions, wanted), 1, len(positions) - 1)
        share = (wanted - positions[above - 1]) / (positions[above] - positions[above - 1])
        number = np.arange(len(wanted))
        values = self._results[number, above] * share
        values += self._results[number, above - 1] * (1 - share)
        lost = values - self._results.max(axis=1)
        lost += (HARM - 1) * np.minimum(0, values - self._noisy + 0.05)
        lost = np.where(np.isinf(self._noisy), np.minimum(values, SUFFICIENT) - SUFFICIENT, lost)
        return LEAST_SCORE * np.tanh(lost / LEAST_SCORE)

    def mean(self, weights):
        """Return the mean score, weighted by family, for the factors that weights give."""
        return float(self._trial_weights @ self.at(trust.trust_by_features(self.features, weights)))


def fit_weights(trials):
    """Return the weights that are best for these trials, and their penalized mean score."""
    scores, rng = Scores(trials), np.random.default_rng(0)

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


def _lines(trials, weights):
    """Yield a line for each family: mean and lowest score, and the range of the factors."""
    scores = Scores(trials)
    factors = trust.trust_by_features(scores.features, np.array(weights))
    families, values = np.array([trial.family for trial in trials]), scores.at(factors)
    for family in dict.fromkeys(families.tolist()):
        own, used = values[families == family], factors[families == family]
        range_ = f"{used.min():.2f} to {used.max():.2f}"
        yield f"{family:20} {len(own):3} {own.mean():7.2f} {own.min():7.2f}   {range_}"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise_fit", description=__doc__)
    parser.add_argument(
        "--data",
        type=existing_folder,
        metavar="FOLDER",
        help="folder of folders with pairs NAME_noisy.png and NAME_clean.png",
    )
    parser.add_argument(
        "--leave-out", action="store_true", help="also fit without each source of pictures"
    )
    options = parser.parse_args()
    trials = run_trials(options.data)
    weights, score = fit_weights(trials)
    print(f"fitted weights {np.round(weights, 2).tolist()}, score {score:.3f}")
    print("family, pictures, mean and lowest score in dB (0 is the best factor), range of factors")
    print(*_lines(trials, weights), sep="\n", flush=True)
    print("with the weights in use:", *_lines(trials, trust.WEIGHTS), sep="\n", flush=True)
    for source in dict.fromkeys(t.source for t in trials) if options.leave_out else ():
        own = [t for t in trials if t.source == source]
        without, _ = fit_weights([t for t in trials if t.source != source])
        scores = Scores(own)
        trusts = [trust.trust_by_features(scores.features, w) for w in (weights, without)]
        both = [scores.at(own).mean() for own in trusts]
        print(
            f"{source:28} fitted on all {both[0]:.2f}, without this source {both[1]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
