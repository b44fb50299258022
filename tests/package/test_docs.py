"""The examples in the documentation run and print the output shown."""

import doctest
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from child import python

DOCS = Path(__file__).parents[2] / "docs"

PAGES = sorted(page for page in DOCS.glob("**/*.md") if ">>> " in page.read_text(encoding="utf-8"))

RUN = """
    import doctest, sys
    print(*doctest.testfile(sys.argv[1], False, optionflags=doctest.ELLIPSIS))
"""


def code_of(page):
    """Return the interactive examples of a page, those of PyTorch only if it is installed."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    if find_spec("torch") is None:
        blocks = [block for block in blocks if ">>> import torch" not in block]
    return "\n".join(block for block in blocks if ">>> " in block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_a_page_run_in_a_fresh_interpreter(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = code_of(page)
    Path("page.txt").write_text(code, encoding="utf-8")
    *report, failed, attempted = python(RUN, "page.txt", PYTHONUTF8="1")
    assert failed == "0", " ".join(report)
    assert int(attempted) == len(doctest.DocTestParser().get_examples(code)) > 5
