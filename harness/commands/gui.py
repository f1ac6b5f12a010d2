"""`lth gui`: open a plan in the JMeter GUI with the harness's JMeter, plugins and properties."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.base import process as child
from harness.base.errors import EXIT_OK, StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.install.plugin_list import PluginList
from harness.base.install.plugins import ensure_plugins
from harness.base.interrupts import Interrupts
from harness.base.java import jmeter_environment, jmeter_java_path, jmeter_java_version
from harness.base.log import log
from harness.base.paths import shown
from harness.base.project import SHIPPED, folder_with, read_project
from harness.base.secrets import find_secrets, mask_secrets
from harness.cli.options import take, take_argument
from harness.plan import spec as specs
from harness.plan.allowed_targets import check_allowed
from harness.plan.guard import check_property
from harness.plan.load.memory import Heap
from harness.plan.load.model import LoadRequest, resolve_load
from harness.plan.plan import Plan, is_jmx_path, load_plan
from harness.plan.properties import load_properties, target_properties, with_properties
from harness.plan.spec import Profile
from harness.run.arguments import refuse_empty
from harness.run.consent import check_consent
from harness.run.jmeter.command import environment, settings_options
from harness.run.jmeter.java_classes import check_classes
from harness.run.jmeter.process import JMeterHome
from harness.run.powers import Subject
from harness.run.prepare import usable_cores

_LOG_NAME, _CONSOLE_NAME = "jmeter.log", "jmeter.out"
_HEAP_MB = 1024
_PERIOD_S, _STOP_S = 0.2, 5.0
# What Java throws when it cannot open a window; a HeadlessException's message begins on the next line.
_NO_DISPLAY = re.compile(r"java\.awt\.(?:HeadlessException|AWTError)(?:: (\S.*))?")
_HAS_DISPLAY = "use a desktop session, ssh -X or xvfb-run"
_EPILOG = """\
examples:
  lth gui killbill-stripe
  lth gui shop --target http://127.0.0.1:8080 --properties "amount=25"
  lth gui path/to/test.jmx                                  (any JMX, as it is)

The JMX of the plan itself is opened: what you save is what lth run uses. The properties are those of a run with the
plan's load; requests go to --target, without it to the JMX's own default. The GUI is for editing and debugging: a load
test in it measures the GUI. Ctrl-C closes it without saving.

exit codes: 0 closed; 2 wrong use, or no display; 3 JMeter ended with an error.
"""


@dataclass(frozen=True)
class _Opened:
    """What the GUI opens: the file, its plugins, and the properties and environment of its plan."""

    jmx: Path
    plugins: PluginList | None = None
    class_path: str = ""
    properties: Mapping[str, str] | None = None
    secrets: Mapping[str, str] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth gui`."""
    parser.description = "Open a plan in the JMeter GUI with the harness's JMeter, plugins and properties."
    parser.epilog = _EPILOG
    take(parser, "plan env properties target yes home")
    take_argument(parser, "plan", "?")


def run(options: argparse.Namespace) -> int:
    """Keep the GUI open until it is closed, and return 0. UsageError without a display; StartError when it fails."""
    refuse_empty(options)
    profile = specs.load_profile(folder_with(options.home, "env", options.env), options.env)
    opened = _opened(options, profile)
    _check_display()
    java = jmeter_java_version()
    home = toolchain.ensure_jmeter()
    plugins = ensure_plugins(opened.plugins, home) if opened.plugins else None
    check_classes(opened.jmx, home, plugins, opened.class_path, java)
    jmeter = JMeterHome(home, java, plugin_folder=plugins)
    with Interrupts() as interrupts, Guardian() as guardian, tempfile.TemporaryDirectory(prefix="gui-") as name:
        folder = Path(name)
        guardian.remove_at_end(folder)
        variables = {
            **gui_environment(profile),
            **jmeter_environment(),
            **(opened.secrets or {}),
            **guardian.environment,
        }
        command = gui_arguments(jmeter, opened.jmx, folder, opened.properties or {})
        console = folder / _CONSOLE_NAME
        process = child.start(child.Launch("JMeter", command, opened.jmx.parent, variables, console, is_jmeter=True))
        log(f"{shown(opened.jmx)}: opened in JMeter {jmeter.versions()['jmeter']}; Ctrl-C closes it without saving")
        try:
            with interrupts.deferred():
                while process.poll() is None and not interrupts.count:
                    time.sleep(_PERIOD_S)
        finally:
            child.stop(process, _STOP_S)
        if process.returncode and not interrupts.count:
            mask_secrets(folder, tuple((opened.secrets or {}).values()))
            tail = child.tail_of(folder / _LOG_NAME, folder / _CONSOLE_NAME)
            if why := display_error(tail):
                raise UsageError(f"no display: {why}", _HAS_DISPLAY)
            raise StartError(f"JMeter ended with exit code {process.returncode}", "read its last lines", tail)
    return EXIT_OK


