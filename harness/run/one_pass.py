"""Runs a plan once with one user, and returns each request with its response."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from harness.base.errors import EXIT_INTERRUPTED, InvalidRunError
from harness.base.secrecy import masked
from harness.plan.one_pass import one_pass
from harness.plan.spec import RunSpec
from harness.run.connections import FOREIGN_NAME, foreign_reasons
from harness.run.context import RunContext, start, system_of
from harness.run.directory import RunDirectory
from harness.run.exchanges import RAW_NAME, STORE_ALL, Exchange, masked_exchanges, parse_exchanges
from harness.run.jmeter import JMeter, plan_messages, reason_from_logs
from harness.run.jmeter_command import LOG_NAME
from harness.run.prepare import JAVA_OPTIONS, PreparedRun, prepare
from harness.run.request import Request

# A pass that takes longer is stopped: a loop that waits for something that never happens.
MOST_S = 300.0
_PERIOD_S = 0.5
_TELL_S = 10.0
_STOP_S = 3.0


class PassInterruptedError(InvalidRunError):
    """The user stopped the pass."""

    exit_code = EXIT_INTERRUPTED


def run_once(spec: RunSpec, request: Request, folder: Path, context: RunContext) -> tuple[Exchange, ...]:
    """Run one iteration of one user in a folder of its own, with the system or target of the request.

    InvalidRunError when JMeter recorded no sample, or ran longer than MOST_S.
    """
    directory = RunDirectory(folder / "check" / "pass")
    directory.path.mkdir(parents=True)
    with ExitStack() as stack:
        system = None
        if spec.target is None:
            system = stack.enter_context(system_of(request, directory.system_logs, context))
            start(system, directory.system_logs, request, context)
        prepared = prepare(spec, directory, system, context)
        directory.effective_plan.write_bytes(one_pass(spec.plan.jmx_path))
        with context.interrupts.held():
            _drive(prepared, context)
    exchanges = _stored(directory.path)
    reasons = _reasons(directory.path, prepared.command.allowed_connections)
    for reason in reasons:
        context.log(f"warning: {masked(reason, spec.hidden)}")
    if not exchanges:
        why = masked(reason_from_logs(directory.path, LOG_NAME, with_console=True), spec.hidden) if not reasons else ""
        what = f"{spec.plan.name}: JMeter ran no sampler" + (f" ({why})" if why else "")
        raise InvalidRunError(what, "check the conditions and controllers of the plan")
    return masked_exchanges(exchanges, spec.hidden)


def _drive(run: PreparedRun, context: RunContext) -> None:
    """Run JMeter to its end; every ten seconds print how many samples there are."""
    options = f"{run.command.environment[JAVA_OPTIONS]} {STORE_ALL}"
    command = replace(run.command, environment={**run.command.environment, JAVA_OPTIONS: options})
    process = JMeter(command, run.directory.path)
    started_s = told_s = time.monotonic()
    try:
        while process.wait(_PERIOD_S) is None:
            now_s = time.monotonic()
            if context.interrupts.count:
                raise PassInterruptedError(f"{run.spec.plan.name}: interrupted")
            if now_s - started_s > MOST_S:
                what = f"{run.spec.plan.name}: one pass took longer than {MOST_S:.0f} s and was stopped"
                raise InvalidRunError(what, "check the plan for a loop that does not end")
            if now_s - told_s > _TELL_S:
                told_s = now_s
                context.log(f"{now_s - started_s:.0f} s: {len(_stored(run.directory.path))} samples")
    finally:
        process.stop(0.0, _STOP_S)


def _stored(folder: Path) -> tuple[Exchange, ...]:
    path = folder / RAW_NAME
    return parse_exchanges(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ()


def _reasons(folder: Path, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the refused connections, and the messages of the plan itself."""
    foreign = folder / FOREIGN_NAME
    found = foreign_reasons(foreign.read_text(errors="replace"), allowed) if foreign.is_file() else ()
    return found + tuple(f"the plan says: {text}" for text in plan_messages(folder, LOG_NAME))
