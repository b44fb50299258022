"""Noise of an image: the model, its estimation, and what denoising derives from it.

`model.py` holds the model, `given.py` checks one that a caller gives. `estimation.py` estimates it:
`row_column.py` finds offsets of rows and columns, `blocks.py` cuts an image into blocks, `scale.py`
measures flat ones, `trust.py` tells noise from texture, `fit.py` makes a model of both, and
`slices.py` adds the correlation across slices of a volume. `levels.py` estimates a level that
changes in space, or that of magnitudes. `standard.py`, `stabilization.py` and `magnitudes.py`
derive from a model what denoising needs.
"""
