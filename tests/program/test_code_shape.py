"""Functions stay short, and take few parameters; lists of files are complete: read from the source."""

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import LONGEST
from tests.support.paths import ROOT

LINES_MOST = 60
PARAMETERS_MOST = 6


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
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []
