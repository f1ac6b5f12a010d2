"""docs/guarantees.md and docs/safety.md promise only what a test holds."""

import ast
import re

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
SAFETY = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
ROW = re.compile(r"^- (.+) (`tests/.+`)$", flags=re.MULTILINE)
ROWS = ROW.findall(PAGE)


@pytest.mark.real
@pytest.mark.parametrize(
    "promise", [*ROWS, *ROW.findall(SAFETY)], ids=lambda row: row[1].strip("`").rpartition("::")[2]
)
def test_every_promise_names_a_test_that_exists(promise):
    path, _, name = promise[1].strip("`").partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_row_of_the_page_is_parsed():
    assert len(ROWS) == len([line for line in PAGE.splitlines() if line.startswith("- ")]) > 100


def test_every_line_of_safety_is_parsed():
    assert len(ROW.findall(SAFETY)) == len([line for line in SAFETY.splitlines() if line.startswith("- ")]) > 60
