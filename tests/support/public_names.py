"""The public names of the package."""

import inspect

import nnk_image


def public_names():
    """Yield the path of every public name, relative to the package, and its object."""
    everything = [getattr(nnk_image, name) for name in nnk_image.__all__]
    for module in [nnk_image, *filter(inspect.ismodule, everything)]:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                yield f"{module.__name__}.{name}".removeprefix("nnk_image."), thing
