"""Quality and processor time side by side: color pictures of 8 bits, whose clean copy is known."""

from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks import noises, peers
from benchmarks.noise_scores import cpu, psnr
from benchmarks.timing import Table
from nnk_image import NoiseModel, denoise, standard_image, standard_images
from nnk_image.io import read

SIGMAS, METHODS = (10, 25), ("fast", "best")
REACH = 6  # how far apart, in pixels, the covariance of a photograph's noise is taken
COLUMNS = {"": "", "mean dB": ".2f", "worst change": "+.2f", "made worse": "d"}
COLUMNS |= {"s per MP": ".2f", "setting": ""}
NOTES = (
    "worst change, made worse: against noisy.  s per MP: processor time per megapixel.",
    "Peers have the setting that is best in the mean over these pictures; factor: of the true rms.",
)


@dataclass(frozen=True, eq=False)
class Pair:
    """A noisy picture and the clean one, (H, W, 3) of uint8; the noise, if it is known exactly."""

    noisy: np.ndarray
    clean: np.ndarray
    sigma: float | None = None

    @property
    def rms(self):
        """Root mean square of the noise."""
        return float(np.sqrt(np.mean((self.noisy.astype(float) - self.clean) ** 2)))

    @cached_property
    def noise(self):
        """What `denoise` is told: sigma, or the covariance of the true noise."""
        if self.sigma is not None:
            return self.sigma
        noise = np.moveaxis(self.noisy.astype(float) - self.clean, -1, 0)
        noise -= noise.mean(axis=(1, 2), keepdims=True)
        shape = [n + REACH for n in noise.shape[1:]]  # zeros beyond: no pixel meets the other side
        waves = np.fft.rfft2(noise, shape)
        products = np.fft.irfft2(waves[:, None].conj() * waves, shape) / noise[0].size
        offsets = np.arange(-REACH, REACH + 1)
        return NoiseModel.from_autocovariance(products[..., offsets[:, None], offsets])


def add_options(group):
    """Command line of this table."""
    group.add_argument("--pairs", type=Path, metavar="FOLDER", help="NAME_noisy and _clean.png")
    group.add_argument("--plot", type=Path, metavar="FILE", help="draw dB against time")


def tables(options):
    """One table for the folder of pairs, and one for each level of white noise."""
    made = []
    for title, pairs in _sets(options.pairs):
        made.append(_table(title, pairs))
        yield made[-1]
    if options.plot:
        _plot(made, options.plot)


def _sets(folder):
    if folder:
        files = sorted(folder.glob("*_noisy.png"))
        clean = [path.with_name(path.name[: -len("noisy.png")] + "clean.png") for path in files]
        pairs = [Pair(read(a)[0], read(b)[0]) for a, b in zip(files, clean, strict=True)]
        yield f"Photographs of {folder.name}, {len(pairs)} pairs", pairs
    pictures = [p for p in map(standard_image, standard_images()) if p.ndim == 3]
    for sigma in SIGMAS:
        noisy = [noises.as_8_bit(noises.white(p, sigma, seed)) for seed, p in enumerate(pictures)]
        pairs = [Pair(*pair, sigma) for pair in zip(noisy, pictures, strict=True)]
        yield f"White noise of sigma {sigma}, {len(pairs)} bundled pictures", pairs


def _table(title, pairs):
    noisy = {"": "noisy", "mean dB": fmean(psnr(pair.clean, pair.noisy) for pair in pairs)}
    table = Table(title, COLUMNS, [noisy], NOTES)
    small = Pair(pairs[0].noisy[:48, :48], pairs[0].clean[:48, :48], SIGMAS[0])
    for name, (run, settings) in _denoisers().items():
        run(small, **settings[0])  # loads what is loaded on first use
        rows = [_row(name, run, setting, pairs) for setting in settings]
        table.rows.append(max(rows, key=lambda row: row["mean dB"]))
    return table


def _row(name, run, setting, pairs):
    scores, gains, seconds = [], [], 0.0
    for pair in pairs:
        _ = pair.noise  # not part of the time
        result, time = cpu(run, pair, **setting)
        seconds += time
        scores.append(psnr(pair.clean, noises.as_8_bit(result)))
        gains.append(scores[-1] - psnr(pair.clean, pair.noisy))
    pixels = sum(pair.clean.size for pair in pairs) / 3
    text = ", ".join(f"{key} {value}" for key, value in setting.items())
    cells = name, fmean(scores), min(gains), sum(g < 0 for g in gains), 1e6 * seconds / pixels, text
    return dict(zip(COLUMNS, cells, strict=True))


def _denoisers():
    """Name -> (function of a pair and a setting, settings), of all that are installed."""
    found = {}
    for method in METHODS:
        found[f"{method}, noise known"] = partial(_ours, method, True), [{}]
        found[f"{method}, noise estimated"] = partial(_ours, method, False), [{}]
    run = partial(_told_rms, partial(peers.non_local_means, patch=5))
    found["scikit-image NLM"] = run, [{"h": h} for h in (0.4, 0.6, 0.8, 1.2, 1.6)]
    if find_spec("cv2"):
        found["OpenCV NLM"] = _opencv, [{"h": h} for h in (3, 5, 7, 10, 14, 20, 28)]
    if cbm3d := peers.bm3d_filter():
        found["CBM3D"] = partial(_told_rms, cbm3d), [{"factor": factor} for factor in (1, 1.5, 2)]
    return found


def _ours(method, known, pair):
    return denoise(pair.noisy, pair.noise if known else None, method=method, channel_axis=-1)


def _opencv(pair, h):
    import cv2

    bgr = pair.noisy[..., ::-1].copy()
    return cv2.fastNlMeansDenoisingColored(bgr, h=h, hColor=h)[..., ::-1]


def _told_rms(function, pair, factor=1, **setting):
    return function(pair.noisy.astype(float), factor * pair.rms, **setting)


def _plot(made, file):
    """One panel for each table: ours filled, peers open."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(made), 4), layout="constrained")
    for axes, table in zip(figure.subplots(1, len(made), squeeze=False)[0], made, strict=True):
        for row in table.rows[1:]:
            at, ours = (row["s per MP"], row["mean dB"]), row[""].startswith(METHODS)
            axes.plot(*at, "o", color="red" if ours else "gray", mfc="red" if ours else "none")
            axes.annotate(row[""], at, (4, 4), textcoords="offset points", fontsize=8)
        axes.set(xscale="log", xlabel="CPU seconds per megapixel", ylabel="dB", title=table.title)
        axes.margins(0.35, 0.1)
    figure.savefig(file, dpi=150)
