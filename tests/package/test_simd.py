"""Every SIMD variant gives the same bits, and computes an accurate exponential."""

import numpy as np
import pytest
from child import PRINT_THE_CHAIN, python, run
from graph_checks import assert_equal, each_variant
from hypothesis import given, settings
from hypothesis import strategies as st
from random_images import masked_images, options, sigmas_d, sigmas_f

from nnk_image import _core, bilateral_graph, image_graph

VARIANTS = _core.simd_variants()
ODD_WIDTHS = [(1, 3), (7, 10), (15, 18), (31, 34), (63, 66), (127, 130)]


# --- same bits ---------------------------------------------------------------------------


@pytest.mark.parametrize("widths", ODD_WIDTHS, ids=str)
@settings(max_examples=30)
@given(
    data=st.data(),
    window=st.sampled_from([3, 5, 7, 9, 11, 13, 15, 21, 33]),
    sigma_d=sigmas_d,
    sigma_f=sigmas_f,
)
def test_variants_give_the_same_bits(widths, data, window, sigma_d, sigma_f):
    image, mask = data.draw(masked_images(heights=(1, 9), widths=widths))
    given = options(image, window=window, sigma_d=sigma_d, sigma_f=sigma_f, mask=mask)

    def graphs():
        return (
            image_graph(image, **given),
            image_graph(image, **given, directed=True),
            bilateral_graph(image, **given),
        )

    first, *others = [graphs() for _ in each_variant()]
    for other in others:
        for graph, expected in zip(other, first, strict=True):
            assert_equal(graph.adjacency, expected.adjacency)


# --- the exponential ---------------------------------------------------------------------


def pair_weights(differences, dtype, two_sigma2, sigma_d=1e9):
    """Return the weights of pixel pairs with these differences and a spatial kernel of 1."""
    image = np.zeros((2, len(differences)), dtype)
    image[1] = differences
    graph = bilateral_graph(image, 3, sigma_d, float(np.sqrt(two_sigma2 / 2)))
    nodes = np.arange(len(differences))
    return np.asarray(graph.adjacency[nodes, nodes + len(nodes)]).ravel()


@pytest.mark.parametrize(("dtype", "largest"), [(np.float64, 708), (np.float32, 87)])
def test_exponential_is_accurate(dtype, largest, simd):
    rng = np.random.default_rng(6)
    exponents = np.concatenate([np.geomspace(1e-20, largest, 3000), rng.random(9000) * largest])
    # 2 sigma_f^2 = 8 is exact: the exponent is the rounded square over 8.
    differences = np.sqrt(exponents * 8).astype(dtype)
    weights = pair_weights(differences, dtype, 8)
    exact = np.exp(-(differences * differences / 8).astype(np.longdouble))
    # In units in the last place; exponential, spatial kernel and product each add an error.
    error = abs(weights - exact) / np.spacing(exact.astype(dtype))
    assert error.max() <= 3
    assert error.mean() < 0.5


def test_exponential_decreases_monotonically(simd):
    differences = np.linspace(0, 37, 20000)
    assert (np.diff(pair_weights(differences, np.float64, 2.0)) <= 0).all()


# --- choice of a variant -----------------------------------------------------------------


def test_use_simd_selects_a_variant(simd):
    assert _core.simd_variant() == simd
    assert VARIANTS[0] == "generic"  # everywhere
    with pytest.raises(ValueError, match=r"'sse9'.*choose one of generic"):
        _core.use_simd("sse9")
    assert _core.simd_variant() == simd
    _core.use_simd()
    assert _core.simd_variant() == VARIANTS[-1]


@pytest.mark.parametrize("name", [*VARIANTS, ""])
def test_the_environment_selects_the_variant_and_keeps_the_bits(name, expected):
    script = f"from nnk_image import _core; print(_core.simd_variant()); {PRINT_THE_CHAIN}"
    assert python(script, NNK_IMAGE_SIMD=name) == [name or VARIANTS[-1], expected, expected]


@pytest.mark.parametrize("name", ["sse9", "AVX2", "generic ", "neon9"])
def test_unknown_variant_in_the_environment_is_refused(name):
    done = run("import nnk_image; nnk_image.image_graph", NNK_IMAGE_SIMD=name)
    assert done.returncode == 1
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith(("ValueError: ", "ImportError: "))
    assert f"NNK_IMAGE_SIMD={name!r}" in last_line
    assert f"choose one of {', '.join(VARIANTS)}" in last_line