def display_error(text: str) -> str:
    """Return why Java could not open a window, from JMeter's last lines; an empty text when that was not the cause."""
    found = _NO_DISPLAY.search(text)
    return (found[1] or "Java has no screen for a window (HeadlessException)").rstrip(".") if found else ""


def gui_arguments(jmeter: JMeterHome, jmx: Path, folder: Path, properties: Mapping[str, str]) -> list[str]:
    """Return the command that opens a JMX; JMeter's log goes to `folder`."""
    settings = SHIPPED / "jmeter" / "jmeter.properties"
    command = [str(jmeter.path / "bin" / "jmeter"), "-t", str(jmx), "-j", str(folder / _LOG_NAME), "-q", str(settings)]
    # The window stays open when a test has ended.
    command += [*settings_options(jmeter.path, folder), *jmeter.options, "-Jjmeterengine.force.system.exit=false"]
    return [*command, *(f"-J{name}={value}" for name, value in properties.items())]


def gui_environment(profile: Profile) -> dict[str, str]:
    """Return heap and options of JMeter's JVM; its start script switches windows off, and the last option decides."""
    heap_mb = profile.generator_heap_mb or _HEAP_MB
    found = environment(profile, Heap(heap_mb, heap_mb), usable_cores())
    return {**found, "JVM_ARGS": f"{found['JVM_ARGS']} -Djava.awt.headless=false".strip()}


def _opened(options: argparse.Namespace, profile: Profile) -> _Opened:
    plans = folder_with(options.home, "plans", options.plan)
    if is_jmx_path(options.plan, plans):
        if options.properties or options.target:
            todo = "lth init --plan=… --jmx=… makes a plan of it"
            raise UsageError(f"--plan={options.plan}: --properties and --target need a plan", todo)
        return _Opened(Path(options.plan).resolve())
    plan = load_plan(plans, options.plan, profile.plan_changes.get(options.plan))
    if options.properties:
        plan = with_properties(plan, options.properties)
    for name in plan.own_properties(is_embedded=False):
        check_property(name, plan.allow)
    check_consent(Subject(read_project(options.home), plan, profile, is_target_typed=True))
    properties = {
        **plan.own_properties(is_embedded=False),
        **load_properties(resolve_load(LoadRequest(), plan.load)),
        **plan.load.think_time,
    }
    if options.target:
        target = specs.parse_system(options.target)
        check_allowed(target, profile)
        properties |= target_properties(target)
    class_path = plan.given.get("user.classpath", "")
    secrets = _secrets(plan, options.home, has_target=options.target is not None)
    return _Opened(plan.jmx_path.resolve(), plan.plugin_list, class_path, properties, secrets)


def _secrets(plan: Plan, home: Path, *, has_target: bool) -> dict[str, str]:
    """Return the secrets that are known: without them a plan can be edited, but not run."""
    try:
        return find_secrets(plan.secrets, {} if has_target else plan.embedded_secrets, home)
    except UsageError as error:
        log(f"warning: {error.what}: requests that need it will fail")
        return {}


def _check_display() -> None:
    """Raise a UsageError on Linux without a display, or with a Java that has no windows."""
    if sys.platform != "linux":
        return
    if not os.environ.get("DISPLAY"):
        raise UsageError("no display: DISPLAY is not set, there is no screen for a window", _HAS_DISPLAY)
    java = shutil.which(jmeter_java_path())
    found = Path(os.path.realpath(java)) if java else None
    if found and not (found.parents[1] / "lib" / "libawt_xawt.so").exists():
        raise UsageError(f"{found}: this Java has no windows (headless)", "install the JDK that is not headless")
