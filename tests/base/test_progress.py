"""The progress bar shows the share that is done and the time left, on one line."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from nnk_image import denoise
from nnk_image.base import progress
from nnk_image.base.progress import Bar, bar_of


@pytest.mark.parametrize(
    ("share", "seconds", "text"),
    [
        (0.0, 0.0, "[                        ]   0 %"),
        (0.005, 9.0, "[                        ]   0 %"),
        (0.5, 60.0, "[############            ]  50 %, 0:01:00 left"),
        (0.999, 60.0, "[####################### ]  99 %, 0:00:01 left"),
        (0.1, 1000.0, "[##                      ]  10 %, 2:30:00 left"),
        (1.0, 5.0, "[########################] 100 %, 0:00:00 left"),
    ],
)
def test_bar_shows_the_share_done_and_the_time_left(share, seconds, text):
    assert bar_of(share, seconds) == text


@pytest.fixture
def lines(monkeypatch):
    """Return the lines drawn on a terminal of 60 columns, and a clock that tests can set."""
    drawn, now = [], [0.0]
    terminal = SimpleNamespace(
        write=lambda text: text and drawn.append(text.rstrip()), flush=lambda: None
    )
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "60")
    return drawn, now


def test_a_bar_is_drawn_ten_times_a_second_and_erased(lines):
    drawn, now = lines
    bar = Bar("noise")
    for step in range(1, 101):
        now[0] = step / 100
        bar.update(step, 200)
    assert drawn[0] == "noise"
    assert 9 <= len(drawn) - 1 <= 11
    assert all(line.startswith("noise [") and len(line) < 60 for line in drawn[1:])
    now[0] = 2.0
    bar.update(1, 4)
    assert drawn[-1] == "noise [######                  ]  25 %, 0:00:06 left"
    bar.close()
    assert drawn[-1] == ""


def test_denoise_draws_a_bar_on_standard_error_and_erases_it(capsys):
    image = np.random.default_rng(0).normal(100, 10, (64, 64))
    denoise(image, 10, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "\rdenoise [" in err
    assert not err.split("\r")[-2].strip()


def test_progress_works_without_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    bar = Bar("denoise")
    bar.update(1, 2)
    bar.close()
