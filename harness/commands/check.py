"""`lth check`: lint a plan, run it once with one user, and print each request with its response."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from harness.base.errors import EXIT_OK, EXIT_REGRESSED, UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.log import spelled
from harness.base.paths import shown
from harness.base.plain_text import without_control
from harness.base.units import parse_duration_s, plural
from harness.cli.options import take, take_argument
from harness.plan.checks.advice import AdviceSource, advice_for
from harness.plan.checks.checked import Checked
from harness.plan.checks.finding import Finding
from harness.plan.checks.lint import lint, user_variables
from harness.plan.jmx.tree import SAMPLER, enabled_nodes, plan_tree
from harness.plan.jmx.values import Values
from harness.plan.load.model import ClosedLoad, LoadArguments, parse_load, resolve_load
from harness.plan.plan import Plan
from harness.plan.properties import load_properties
from harness.report.exchanges import Line, Section, Style, count_text, exchange_lines, exchange_page
from harness.run.arguments import command_of, refuse_empty
from harness.run.context import RunContext, ready_jmeter
from harness.run.jmeter.exchanges import Changes, Exchange
from harness.run.preflight import refusals_of
from harness.run.replay.one_pass import Pass, PassInterruptedError, PassStoppedError, run_once
from harness.run.request import Request, resolve_request

_EPILOG = """\
examples:
  lth check shop --target http://127.0.0.1:8080
  lth check killbill-stripe                                 (starts the system of the plan)
  lth check https://127.0.0.1:8443/items -H 'Authorization: Bearer $TOKEN'
  lth check path/to/test.jmx --target http://127.0.0.1:8080
  lth check shop --target http://127.0.0.1:8080 --html check.html

The plan's thread groups run once with one user each, without think time; setUp and tearDown run as in the plan. Pauses
of Flow Control Actions last at most a second, and timers that need other users are off: the output names them. Bodies
are cut at 2 kB, and secrets are masked. Nothing is sent when the plan could reach another host. A pass that does not
end within --limit is stopped; its requests are printed, with the one that it waited for.

Advice names what makes the load unlike that of real users; it never changes the exit code. [check] silence = ["CODE"]
in the plan's TOML switches one off.

exit codes: 0 success; 1 a sample failed; 2 wrong use, or the plan must not run; 3 no sampler ran, or the pass was
stopped; 130 interrupted.
"""
_TODO = "look for a loop that does not end and for requests without a timeout, or raise --limit"
# Variables that JMeter itself sets.
_OWN_VARIABLES = ("START.", "TESTSTART.", "JMeterThread.", "__jm")
_PLACES_SHOWN = 3
_STYLES = {
    Style.PLAIN: "",
    Style.TITLE: "bold",
    Style.GOOD: "green",
    Style.BAD: "bold red",
    Style.DIM: "dim",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth check`."""
    parser.description = "Lint a plan, run it once with one user, and print each request with its response."
    parser.epilog = _EPILOG
    take(parser, "plan env properties target header curl port sampler max/check html/file yes home build")
    take_argument(parser, "plan/address", "?")


def run(options: argparse.Namespace) -> int:
    """Check the plan, print the result and return the exit code."""
    refuse_empty(options)
    if options.html and (options.html.is_dir() or not options.html.absolute().parent.is_dir()):
        raise UsageError(f"--html {options.html}: not a file in an existing folder", "name another file")
    limit_s = _limit_s(options.max)
    request = resolve_request(options)
    result = _findings(request)
    console = Console(highlight=False)
    _print(console, [*finding_lines(result), ("", Style.PLAIN)])
    unsafe = [finding for finding in result.refusals if not finding.rule.is_about_load]
    if unsafe:
        _write_page(options.html, result)
        raise UsageError(f"{result.plan}: the plan must not run", "correct what lth run refuses; nothing was sent")
    plan_pass = _pass(request, console, options, limit_s)
    result = replace(result, exchanges=plan_pass.exchanges, stopped=plan_pass.stopped, changes=plan_pass.changes)
    advice = advice_of(request.plan, result.exchanges, is_embedded=request.target is None)
    result = replace(result, unreached=_unreached(request, result.exchanges), advice=advice)
    _print(console, [*pass_lines(result), closing_line(result), *advice_lines(result)])
    _write_page(options.html, result)
    if options.html:
        _print(console, [(f"page: {shown(options.html)}", Style.PLAIN)])
    if plan_pass.stopped:
        error = PassInterruptedError if plan_pass.is_interrupted else PassStoppedError
        raise error(f"{result.plan}: {plan_pass.stopped}", "" if plan_pass.is_interrupted else _TODO)
    return EXIT_REGRESSED if result.failed_count else EXIT_OK


