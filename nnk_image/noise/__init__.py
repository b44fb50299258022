"""Noise of an image: the model, its estimation, and what denoising derives from it.

`model.py` holds the model. `estimation.py` estimates it, with `flat_blocks.py` for correlated
noise, `curve.py` for Poisson noise, and `row_column.py` for offsets of rows and columns.
`standard.py` and `stabilization.py` derive from a model what denoising needs.
"""
