"""Figure 3.5: PSNR and SSIM of denoised images as functions of the noise level."""

from itertools import product
from statistics import fmean

import numpy as np

from benchmarks.papers.claims import Claim, between, verdict_of
from benchmarks.papers.contenders import contenders
from benchmarks.papers.shared import column, distinct, select
from benchmarks.scores import psnr, ssim
from nnk_image.plotting.figures import new_figure

TITLE = "Denoising"
SOURCE = "Thesis, Figure 3.5"
SIGMAS = (10, 15, 20, 25, 30)
CAPTION = (
    "White Gaussian noise, one realization per image and sigma, on values from 0 to 255; results "
    "are not clipped. Top: the published methods, with mean over the images and quartiles. Window "
    "11, sigma_d = 2, sigma_f = 1.7 sigma; wavelets keep 3 of 7 bands, combinatorial Laplacian, "
    "order 30. Dashed: the same methods with the best of the settings tried, by mean PSNR on the "
    "same images. Bottom: difference of every method from the wavelets on the NNK graph as "
    "published; methods of other libraries have the best of the settings tried. In the settings, "
    "color and width are sigma_f / sigma, spatial is sigma_d, kept is the number of bands, and h "
    "and weight are in units of sigma."
)

PUBLISHED = ("bilateral", "sgw_bilateral", "sgw_nnk", "bm3d")
TUNED = ("bilateral", "sgw_bilateral", "sgw_nnk", "nlm", "wavelet", "tv")
"""Methods with several settings, of which the best one is chosen."""

REFERENCE = "sgw_nnk"
"""Method with which all others are compared."""

_COLORS = {
    "bilateral": "tab:green",
    "sgw_bilateral": "tab:blue",
    "sgw_nnk": "tab:red",
    "bm3d": "black",
    "nlm": "tab:brown",
    "wavelet": "tab:cyan",
    "tv": "tab:olive",
    "denoise_sgw": "tab:pink",
}
"""Colors of methods; all others have the next color of matplotlib."""


def measure(picture, setup):
    """Return PSNR and SSIM of every contender at each noise level and setting."""
    clean = 255 * picture.values
    noise = np.random.default_rng([setup.seed, picture.seed]).standard_normal(clean.shape)
    rows = []
    for sigma, (name, (label, run, settings)) in product(SIGMAS, contenders().items()):
        for setting in settings:
            result = run(clean + sigma * noise, sigma, **setting)
            text = ", ".join(f"{key} {value}" for key, value in setting.items())
            row = {"sigma": sigma, "method": name, "label": label, "setting": text}
            rows.append(row | {"psnr": psnr(clean, result), "ssim": ssim(clean, result)})
    return rows


def _series(rows, method, tuned=False):
    """Return lists of rows by sigma, one row per image, with the first or the best setting."""
    series = {}
    for sigma in SIGMAS:
        here = select(rows, method=method, sigma=sigma)
        settings = distinct(here, "setting")
        setting = settings[0]
        if tuned:
            setting = max(settings, key=lambda s: column(here, "psnr", setting=s).mean())
        series[sigma] = select(here, setting=setting)
    return series


def _scores(series, name):
    """Return one score of a series as a (sigmas, images) array."""
    return np.array([[row[name] for row in series[sigma]] for sigma in SIGMAS])


def _shown(rows):
    """Yield (method, tuned) for each row of the table."""
    for method in distinct(rows, "method"):
        if method not in TUNED or method in PUBLISHED:
            yield method, False
        if method in TUNED:
            yield method, True


def _label(rows, method, tuned):
    label = select(rows, method=method)[0]["label"]
    return f"{label}, best setting" if tuned and method in PUBLISHED else label


def summary(rows):
    """Return mean PSNR (dB) and SSIM of each method by sigma, and its settings."""
    table = []
    for method, tuned in _shown(rows):
        series = _series(rows, method, tuned)
        row = {"method": _label(rows, method, tuned)}
        for sigma in SIGMAS:
            means = (fmean(r[name] for r in series[sigma]) for name in ("psnr", "ssim"))
            row[f"sigma {sigma}"] = "{:.2f} / {:.3f}".format(*means)
        row["setting"] = "; ".join(dict.fromkeys(series[s][0]["setting"] for s in SIGMAS))
        table.append(row)
    return table