def _limit_s(text: str) -> float:
    limit_s = parse_duration_s(text, "--max")
    if not limit_s:
        raise UsageError(f"--max={text}: must be more than 0", "give seconds or 90s, 2m, 1h30m")
    return limit_s


def _findings(request: Request) -> CheckResult:
    """Return the findings of the lint, and those for which a run with the plan's load is refused."""
    plan = request.plan
    refused = refusals_of(request, resolve_load(parse_load(LoadArguments()), plan.load))
    found = lint(plan.jmx_path, has_loads=bool(plan.load.loads), plugins=plan.plugins)
    others = [finding for finding in found if not any(_is_same(finding, one) for one in refused)]
    return CheckResult(plan.name, f"{plan.jmx_path.parent.name}/{plan.jmx_path.name}", refused, others)


def advice_of(plan: Plan, exchanges: Sequence[Exchange], *, is_embedded: bool) -> tuple[AdviceSource, ...]:
    """Return the advice for a plan and the responses of one pass."""
    nodes = enabled_nodes(plan_tree(plan.jmx_path))
    load = load_properties(resolve_load(parse_load(LoadArguments()), plan.load))
    properties = {**plan.own_properties(is_embedded=is_embedded), **load, **plan.load.think_time}
    values = Values.of(nodes, properties, plan.jmx_path.parent)
    answers = [(one.label, one.response_headers) for one in exchanges]
    return advice_for(Checked(nodes, values, plan.load, answers), plan.silenced)


def _is_same(one: Finding, other: Finding) -> bool:
    """Return whether two findings report the same problem of the same attribute."""
    return (one.code, one.path, one.attribute) == (other.code, other.path, other.attribute)


def _pass(request: Request, console: Console, options: argparse.Namespace, limit_s: float) -> Pass:
    """Run one pass of the plan, without think time."""
    plan = replace(request.plan, load=replace(request.plan.load, think_time_s=0.0))
    request = replace(request, plan=plan)
    spec = request.run_spec(
        ClosedLoad(1, 0.0, None, 1), note="", command=str(command_of(options, request.hidden, request.properties))
    )
    with Interrupts() as interrupts, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="check-")))
        jmeter = ready_jmeter(request, folder)
        context = RunContext(jmeter, interrupts, console, stack.enter_context(Guardian()))
        context.guardian.remove_at_end(folder)
        context.log(f"{plan.name}: one user, one pass")
        plan_pass = run_once(spec, request, folder, context, limit_s)
    constants = user_variables(plan_tree(plan.jmx_path))
    exchanges = tuple(replace(one, variables=_extracted(one, constants)) for one in plan_pass.exchanges)
    return replace(plan_pass, exchanges=exchanges)


def _extracted(exchange: Exchange, constants: Collection[str]) -> Changes:
    """Return the changed variables without User Defined Variables that have their first value, and JMeter's own."""
    return {
        name: change
        for name, change in (exchange.variables or {}).items()
        if not name.startswith(_OWN_VARIABLES) and not (name in constants and change.before is None)
    }


