"""The packages in their order, and the modules that may act: read from the source of the package."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from itertools import combinations
from pathlib import Path

from tests.support.paths import ROOT

PACKAGE = ROOT / "harness"
# A room is a package at the top of harness. It imports only rooms before it.
ORDER = (
    "base",
    "jtl",
    "metrics",
    "cloudwatch",
    "notify",
    "plan",
    "system",
    "run",
    "judge",
    "report",
    "storage",
    "compare",
    "experiment",
    "forge",
    "history",
    "cli",
    "sweep",
    "kinds",
    "site",
    "release",
    "live",
    "api",
    "commands",
)
ROOMS_MOST, FLOORS_MOST = 25, 13
# What starts processes, opens sockets, looks at the clock or at the environment.
ACTING = {
    "subprocess",
    "socket",
    "time",
    "os",
    "signal",
    "threading",
    "psutil",
    "shutil",
    "http",
    "http.client",
    "http.server",
    "urllib.request",
    "rich",
    "smtplib",
}
CLOCKS = {("datetime", "now"), ("datetime", "today"), ("date", "today")}
# Rooms and packages at the edge of the program, whose modules all may act.
EDGES = (
    "harness.base",
    "harness.cli",
    "harness.commands",
    "harness.live",
    "harness.run.network",
    "harness.run.parts",
)
# Elsewhere the last word of a module's name says that it acts: jcmd, telemetry's writer, merge_files. A new module that
# acts has such a name; who needs another word says in review why.
WORDS = {
    "api",
    "arguments",
    "bucket",
    "build",
    "channels",
    "child",
    "classes",
    "client",
    "consent",
    "context",
    "counters",
    "delivery",
    "directory",
    "drive",
    "execute",
    "files",
    "inputs",
    "jcmd",
    "measure",
    "option",
    "packing",
    "pages",
    "pass",
    "preparation",
    "prepare",
    "process",
    "progress",
    "proof",
    "reserve",
    "run",
    "runner",
    "runs",
    "s3",
    "screen",
    "server",
    "sides",
    "sources",
    "steps",
    "supervisor",
    "worktree",
    "writer",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def is_module(name: str) -> bool:
    return (ROOT / f"{name.replace('.', '/')}.py").is_file() or name in ACTING


@dataclass(frozen=True)
class Source:
    """What the source of a module shows: its imports anywhere in it, of harness modules and not their names."""

    imports: frozenset[str]
    reads_clock: bool
    classes: tuple[str, ...]

    @property
    def acts(self) -> bool:
        """Whether the module imports what acts, or reads the clock."""
        return self.reads_clock or any(name in ACTING or name.partition(".")[0] in ACTING for name in self.imports)


@cache
def sources() -> dict[str, Source]:
    """Return the sources of all modules by their names; each file is parsed once."""
    return {name_of(path): source_of(path) for path in MODULES}


def source_of(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    module = ast.parse(text)
    found = set()
    for node in statements_in(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if is_module(name) else node.module)
    classes = tuple(node.name for node in module.body if isinstance(node, ast.ClassDef) and node.name[0] != "_")
    return Source(frozenset(found), any(f".{name}" in text for _, name in CLOCKS) and reads_clock(module), classes)


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements below a node: they are in statements, and never in the many expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements_in(child)


def reads_clock(module: ast.Module) -> bool:
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if (owner, node.attr) in CLOCKS:
                return True
    return False


def package_of(module: str) -> str | None:
    """Return the room of harness.room.module; None for harness/__main__.py."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "harness" and parts[1] in ORDER else None


def is_command(module: str) -> bool:
    return package_of(module) == "commands"


def test_a_room_imports_only_rooms_before_it():
    found = set()
    for name, source in sources().items():
        package = package_of(name)
        if package is None:
            continue
        later = ORDER[ORDER.index(package) + 1 :]
        found |= {f"{name} imports {other}" for other in source.imports if package_of(other) in later}
    assert found == set()


def test_no_modules_import_each_other_in_a_circle():
    """Of all imports: a late one, and one for the type checker only, tie two modules together as well."""
    TopologicalSorter({name: source.imports for name, source in sources().items()}).prepare()  # CycleError names them


