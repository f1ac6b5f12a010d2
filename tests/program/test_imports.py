"""The packages in their order, and the modules that may act: read from the source of the package."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.support.paths import ROOT

PACKAGE = ROOT / "harness"
# A package imports only packages before it.
ORDER = (
    "base",
    "jtl",
    "metrics",
    "cloudwatch",
    "notify",
    "plan",
    "system",
    "run",
    "report",
    "storage",
    "compare",
    "history",
    "experiment",
    "sweep",
    "overload",
    "ab",
    "tune",
    "bisect",
    "trust",
    "forge",
    "nightly",
    "site",
    "release",
    "export",
    "live",
    "api",
    "mcp",
    "commands",
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
    "smtplib",
}
CLOCKS = {("datetime", "now"), ("datetime", "today"), ("date", "today")}
# The modules that act, beside files.py and commands. Whoever adds one says in review why.
MAY_ACT = {
    "harness.experiment.arguments",
    "harness.experiment.execute",
    "harness.experiment.runner",
    "harness.site.html_option",
    "harness.base.aws",
    "harness.base.bounded",
    "harness.cloudwatch.client",
    "harness.experiment.worktree",
    "harness.kinds.bisect.build",
    "harness.base.install.class_data",
    "harness.base.install.first_setup",
    "harness.base.writable",
    "harness.base.git",
    "harness.base.guardian",
    "harness.base.http_client",
    "harness.base.install.integrity",
    "harness.base.interrupts",
    "harness.base.java",
    "harness.base.paths",
    "harness.base.ports",
    "harness.base.project",
    "harness.base.process",
    "harness.base.s3_stream",
    "harness.base.install.python_packages",
    "harness.base.secrets",
    "harness.base.install.setup_step",
    "harness.base.standard_streams",
    "harness.base.install.toolchain",
    "harness.compare.sides",
    "harness.compare.sources",
    "harness.forge.api",
    "harness.jtl.inputs",
    "harness.jtl.file_progress",
    "harness.live.metrics_collector",
    "harness.live.connections",
    "harness.live.metrics_endpoint",
    "harness.live.otlp.receiver",
    "harness.live.otlp.watcher",
    "harness.live.page_address",
    "harness.live.watchers",
    "harness.live.server",
    "harness.live.view",
    "harness.metrics.counter_process",
    "harness.metrics.large_files",
    "harness.plan.adopt.project_files",
    "harness.api.mcp.server",
    "harness.kinds.nightly.steps",
    "harness.notify.channels",
    "harness.notify.delivery",
    "harness.report.merge_files",
    "harness.report.pages",
    "harness.report.screen",
    "harness.run.child",
    "harness.run.consent",
    "harness.run.context",
    "harness.run.telemetry.counters",
    "harness.run.directory",
    "harness.run.jmeter.drive",
    "harness.run.measure",
    "harness.run.jmeter.java_classes",
    "harness.run.jmeter",
    "harness.run.limited_run",
    "harness.run.prepare",
    "harness.run.network.addresses",
    "harness.run.network.bpf",
    "harness.run.network.kernel_guard",
    "harness.run.network.owners",
    "harness.run.network.sockets",
    "harness.run.network.watch",
    "harness.run.replay.one_pass",
    "harness.run.other_runs",
    "harness.run.packing",
    "harness.run.replay",
    "harness.run.reserve",
    "harness.run.parts.channel",
    "harness.run.parts.drive",
    "harness.run.parts.kubernetes",
    "harness.run.parts.left",
    "harness.run.parts.relay",
    "harness.run.parts.share",
    "harness.run.jmeter.progress",
    "harness.run.remote.drive",
    "harness.run.remote.keys",
    "harness.run.telemetry.writer",
    "harness.storage.s3",
    "harness.storage.bucket",
    "harness.sweep.driver",
    "harness.sweep.level_runner",
    "harness.sweep.sources",
    "harness.system.database_files",
    "harness.system.histogram_files",
    "harness.system.jcmd",
    "harness.system.own_metrics_files",
    "harness.system.preparation",
    "harness.system.supervisor",
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
    return Source(frozenset(found), any(f".{name}" in text for _, name in CLOCKS) and reads_clock(module))


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
    """Return the package of harness.package.module; None for modules that are in no package, as harness.cli.verbs."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "harness" and parts[1] in ORDER else None


def is_command(module: str) -> bool:
    return package_of(module) == "commands"


def test_a_package_imports_only_packages_before_it():
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


def test_every_package_is_in_the_order():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ORDER)


def test_modules_without_a_package_are_imported_by_no_package():
    top = {f"harness.{name}" for name in ("cli", "completion", "entry", "help_text", "make_variables", "program")}
    found = {name for name, source in sources().items() if package_of(name) and source.imports & top}
    assert found == set()


def test_no_command_is_imported_by_another_module():
    """The table of verbs in harness/cli/verbs.py names them, and imports the one that is called."""
    assert {imported for source in sources().values() for imported in source.imports if is_command(imported)} == set()


def test_only_the_modules_of_the_list_act_or_read_the_clock():
    acting = {
        name
        for name, source in sources().items()
        if source.acts and package_of(name) and not is_command(name) and not name.endswith(".files")
    }
    assert acting == MAY_ACT
