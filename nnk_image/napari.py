"""Plugin of the viewer napari: denoise an image layer, from the menu Plugins > nnk_image.

The manifest ``napari.yaml`` beside this file names `denoise_layer`; napari makes a form of its
parameters. Nothing here imports napari before napari calls it.
"""

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from nnk_image.base.checks import finite_mask
from nnk_image.denoising.api import denoise
from nnk_image.denoising.methods import METHODS
from nnk_image.io.metadata import to_samples

if TYPE_CHECKING:
    import napari.layers
    import napari.qt.threading
    import napari.types

_SIGMA = {"min": 0, "max": 1e9, "label": "noise", "tooltip": "Standard deviation; 0: estimate it"}
_METHOD = {"choices": list(METHODS), "tooltip": "best is slower and a little better than fast"}
_STRENGTH = {"min": 0.1, "max": 5, "step": 0.1, "tooltip": "Above 1 removes more"}
_CHANNEL_AXIS = {
    "min": -1,
    "max": 4,
    "label": "channel axis",
    "tooltip": "Axis of channels that are denoised separately; -1: none",
}
_PLANES = {"label": "plane by plane", "tooltip": "Each plane by itself, not the whole volume"}


def denoise_layer(
    layer: "napari.layers.Image",
    sigma: Annotated[float, _SIGMA] = 0.0,
    method: Annotated[str, _METHOD] = "fast",
    strength: Annotated[float, _STRENGTH] = 1.0,
    planes: Annotated[bool, _PLANES] = False,
    channel_axis: Annotated[int, _CHANNEL_AXIS] = -1,
) -> "napari.qt.threading.FunctionWorker[napari.types.LayerDataTuple]":
    """Denoise a layer in the background; the result becomes a new layer.

    Parameters
    ----------
    layer : napari.layers.Image
        An image in grayscale or color, a volume, or a time series; its scale is the spacing.
    sigma : float
        Standard deviation of the noise in the layer's units; 0 (default) to estimate it.
    method, strength
        As for `nnk_image.denoise`.
    planes : bool
        Denoise each plane of a stack by itself. Default: the whole volume.
    channel_axis : int
        Axis of a stack along which there are channels that show different things, such as stains;
        each is denoised by itself. -1 (default) if there is none.

    Returns
    -------
    napari.qt.threading.FunctionWorker
        Already started; it returns the data of the new layer.
    """
    from napari.qt.threading import thread_worker

    work = thread_worker(denoised_layer, start_thread=True, progress=True)
    return work(layer, sigma, method, strength, planes, channel_axis)


def denoised_layer(
    layer: Any, sigma: float, method: str, strength: float, planes: bool, channel_axis: int = -1
) -> tuple[Any, dict[str, Any], str]:
    """Return data, attributes and kind of the new layer; parameters as for `denoise_layer`."""
    if layer is None:
        raise ValueError("there is no image layer to denoise: open an image first")
    if layer.multiscale:
        raise ValueError(
            f"layer {layer.name!r} is a pyramid: denoise its finest level, or its file"
        )
    if layer.ndim > 4 and channel_axis < 0 and not planes:
        raise ValueError(
            f"layer {layer.name!r} has {layer.ndim} axes: set the channel axis, counted from 0, or "
            "choose plane by plane"
        )
    options: dict[str, Any] = {"method": method, "strength": strength, "n_jobs": -1}
    level, pixels = sigma or None, np.asarray(layer.data)
    values = pixels[..., :3] if layer.rgb else pixels  # without transparency
    if layer.rgb:
        options["channel_axis"] = -1
        if channel_axis >= 0:
            raise ValueError("a color layer has no other channel axis: set it to -1")
    if layer.ndim > 2 and planes:
        stack = values.reshape(-1, *values.shape[layer.ndim - 2 :])
        data = np.stack([_denoised(plane, level, options) for plane in stack])
        data = data.reshape(values.shape)
    else:
        spacing = [abs(float(s)) for s in layer.scale]
        if channel_axis >= 0:
            options |= {"channel_axis": channel_axis, "channels": "independent"}
            spacing = spacing[:channel_axis] + spacing[channel_axis + 1 :]
        if layer.ndim > 2:
            options["spacing"] = spacing
        data = _denoised(values, level, options)
    if layer.rgb:  # napari shows colors as bytes, or as floats from 0 to 1
        data = to_samples(data, pixels.dtype) if pixels.dtype.kind == "u" else data.clip(0, 1)
        data = np.concatenate([data, pixels[..., 3:]], axis=-1)
    kept = ["rgb", "scale", "translate", "rotate", "shear"]
    kept += [] if layer.rgb else ["colormap", "contrast_limits"]
    attributes = {name: getattr(layer, name) for name in kept}
    attributes |= {"name": f"{layer.name} denoised", "affine": layer.affine.affine_matrix}
    return data, attributes, "image"


def _denoised(values: Any, level: float | None, options: dict[str, Any]) -> Any:
    """Denoise values without pixels that are NaN or infinite, as registration leaves them."""
    mask = finite_mask(values, options.get("channel_axis"))
    if mask is not None and not mask.any():
        return values
    return denoise(values, level, mask=mask, **options)
