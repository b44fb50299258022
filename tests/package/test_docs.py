"""The pages of the documentation: the code that they show runs, and prints what they say."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

PAGES = sorted(page for page in DOCS.glob("**/*.md") if ">>> " in page.read_text(encoding="utf-8"))


def examples(page):
    """The interactive examples of a page, from its blocks of Python code, in one namespace."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    code = "\n".join(block for block in blocks if ">>> " in block)
    return doctest.DocTestParser().get_doctest(code, {}, page.stem, str(page), 0)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = examples(page)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert result.attempted == len(test.examples) > 5
    assert result.failed == 0