def draw(rows, setup):
    """Draw PSNR (left) and SSIM (right): published methods on top, all methods below."""
    figure = new_figure(figsize=(13, 10))
    axes = figure.subplots(2, 2, sharex=True)
    measured = distinct(rows, "method")
    for ax_column, name in zip(axes.T, ("psnr", "ssim"), strict=True):
        for method in (m for m in PUBLISHED if m in measured):
            _draw_published(ax_column[0], rows, method, name)
        reference = _scores(_series(rows, REFERENCE), name).mean(axis=1)
        for method in measured:
            _draw_gain(ax_column[1], rows, method, name, reference)
        ax_column[1].axhline(0, color="black", lw=0.8)
        ax_column[1].set(xlabel="noise sigma", xticks=SIGMAS)
        for ax in ax_column:
            ax.grid(alpha=0.3)
    for ax, label in zip(
        axes.flat,
        ("PSNR, dB", "SSIM", "PSNR gain over SGW on the NNK graph, dB", "SSIM gain"),
        strict=True,
    ):
        ax.set_ylabel(label)
    axes[0, 1].legend(loc="lower left", fontsize=9, title="dashed: best setting")
    figure.legend(*axes[1, 1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_published(ax, rows, method, name):
    values = _scores(_series(rows, method), name)
    middle = values.mean(axis=1)
    low, high = np.quantile(values, (0.25, 0.75), axis=1)
    # Methods are shifted, so that their quartiles do not overlap.
    x = np.array(SIGMAS) + 0.5 * (PUBLISHED.index(method) - 1.5)
    errors = [np.maximum(middle - low, 0), np.maximum(high - middle, 0)]
    label, color = _label(rows, method, False), _COLORS[method]
    ax.errorbar(x, middle, errors, color=color, marker="o", ms=4, capsize=3, label=label)
    if method in TUNED:
        best = _scores(_series(rows, method, tuned=True), name).mean(axis=1)
        ax.plot(x, best, color=color, ls="--", lw=1)


def _draw_gain(ax, rows, method, name, reference):
    tuned = method in TUNED
    gain = _scores(_series(rows, method, tuned), name).mean(axis=1) - reference
    style = "--" if tuned and method in PUBLISHED else "-"
    label = _label(rows, method, tuned)
    ax.plot(SIGMAS, gain, color=_COLORS.get(method), marker=".", ls=style, label=label)


def claims(rows):
    """Check the conclusions of the thesis."""
    found = [_claim_of_graphs(rows), _claim_of_original(rows), _claim_of_worse(rows)]
    if "bm3d" in distinct(rows, "method"):
        found.append(_claim_of_bm3d(rows))
    return found


def _difference(rows, name, method, other, tuned=False):
    """Return the mean over images of the difference of two methods, by sigma."""
    ours, theirs = (_scores(_series(rows, m, tuned), name) for m in (method, other))
    return (ours - theirs).mean(axis=1)


def _differences(rows, method, other):
    """Return differences of PSNR and SSIM with published settings, then with the best ones."""
    return [
        _difference(rows, score, method, other, tuned)
        for tuned in (False, True)
        for score in ("psnr", "ssim")
    ]


def _claim_of_graphs(rows):
    psnr, ssim, best, best_ssim = _differences(rows, "sgw_nnk", "sgw_bilateral")
    return Claim(
        SOURCE,
        "NNK graphs significantly improve over the bilateral graph in SSIM and PSNR.",
        f"With 3 bands: {between(psnr, '+.2f')} dB and {between(ssim, '+.3f')} SSIM (means at the "
        f"five sigmas). With the best setting of each: {between(best, '+.2f')} dB and "
        f"{between(best_ssim, '+.3f')}.",
        verdict_of(*psnr > 0, *ssim > 0, *best > 0, *best_ssim > 0),
        "Much of the gain is due to the number of bands: 3 are too few on the bilateral graph, for "
        "which 4 bands and the random-walk Laplacian are better. The best settings are those of "
        "the settings tried.",
    )


def _claim_of_original(rows):
    psnr, ssim, best, best_ssim = _differences(rows, "sgw_nnk", "bilateral")
    return Claim(
        SOURCE,
        "SGW on the NNK graph improves the SSIM of the output while matching the PSNR of the "
        "original bilateral filter.",
        f"Compared with the bilateral filter with the same sigma_f: {between(psnr, '+.2f')} dB and "
        f"{between(ssim, '+.3f')} SSIM. With the best setting of each: {between(best, '+.2f')} dB "
        f"and {between(best_ssim, '+.3f')}.",
        verdict_of(*ssim > 0, *best_ssim > 0, *psnr > -0.1, *best > -0.1),
        "Here, matching means at most 0.1 dB below, at each sigma.",
    )


def _claim_of_worse(rows):
    psnr, ssim, best, _ = _differences(rows, "sgw_bilateral", "bilateral")
    return Claim(
        SOURCE,
        "Performance worsens when SGW is used with the bilateral graph, through blur.",
        "Compared with the original bilateral filter with the same sigma_f: "
        f"{between(psnr, '+.2f')} dB and {between(ssim, '+.3f')} SSIM with 3 bands. With the best "
        f"setting of each: {between(best, '+.2f')} dB.",
        verdict_of(*psnr < 0, *best < 0),
        "With 3 bands, the dense graph averages over too large a region. With 4 bands, it does "
        "not.",
    )


def _claim_of_bm3d(rows):
    ssim = _difference(rows, "ssim", "sgw_nnk", "bm3d")
    psnr = _difference(rows, "psnr", "sgw_nnk", "bm3d")
    return Claim(
        SOURCE,
        "The graph method achieves SSIM comparable to BM3D's.",
        f"{between(ssim, '+.3f')} SSIM and {between(psnr, '+.2f')} dB compared with BM3D.",
        verdict_of(*ssim > -0.02),
        "Here, comparable means at most 0.02 below, at each sigma.",
    )
