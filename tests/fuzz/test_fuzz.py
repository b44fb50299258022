"""A short run of the fuzzers; `run.py` can run them for longer."""

import random
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
differential, mutations, readers, seeds = map(
    import_module, ("differential", "mutations", "readers", "seeds")
)
SEEDS = seeds.seeds()


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.filterwarnings("ignore")  # libraries warn about files that are read anyway
def test_changed_files_are_read_or_refused_without_messages(name, tmp_path, caplog):
    rng = random.Random(name)
    assert readers.check_file(SEEDS[name], tmp_path)
    for _ in range(20):
        readers.check_file(mutations.mutate(SEEDS[name], rng, list(SEEDS.values())), tmp_path)
    assert not [record for record in caplog.records if record.name == "tifffile"]


@pytest.mark.parametrize("number", range(0, 200, 10))
def test_same_bits_whatever_computes_them(number):
    for case in range(number, number + 10):
        differential.check(case)


@pytest.mark.parametrize("number", [150, 6336, 9177, 11274])
def test_cases_that_once_failed(number):
    """Windows of unequal sides, and noise estimates of colors in other memory layouts."""
    differential.check(number)
