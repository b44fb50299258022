"""Many bands of one scene: spectral cubes compared with FastHyDe, diffusion MRI with dipy.

Install the peers yourself (PyPI ``bm3d``, for non-commercial use, ``dipy``, ``colour-science``).
Without them the tables have fewer rows, and the diffusion table is left out.
"""

from functools import partial
from importlib.util import find_spec
from statistics import mean

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from benchmarks.machine import timed_call
from benchmarks.noises import rician, white
from benchmarks.peers import bm3d_filter
from benchmarks.scores import group_means, psnr
from benchmarks.timing import Table, add_choice
from nnk_image import NoiseModel, denoise, denoise_bands, estimate_noise, standard_image

MAPS = ("astronaut_grey", "camera", "brick", "chelsea_grey", "coffee_grey", "grass", "gravel")
"""Bundled images that serve as abundances of materials."""

SIDE = 192
"""Height and width of the spectral cubes."""


def add_options(group):
    """Add the options of these tables to an argparse group."""
    add_choice(group, "--band-tables", TABLES)


def tables(options):
    """Yield the tables selected by --band-tables."""
    for name in options.band_tables:
        yield from TABLES[name](options)


def spectra(kind):
    """Return the spectra of the materials, one per row: smooth random ones, or those of paint."""
    if kind == "random":
        rng = np.random.default_rng(3)
        rows = [gaussian_filter1d(rng.normal(size=180), rng.uniform(4, 20)) for _ in MAPS]
        return np.array([(r - r.min()) / np.ptp(r) for r in np.array(rows)[:, 40:-40]])
    from colour import SDS_COLOURCHECKERS

    patches = list(SDS_COLOURCHECKERS["ISO 17321-1"].values())
    return np.array([patch.values for patch in patches[1 : 2 * len(MAPS) : 2]])


def cube(kind):
    """Return an (H, W, B) spectral cube from 0 to 255, with photographs as abundances."""
    maps = [standard_image(name)[:SIDE, :SIDE].astype(float) for name in MAPS]
    mixed = np.stack(maps, axis=-1) @ spectra(kind)
    return 255 * (mixed - mixed.min()) / np.ptp(mixed)


def spectral(options):
    """Yield a table per kind of spectra, with noise of one level and of one level per band."""
    for kind in ["random", *(["paint"] if find_spec("colour") else [])]:
        clean = cube(kind)
        columns = {"": "", "sigma": "", "dB": ".2f", "CPU s": ".1f"}
        shape = "x".join(map(str, clean.shape))
        table = Table(f"Mixtures of {len(MAPS)} photographs, {kind} spectra, {shape}", columns)
        for sigma in (10, 30, 50, "5 to 50"):
            rng = np.random.default_rng(1)
            n = clean.shape[-1]
            levels = rng.uniform(5, 50, n) if isinstance(sigma, str) else np.full(n, float(sigma))
            noisy = clean + rng.normal(size=clean.shape) * levels
            for who, run in _spectral_contenders(noisy, levels):
                result, seconds = timed_call(run)
                row = {"": who, "sigma": str(sigma), "dB": psnr(clean, result), "CPU s": seconds}
                table.rows.append(row)
        yield table


def _spectral_contenders(noisy, levels):
    """Yield (name, function) of all denoisers of a spectral cube."""
    yield "denoise_bands", partial(denoise_bands, noisy, levels)
    yield "denoise_bands, levels estimated", partial(denoise_bands, noisy)
    yield "denoise_bands, 'best'", partial(denoise_bands, noisy, levels, method="best")
    yield "band by band", partial(_band_by_band, noisy, levels)
    yield "FastHyDe's recipe, 'fast'", partial(fasthyde, noisy, levels, denoise)
    if bm3d_filter():
        yield "FastHyDe's recipe, BM3D", partial(fasthyde, noisy, levels, bm3d_filter())


def _band_by_band(noisy, levels):
    """Denoise each band alone."""
    bands = [denoise(noisy[..., b], level) for b, level in enumerate(levels)]
    return np.stack(bands, axis=-1)


def fasthyde(noisy, levels, single, components=10):
    """Denoise as FastHyDe does, with the function `single` for each component.

    The components are the projections of whitened spectra on eigenvectors of their second moments.
    By default there are 10, more than HySime would choose, which is better on these cubes.
    """
    white = noisy / levels
    pixels = white.reshape(-1, white.shape[-1])
    vectors = np.linalg.eigh(pixels.T @ pixels)[1][:, -components:]
    images = [single(white @ vector, 1.0) for vector in vectors.T]
    return np.stack(images, axis=-1) @ vectors.T * levels


