"""Formats the result of a check of a plan: its findings, and each request of the pass with its response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.base.units import plural
from harness.plan.finding import Finding
from harness.report.exchanges import Line, Section, Style, count_text, exchange_lines
from harness.run.exchanges import Exchange


@dataclass(frozen=True)
class CheckResult:
    """The result of a check of the JMX `file`.

    `refusals` are findings for which `make run` refuses the plan, `warnings` the others. `unreached` are the labels of
    enabled samplers that the pass did not run. `stopped` is where and why a pass was stopped before its end.
    `changes` are sentences about what the pass did unlike the plan.
    """

    plan: str
    file: str
    refusals: Sequence[Finding]
    warnings: Sequence[Finding]
    exchanges: Sequence[Exchange] = ()
    unreached: Sequence[str] = ()
    stopped: str = ""
    changes: Sequence[str] = ()

    @property
    def failed_count(self) -> int:
        """The number of failed samples."""
        return sum(not one.is_success for one in self.exchanges)


def finding_lines(result: CheckResult) -> Iterator[Line]:
    """Yield the lines of the findings: what, why it matters, and what to do."""
    if not result.refusals and not result.warnings:
        yield f"{result.file}: no findings", Style.GOOD
    for heading, findings, style in (
        ("make run refuses this plan", result.refusals, Style.BAD),
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
    yield from _unreached(result)


def closing_line(result: CheckResult) -> Line:
    """Return the last line of a check."""
    text = f"{result.plan}: {count_text(result.exchanges)}"
    if result.stopped:
        text += "; the pass is not complete"
    if result.refusals:
        text += f"; make run refuses the plan: {plural(len(result.refusals), 'finding')} above"
    is_bad = result.failed_count or result.refusals or result.stopped
    return text, Style.BAD if is_bad else Style.GOOD


def check_sections(result: CheckResult) -> tuple[Section, ...]:
    """Return the sections of the HTML page."""
    stopped = ((result.stopped, Style.BAD),) if result.stopped else ()
    return (
        Section("findings", "Findings", tuple(finding_lines(result))),
        Section(
            "requests",
            count_text(result.exchanges),
            (*_changes(result), *_unreached(result), *stopped),
            result.exchanges,
        ),
    )


def _changes(result: CheckResult) -> Iterator[Line]:
    for change in result.changes:
        yield f"unlike a run: {change}", Style.TITLE


def _unreached(result: CheckResult) -> Iterator[Line]:
    if result.unreached:
        names = ", ".join(result.unreached)
        why = "the pass was stopped" if result.stopped else "a condition, or a failure before it"
        yield f"not reached in one pass: {names} ({why})", Style.TITLE
