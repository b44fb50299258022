"""Quality and processor time of denoising 8-bit pictures whose clean versions are known."""

from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from statistics import fmean

import numpy as np

from benchmarks import noises, peers
from benchmarks.machine import timed_call
from benchmarks.scores import psnr
from benchmarks.timing import Table, existing_folder
from nnk_image import (
    NoiseModel,
    correct_bias,
    denoise,
    estimate_noise,
    standard_image,
    standard_images,
)
from nnk_image.io import ImageFileError, read
from nnk_image.noise.model import deviations

SIGMAS, METHODS, KINDS = (10, 25), ("fast", "best"), ("_noisy", "_clean")
REACH = 6  # largest displacement, in pixels, of the covariance of the noise of photographs
COLUMNS = {"": "", "mean dB": ".2f", "worst change": "+.2f", "made worse": "d"}
COLUMNS |= {"s per MP": ".2f", "setting": ""}
NOTES = (
    "worst change, made worse: relative to noisy. s per MP: processor seconds per megapixel.",
    "Other programs have the setting with the best mean over these pictures; factor: of the true",
    "root mean square of the noise.",
)


@dataclass(frozen=True, eq=False)
class Pair:
    """A noisy picture and its clean version.

    Attributes
    ----------
    noisy, clean : (H, W) or (H, W, 3) ndarray of uint8
        Pixels.
    known : float, ndarray or NoiseModel, optional
        Noise as `denoise` takes it. Default: it is fitted to the difference of the pictures.
    """

    noisy: np.ndarray
    clean: np.ndarray
    known: float | np.ndarray | NoiseModel | None = None

    @property
    def rms(self):
        """Root mean square of the noise."""
        return float(np.sqrt(np.mean((self.noisy.astype(float) - self.clean) ** 2)))

    @cached_property
    def expected(self):
        """For each pixel, the mean of the noisy picture where the clean one has the same value.

        It differs from the clean one if these were scaled differently, or if noise was clipped.
        """
        values = self.clean.ravel()
        means = np.bincount(values, self.noisy.ravel()) / np.maximum(np.bincount(values), 1)
        return means[self.clean]

    @property
    def level(self):
        """Standard deviation of the noise, of white noise the known one."""
        known = self.known if isinstance(self.known, int | float) else 0
        return known or float(np.std(self.noisy - self.expected))

    def estimated_level(self):
        """Return the estimated level of the noise, and its standard error."""
        model = estimate_noise(self.noisy, channel_axis=peers.channel_axis_of(self.noisy))
        channels = self.expected.reshape(-1, len(model.sigma)).T
        # Poisson noise depends on its own channel, a curve on the mean of all channels.
        intensity = channels if any(model.gain) else channels.mean(axis=0)
        squares = np.mean(deviations(model, intensity) ** 2) + model.rows**2 + model.columns**2
        level = float(np.sqrt(squares))
        return level, level * (model.uncertainty or 0.0)

    @cached_property
    def noise(self):
        """What `denoise` is given as the known noise.

        If it is fitted, gain and offset are in gray, the covariance up to `REACH` in color.
        """
        if self.known is not None:
            return self.known
        if self.clean.ndim == 2:
            return _poisson_model(self.noisy.astype(float), self.clean.astype(float))
        noise = np.moveaxis(self.noisy.astype(float) - self.clean, -1, 0)
        noise -= noise.mean(axis=(1, 2), keepdims=True)
        shape = [n + REACH for n in noise.shape[1:]]  # zero padding, because noise is not periodic
        waves = np.fft.rfft2(noise, shape)
        products = np.fft.irfft2(waves[:, None].conj() * waves, shape) / noise[0].size
        offsets = np.arange(-REACH, REACH + 1)
        return NoiseModel.from_autocovariance(products[..., offsets[:, None], offsets])


def _poisson_model(noisy, clean):
    """Return the model of noise whose variance is a linear function of the brightness."""
    points = np.stack([clean.ravel(), np.ones(clean.size)], axis=1)
    gain, constant = np.linalg.lstsq(points, ((noisy - clean) ** 2).ravel(), rcond=None)[0]
    if gain <= 0:
        return NoiseModel(np.sqrt(np.mean((noisy - clean) ** 2)))
    return NoiseModel(gain=gain, offset=min(-constant / gain, clean.min()))


def add_options(group):
    """Add the options of this table to an argparse group."""
    group.add_argument(
        "--data",
        type=existing_folder,
        metavar="FOLDER",
        help="folder of folders with pairs NAME_noisy.png and NAME_clean.png",
    )
    group.add_argument("--quick", action="store_true", help="leave out 'best' and CBM3D")


def tables(options):
    """Yield one table for each folder of pairs, and one for each level of white noise."""
    for title, pairs in _sets(options.data):
        yield _table(title, pairs, options.quick)


