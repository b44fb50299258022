"""The napari plugin: layers that it denoises, and its manifest."""

import importlib
import re
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nnk_image
from nnk_image import denoise
from nnk_image.napari import denoised_layer

RNG = np.random.default_rng(9)
OPTIONS = {"sigma": 10.0, "method": "fast", "strength": 1.0, "planes": False}


def layer_of(data, rgb=False, **attributes):
    """Return an object with the attributes of an image layer that the plugin uses."""
    axes = data.ndim - rgb
    given = {
        "name": "mine",
        "multiscale": False,
        "scale": np.ones(axes),
        "translate": np.zeros(axes),
        "rotate": np.eye(axes),
        "shear": np.zeros(axes * (axes - 1) // 2),
        "affine": SimpleNamespace(affine_matrix=np.eye(axes + 1)),
    }
    given |= {"colormap": "green", "contrast_limits": [0, 300]} | attributes
    return SimpleNamespace(data=data, rgb=rgb, ndim=axes, **given)


@pytest.mark.parametrize("rgb", [False, True])
def test_the_result_keeps_position_and_appearance_of_the_layer(rgb):
    turned = {"rotate": np.array([[0, -1], [1, 0]]), "shear": [0.5]}
    affine = SimpleNamespace(affine_matrix=2 * np.eye(3))
    pixels = RNG.integers(0, 256, (40, 44, 3) if rgb else (40, 44), np.uint8)
    layer = layer_of(pixels, rgb, **turned, affine=affine, scale=np.array([2, 2]))
    _, attributes, kind = denoised_layer(layer, **OPTIONS)
    assert kind == "image"
    assert attributes["name"] == "mine denoised"
    assert {name: attributes[name] for name in turned} == turned
    assert attributes["affine"] is affine.affine_matrix
    assert attributes["scale"].tolist() == [2, 2]
    assert attributes.get("colormap") == (None if rgb else "green")
    assert bool(attributes.get("rgb")) == rgb


def denoised(data, rgb=False, scale=None, **options):
    """Return the pixels that the plugin makes of a layer."""
    attributes = {} if scale is None else {"scale": np.array(scale)}
    return denoised_layer(layer_of(data, rgb, **attributes), **OPTIONS | options)[0]


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize(
    ("frames", "planes", "spacing"),
    [((), False, None), ((3,), False, (2, 1, 1)), ((3,), True, None)],
)
def test_color_layers_stay_uint8_and_keep_their_transparency(channels, frames, planes, spacing):
    colors = RNG.integers(0, 256, (*frames, 40, 44, channels), np.uint8)
    scale = [2.0, 1.0, 1.0][-len(frames) - 2 :]
    found = denoised(colors, True, scale, planes=planes)
    assert found.dtype == np.uint8
    parts = colors[..., :3] if planes else [colors[..., :3]]
    expected = [denoise(part, 10, channel_axis=-1, spacing=spacing) for part in parts]
    expected = np.reshape(expected, (*colors.shape[:-1], 3))
    np.testing.assert_array_equal(found[..., :3], np.rint(expected).clip(0, 255))
    np.testing.assert_array_equal(found[..., 3:], colors[..., 3:])


def test_a_stack_as_a_volume_or_plane_by_plane():
    stack, scale = RNG.normal(100, 10, (6, 40, 44)), [-3.0, 1.5, 1.5]  # napari flips negative axes
    volume, planes = denoised(stack, scale=scale), denoised(stack, scale=scale, planes=True)
    np.testing.assert_array_equal(volume, denoise(stack, 10, spacing=(2, 1, 1)))
    np.testing.assert_array_equal(planes, [denoise(plane, 10) for plane in stack])


def test_pixels_that_are_not_finite_are_left_out():
    stack = RNG.normal(100, 10, (6, 40, 44))
    stack[:, :9] = np.nan
    finite = np.isfinite(stack)
    np.testing.assert_array_equal(denoised(stack), denoise(stack, 10, mask=finite))
    stack[3] = np.nan
    found = denoised(stack, planes=True)
    np.testing.assert_array_equal(found[5], denoise(stack[5], 10, mask=finite[5]))
    assert np.isnan(found[3]).all()
    colors = RNG.uniform(0, 1, (40, 44, 3))
    colors[:5, :5, 1] = np.nan
    found = denoised(colors, rgb=True, sigma=0.1)
    np.testing.assert_array_equal(found[:5, :5], colors[:5, :5])
    colors[..., 1] = np.nan  # no pixel is finite in all channels
    np.testing.assert_array_equal(denoised(colors, rgb=True, sigma=0.1), colors)


def test_stains_are_denoised_independently():
    stack = RNG.normal(100, 10, (2, 6, 40, 44))
    found = denoised(stack, scale=[1.0, 3.0, 1.5, 1.5], channel_axis=0)
    np.testing.assert_array_equal(found, [denoise(part, 10, spacing=(2, 1, 1)) for part in stack])
    found = denoised(stack[:, 0], channel_axis=0)
    np.testing.assert_array_equal(found, [denoise(part, 10) for part in stack[:, 0]])


def test_sigma_0_estimates_the_noise():
    frame = 100 * (np.indices((60, 60)).sum(axis=0) > 60) + RNG.normal(0, 8, (60, 60))
    np.testing.assert_array_equal(denoised(frame, sigma=0.0), denoise(frame))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (None, "no image layer"),
        (layer_of(np.ones((9, 9)), multiscale=True), "'mine' is a pyramid"),
        (layer_of(np.ones((5, 9, 9))), "channel_axis=4 is outside"),
        (layer_of(np.ones((9, 9, 3)), rgb=True), "color layer has no other channel axis"),
    ],
)
def test_unsupported_layers_are_refused(layer, message):
    with pytest.raises(ValueError, match=message):
        denoised_layer(layer, **OPTIONS, channel_axis=4)


def test_five_axes_need_a_channel_axis_or_planes():
    layer = layer_of(np.ones((2, 2, 2, 9, 9)))
    with pytest.raises(ValueError, match="'mine' has 5 axes: set the channel axis"):
        denoised_layer(layer, **OPTIONS)
    assert denoised_layer(layer, **OPTIONS, channel_axis=2)[0].shape == layer.data.shape


def test_the_manifest_names_the_plugin():
    (entry,) = (e for e in metadata.entry_points(group="napari.manifest") if e.name == "nnk_image")
    package, name = entry.value.split(":")
    manifest = Path(importlib.import_module(package).__file__).with_name(name).read_text("utf-8")
    module, function = re.search(r"python_name: (\S+):(\S+)", manifest).groups()
    assert callable(getattr(importlib.import_module(module), function))
    command = re.search(r"- id: (\S+)", manifest).group(1)
    assert f"- command: {command}" in manifest
    assert re.search(r"^name: (\S+)", manifest).group(1) == nnk_image.__name__
