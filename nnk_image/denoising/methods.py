"""The methods of `denoise` by name, each a pure function of an image with unit noise."""

from nnk_image.denoising import patches, wavelet_lowpass

METHODS = {
    "fast": patches.method("fast"),
    "best": patches.method("best"),
    "sgw": wavelet_lowpass.METHOD,
}  # a new method is a file that defines one, and a line here