def _unreached(request: Request, exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    """Return the labels of enabled samplers without a sample; labels with variables are left out."""
    seen = {one.label for one in exchanges}
    labels = (node.name for node in plan_tree(request.plan.jmx_path).walk() if SAMPLER.search(node.kind))
    return tuple(dict.fromkeys(label for label in labels if label not in seen and "${" not in label))


def _print(console: Console, lines: Iterable[Line]) -> None:
    for text, style in lines:
        console.print(Text(without_control(spelled(text)), style=_STYLES[style]), soft_wrap=True)


def _write_page(path: Path | None, result: CheckResult) -> None:
    if path:
        try:
            path.write_text(exchange_page(f"Check of {result.plan}", check_sections(result)), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--html {path}: cannot be written ({error.strerror})", "name another file") from None


@dataclass(frozen=True)
class CheckResult:
    """The result of a check of the JMX `file`.

    `refusals` are findings for which `lth run` refuses the plan, `warnings` the others. `unreached` are the labels of
    enabled samplers that the pass did not run. `stopped` is where and why a pass was stopped before its end.
    `changes` are sentences about what the pass did unlike the plan. `advice` is what makes the load unrealistic.
    """

    plan: str
    file: str
    refusals: Sequence[Finding]
    warnings: Sequence[Finding]
    exchanges: Sequence[Exchange] = ()
    unreached: Sequence[str] = ()
    stopped: str = ""
    changes: Sequence[str] = ()
    advice: Sequence[AdviceSource] = ()

    @property
    def failed_count(self) -> int:
        """The number of failed samples."""
        return sum(not one.is_success for one in self.exchanges)


def finding_lines(result: CheckResult) -> Iterator[Line]:
    """Yield the lines of the findings: what, why it matters, and what to do."""
    if not result.refusals and not result.warnings:
        yield f"{result.file}: no findings", Style.GOOD
    for heading, findings, style in (
        ("lth run refuses this plan", result.refusals, Style.BAD),
        ("warnings", result.warnings, Style.TITLE),
    ):
        if findings:
            yield f"{heading}: {plural(len(findings), 'finding')}", style
        for finding in findings:
            yield f"  {finding.text_in(result.file)} [{finding.code}]", Style.PLAIN
            yield f"    why: {finding.why}", Style.DIM
            yield f"    fix: {finding.todo}", Style.DIM


def pass_lines(result: CheckResult) -> Iterator[Line]:
    """Yield the lines of the pass: what is unlike the plan, each exchange, then the samplers that it did not reach."""
    yield from _changes(result)
    for one in result.exchanges:
        yield from exchange_lines(one)
        yield "", Style.PLAIN
    yield from _unreached_elements(result)


def closing_line(result: CheckResult) -> Line:
    """Return the last line of a check."""
    text = f"{result.plan}: {count_text(result.exchanges)}"
    if result.stopped:
        text += "; the pass is not complete"
    if result.refusals:
        text += f"; lth run refuses the plan: {plural(len(result.refusals), 'finding')} above"
    is_bad = result.failed_count or result.refusals or result.stopped
    return text, Style.BAD if is_bad else Style.GOOD


def advice_lines(result: CheckResult) -> Iterator[Line]:
    """Yield the lines of the advice: what, where, why it matters, and what to do."""
    if result.advice:
        yield "", Style.PLAIN
        yield "Advice:", Style.TITLE
    for given in result.advice:
        more = f" and {len(given.places) - _PLACES_SHOWN} more" if len(given.places) > _PLACES_SHOWN else ""
        places = ", ".join(given.places[:_PLACES_SHOWN])
        yield f"  {given.advice.what}: {places}{more} [{given.advice.code}]", Style.PLAIN
        yield f"    why: {given.advice.why}", Style.DIM
        yield f"    how: {given.advice.how}", Style.DIM


def check_sections(result: CheckResult) -> tuple[Section, ...]:
    """Return the sections of the HTML page."""
    stopped = ((result.stopped, Style.BAD),) if result.stopped else ()
    return (
        Section("findings", "Findings", tuple(finding_lines(result))),
        Section(
            "requests",
            count_text(result.exchanges),
            (*_changes(result), *_unreached_elements(result), *stopped),
            result.exchanges,
        ),
        *([Section("advice", "Advice", tuple(advice_lines(result))[2:])] if result.advice else []),
    )


def _changes(result: CheckResult) -> Iterator[Line]:
    for change in result.changes:
        yield f"unlike a run: {change}", Style.TITLE


def _unreached_elements(result: CheckResult) -> Iterator[Line]:
    if result.unreached:
        names = ", ".join(result.unreached)
        why = "the pass was stopped" if result.stopped else "a condition, or a failure before it"
        yield f"not reached in one pass: {names} ({why})", Style.TITLE
