"""Runs a plan once with one user, and returns each request with its response."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from harness.base.errors import EXIT_INTERRUPTED, InvalidRunError
from harness.base.secrecy import masked
from harness.base.units import MS_PER_S, duration_text, number_text, plural
from harness.plan.jmx.environment import with_properties_for
from harness.plan.jmx.headers import with_headers
from harness.plan.jmx.thread_groups import LOOPS, LOOPS_ENDLESS, add_loop, copy_for_tenants
from harness.plan.jmx.tree import SIDE_GROUPS, is_own_enabled, parse
from harness.plan.jmx_writer import add_string, jmx_bytes, of_jmx, renew, set_attribute, set_text
from harness.plan.load.groups import GroupLoad
from harness.plan.spec import RunSpec
from harness.run.context import RunContext, start, system_of
from harness.run.directory import RunDirectory
from harness.run.jmeter.command import LOG_NAME, STOP_NOW
from harness.run.jmeter.connections import FOREIGN_NAME, foreign_reasons, take_list
from harness.run.jmeter.exchanges import RAW_NAME, STORE_ALL, Exchange, masked_exchanges, parse_exchanges, progress_at
from harness.run.jmeter.process import JMeter, StopLimits, plan_messages, reason_from_logs
from harness.run.preflight import check_safe
from harness.run.prepare import JAVA_OPTIONS, PreparedRun, prepare
from harness.run.request import Request

_PERIOD_S = 0.5
_LOG_PERIOD_S = 10.0
# JMeter breaks off its running samples and writes them, which shows where the pass was; then it is ended.
_STOP_S, _TERM_S = 5.0, 3.0
# Timers that wait for other users, or that divide a rate among them.
_TIMERS_OF_MANY = ("SyncTimer", "ConstantThroughputTimer", "PreciseThroughputTimer", "VariableThroughputTimer")
_ON_ERROR = "ThreadGroup.on_sample_error"
# A Flow Control Action that pauses, such as for the ten minutes in which a scheduler works; longer ones last this long.
_PAUSE, _PAUSE_MS, _PAUSE_MOST_MS = "1", "ActionProcessor.duration", 1000
# So many elements of a kind are named.
_NAMED_MOST = 3


class PassStoppedError(InvalidRunError):
    """A pass took longer than its limit."""


class PassInterruptedError(PassStoppedError):
    """The user stopped the pass."""

    exit_code = EXIT_INTERRUPTED


@dataclass(frozen=True)
class Pass:
    """The requests of a pass; `stopped` is where and why it was stopped, empty when it ended by itself.

    `changes` are sentences about what the pass did unlike the plan.
    """

    exchanges: tuple[Exchange, ...]
    stopped: str = ""
    is_interrupted: bool = False
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Stop:
    """Why and when (ms since 1970) a pass was stopped."""

    why: str
    at_ms: int
    is_interrupted: bool


def run_once(spec: RunSpec, request: Request, folder: Path, context: RunContext, limit_s: float) -> Pass:
    """Run one iteration of one user in a folder of its own, with the system or target of the request.

    A pass that takes longer than `limit_s` is stopped, and so is an interrupted one. UsageError, before anything
    starts, for a plan that must not run; InvalidRunError when JMeter ended without a sample.
    """
    check_safe(request, spec.load)
    directory = RunDirectory(folder / "check" / "pass")
    directory.path.mkdir(parents=True)
    with ExitStack() as stack:
        system = None
        if spec.target is None:
            system = stack.enter_context(system_of(request, directory.system_logs, context))
            start(system, directory.system_logs, request, context)
        prepared = prepare(spec, directory, system, context)
        left_out = [load.group for load in spec.plan.load.loads if not load.level]
        plan = one_pass(spec.plan.jmx_path, left_out, spec.plan.load.loads)
        sent = with_properties_for(with_headers(plan.jmx, spec.plan.headers), spec.secrets)
        directory.effective_plan.write_bytes(sent)
        with context.interrupts.deferred():
            stop = _drive(prepared, context, limit_s)
        deaths = take_list(prepared.command.connections, directory).deaths
    exchanges = _stored(directory.path)
    reasons = _reasons(directory.path, prepared.command.allowed_connections)
    reasons += tuple(f"the {one.what} died: {one.cause}" for one in deaths)
    for reason in reasons:
        context.log(f"warning: {masked(reason, spec.hidden)}")
    if not exchanges and stop is None:
        why = masked(reason_from_logs(directory.path, LOG_NAME, with_console=True), spec.hidden) if not reasons else ""
        what = f"{spec.plan.name}: JMeter ran no sampler" + (f" ({why})" if why else "")
        raise InvalidRunError(what, "check the conditions and controllers of the plan")
    shown = masked_exchanges(exchanges, spec.hidden)
    stopped = f"{stop.why}: {progress_at(shown, stop.at_ms)}" if stop else ""
    return Pass(shown, stopped, stop is not None and stop.is_interrupted, plan.changes)


def _drive(run: PreparedRun, context: RunContext, limit_s: float) -> _Stop | None:
    """Run JMeter; every ten seconds print how many samples there are. Return why it was stopped; None at its end."""
    options = f"{run.command.environment[JAVA_OPTIONS]} {STORE_ALL}"
    environment = {**run.command.environment, JAVA_OPTIONS: options}
    process = JMeter(replace(run.command, environment=environment, stop_word=STOP_NOW), run.directory.path)
    interrupts, started_s = context.interrupts, time.monotonic()
    limits = StopLimits(_STOP_S, run.spec.profile.overrun_s, _TERM_S)
    logged_s = started_s
    try:
        while process.wait(_PERIOD_S) is None:
            now_s = time.monotonic()
            if interrupts.count:
                stop = _Stop(f"interrupted after {duration_text(now_s - started_s)}", _now_ms(), True)
                process.stop(limits, hurry=lambda: interrupts.count > 1)
                return stop
            if now_s - started_s > limit_s:
                stop = _Stop(f"the pass did not end within {duration_text(limit_s)}", _now_ms(), False)
                process.stop(limits, hurry=lambda: interrupts.count > 0)
                return stop
            if now_s - logged_s > _LOG_PERIOD_S:
                logged_s = now_s
                context.log(f"{now_s - started_s:.0f} s: {len(_stored(run.directory.path))} samples")
    finally:
        process.stop(StopLimits(0.0, 0.0, _TERM_S))
    return None


def _now_ms() -> int:
    return round(time.time() * MS_PER_S)


def _stored(folder: Path) -> tuple[Exchange, ...]:
    path = folder / RAW_NAME
    return parse_exchanges(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ()


def _reasons(folder: Path, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the refused connections, and the messages of the plan itself."""
    foreign = folder / FOREIGN_NAME
    found = foreign_reasons(foreign.read_text(errors="replace"), allowed) if foreign.is_file() else ()
    return found + tuple(f"the plan says: {text}" for text in plan_messages(folder, LOG_NAME))


