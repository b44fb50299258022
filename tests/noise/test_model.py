"""NoiseModel: what it takes, what it says, what it refuses, and what denoise does with it."""

import numpy as np
import pytest

import nnk_image
from nnk_image import NoiseModel, denoise

CLEAN = nnk_image.standard_image("camera")[:96, 100:200].astype(float)
SMOOTH = np.outer([1, 2, 1], [1, 2, 1]) / 6.0


def smooth_noise(shape, seed=0):
    """Noise of variance 1 whose correlation is that of a 3x3 binomial filter."""
    white = np.random.default_rng(seed).normal(size=shape)
    return np.fft.ifft2(np.fft.fft2(white) * np.fft.fft2(SMOOTH, shape)).real


def autocovariance(sigma=1.0):
    row = np.array([1, 4, 6, 4, 1]) / 6
    return sigma**2 * np.outer(row, row)


def mean_square(image, clean=CLEAN):
    return float(np.mean((image - clean) ** 2))


MODELS = [
    NoiseModel(12.0),
    NoiseModel([3.0, 4.0, 5.0]),
    NoiseModel(2.0, gain=1.5, offset=-3.0),
    NoiseModel(9.0, autocovariance=autocovariance()),
    NoiseModel(gain=[1.0, 2.0, 1.0], autocovariance=autocovariance()),
    NoiseModel(levels=np.linspace(1, 9, 20).reshape(4, 5)),
    NoiseModel(curve=[[0, 100, 255], [3, 9, 4]]),
    NoiseModel(autocovariance=autocovariance(7.0), curve=[[0, 255], [1, 2]]),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_json_keeps_all(model, tmp_path):
    assert NoiseModel.from_json(model.to_json()) == model
    model.save(tmp_path / "noise.json")
    assert NoiseModel.load(tmp_path / "noise.json") == model
    assert model != NoiseModel(12.5)


def test_it_says_itself():
    assert repr(NoiseModel(12.0)) == "NoiseModel(sigma=12)"
    assert repr(NoiseModel(2, gain=1.5, offset=7)) == "NoiseModel(sigma=2, gain=1.5, offset=7)"
    assert repr(NoiseModel(gain=1)) == "NoiseModel(gain=1)"
    text = repr(NoiseModel(autocovariance=autocovariance(3.0)))
    assert text == "NoiseModel(sigma=3, correlation=5x5, 0.67 to the right, 0.67 down)"
    assert repr(NoiseModel(levels=[[1.0, 4.0]])) == "NoiseModel(levels=1..4)"
    assert repr(NoiseModel(curve=[[0, 99], [3, 4]])) == "NoiseModel(sigma=3.536, curve=3, 4)"


def test_psd_and_autocovariance_agree():
    shape = 64, 80
    psd = 25 * abs(np.fft.fft2(SMOOTH, shape)) ** 2
    by_psd, by_covariance = NoiseModel(psd=psd), NoiseModel(autocovariance=autocovariance(5.0))
    assert by_psd.sigma == pytest.approx(by_covariance.sigma)
    middle = tuple(slice(n // 2 - 2, n // 2 + 3) for n in by_psd.correlation.shape)
    np.testing.assert_allclose(by_psd.correlation[middle], by_covariance.correlation, atol=1e-12)
    rest = by_psd.correlation.copy()
    rest[middle] = 0
    assert abs(rest).max() < 1e-12


@pytest.mark.parametrize("method", ["fast", "balanced", "best", "sgw", "quick"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_and_models_are_the_same(method, dtype):
    noisy = (CLEAN + np.random.default_rng(3).normal(0, 15, CLEAN.shape)).astype(dtype)
    expected = denoise(noisy, 15, method=method)
    for same in (
        NoiseModel(15),
        np.full(noisy.shape, 15.0),
        NoiseModel(levels=np.full(noisy.shape, 15.0)),
    ):
        np.testing.assert_array_equal(denoise(noisy, same, method=method), expected)
    np.testing.assert_array_equal(denoise(noisy, 10, strength=1.5, method=method), expected)


def test_correlated_noise_needs_its_covariance():
    noisy = CLEAN + 20 * smooth_noise(CLEAN.shape)
    model = NoiseModel(autocovariance=autocovariance(20.0))
    for method in ("fast", "best"):
        known = mean_square(denoise(noisy, model, method=method))
        assert known < 0.62 * mean_square(denoise(noisy, 20, method=method))


def test_levels_that_change_across_the_image():
    levels = np.tile(np.linspace(5, 50, CLEAN.shape[1]), (len(CLEAN), 1))
    noisy = CLEAN + levels * np.random.default_rng(0).normal(size=CLEAN.shape)
    known = mean_square(denoise(noisy, levels))
    assert known < 0.8 * min(mean_square(denoise(noisy, sigma)) for sigma in (20, 25, 30, 35))


def by_brightness(seed=0):
    """An image whose dark parts are noisy, and the curve of its noise."""
    curve = np.array([[0, 60, 255], [30, 30, 4]])
    levels = np.interp(CLEAN, *curve)
    return CLEAN + levels * np.random.default_rng(seed).normal(size=CLEAN.shape), curve


def test_levels_that_change_with_the_brightness():
    noisy, curve = by_brightness()
    known = mean_square(denoise(noisy, NoiseModel(curve=curve)))
    assert known < 0.8 * min(mean_square(denoise(noisy, sigma)) for sigma in (15, 20, 25, 30))
    # Only the shape of the curve counts beside sigma, and strength is on top of both.
    rms = np.sqrt(np.mean(curve[1] ** 2))
    louder = NoiseModel(rms / 2, curve=[curve[0], 7 * curve[1]])
    again = denoise(noisy, louder, strength=2)
    np.testing.assert_allclose(again, denoise(noisy, NoiseModel(curve=curve)), atol=1e-9)


def test_a_level_curve_is_one_number():
    noisy, _ = by_brightness()
    level = denoise(noisy, NoiseModel(curve=[[0, 255], [20, 20]]))
    np.testing.assert_array_equal(level, denoise(noisy, 20))


@pytest.mark.parametrize("method", ["quick", "sgw"])
def test_methods_of_one_level_take_the_mean_of_a_curve(method):
    noisy, curve = by_brightness()
    sigma = NoiseModel(curve=curve).sigma
    told = denoise(noisy, NoiseModel(curve=curve), method=method)
    np.testing.assert_array_equal(told, denoise(noisy, sigma, method=method))


def test_absent_pixels_do_not_enter_the_brightness():
    noisy, curve = by_brightness()
    mask = np.ones(CLEAN.shape, bool)
    mask[20:25, 30:60] = False
    with_nan = np.where(mask, noisy, np.nan)
    results = [denoise(z, NoiseModel(curve=curve), mask=mask) for z in (noisy, with_nan)]
    np.testing.assert_array_equal(results[0][mask], results[1][mask])


def test_brightness_of_the_largest_numbers():
    """The sum of the channels, and that of all pixels, would be infinite."""
    noisy, curve = by_brightness()
    colour, factor = np.stack([noisy, noisy + 1, noisy + 2], axis=-1), 2.0**1015
    mask = np.ones(CLEAN.shape, bool)
    mask[20:25, 30:60] = False
    small, large = (
        denoise(
            scale * colour, NoiseModel(curve=scale * np.array(curve)), channel_axis=-1, mask=mask
        )
        for scale in (1.0, factor)
    )
    np.testing.assert_allclose(large / factor, small, rtol=1e-9)


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000])
def test_levels_of_any_size(scale):
    levels = np.linspace(5, 30, CLEAN.size).reshape(CLEAN.shape)
    noisy = CLEAN + levels * np.random.default_rng(0).normal(size=CLEAN.shape)
    expected = denoise(noisy, levels)
    np.testing.assert_array_equal(denoise(scale * noisy, scale * levels) / scale, expected)


@pytest.mark.parametrize(("gain", "read"), [(1, 5), (12, 12)])
def test_photon_noise(gain, read):
    rng = np.random.default_rng(0)
    noisy = gain * rng.poisson(CLEAN / gain) + rng.normal(0, read, CLEAN.shape)
    result = denoise(noisy, NoiseModel(read, gain=gain))
    best = min(mean_square(denoise(noisy, sigma)) for sigma in (10, 15, 20, 30, 45))
    assert mean_square(result) < 0.93 * best
    assert result.mean() == pytest.approx(noisy.mean(), rel=1e-9)
    shifted = denoise(noisy * 2 + 50, NoiseModel(2 * read, gain=2 * gain, offset=50))
    np.testing.assert_allclose(shifted, 2 * result + 50, atol=1e-6)


@pytest.mark.parametrize("method", ["fast", "balanced", "best", "quick", "sgw"])
@pytest.mark.parametrize("model", ["photons", "correlated", "levels", "curve"])
def test_threads_do_not_matter(method, model):
    image = CLEAN[:40, :50] + smooth_noise((40, 50))
    noise = {
        "photons": NoiseModel(2, gain=3.0),
        "correlated": NoiseModel(autocovariance=autocovariance(12.0)),
        "levels": NoiseModel(levels=np.linspace(5, 30, 2000).reshape(40, 50)),
        "curve": NoiseModel(curve=[[0, 200], [5, 30]]),
    }[model]
    if noise.is_uneven and method in ("quick", "sgw"):
        with pytest.raises(ValueError, match=f"method='{method}' takes noise of one level"):
            denoise(image, noise, method=method)
        return
    results = [denoise(image, noise, method=method, n_jobs=n) for n in (1, 2, 3)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("method", ["fast", "balanced", "best", "quick", "sgw"])
@pytest.mark.parametrize("counts", [0.5, 3, 30])
@pytest.mark.parametrize("channels", [1, 3])
def test_progress_of_rounds_neither_ends_early_nor_goes_on(method, counts, channels):
    """Whatever the number of rounds, most of the total is counted before the last report."""
    light = np.stack([CLEAN[:45, :51], CLEAN[40:85, :51], CLEAN[:45, 30:81]], axis=-1)[
        ..., :channels
    ]
    seen = np.random.default_rng(0).poisson(light * counts / light.mean()).astype(float)
    calls = []
    denoise(
        seen,
        NoiseModel(0.1, gain=1.0, rows=0.3),
        method=method,
        channel_axis=-1,
        progress=lambda done, total: calls.append((done, total)),
    )
    done, totals = zip(*calls, strict=True)
    assert len(set(totals)) == 1
    assert list(done) == sorted(set(done))
    assert 0.6 * totals[0] < done[-2] < done[-1] == totals[0]


@pytest.mark.parametrize(
    ("sigma", "options"),
    [([2, 20, 20], {}), ([0, 20, 0], {}), (20, {"method": "sgw", "tune": "sure"})],
)
def test_progress_of_channels_one_by_one_and_of_tuning(sigma, options):
    colour = np.stack([CLEAN, CLEAN[::-1], CLEAN[:, ::-1]], axis=-1)[:45, :51]
    calls = []
    report = {"progress": lambda done, total: calls.append((done, total))}
    denoise(colour, sigma, channel_axis=-1, **options, **report)
    done, totals = zip(*calls, strict=True)
    assert len(set(totals)) == 1
    assert 0.8 * totals[0] < done[-2] < done[-1] == totals[0]


def test_colour_with_a_mask():
    colour = np.stack([CLEAN, CLEAN[::-1], CLEAN[:, ::-1]], axis=-1)
    mask = np.ones(CLEAN.shape, bool)
    mask[10:14, 20:30] = False
    colour[~mask] = np.nan
    among = 100 * np.array([[1, 0.4, 0.4], [0.4, 1, 0.4], [0.4, 0.4, 1]])
    covariance = among[..., None, None] * autocovariance()
    for noise in (NoiseModel(autocovariance=covariance), NoiseModel(3.0, gain=[1, 2, 3])):
        result = denoise(colour, noise, channel_axis=-1, mask=mask)
        assert np.isnan(result[~mask]).all()
        assert np.isfinite(result[mask]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NoiseModel(-1), "sigma=-1 must be"),
        (lambda: NoiseModel(gain=-0.5), "gain=-0.5 must be"),
        (lambda: NoiseModel(gain=np.nan), "gain=nan must be"),
        (lambda: NoiseModel(offset=np.inf), "offset=inf must be a finite number"),
        (lambda: NoiseModel([]), "sigma has no value"),
        (lambda: NoiseModel(psd=np.ones(5)), "psd has shape"),
        (lambda: NoiseModel(psd=-np.ones((5, 5))), "nowhere negative, its smallest value is -1"),
        (lambda: NoiseModel(psd=np.full((5, 5), np.nan)), "psd must be finite"),
        (lambda: NoiseModel(psd=np.ones((5, 5)), autocovariance=np.ones((1, 1))), "not both"),
        (lambda: NoiseModel(autocovariance=np.ones((2, 3))), "odd height and width"),
        (lambda: NoiseModel(autocovariance=np.zeros((3, 3))), "its middle, the variance, above 0"),
        (lambda: NoiseModel(autocovariance=np.arange(9).reshape(3, 3)), "and its opposite"),
        (lambda: NoiseModel(autocovariance=np.ones((2, 3, 3, 3))), "not of each channel with each"),
        (lambda: NoiseModel(levels=[[1.0, 0.0]]), "1 of 2 levels are not above 0.*row 0, column 1"),
        (lambda: NoiseModel(levels=[[1.0, np.nan]]), r"column 1 \(nan\)"),
        (lambda: NoiseModel(levels=np.ones(4)), "levels have shape"),
        (lambda: NoiseModel(3, levels=np.ones((2, 2))), "leave out sigma and gain"),
        (lambda: NoiseModel(curve=[1, 2, 3]), r"curve has shape \(3,\): give \(2, n\)"),
        (lambda: NoiseModel(curve=[[2, 1], [3, 3]]), "intensities that rise"),
        (lambda: NoiseModel(curve=[[1, 2], [3, 0]]), "standard deviations above 0"),
        (lambda: NoiseModel(gain=1, curve=[[1, 2], [3, 3]]), "leave out levels and gain"),
        (lambda: NoiseModel.from_json("[1"), "not JSON"),
        (lambda: NoiseModel.from_json("{}"), "no noise model"),
        (lambda: NoiseModel.from_json('{"noise_model": 1, "sigmas": 3}'), "unknown entries"),
        (lambda: denoise(CLEAN, np.ones((5, 5))), r"sigma has shape \(5, 5\)"),
        (lambda: denoise(CLEAN, np.ones((*CLEAN.shape, 1))), "one map of levels for all channels"),
        (lambda: denoise(CLEAN, NoiseModel([1, 2])), "sigma has 2 values, the image 1 channels"),
        (lambda: denoise(CLEAN, NoiseModel(gain=[1, 2])), "gain has 2 values"),
        (lambda: denoise(CLEAN, NoiseModel(levels=np.ones((3, 3)))), r"levels have shape \(3, 3\)"),
        (lambda: denoise(CLEAN, 5, strength=0), "strength=0 must be"),
    ],
)  # fmt: skip
def test_errors_teach(make, message):
    with pytest.raises(ValueError, match=message):
        make()
