"""The files that are generated from the code are what it gives now."""

import re

import pytest

from harness.judge.account import LINES, same_work
from tests.support.example_accounts import EXAMPLES, FOLDER, LINES_MOST, SAME_WORK
from tests.support.generated import GENERATED
from tests.support.paths import ROOT


@pytest.mark.real
@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_make_generated_changes_nothing(path):
    assert path.read_text(encoding="utf-8") == GENERATED[path](), "run: make generated"


@pytest.mark.parametrize("code", EXAMPLES)
def test_each_example_is_short_and_has_one_line_that_does_not_balance(code):
    page = (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    results = [row.rsplit(" | ", 1)[1] for row in page.splitlines() if row.count(" | ") == 4]
    assert [
        line.code for line, result in zip(LINES, results[2:], strict=True) if not result.startswith("balanced")
    ] == [code]
    assert len(page.splitlines()) <= LINES_MOST


def test_the_comparison_of_the_examples_is_short_and_only_the_line_about_both_sides_does_not_balance():
    page = (FOLDER / f"{SAME_WORK}.md").read_text(encoding="utf-8")
    cells = [row.strip("| ").split(" | ") for row in page.partition("## The account")[2].splitlines() if " | " in row]
    assert cells[0][-1] == same_work.LINE.title
    assert [set(row[1:6]) for row in cells[2:4]] == [{"balanced"}] * 2
    assert cells[4] == ["both sides", *[""] * 5, "doubt: Pay is only in the baseline"]
    assert len(page.splitlines()) <= LINES_MOST


def test_make_generated_writes_these_files():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^generated:.*\n\t@\$\(setup\) --tests\n\t@.* -m tests\.support\.generated$", makefile, re.M)
