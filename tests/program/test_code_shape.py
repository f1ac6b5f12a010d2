"""Functions are short, take few parameters and name the parts of results; lists of files are complete."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import LONGEST
from tests.support.paths import ROOT

LINES_MOST = 60
PARAMETERS_MOST = 6
STEPS_MOST = 9
# A module with two nouns is two modules.
MODULE_LINES_MOST = 400
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


@pytest.mark.real
def test_no_module_is_long():
    folders = [ROOT / folder for folder in ("harness", "tests", "bench")]
    counts = {path: path.read_bytes().count(b"\n") for folder in folders for path in folder.rglob("*.py")}
    assert {path.relative_to(ROOT).as_posix() for path, count in counts.items() if count > MODULE_LINES_MOST} == set()


def misplaced(test: Path, modules: set[Path]) -> bool:
    """Return whether a test has the name of a module of its room that is in another folder than the test."""
    name = test.stem.removeprefix("test_").removeprefix("real_")
    homes = {module.parent for module in modules if module.stem == name and module.parts[0] == test.parts[0]}
    return bool(homes) and test.parent not in homes


@pytest.mark.real
def test_a_test_with_the_name_of_a_module_is_in_the_folder_that_mirrors_its_own():
    modules = {path.relative_to(ROOT / "harness") for path in (ROOT / "harness").rglob("*.py")}
    tests = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    assert {test.as_posix() for test in tests if misplaced(test, modules)} == set()
    assert misplaced(Path("plan/test_reach.py"), modules)
    assert misplaced(Path("run/jmeter/test_real_recording.py"), modules)
    assert not misplaced(Path("plan/test_of_no_module.py"), modules)


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


# Pages for those who change the program.
INSIDE = ("docs/architecture.md", "CONTRIBUTING.md")
# Where a path on such a page may begin.
BEGINS = (ROOT, ROOT / "harness", ROOT / "tests")
# Only the installed package has it.
NOT_THERE = {"harness/shipped"}
A_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+/)`")
# `VERBS` in `harness/cli/verbs.py`, and `judge/verdict.py`: `judge`.
IN_MODULE = re.compile(r"((?:`[A-Za-z_.]+`(?:, | and )?)+) (?:in|of) `([\w/]+\.py)`")
OF_MODULE = re.compile(r"`([\w/]+\.py)`: `([A-Za-z_.]+)`")


def inside_page(page: str) -> str:
    """Return a page without its blocks of commands."""
    return re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def found_path(path: str) -> Path | None:
    """Return the file or folder that a page names; None without one."""
    folders = (*BEGINS, *(folder for folder in (ROOT / "harness").iterdir() if folder.is_dir()))
    return next((folder / path for folder in folders if (folder / path).exists()), None)


@pytest.mark.parametrize("page", INSIDE)
def test_every_path_on_the_pages_about_the_inside_exists(page):
    named = A_PATH.findall(inside_page(page))
    assert len(named) > 10
    assert {path for path in named if path not in NOT_THERE and not found_path(path)} == set()


@pytest.mark.parametrize("page", INSIDE)
def test_every_name_on_the_pages_about_the_inside_is_in_the_file_beside_it(page):
    text = inside_page(page)
    named = [(name, path) for names, path in IN_MODULE.findall(text) for name in re.findall(r"`([\w.]+)`", names)]
    named += [(name, path) for path, name in OF_MODULE.findall(text)]
    assert len(named) > 5
    missing = set()
    for name, path in named:
        file = found_path(path)
        source = file.read_text(encoding="utf-8") if file else ""
        for part in name.split("."):
            if not re.search(rf"^\s*(?:class|def) {part}\b|^\s*{part}\b.*[=:]", source, re.MULTILINE):
                missing.add(f"{path}: {name}")
    assert missing == set()


# How many functions of a package use `one` or `found` more than two lines below where they get a value: a name that has
# to be remembered says what it is. The numbers may only become smaller.
VAGUE = ("one", "found")
VAGUE_LINES_MOST = 2
VAGUE_MOST: dict[str, int] = {}


def vague_spans(tree: ast.AST) -> Iterator[int]:
    """Yield how many lines a vague name is from its value, at most, for each function or comprehension with one."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            nodes = list(nodes_of_scope(scope))
        elif isinstance(scope, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            nodes = list(ast.walk(scope))
        else:
            continue
        for name in VAGUE:
            names = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
            values = [node.lineno for node in names if isinstance(node.ctx, ast.Store)]
            # In a comprehension the use is above the value.
            if values and not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                yield max(node.lineno for node in names) - min(node.lineno for node in names)
            elif values:
                uses = [node.lineno for node in names if node.lineno >= min(values)]
                yield max(use - max(line for line in values if line <= use) for use in uses)


def nodes_of_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and comprehensions within it."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, (*inner, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield child
            yield from nodes_of_scope(child)


def test_the_distance_of_a_vague_name_from_its_value_is_measured():
    near = "def f(x):\n    one = x\n    return one"
    far = "def f(x):\n    found = []\n\n    y = x\n    found.append(y)\n    return found"
    inner = "def f(x):\n    return [\n        one.a\n        or\n        x\n        for one in x]"
    assert [list(vague_spans(ast.parse(text))) for text in (near, far, inner)] == [[1], [4], [3]]


@pytest.mark.real
def test_vague_names_are_used_near_to_where_they_get_their_value():
    counts: Counter[str] = Counter()
    for path in (ROOT / "harness").glob("*/**/*.py"):
        package = path.relative_to(ROOT / "harness").parts[0]
        spans = vague_spans(ast.parse(path.read_text(encoding="utf-8")))
        counts[package] += sum(span > VAGUE_LINES_MOST for span in spans)
    assert {package: count for package, count in counts.items() if count > VAGUE_MOST.get(package, 0)} == {}