def test_every_room_is_in_the_order():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ORDER)


@cache
def arrows() -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    found: dict[str, set[str]] = {room: set() for room in ORDER}
    for name, source in sources().items():
        if room := package_of(name):
            found[room] |= {other for one in source.imports if (other := package_of(one)) and other != room}
    return found


def floors() -> dict[str, int]:
    """Return the floor of each room: one above the highest room that it imports."""
    found: dict[str, int] = {}
    for room in TopologicalSorter(arrows()).static_order():
        found[room] = 1 + max((found[other] for other in arrows()[room]), default=0)
    return found


def test_the_house_has_few_rooms_and_floors():
    """`-s` prints them: what a newcomer has to know before a package makes sense is what is below it."""
    found = floors()
    for floor in range(max(found.values()), 0, -1):
        print(floor, *sorted(room for room in found if found[room] == floor))
    print(f"{len(found)} rooms, {max(found.values())} floors, {sum(map(len, arrows().values()))} arrows")
    assert len(found) <= ROOMS_MOST
    assert max(found.values()) <= FLOORS_MOST


def kind_of(module: str) -> str | None:
    """Return the kind of experiment that a module belongs to; None for a module of no kind."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["harness", "kinds"] and len(parts) > 2 else None


def test_no_kind_of_experiment_imports_another_one():
    found = {
        f"{name} imports {other}"
        for name, source in sources().items()
        for other in source.imports
        if kind_of(name) and kind_of(other) and kind_of(name) != kind_of(other)
    }
    assert found == set()


def test_what_judges_is_pure():
    """It gets values: no file, clock, process or socket decides with it."""
    found = {
        f"{name} imports {other}"
        for name, source in sources().items()
        for other in source.imports
        if package_of(name) == "judge" and (other == "pathlib" or (other in sources() and sources()[other].acts))
    }
    found |= {name for name, source in sources().items() if package_of(name) == "judge" and source.acts}
    assert found == set()


def test_what_reads_the_command_line_is_imported_by_commands_only():
    """Of the room cli the others may use what describes it: options, and the page that explains DOUBTFUL."""
    frame = {
        f"harness.cli.{name}" for name in ("completion", "entry", "help_text", "make_variables", "program", "verbs")
    }
    found = {
        name for name, source in sources().items() if package_of(name) not in (None, "cli") and source.imports & frame
    }
    assert found == set()


def test_no_command_is_imported_by_another_module():
    """The table of verbs in harness/cli/verbs.py names them, and imports the one that is called."""
    assert {imported for source in sources().values() for imported in source.imports if is_command(imported)} == set()


def may_act(module: str) -> bool:
    return module.startswith(EDGES) or word_of(module) in WORDS


def word_of(module: str) -> str:
    return module.rpartition(".")[2].rpartition("_")[2]


def test_the_name_of_a_module_that_acts_or_reads_the_clock_says_so():
    acting = {name for name, source in sources().items() if source.acts and package_of(name)}
    assert {name for name in acting if not may_act(name)} == set()
    assert WORDS - {word_of(name) for name in acting if not name.startswith(EDGES)} == set()


def package_with_kind(module: str) -> str | None:
    """Return the room of a module; of a kind of experiment that kind."""
    room = package_of(module)
    return f"kinds.{kind_of(module)}" if room == "kinds" else room


def test_a_public_class_name_is_there_once_in_the_packages_that_import_each_other():
    """Who reads `Outcome` in a module must not ask which one it is."""
    homes: dict[str, list[str]] = {}
    imported: dict[str | None, set[str | None]] = {}
    for module, source in sources().items():
        for name in source.classes:
            homes.setdefault(name, []).append(module)
        others = {package_with_kind(other) for other in source.imports}
        imported.setdefault(package_with_kind(module), set()).update(others)

    def meet(a: str, b: str) -> bool:
        one, other = package_with_kind(a), package_with_kind(b)
        return one == other or other in imported[one] or one in imported[other]

    twice = {
        f"{name}: {a} and {b}" for name, modules in homes.items() for a, b in combinations(modules, 2) if meet(a, b)
    }
    assert twice == set()
