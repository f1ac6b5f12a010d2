"""The packages in their order, and the modules that may act: read from the source of the package."""

import ast
from pathlib import Path

import pytest

from harness.cloudwatch.sources import SOURCES
from harness.nightly.notifiers import NOTIFIERS
from tests.support.paths import ROOT

PACKAGE = ROOT / "harness"
# A package imports only packages before it; so there is no cycle.
ORDER = (
    "base",
    "jtl",
    "metrics",
    "cloudwatch",
    "plan",
    "system",
    "run",
    "report",
    "storage",
    "compare",
    "sweep",
    "history",
    "nightly",
    "site",
)
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
}
CLOCKS = {("datetime", "now"), ("datetime", "today"), ("date", "today")}
# The modules that act, beside files.py and command modules. Whoever adds one says in review why.
MAY_ACT = {
    "harness.base.folder_lock",
    "harness.base.git",
    "harness.base.guardian",
    "harness.base.interrupts",
    "harness.base.java",
    "harness.base.paths",
    "harness.base.ports",
    "harness.base.process",
    "harness.base.s3_stream",
    "harness.base.secrets",
    "harness.base.standard_streams",
    "harness.base.toolchain",
    "harness.compare.sides",
    "harness.compare.sources",
    "harness.jtl.inputs",
    "harness.jtl.progress",
    "harness.metrics.counter",
    "harness.nightly.limited_run",
    "harness.nightly.runner",
    "harness.nightly.storage",
    "harness.report.merge_files",
    "harness.report.pages",
    "harness.report.screen",
    "harness.run.context",
    "harness.run.directory",
    "harness.run.drive",
    "harness.run.jmeter",
    "harness.run.machine",
    "harness.run.measure",
    "harness.run.other_runs",
    "harness.run.prepare",
    "harness.run.progress",
    "harness.run.remote.drive",
    "harness.run.remote.keys",
    "harness.run.target",
    "harness.run.telemetry_writer",
    "harness.storage.s3",
    "harness.sweep.driver",
    "harness.sweep.level_runner",
    "harness.sweep.sources",
    "harness.system.jcmd",
    "harness.system.jfr",
    "harness.system.log_part",
    "harness.system.prepare",
    "harness.system.probe",
    "harness.system.supervisor",
}
# Whatever is in a table of sources or notifiers acts.
MAY_ACT |= {type(source).__module__ for source in SOURCES} | {notify.__module__ for notify in NOTIFIERS}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def package_of(module: str) -> str | None:
    """Return the package of harness.package.module; None for modules that are in no package, as harness.cli."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else None


def is_command(module: str) -> bool:
    """Return whether a module is a command line: command.py, or a second one of the same package."""
    return module.rpartition(".")[2].endswith(("command", "commands")) and module != "harness.run.jmeter_command"


def imports_of(path: Path) -> set[str]:
    """Return the modules that a module imports, anywhere in it; of harness its modules, not their names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                is_module = (ROOT / f"{name.replace('.', '/')}.py").is_file() or name in ACTING
                found.add(name if is_module else node.module)
    return found


def acts(path: Path) -> bool:
    """Return whether a module imports what acts, or reads the clock."""
    if any(name in ACTING or name.partition(".")[0] in ACTING for name in imports_of(path)):
        return True
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and (ast.unparse(node.value).rpartition(".")[2], node.attr) in CLOCKS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_package_imports_only_packages_before_it(path):
    name = name_of(path)
    package = package_of(name)
    if package is None or is_command(name):
        return  # the top floor
    later = ORDER[ORDER.index(package) + 1 :]
    assert {found for found in imports_of(path) if package_of(found) in later} == set()


def test_every_package_has_its_place_in_the_order():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ORDER)


def test_modules_without_a_package_are_imported_by_no_package():
    for path in MODULES:
        if package_of(name_of(path)):
            assert not {name for name in imports_of(path) if name in ("harness.cli", "harness.entry")}, path


def test_only_the_table_of_verbs_imports_command_modules():
    shared = {
        imported
        for path in MODULES
        if name_of(path) != "harness.cli"
        for imported in imports_of(path)
        if imported.startswith("harness.") and is_command(imported)
    }
    assert shared == set()


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in MODULES
        if package_of(name_of(path)) and path.name != "files.py" and not is_command(name_of(path))
    ],
    ids=name_of,
)
def test_only_the_modules_of_the_list_act_or_read_the_clock(path):
    assert acts(path) == (name_of(path) in MAY_ACT)


def test_every_module_of_the_list_exists():
    assert MAY_ACT - {name_of(path) for path in MODULES} == set()