def phantom():
    """Simulate diffusion MRI of a head: fibers that turn, rise and cross, gray matter, and liquid.

    Returns
    -------
    signals : (24, 40, 40, 66) ndarray
        Signals without noise, up to about 1.
    table : dipy.core.gradients.GradientTable
        Gradients of the last axis: 6 images without gradient, 60 directions with b = 1000.
    head : (24, 40, 40) bool ndarray
        True inside the head.
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
    """Yield the tables of diffusion MRI with Gaussian and with Rician noise."""
    if find_spec("dipy"):
        yield _diffusion_table("Gaussian", (10, 20, 30))
        yield _diffusion_table("Rician", (10, 20, 30))


def _diffusion_table(kind, ratios):
    """Return the table of one kind of noise, at several signal-to-noise ratios."""
    clean, gradients, head = phantom()
    truth = _tensor(clean, gradients, head)
    errors = {"FA": ".4f", "MD": ".4f"}
    columns = {"": "", "SNR": ".0f", "dB": ".2f", **errors, "anatomy": ".3f", "CPU s": ".1f"}
    table = Table(
        f"Diffusion phantom 24x40x40x66, {kind} noise: PSNR, rms errors of FA and MD in the head",
        columns,
    )
    for snr in ratios:
        noisy = (rician if kind == "Rician" else white)(clean, 1 / snr, snr)
        for who, run in _diffusion_contenders(noisy, 1 / snr, gradients, kind):
            result, seconds = timed_call(run)
            row = {"": who, "SNR": snr, "dB": psnr(clean[head], result[head], 1), "CPU s": seconds}
            row["anatomy"] = _anatomy(clean, noisy - result, head)
            measures = zip(errors, truth, _tensor(result, gradients, head), strict=True)
            row |= {name: np.sqrt(np.mean((a - b) ** 2)) for name, a, b in measures}
            table.rows.append(row)
    means = group_means(table.rows, ("",), [key for key in columns if key not in ("", "SNR")])
    table.rows += [row | {"": f"mean of {row['']}"} for row in means]
    table.notes = (
        "SNR: 1 / noise level. MD: in 0.001 mm^2/s. anatomy: mean absolute correlation of the",
        "residuals with the clean images.",
    )
    return table


def _diffusion_contenders(noisy, sigma, gradients, kind):
    """Yield (name, function) of all denoisers of diffusion MRI."""
    yield "noisy", lambda: noisy
    yield "denoise_bands, sigma given", partial(denoise_bands, noisy, sigma)
    yield "denoise_bands", partial(denoise_bands, noisy)
    if kind == "Rician":
        known = NoiseModel(sigma, rician=True)
        yield "denoise_bands, Rician, sigma given", partial(denoise_bands, noisy, known)
        yield "denoise_bands, Rician", lambda: denoise_bands(noisy, _estimated_rician(noisy))
    yield "denoise_bands, 'best'", partial(denoise_bands, noisy, method="best")
    yield "volume by volume", partial(_band_by_band, noisy, [sigma] * noisy.shape[-1])
    yield from _dipy(noisy, sigma, gradients.bvals)


def _dipy(noisy, sigma, b):
    """Yield (name, function) of dipy's denoisers, given the b-values."""
    from dipy.denoise.localpca import localpca, mppca
    from dipy.denoise.patch2self import patch2self

    yield "mppca", partial(mppca, noisy, patch_radius=2)
    yield "localpca, sigma given", partial(localpca, noisy, sigma=sigma, patch_radius=2)
    options = {"shift_intensity": False, "clip_negative_vals": False, "verbose": False}
    yield "patch2self", partial(patch2self, noisy, b, model="ols", **options)


def _estimated_rician(noisy):
    """Return the estimated model of Rician noise of all volumes."""
    return estimate_noise(noisy, channel_axis=-1, kind="rician")


def _tensor(signals, gradients, head):
    """Return fractional anisotropy and mean diffusivity (0.001 mm^2/s) inside the head."""
    from dipy.reconst.dti import TensorModel

    fit = TensorModel(gradients, min_signal=1e-3).fit(signals[head])
    return fit.fa, 1e3 * fit.md


def _anatomy(clean, residual, head):
    """Return the mean absolute correlation of residuals with clean images inside the head."""
    pairs = zip(clean[head].T, residual[head].T, strict=True)
    return mean(abs(np.corrcoef(a, b)[0, 1]) if b.std() > 0 else 0.0 for a, b in pairs)


def held_out(options):
    """Yield the table of a real scan, of which one half predicts the other half.

    Half of the directions of a scan of dipy are denoised, and a tensor fitted to them predicts the
    other half, which is left as measured. Its noise is independent, and the same for all methods.
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
        f"Scan of {'x'.join(map(str, scan.shape))}: 32 directions predict 32 others, 6 splits",
        {"": "", "rms error": ".2f", "least gain": ".2f", "most gain": ".2f"},
    )
    for who, found in errors.items():
        gain = np.subtract(errors["as measured"], found)
        row = {"": who, "rms error": mean(found), "least gain": gain.min(), "most gain": gain.max()}
        table.rows.append(row)
    yield table


TABLES = {"spectral": spectral, "diffusion": diffusion, "held_out": held_out}
