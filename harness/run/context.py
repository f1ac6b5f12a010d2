"""Provides what the runs of one command share, such as JMeter, the console and the parts."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from harness.base import units
from harness.base.errors import StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.install.before_setup import needs_set_up
from harness.base.install.class_data import want_class_data
from harness.base.install.plugins import ensure_plugins
from harness.base.interrupts import Interrupts
from harness.base.java import jmeter_java_version
from harness.base.log import Log, spelled
from harness.base.paths import shown
from harness.base.plain_text import without_control
from harness.base.ports import check_port
from harness.base.secrecy import masked
from harness.base.secrets import mask_secrets
from harness.plan.checks.jvm_options import check_jvm_options
from harness.plan.http_sampler import LEAN
from harness.plan.spec import HTTP, RunSpec, Target
from harness.run.directory import RunDirectory, check_space
from harness.run.jmeter.connections import agent_option
from harness.run.jmeter.interim import ShowInterim
from harness.run.jmeter.java_classes import check_classes
from harness.run.jmeter.process import JMeterHome
from harness.run.jmeter.progress import Watch
from harness.run.other_runs import OtherRun
from harness.run.parts.drive import PartMachines
from harness.run.parts.left import left_runs
from harness.run.request import Request
from harness.system.supervisor import Supervisor

# Java or JMeter's start script reads options of the JVM from them.
_JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JMETER_OPTS", "GC_ALGO")

# The time within which an address must answer.
DEADLINE_S = 8.0


@dataclass(frozen=True)
class RunContext:
    """The shared state of the runs; `parts`, if any, produce the load instead of this machine's JMeter.

    `show_interim` prints an interim table in the first minute of a run; None prints none. `watch` gets every sample.
    """

    jmeter: JMeterHome
    interrupts: Interrupts
    console: Console
    guardian: Guardian
    show_interim: ShowInterim | None = None
    watch: Watch | None = None
    parts: PartMachines | None = None

    def log(self, text: str) -> None:
        """Print a line."""
        self.console.print(without_control(spelled(text)), markup=False, highlight=False, soft_wrap=True)


def ready_jmeter(request: Request, reports: Path) -> JMeterHome:
    """Return the JMeter to run, with the plan's plugins.

    UsageError without Java, a plugin, a Java class that the plan needs, disk space for reports, or an answering target.
    """
    needs_set_up()
    plan = request.plan
    check_java_variables()
    java = jmeter_java_version()
    home = toolchain.ensure_jmeter()
    plugins = ensure_plugins(plan.plugin_list, home)
    check_classes(plan.jmx_path, home, plugins, plan.given.get("user.classpath", ""), java)
    check_space(reports, request.profile.min_free_mb)
    if request.target and not request.places:  # parts look for it themselves
        check_target(request.target, has_system=bool(plan.system))
    elif request.port:
        check_port("http", request.port)
    agent = toolchain.ensure_agent()
    agent_option(agent, Path(tempfile.gettempdir()), ())  # a UsageError, before anything starts
    if all(place.has_tool for place in request.places):  # other machines start without them
        want_class_data(home, agent, java)
    return JMeterHome(home, java, agent, plugins, toolchain.ensure_sampler(home), request.sampler == LEAN)


def check_target(target: Target, *, has_system: bool = False) -> None:
    """Raise a UsageError with the address unless it soon accepts a connection, with https also TLS; nothing is sent.

    With `has_system` the plan starts one when no target is given.
    """
    problem = ["no answer"]

    def ask() -> None:
        try:
            _connect(target)
            problem[0] = ""
        except OSError as error:
            problem[0] = str(error) or type(error).__name__

    # In a separate thread: name resolution and connections to several addresses have no common time-out.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if problem[0]:
        what = f"--target={target.url}: nothing answers at {target.origin} ({problem[0]})"
        instead = (
            ", or leave --target out to have the system started here" if has_system and target.scheme in HTTP else ""
        )
        raise UsageError(what, f"start it{instead}")


def _connect(target: Target) -> None:
    with socket.create_connection((target.host, target.port), timeout=DEADLINE_S) as connection:
        if target.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # like JMeter: any certificate
            context.wrap_socket(connection, server_hostname=target.host).close()


def check_java_variables() -> None:
    """Raise a UsageError for an option in the environment that could lead JMeter's connections past their check."""
    for name in _JAVA_VARIABLES:
        check_jvm_options(os.environ.get(name, ""), name)


