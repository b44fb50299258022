"""A short run of the random cases; `run.py` can run more of them."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
differential = import_module("differential")


@pytest.mark.parametrize("number", range(0, 200, 10))
def test_same_bits_whatever_computes_them(number):
    for case in range(number, number + 10):
        differential.check(case)


@pytest.mark.parametrize("number", [150, 6336, 9177, 11274])
def test_cases_that_once_failed(number):
    """Windows of unequal sides, and noise estimates of colors in other memory layouts."""
    differential.check(number)
