"""The command line as a fixture."""

import pytest
from command import Command


@pytest.fixture
def run(capsys):
    """Return the command line in this process, ``run("denoise", "in.png", "out.png")``."""
    return Command(capsys)
