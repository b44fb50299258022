"""Noise of an image: the model, its estimation, and what denoising derives from it.

`model.py` holds the model, `given.py` checks one that a caller gives. `estimation.py` estimates it:
`photons.py` recognizes counts of photons. Of other images, `row_column.py` finds offsets of rows
and columns, which are taken off, `blocks.py` cuts the rest into blocks, `scale.py` measures flat
ones at several sizes, `trust.py` says how far that is noise and not texture, `fit.py` makes a model
of it, and `slices.py` adds the correlation across slices of a volume. If the level changes in
space, or is that of magnitudes, `levels.py` does all. `standard.py`, `stabilization.py` and
`magnitudes.py` derive from a model what denoising needs.
"""
