"""Every notebook runs from top to bottom, and is stored without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@notebooks
def test_notebooks_are_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            assert not cell.outputs, f"cell {number} keeps outputs; clear them before committing"
            assert cell.execution_count is None, f"cell {number} keeps its execution count"


@pytest.mark.slow
@notebooks
def test_notebooks_run_without_errors_and_warnings(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    # Run in another folder, so that the uncompiled sources are not imported.
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=None, kernel_name="python3", resources=resources).execute()
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", f"cell {number} warns: {output['text']}"
            text = output.get("data", {}).get("text/plain", "")
            assert "matplotlib" not in text, f"cell {number} prints {text}; end it with ';'"
            assert "<Axes" not in text, f"cell {number} prints {text}; end it with ';'"
