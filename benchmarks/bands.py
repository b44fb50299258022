"""Many bands of one scene: spectral cubes beside FastHyDe's recipe, diffusion MRI beside dipy.

Install the peers yourself (PyPI ``bm3d``, for non-commercial use, ``dipy``, ``colour-science``).
Without them the tables have fewer rows, and the diffusion table is left out.
"""

from functools import partial
from importlib.util import find_spec
from statistics import mean

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from benchmarks.noise_scores import cpu, psnr
from benchmarks.peers import bm3d_filter
from benchmarks.timing import Table, add_choice
from nnk_image import NoiseModel, denoise, denoise_bands, estimate_noise, standard_image

MAPS = ("astronaut_grey", "camera", "brick", "chelsea_grey", "coffee_grey", "grass", "gravel")
SIDE = 192


def add_options(group):
    """Command line of these tables."""
    add_choice(group, "--band-tables", TABLES)


def tables(options):
    """The tables that were asked for."""
    for name in options.band_tables:
        yield from TABLES[name](options)


def spectra(kind):
    """Spectra of the maps, one a row: smooth random ones, or reflectances of paint."""
    if kind == "random":
        rng = np.random.default_rng(3)
        rows = [gaussian_filter1d(rng.normal(size=180), rng.uniform(4, 20)) for _ in MAPS]
        return np.array([(r - r.min()) / np.ptp(r) for r in np.array(rows)[:, 40:-40]])
    from colour import SDS_COLOURCHECKERS

    patches = list(SDS_COLOURCHECKERS["ISO 17321-1"].values())
    return np.array([patch.values for patch in patches[1 : 2 * len(MAPS) : 2]])


def cube(kind):
    """Photographs as the abundances of materials with those spectra, from 0 to 255."""
    maps = [standard_image(name)[:SIDE, :SIDE].astype(float) for name in MAPS]
    mixed = np.stack(maps, axis=-1) @ spectra(kind)
    return 255 * (mixed - mixed.min()) / np.ptp(mixed)


def spectral(options):
    """Cubes with noise of one level, or of one per band: dB, and seconds of processor time."""
    for kind in ["random", *(["paint"] if find_spec("colour") else [])]:
        clean = cube(kind)
        columns = {"": "", "sigma": "", "dB": ".2f", "CPU s": ".1f"}
        shape = "x".join(map(str, clean.shape))
        table = Table(f"mixtures of {len(MAPS)} photographs, {kind} spectra, {shape}", columns)
        for sigma in (10, 30, 50, "5 to 50"):
            rng = np.random.default_rng(1)
            n = clean.shape[-1]
            levels = rng.uniform(5, 50, n) if isinstance(sigma, str) else np.full(n, float(sigma))
            noisy = clean + rng.normal(size=clean.shape) * levels
            for who, run in _spectral_contenders(noisy, levels):
                result, seconds = cpu(run)
                row = {"": who, "sigma": str(sigma), "dB": psnr(clean, result), "CPU s": seconds}
                table.rows.append(row)
        yield table


def _spectral_contenders(noisy, levels):
    yield "denoise_bands", partial(denoise_bands, noisy, levels)
    yield "denoise_bands, levels estimated", partial(denoise_bands, noisy)
    yield "denoise_bands, 'best'", partial(denoise_bands, noisy, levels, method="best")
    yield "band by band", partial(_band_by_band, noisy, levels)
    yield "FastHyDe's recipe, 'fast'", partial(fasthyde, noisy, levels, denoise)
    if bm3d_filter():
        yield "FastHyDe's recipe, BM3D", partial(fasthyde, noisy, levels, bm3d_filter())


def _band_by_band(noisy, levels):
    bands = [denoise(noisy[..., b], level) for b, level in enumerate(levels)]
    return np.stack(bands, axis=-1)


def fasthyde(noisy, levels, single, components=10):
    """FastHyDe: eigenvectors of the second moments of whitened spectra, each denoised alone.

    The number of components is the caller's; 10 is above that of HySime, and better on these cubes.
    """
    white = noisy / levels
    pixels = white.reshape(-1, white.shape[-1])
    vectors = np.linalg.eigh(pixels.T @ pixels)[1][:, -components:]
    images = [single(white @ vector, 1.0) for vector in vectors.T]
    return np.stack(images, axis=-1) @ vectors.T * levels