def _sets(folder):
    """Yield (title, pairs): each folder below `folder`, then bundled images with white noise."""
    files = sorted(folder.rglob("*_noisy.png")) if folder else []
    if folder and not files:
        raise ImageFileError(f"{folder}: has no NAME_noisy.png")
    for parent in dict.fromkeys(path.parent for path in files):
        own = [path for path in files if path.parent == parent]
        pairs = [Pair(*(read(_renamed(path, kind))[0] for kind in KINDS)) for path in own]
        yield f"Photographs of {parent.name}, {len(pairs)} pairs", pairs
    pictures = [p for p in map(standard_image, standard_images()) if p.ndim == 3]
    for sigma in SIGMAS:
        noisy = [noises.as_8_bit(noises.white(p, sigma, seed)) for seed, p in enumerate(pictures)]
        pairs = [Pair(*pair, sigma) for pair in zip(noisy, pictures, strict=True)]
        yield f"White noise of sigma {sigma}, {len(pairs)} bundled pictures", pairs


def _renamed(path, kind):
    return path.with_name(path.name.replace("_noisy", kind))


def _table(title, pairs, quick):
    """Return the table of all denoisers, each with its best setting."""
    noisy = {"": "noisy", "mean dB": fmean(psnr(pair.clean, pair.noisy) for pair in pairs)}
    table = Table(title, COLUMNS, [noisy], (*NOTES, _accuracy(pairs)))
    small = Pair(pairs[0].noisy[:48, :48], pairs[0].clean[:48, :48], SIGMAS[0])
    for name, (run, settings) in _denoisers(pairs[0].clean.ndim, quick).items():
        run(small, **settings[0])  # so that the first imports are not timed
        rows = [_row(name, run, setting, pairs) for setting in settings]
        table.rows.append(max(rows, key=lambda row: row["mean dB"]))
    return table


def _accuracy(pairs):
    """Return a note on the estimated noise levels of pairs."""
    estimates = [(*pair.estimated_level(), pair.level) for pair in pairs]
    within = sum(abs(level - true) <= error for level, error, true in estimates)
    ratios = [level / true for level, _, true in estimates]
    return (
        f"Estimated over true level of the noise: {np.median(ratios):.2f}, from {min(ratios):.2f} "
        f"to {max(ratios):.2f}; within the standard error: {within} of {len(pairs)}."
    )


def _row(name, run, setting, pairs):
    """Return the row of a denoiser with one setting."""
    scores, gains, seconds = [], [], 0.0
    for pair in pairs:
        _ = pair.noise  # computed and cached before the timing
        result, time = timed_call(run, pair, **setting)
        seconds += time
        scores.append(psnr(pair.clean, noises.as_8_bit(result)))
        gains.append(scores[-1] - psnr(pair.clean, pair.noisy))
    pixels = sum(
        pair.clean[..., :1].size if pair.clean.ndim == 3 else pair.clean.size for pair in pairs
    )
    text = ", ".join(f"{key} {value}" for key, value in setting.items())
    cells = name, fmean(scores), min(gains), sum(g < 0 for g in gains), 1e6 * seconds / pixels, text
    return dict(zip(COLUMNS, cells, strict=True))


def _denoisers(axes, quick):
    """Return all installed denoisers as a dict from name to function of a pair, and settings."""
    found = {}
    for method in METHODS[: 1 if quick else None]:
        found[f"{method}, noise known"] = partial(_ours, method, True), [{}]
        found[f"{method}, noise known, correct_bias"] = partial(_corrected, method), [{}]
        found[f"{method}, noise estimated"] = partial(_ours, method, False), [{}]
    run = partial(_with_true_rms, partial(peers.non_local_means, patch=5))
    found["scikit-image NLM"] = run, [{"h": h} for h in (0.4, 0.6, 0.8, 1.2, 1.6)]
    if find_spec("cv2"):
        found["OpenCV NLM"] = _opencv, [{"h": h} for h in (3, 5, 7, 10, 14, 20, 28)]
    if (bm3d := peers.bm3d_filter()) and not quick:
        found["BM3D" if axes == 2 else "CBM3D"] = (
            partial(_with_true_rms, bm3d),
            [{"factor": factor} for factor in (1, 1.5, 2)],
        )
    return found


def _ours(method, known, pair):
    axis = peers.channel_axis_of(pair.noisy)
    return denoise(pair.noisy, pair.noise if known else None, method=method, channel_axis=axis)


def _corrected(method, pair):
    result = _ours(method, True, pair)
    return correct_bias(pair.noisy, result, channel_axis=peers.channel_axis_of(pair.noisy))


def _opencv(pair, h):
    import cv2

    if pair.noisy.ndim == 2:
        return cv2.fastNlMeansDenoising(pair.noisy, h=h)
    bgr = pair.noisy[..., ::-1].copy()
    return cv2.fastNlMeansDenoisingColored(bgr, h=h, hColor=h)[..., ::-1]


def _with_true_rms(function, pair, factor=1, **setting):
    """Denoise a pair, given `factor` times the true root mean square of its noise."""
    return function(pair.noisy.astype(float), factor * pair.rms, **setting)
