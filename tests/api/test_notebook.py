"""docs/notebook.ipynb runs, and shows what today's code returns."""

import gzip

import pytest

from tests.support import example_runs, notebook

pytestmark = pytest.mark.real


def outputs_of(found):
    """Return what each cell of code shows, without the numbers of the cells."""
    cells = [cell for cell in found.cells if cell.cell_type == "code"]
    return [
        [{"type": one.output_type, "text": one.get("text"), "data": dict(one.get("data", {}))} for one in cell.outputs]
        for cell in cells
    ]


@pytest.mark.counterpart
def test_the_stored_outputs_are_those_of_today():
    stored = outputs_of(notebook.read())
    assert sum(map(bool, stored)) >= 6
    assert outputs_of(notebook.executed()) == stored, "python -m tests.support.notebook stores the outputs again"


@pytest.mark.parametrize("name", example_runs.RUNS)
def test_the_runs_of_the_notebook_are_the_simulated_ones(name):
    stored = gzip.decompress(example_runs.path_of(name).read_bytes()).decode()
    assert stored == example_runs.text_of(name), "python -m tests.support.example_runs writes them again"