def phantom():
    """Diffusion signals of a head: fibers that turn, rise and cross, gray matter, liquid.

    Returns
    -------
    signals : (24, 40, 40, 66) ndarray
    table : dipy.core.gradients.GradientTable
        6 images without gradient, 60 directions of b = 1000.
    head : (24, 40, 40) bool ndarray
    """
    from dipy.core.gradients import gradient_table
    from dipy.core.sphere import HemiSphere, disperse_charges

    rng = np.random.default_rng(0)
    random = HemiSphere(theta=np.pi * rng.random(60), phi=2 * np.pi * rng.random(60))
    directions = np.vstack([np.zeros((6, 3)), disperse_charges(random, 2000)[0].vertices])
    b = np.r_[np.zeros(6), np.full(60, 1000.0)]
    shape = (24, 40, 40)
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, n) for n in shape], indexing="ij")
    nothing = np.zeros(shape)

    def fibers(axis, along, across):
        axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
        return np.exp(-b * (across + (along - across) * (axis @ directions.T) ** 2))

    isotropic = (directions**2).sum(axis=1)
    signals = 0.8 * np.exp(-b * isotropic * 0.8e-3) + nothing[..., None]
    turning = 0.7 * fibers(np.stack([-x, y + 1e-3, 0.3 * np.sin(3 * x)], -1), 1.6e-3, 0.35e-3)
    rising = 0.7 * fibers(np.stack([0.3 * x, 0.4 * np.sin(3 * z), 1 + nothing], -1), 1.7e-3, 0.3e-3)
    ring, column = abs(np.hypot(y, x) - 0.52) < 0.18, np.hypot(y - 0.45, x) < 0.25
    signals[ring], signals[column] = turning[ring], rising[column]
    signals[ring & column] = (0.5 * (turning + rising))[ring & column]
    liquid = (np.hypot(y / 0.9, (x - 0.12) / 0.5) < 0.22) & (abs(z) < 0.5)
    signals[liquid] = np.exp(-b * isotropic * 3e-3)
    texture = gaussian_filter(rng.normal(size=shape), 1.5)
    signals *= (1 + 0.04 * texture / texture.std())[..., None]
    head = z**2 + y**2 + x**2 < 0.9
    signals[~head] = 0
    return signals, gradient_table(b, bvecs=directions), head


def diffusion(options):
    """Errors inside the head of the signal, of FA and of MD (1e-3 mm^2/s), over SNR."""
    if find_spec("dipy"):
        yield _diffusion_table("Gaussian", (10, 20, 30))
        yield _diffusion_table("Rician", (10, 20, 30))


def _diffusion_table(kind, ratios):
    clean, gradients, head = phantom()
    truth = _tensor(clean, gradients, head)
    errors = {"FA": ".4f", "MD": ".4f"}
    columns = {"": "", "SNR": ".0f", "dB": ".2f", **errors, "anatomy": ".3f", "CPU s": ".1f"}
    table = Table(f"diffusion phantom 24x40x40x66, {kind} noise; RMS errors in the head", columns)
    for snr in ratios:
        real, imaginary = np.random.default_rng(snr).normal(0, 1 / snr, (2, *clean.shape))
        noisy = np.hypot(clean + real, imaginary) if kind == "Rician" else clean + real
        for who, run in _diffusion_contenders(noisy, 1 / snr, gradients, kind):
            result, seconds = cpu(run)
            row = {"": who, "SNR": snr, "dB": psnr(clean[head], result[head], 1), "CPU s": seconds}
            row["anatomy"] = _anatomy(clean, noisy - result, head)
            pairs = zip(errors, truth, _tensor(result, gradients, head), strict=True)
            row |= {name: np.sqrt(np.mean((a - b) ** 2)) for name, a, b in pairs}
            table.rows.append(row)
    for who in dict.fromkeys(row[""] for row in table.rows):
        own = [row for row in table.rows if row[""] == who]
        means = {key: mean(row[key] for row in own) for key in columns if key not in ("", "SNR")}
        table.rows.append({"": f"mean of {who}"} | means)
    table.notes = ("anatomy: mean absolute correlation of residuals and clean images in the head",)
    return table


