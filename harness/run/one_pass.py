"""Runs a plan once with one user, and returns each request with its response."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.errors import EXIT_INTERRUPTED, InvalidRunError
from harness.base.secrecy import masked
from harness.base.units import MS_PER_S, duration_text
from harness.plan.one_pass import one_pass
from harness.plan.spec import RunSpec
from harness.run.connections import FOREIGN_NAME, foreign_reasons, take_list
from harness.run.context import RunContext, start, system_of
from harness.run.directory import RunDirectory
from harness.run.exchanges import RAW_NAME, STORE_ALL, Exchange, masked_exchanges, parse_exchanges, progress_at
from harness.run.jmeter import JMeter, StopLimits, plan_messages, reason_from_logs
from harness.run.jmeter_command import LOG_NAME, STOP_NOW
from harness.run.prepare import JAVA_OPTIONS, PreparedRun, prepare
from harness.run.request import Request

_PERIOD_S = 0.5
_LOG_PERIOD_S = 10.0
# JMeter breaks off its running samples and writes them, which shows where the pass was; then it is ended.
_STOP_S, _TERM_S = 5.0, 3.0


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

    A pass that takes longer than `limit_s` is stopped, and so is an interrupted one. InvalidRunError when JMeter ended
    without a sample.
    """
    directory = RunDirectory(folder / "check" / "pass")
    directory.path.mkdir(parents=True)
    with ExitStack() as stack:
        system = None
        if spec.target is None:
            system = stack.enter_context(system_of(request, directory.system_logs, context))
            start(system, directory.system_logs, request, context)
        prepared = prepare(spec, directory, system, context)
        left_out = [load.group for load in spec.plan.load.loads if not load.level]
        plan = one_pass(spec.plan.jmx_path, left_out)
        directory.effective_plan.write_bytes(plan.jmx)
        with context.interrupts.deferred():
            stop = _drive(prepared, context, limit_s)
        take_list(prepared.command.connections, directory)
    exchanges = _stored(directory.path)
    reasons = _reasons(directory.path, prepared.command.allowed_connections)
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
