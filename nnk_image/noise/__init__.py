"""Noise of an image: the model, its estimation, and what denoising derives from it.

`model.py` holds the model. `estimation.py` estimates it from what `blocks.py` measures in
quiet places, with `trust.py` for signs of texture, `brightness.py` for lines and curves by
brightness, and `row_column.py` for offsets of rows and columns.
`slices.py` has the correlation across slices of a volume.
`levels.py` estimates a level that changes in space, or that of magnitudes.
`standard.py`, `stabilization.py` and `magnitudes.py` derive from a model what denoising needs.
"""