def _diffusion_contenders(noisy, sigma, gradients, kind):
    yield "noisy", lambda: noisy
    yield "denoise_bands, sigma given", partial(denoise_bands, noisy, sigma)
    yield "denoise_bands", partial(denoise_bands, noisy)
    if kind == "Rician":
        known = NoiseModel(sigma, rician=True)
        yield "denoise_bands, Rician, sigma given", partial(denoise_bands, noisy, known)
        yield "denoise_bands, Rician", lambda: denoise_bands(noisy, _rician(noisy))
    yield "denoise_bands, 'best'", partial(denoise_bands, noisy, method="best")
    yield "volume by volume", partial(_band_by_band, noisy, [sigma] * noisy.shape[-1])
    yield from _dipy(noisy, sigma, gradients.bvals)


def _dipy(noisy, sigma, b):
    from dipy.denoise.localpca import localpca, mppca
    from dipy.denoise.patch2self import patch2self

    yield "mppca", partial(mppca, noisy, patch_radius=2)
    yield "localpca, sigma given", partial(localpca, noisy, sigma=sigma, patch_radius=2)
    options = {"shift_intensity": False, "clip_negative_vals": False, "verbose": False}
    yield "patch2self", partial(patch2self, noisy, b, model="ols", **options)


def _rician(noisy):
    return estimate_noise(noisy, channel_axis=-1, kind="rician")


def _tensor(signals, gradients, head):
    from dipy.reconst.dti import TensorModel

    fit = TensorModel(gradients, min_signal=1e-3).fit(signals[head])
    return fit.fa, 1e3 * fit.md


def _anatomy(clean, residual, head):
    pairs = zip(clean[head].T, residual[head].T, strict=True)
    return mean(abs(np.corrcoef(a, b)[0, 1]) if b.std() > 0 else 0.0 for a, b in pairs)


def held_out(options):
    """A real scan of dipy's: half of the directions, denoised, predict the others as measured.

    The noise of the others is independent of what is done to the first half, and the same for all.
    """
    if not (find_spec("dipy") and find_spec("nibabel")):
        return
    from dipy.core.gradients import gradient_table
    from dipy.data import get_fnames
    from dipy.io.gradients import read_bvals_bvecs
    from dipy.reconst.dti import TensorModel
    from nibabel import load

    image, *files = get_fnames(name="small_64D")
    scan = np.asarray(load(image).dataobj, dtype=float)
    b, directions = read_bvals_bvecs(*files)
    directions = np.nan_to_num(directions)
    without, weighted = np.flatnonzero(b < 50), np.flatnonzero(b >= 50)
    errors = {}
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(weighted)
        given, others = np.r_[without, np.sort(order[:32])], np.sort(order[32:])
        noisy = scan[..., given]
        level = float(np.median(denoise_bands(noisy, return_info=True)[1]["sigma"]))
        contenders = {"as measured": lambda noisy=noisy: noisy}
        contenders["denoise_bands"] = partial(denoise_bands, noisy)
        for who, run in [*contenders.items(), *_dipy(noisy, level, b[given])]:
            result = np.maximum(run(), 1)
            tables = [gradient_table(b[i], bvecs=directions[i]) for i in (given, others)]
            fit = TensorModel(tables[0], min_signal=1).fit(result)
            unweighted = result[..., : len(without)].mean(axis=-1)
            error = fit.predict(tables[1], S0=unweighted) - scan[..., others]
            errors.setdefault(who, []).append(np.sqrt(np.mean(error**2)))
    table = Table(
        f"32 directions of {'x'.join(map(str, scan.shape))} predict 32 others, 6 splits",
        {"": "", "rms error": ".2f", "least gain": ".2f", "most gain": ".2f"},
    )
    for who, found in errors.items():
        gain = np.subtract(errors["as measured"], found)
        row = {"": who, "rms error": mean(found), "least gain": gain.min(), "most gain": gain.max()}
        table.rows.append(row)
    yield table


TABLES = {"spectral": spectral, "diffusion": diffusion, "held_out": held_out}