def warn_of(others: Sequence[OtherRun], log: Log) -> None:
    """Print a line about the other runs; run.json lists all of them."""
    if others:
        what = "another run is" if len(others) == 1 else f"{len(others)} other runs are"
        names = units.first_two([str(one) for one in others])
        log(f"warning: {what} in progress on this machine: {names}; the results of all are unreliable")


@contextmanager
def with_parts(request: Request, longest_s: float | None, context: RunContext) -> Iterator[RunContext]:
    """Yield the context with the machines of the parts; they are connected until the block ends.

    Their load takes at most `longest_s`, None when nobody knows. UsageError when one of them cannot be used.
    """
    if not request.places:
        yield context
        return
    with ExitStack() as stack:
        places = request.places
        if start := places[0].start:
            places = stack.enter_context(start(places, request.profile, longest_s, context.log))
        parts = stack.enter_context(PartMachines(places, context.jmeter, context.log))
        yield replace(context, parts=parts)


def fetched_runs(
    request: Request, spec: RunSpec, folder: Path, arguments: Sequence[str], context: RunContext
) -> Iterator[RunDirectory]:
    """Yield the runs of this command in a plan's folder whose launcher was killed, with all that their parts have."""
    for directory, run in left_runs(request.places, folder, spec.command):
        with ExitStack() as stack:
            places, pods = request.places, [one.pod for one in run.generators if one.pod]
            if pods and (find := places[0].find):
                places = stack.enter_context(find(places, pods, context.log))
            parts = stack.enter_context(PartMachines(places, context.jmeter, context.log))
            parts.take(request, arguments)
            parts.fetch(directory, run)
        yield directory


def system_of(request: Request, logs: Path, context: RunContext) -> Supervisor:
    """Return the system of the request, not started yet; its logs go to `logs`."""
    assert request.manifest is not None  # a plan without a system has a target
    system = Supervisor(
        request.manifest,
        request.settings,
        build_dir=request.build,
        log_dir=logs,
        fixed_ports={"http": request.port} if request.port else {},
        guardian=context.guardian,
    )
    if request.is_profiled:
        system.profile()
    return system


def start(
    system: Supervisor, logs: Path, request: Request, context: RunContext, meanwhile: Callable[[], None] | None = None
) -> None:
    """Start the system, and call `meanwhile` before it is ready; a StartError names the folder of its logs."""
    try:
        system.prepare(context.log)
        context.log(f"{system.manifest.title}: starting")
        started_s = time.monotonic()
        system.start(meanwhile)
        context.log(f"{system.manifest.title}: ready after {time.monotonic() - started_s:.1f} s")
    except StartError as error:
        raise _with_saved_logs(error, logs, request) from None


def _with_saved_logs(error: StartError, logs: Path, request: Request) -> StartError:
    """Return the error with the folder to which the logs of the failed start are copied; secrets are masked in both."""
    what, detail = masked(error.what, request.hidden), masked(error.detail, request.hidden)
    if not logs.is_dir():
        return StartError(what, error.todo, detail)
    copy = request.build / "failed-start"
    shutil.rmtree(copy, ignore_errors=True)
    try:
        shutil.copytree(logs, copy)
    except OSError:  # another user owns build/: only the tail of the logs in `detail` is available
        return StartError(what, "", detail)
    mask_secrets(copy, request.hidden)
    # The harness deletes the original logs when it ends.
    todo = error.todo.replace(str(logs), shown(copy))
    if todo == error.todo:
        todo = f"{todo}; its logs: {shown(copy)}".lstrip("; ")
    return StartError(what, todo, detail)
