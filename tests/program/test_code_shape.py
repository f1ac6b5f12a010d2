"""Functions stay short, and take few parameters; lists of files are complete: read from the source."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.conftest import LONGEST, TOGETHER
from tests.support.paths import ROOT

LINES_MOST = 60
PARAMETERS_MOST = 6
STEPS_MOST = 9


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [one.arg for one in named if one and one.arg not in ("self", "cls")]


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions below a node: they are in statements, and never in the many expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from functions_in(child)


@pytest.mark.real
def test_no_function_is_long_or_takes_many_parameters():
    found = set()
    for path in [*(ROOT / "harness").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]:
        for node in functions_in(ast.parse(path.read_text(encoding="utf-8"))):
            assert node.end_lineno
            is_long = node.end_lineno - node.lineno + 1 > LINES_MOST
            if is_long or len(parameters_of(node)) > PARAMETERS_MOST:
                found.add(f"{path.relative_to(ROOT).as_posix()}: {node.name}")
    assert found == set()


def test_the_files_with_which_make_test_begins_exist():
    assert [name for name in LONGEST if not (ROOT / "tests" / name).exists()] == []
    assert [folder for folder in TOGETHER if not (ROOT / folder).is_dir()] == []


def described_paths() -> list[list[str]]:
    """Return the steps of each path that docs/architecture.md describes."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = page.partition("## Three paths through the code\n")[2].partition("\n## ")[0].split("\n### ")[1:]
    return [[line for line in path.splitlines() if re.match(r"\d+\. ", line)] for path in paths]


def test_the_three_described_paths_have_at_most_nine_steps():
    counts = [len(steps) for steps in described_paths()]
    assert len(counts) == 3
    assert all(0 < count <= STEPS_MOST for count in counts)


def test_every_function_of_the_described_paths_exists():
    text = "\n".join(step for steps in described_paths() for step in steps)
    named = re.findall(r"`([a-z_/]+\.py)`: `([A-Za-z_.]+)`", text)
    assert named
    for module, function in named:
        source = (ROOT / "harness" / module).read_text(encoding="utf-8")
        kinds = ("class", "def") if "." in function else ("def",)
        for kind, name in zip(kinds, function.split("."), strict=True):
            assert re.search(rf"^ *{kind} {name}\b", source, re.MULTILINE), f"{module}: {function}"