@dataclass(frozen=True)
class OnePass:
    """A plan of one pass; `changes` are sentences about its differences from the plan, except users and iterations."""

    jmx: bytes
    changes: tuple[str, ...]


def one_pass(jmx: Path, left_out: Collection[str] = (), loads: Sequence[GroupLoad] = ()) -> OnePass:
    """Return the plan with a Thread Group of one user and one iteration instead of each thread group of the load.

    setUp and tearDown thread groups stay as they are. Endless loops run once. Timers that need many users are disabled,
    and so are the thread groups `left_out`. Flow Control Actions pause for at most a second. Each of the `loads` with a
    tenant has a thread group.
    """
    tree = parse(jmx)
    copy_for_tenants(tree, loads)
    timers: list[str] = []
    pauses: list[tuple[str, int]] = []  # the name, and how long it is in the plan (ms)
    for element in list(tree.getroot().iter()):
        if element.tag.endswith("ThreadGroup") and element.tag not in SIDE_GROUPS:
            _make_single(element)
            if element.get("testname") in left_out:
                set_attribute(element, "enabled", "false")
        elif element.tag.rpartition(".")[2] in _TIMERS_OF_MANY:
            if is_own_enabled(element):
                timers.append(element.get("testname", element.tag))
            set_attribute(element, "enabled", "false")
        elif element.tag == "LoopController":
            _end_loop(element)
        elif element.tag == "TestAction" and (pause_ms := _shorten_pause(element)):
            pauses.append((element.get("testname", ""), pause_ms))
    return OnePass(jmx_bytes(tree.getroot()), (*_pause_text(pauses), *_timer_text(timers)))


def _make_single(group: ElementTree.Element) -> None:
    """Make a thread group of any kind a Thread Group of one user; its name, state and action after errors stay."""
    preserved = {name: group.get(name, "") for name in ("testname", "enabled") if name in group.attrib}
    action = group.findtext(f"stringProp[@name='{_ON_ERROR}']") or "continue"
    renew(group, "ThreadGroup", "ThreadGroupGui", **preserved)
    add_string(group, _ON_ERROR, of_jmx(action))
    for name in ("num_threads", "ramp_time"):
        add_string(group, f"ThreadGroup.{name}", "1")
    add_loop(group, "1")


def _end_loop(controller: ElementTree.Element) -> None:
    for prop in controller:
        if prop.get("name") == LOOPS and (prop.text or "").strip() == LOOPS_ENDLESS:
            set_text(prop, "1")


def _shorten_pause(action: ElementTree.Element) -> int:
    """Shorten the pause of a Flow Control Action; return what it was in ms, 0 when it is as in the plan."""
    is_pause = all(prop.text == _PAUSE for prop in action if prop.get("name") == "ActionProcessor.action")
    if not is_pause or not is_own_enabled(action):
        return 0
    for prop in action:
        text = (prop.text or "").strip()
        if prop.get("name") == _PAUSE_MS and text.isdigit() and int(text) > _PAUSE_MOST_MS:
            set_text(prop, str(_PAUSE_MOST_MS))
            return int(text)
    return 0


def _pause_text(pauses: Sequence[tuple[str, int]]) -> Iterator[str]:
    if pauses:
        longest = number_text(max(length_ms for _, length_ms in pauses) / MS_PER_S)
        most = number_text(_PAUSE_MOST_MS / MS_PER_S)
        yield (
            f"pauses of Flow Control Actions last {most} s here, and up to {longest} s in a run: "
            f"{_named(name for name, _ in pauses)}; what they wait for may not be done"
        )


def _timer_text(timers: Sequence[str]) -> Iterator[str]:
    if timers:
        yield f"timers that need other users are off here: {_named(timers)}"


def _named(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = len(unique) - _NAMED_MOST
    return ", ".join(unique[:_NAMED_MOST]) + (f" and {plural(more, 'more element')}" if more > 0 else "")
