"""Pages of text, rendered for the tests."""

import numpy as np
from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont

WORDS = "It was the best of times, it was the worst of times, it was the age of wisdom, "


def page_of_text(size, spacing, font="DejaVuSans", side=384, margin=4):
    """Return a (side, side) page with letters of `size` pixels and a line every `spacing` rows."""
    page = Image.new("L", (side, side), 255)
    letters = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/{font}.ttf", size)
    for number, row in enumerate(range(margin, side - margin, spacing)):
        line = WORDS[7 * number % len(WORDS) :] + 3 * WORDS
        ImageDraw.Draw(page).text((margin, row), line, fill=0, font=letters)
    return np.asarray(page)
