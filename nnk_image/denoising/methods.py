"""The methods of `denoise` by name, each a pure function of an image with unit noise."""

from nnk_image.denoising import balanced, best, fast, quick, wavelet_lowpass

METHODS = {
    "fast": fast.METHOD,
    "quick": quick.METHOD,
    "balanced": balanced.METHOD,
    "best": best.METHOD,
    "sgw": wavelet_lowpass.METHOD,
}
"""Name -> `Method`. A new method is a file that defines one, and a line here."""
