"""Calls that mypy must accept, and calls that it must reject; this file is never run.

With `warn_unused_ignores`, a `type: ignore` is an error where mypy finds nothing to ignore.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

import nnk_image

image: npt.NDArray[np.float32] = np.zeros((8, 8), np.float32)

result: npt.NDArray[Any] = nnk_image.denoise(image, 20.0, method="sgw", n_jobs=2)
graph: nnk_image.ImageGraph = nnk_image.image_graph(image, window=7)
sigma_d: float = graph.sigma_d
bands: npt.NDArray[Any] = nnk_image.SpectralGraphWavelets(graph).analyze(image)
model: nnk_image.NoiseModel = nnk_image.estimate_noise(image)
labels = nnk_image.NNKClassifier(n_neighbors=5).fit([[0.0], [1.0]], [0, 1]).predict([[0.2]])

wrong_method = nnk_image.denoise(image, method=3)  # type: ignore[arg-type]
wrong_sigma = nnk_image.denoise(image, sigma={})  # type: ignore[arg-type]
wrong_result: int = nnk_image.denoise(image)  # type: ignore[assignment]
wrong_name = nnk_image.image_graph(image, windows=7)  # type: ignore[call-arg]
wrong_window = nnk_image.image_graph(image, window="7")  # type: ignore[arg-type]
wrong_attribute = nnk_image.image_graph(image).edge_list  # type: ignore[attr-defined]
