"""Noise of an image: the model, its estimation, and what denoising derives from it.

docs/estimation.md explains each step of the estimate, and docs/estimation_figures.md its constants.
`model.py` holds the model, and `given.py` checks one that a caller gives. `estimation.py` estimates
it: of a volume, `sample.py` takes some slices; `photons.py` recognizes counts of photons, and
`rician.py` magnitudes. In other images, `row_column.py` estimates the offsets of rows and columns,
which are subtracted, `blocks.py` cuts the rest into blocks, `scale.py` measures the flat ones at
several sizes, `trust.py` decides how much of that is noise rather than texture, `fit.py` fits a
model to it, and `slices.py` adds the correlation across slices of a volume. `levels.py` alone
estimates levels that change across the image, and those of magnitudes. `unit.py`,
`stabilization.py` and `magnitudes.py` derive from a model what denoising needs.
"""
