"""Old import paths, which keep working: where modules and names of version 0.1 are now.

Nothing is imported before somebody asks for it by its old path.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

from nnk_image.base.imports import uninterrupted

MODULES = {
    "bands": "base.parallel",
    "compaction": "wavelets.compaction",
    "filters": "wavelets.filter_bank",
    "graph_file": "graph.npz",
    "graph_summary": "graph.summary",
    "image": "base.image",
    "laplacian": "graph.laplacian",
    "memory": "base.memory",
    "operators": "spectral.operator",
    "reading": "io.images",
    "tiling": "wavelets.tiling",
    "window": "graph.window",
    "denoising.noise": "noise.estimation",
    "denoising.sgw": "denoising.wavelet_lowpass",
    "denoising.wiener": "denoising.patch_filter",
    "neighbors.agreement": "graph.agreement",
    "neighbors.image": "graph.exact_weights",
    "neighbors.classify": "learning.classify",
    "neighbors.embedding": "learning.embedding",
    "neighbors.estimators": "learning.estimators",
    "neighbors.gram": "learning.gram",
    "neighbors.inputs": "learning.inputs",
    "neighbors.labels": "learning.labels",
    "neighbors.manifold": "learning.manifold",
    "neighbors.means": "learning.means",
    "neighbors.means_classifier": "learning.means_classifier",
    "neighbors.metrics": "learning.metrics",
    "neighbors.regress": "learning.regress",
    "neighbors.transformer": "learning.transformer",
}
"""Module by its old path below `nnk_image` -> its path today."""

NAMES = {
    "neighbors": {
        "WindowAgreement": "graph",
        "window_agreement": "graph",
        **dict.fromkeys(
            (
                "KStarNeighborsClassifier",
                "KStarNeighborsRegressor",
                "ManifoldMetrics",
                "NNKClassifier",
                "NNKGraphTransformer",
                "NNKMeans",
                "NNKMeansClassifier",
                "NNKRegressor",
                "dimension_vector",
                "few_shot_labels",
                "graph_signal_variation",
                "intrinsic_dimension",
                "label_propagation",
                "laplacian_eigenmaps",
                "lle_embedding",
                "manifold_metrics",
                "nalac",
                "nnk_distance",
                "polytope_affinity",
                "polytope_diameter",
                "soft_nalac",
                "spectral_clusters",
            ),
            "learning",
        ),
    },
}
"""Package that still lists names -> these names -> the package that has them today."""


def moved_name(package, name):
    """What is asked of a package under a `name` that has moved; raises AttributeError else."""
    home = NAMES[package.removeprefix("nnk_image.")].get(name)
    if home is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    with uninterrupted():
        return getattr(import_module(f"nnk_image.{home}"), name)


class MovedModules:
    """A finder for `sys.meta_path`: an old path gives the module at its new place."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """A spec if `name` is an old path."""
        if name.startswith("nnk_image.") and name.removeprefix("nnk_image.") in MODULES:
            return ModuleSpec(name, MovedModules)
        return None

    @staticmethod
    def create_module(spec):
        """The default: `exec_module` puts another in its place."""

    @staticmethod
    def exec_module(module):
        """Let the old path mean the module at the new place."""
        new = MODULES[module.__name__.removeprefix("nnk_image.")]
        sys.modules[module.__name__] = import_module(f"nnk_image.{new}")
