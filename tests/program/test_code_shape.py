"""Functions are short, take few parameters and name the parts of results; lists of files are complete."""

import ast
import functools
import re
from collections.abc import Iterator

import pytest

from tests.conftest import LONGEST, TOGETHER
from tests.support.paths import ROOT

LINES_MOST = 60
PARAMETERS_MOST = 6
STEPS_MOST = 9
# One is made for each record of a JTL, each second of a label, or each step of a fraction: a named record takes longer.
PLAIN_TUPLES = {
    "harness/jtl/csv.py: next",
    "harness/metrics/distributions.py: part",
    "harness/metrics/label_seconds.py: _entry",
    "harness/metrics/tally.py: _entry",
}


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


@functools.cache
def functions_of_the_program() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return `path: name` and node of every function of the harness and of the benchmarks."""
    return [
        (f"{path.relative_to(ROOT).as_posix()}: {node.name}", node)
        for folder in ("harness", "bench")
        for path in (ROOT / folder).rglob("*.py")
        for node in functions_in(ast.parse(path.read_text(encoding="utf-8")))
    ]


@pytest.mark.real
def test_no_function_is_long_or_takes_many_parameters():
    found = set()
    for name, node in functions_of_the_program():
        assert node.end_lineno
        is_long = node.end_lineno - node.lineno + 1 > LINES_MOST
        if is_long or len(parameters_of(node)) > PARAMETERS_MOST:
            found.add(name)
    assert found == set()


def returns_parts_by_position(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the result is a tuple of a fixed number of parts, or None; keys that set an order are none."""
    returns = function.returns
    if isinstance(returns, ast.BinOp):
        returns = returns.left
    if not isinstance(returns, ast.Subscript) or ast.unparse(returns.value) != "tuple" or "order" in function.name:
        return False
    return isinstance(returns.slice, ast.Tuple) and not ast.unparse(returns.slice).endswith("...)")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("f() -> tuple[int, str]", True),
        ("f() -> tuple[int, str] | None", True),
        ("f() -> tuple[int, ...]", False),
        ("f() -> list[tuple[str, str]]", False),
        ("sort_order() -> tuple[int, str]", False),
        ("f() -> int | None", False),
    ],
)
def test_parts_by_position_are_recognised(header, expected):
    (function,) = functions_in(ast.parse(f"def {header}: ..."))
    assert returns_parts_by_position(function) == expected


@pytest.mark.real
def test_results_of_several_parts_have_names():
    assert {name for name, node in functions_of_the_program() if returns_parts_by_position(node)} == PLAIN_TUPLES


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
