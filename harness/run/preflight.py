"""Checks a plan before anything starts: rejects a plan that does not fit the run, and prints warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.log import Log
from harness.base.packed import index_path, packed_path
from harness.plan import spec as specs
from harness.plan.checks.check import check_plan, refusals
from harness.plan.checks.finding import Finding
from harness.plan.checks.lint import lint
from harness.plan.jmx.trace import check_traceable
from harness.plan.job import check_starts
from harness.plan.load.memory import check_memory, heap_of, user_kb
from harness.plan.load.model import PARTS_MAX, Load
from harness.plan.spec import Target
from harness.run.directory import RunDirectory, generator_log
from harness.run.jmeter.command import CONSOLE_NAME, LOG_NAME
from harness.run.jmeter.connections import FOREIGN_NAME, generator_connections
from harness.run.jmeter.exchanges import RAW_NAME
from harness.run.prepare import usable_memory_bytes
from harness.run.recorders import RECORDERS
from harness.run.request import Request

# A placeholder for the port of a system that is not started yet; no plan contains it by chance.
_ANY_PORT = 61_234
_WARNINGS_SHOWN = 10


def check_request(request: Request, load: Load) -> None:
    """Raise a UsageError unless the plan fits the request and the load."""
    if request.is_traced:
        check_traceable(request.plan.jmx_path)
    check_starts(request.plan.jobs, load.duration_s)
    check_plan(request.plan, request.target or _future_target(request), load, _properties(request), run_files())
    if not request.places:  # each part looks at its own share
        each_kb = user_kb(request.plan.jmx_path, request.target)
        heap = heap_of(load, each_kb, request.profile.generator_heap_mb, usable_memory_bytes())
        check_memory(load, each_kb, heap.limit_mb)


def refusals_of(request: Request, load: Load) -> tuple[Finding, ...]:
    """Return the findings for which `check_request` refuses the plan."""
    return refusals(request.plan, request.target or _future_target(request), load, _properties(request), run_files())


def check_safe(request: Request, load: Load) -> None:
    """Raise a UsageError with the first finding, unless a plan may run at all: no finding concerns more than its load.

    Everything that starts JMeter with a plan goes through `refusals`: runs by `check_request`, one pass by this.
    """
    for finding in refusals_of(request, load):
        if not finding.rule.is_about_load:
            where = f"{request.plan.jmx_path.parent.name}/{request.plan.jmx_path.name}"
            raise UsageError(finding.text_in(where), finding.todo)


def run_files() -> frozenset[str]:
    """Return the names of the files and folders of a run."""
    run = RunDirectory(Path())
    own = (run.run_json, run.samples, packed_path(run.samples), index_path(run.samples), run.effective_plan)
    paths = (*own, run.compared, run.system_logs, run.failures, run.failures_page)
    recorded = filter(None, (recorder.file for recorder in RECORDERS))
    names = (FOREIGN_NAME, RAW_NAME, LOG_NAME, CONSOLE_NAME)
    makers = (generator_connections, generator_log)
    numbered = (name(number) for name in makers for number in range(1, PARTS_MAX + 1))
    return frozenset((*(path.name for path in paths), *recorded, *names, *numbered))


def _properties(request: Request) -> Mapping[str, str]:
    return request.plan.own_properties(is_embedded=request.target is None)


def log_warnings(request: Request, log: Log) -> None:
    """Print the lint warnings of the plan."""
    plan, jmx = request.plan, request.plan.jmx_path
    warnings = lint(jmx, has_loads=bool(plan.load.loads), plugins=plan.plugins)
    for warning in warnings[:_WARNINGS_SHOWN]:
        log(f"warning: {warning.text_in(f'{jmx.parent.name}/{jmx.name}')}; {warning.todo}")
    if len(warnings) > _WARNINGS_SHOWN:
        log(f"warning: {jmx.parent.name}/{jmx.name}: {len(warnings) - _WARNINGS_SHOWN} more of this kind")


def _future_target(request: Request) -> Target:
    """Return the future target of the system, with a placeholder for a port that is not chosen yet."""
    port = request.port or _ANY_PORT
    text = re.sub(r"\{\{.*?\}\}", str(port), request.manifest.target if request.manifest else "")
    try:
        return specs.parse_target(text)
    except UsageError:
        return Target("http", "127.0.0.1", port, "")
