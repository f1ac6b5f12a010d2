"""The references of a run: the runs that the section "Compared with" of its report compares it with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.compare.conditions import Conditions
from harness.compare.preconditions import invalid_reasons, mismatches
from harness.history.catalogue import Entry, runs_of
from harness.history.pin_files import read_pins
from harness.judge.stored_comparisons import ComparedRun
from harness.plan.load.model import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run import kinds
from harness.run.kinds import RUN_NAME
from harness.run.names import find_paths, full_path, in_plan, is_there

# What compares is imported late: every run would wait for it before its load, and many have no reference.
if TYPE_CHECKING:
    from harness.report.run_result import RunResult

_PREVIOUS, _GIVEN = "previous run", "--base"


@dataclass(frozen=True)
class Reference:
    """A run to compare with: `role` says why, `path` is the run's folder, or a file."""

    role: str
    path: Path


@dataclass(frozen=True)
class References:
    """What is known before a run starts: pins or the one of BASE, and whether the previous run is a reference, too."""

    known: tuple[Reference, ...] = ()
    with_previous: bool = True

    def after(self, previous: Entry | None, reports: Path) -> tuple[Reference, ...]:
        """Return all references of the finished run, the previous run first; a run with two roles is there once."""
        roles: dict[Path, list[str]] = {}
        if previous and self.with_previous:
            roles[reports / previous.plan / previous.name] = [_PREVIOUS]
        for one in self.known:
            roles.setdefault(one.path, []).append(one.role)
        return tuple(Reference(", ".join(why), path) for path, why in roles.items())


NO_REFERENCES = References(with_previous=False)


def references_before(baseline: str | None, reports: Path, plan: str, load: LoadRecord) -> References:
    """Return the references of a run of a plan: all pins and the previous run, or only `baseline`.

    `baseline` is a pin of the plan, a run, or a report. UsageError when it cannot be compared with such a run, and
    for a wrong file of pins.
    """
    pins = read_pins(reports / plan)
    if baseline is None:
        return References(tuple(_pinned(name, reports / plan, pins) for name in sorted(pins)))
    reference = _pinned(baseline, reports / plan, pins) if baseline in pins else _given(baseline, reports, plan, pins)
    _check(baseline, reference.path, plan, load)
    return References((reference,), with_previous=False)


def _pinned(name: str, folder: Path, pins: Mapping[str, str]) -> Reference:
    return Reference(f"pinned as {name}", full_path(folder / pins[name]))


def _given(baseline: str, reports: Path, plan: str, pins: Mapping[str, str]) -> Reference:
    try:
        paths = find_paths(in_plan([baseline], plan), reports)
    except UsageError as error:
        what = f"--base {baseline}: neither a pin of {plan} nor a run or a report"
        near, known = did_you_mean(baseline, pins), f"pins: {', '.join(sorted(pins)) or 'none'}"
        raise UsageError(what, near + known if near else f"{known}; {error.todo}") from None
    if len(paths) > 1 or kinds.SWEEP.numbered.fullmatch(paths[0].name):
        what = f"{len(paths)} runs" if len(paths) > 1 else "a sweep"
        raise UsageError(f"--base {baseline}: {what}", "name one run: a report is compared with single runs")
    return Reference(_GIVEN, paths[0])


def _check(baseline: str, path: Path, plan: str, load: LoadRecord) -> None:
    """Raise UsageError unless BASE can be read, and has the plan and the load of the run that is to start."""
    from harness.compare.preconditions import unlike_request
    from harness.compare.sources import read_result

    if not is_there(path):
        raise UsageError(
            f"--base {baseline}: {path.parent.name}/{path.name} does not exist", "pin another run: lth pin"
        )
    run = read_result(path).run
    unlike = unlike_request(run, plan, load) if run else []
    if unlike:
        todo = "name a run of the same load, or leave it out and use lth compare with --anyway afterwards"
        raise UsageError(f"--base {baseline}: not like this run: {'; '.join(unlike)}", todo)


def compared_with(
    references: Sequence[Reference], contender: RunResult, thresholds: Thresholds, reports: Path
) -> tuple[ComparedRun, ...]:
    """Return the comparison of a finished run with each reference.

    A reference that was deleted or cannot be compared gives the reason and no error: the run is finished.
    """
    return tuple(_compared(one, contender, thresholds, reports) for one in references)


def _compared(reference: Reference, contender: RunResult, thresholds: Thresholds, reports: Path) -> ComparedRun:
    from harness.compare.reference import compared_run
    from harness.compare.run_scatter import ASSUMED
    from harness.compare.sources import read_result
    from harness.history.earlier_runs import LOOKED_AT_MOST, earlier_scatter
    from harness.history.files import entries_of

    path, role = reference.path, reference.role
    failed = ComparedRun("/".join(path.resolve().parts[-2:]), role)
    if not is_there(path):
        return replace(failed, problem="it no longer exists")
    try:
        baseline, plan = read_result(path), reports / contender.name.partition("/")[0]
        scatter = earlier_scatter(entries_of(plan, LOOKED_AT_MOST), (baseline, contender)) or ASSUMED
        return compared_run(baseline, contender, thresholds, role, _link(path, contender, reports), scatter)
    except UsageError as error:
        return replace(failed, problem=error.what.replace(f"{reports}/", "").replace(str(path), failed.name))
    except Exception as error:  # noqa: BLE001 - problems with files of other runs must not fail the run
        return replace(failed, problem=f"its files cannot be read ({type(error).__name__})")


def _link(path: Path, contender: RunResult, reports: Path) -> str:
    """Return the path of a reference's report from that of the run; empty unless it is a run in the reports folder."""
    from harness.compare.sides import is_in

    if not RUN_NAME.fullmatch(path.name) or not is_in(path, reports):
        return ""
    plan, report = path.resolve().parent.name, f"{path.name}.md"
    return report if plan == contender.name.partition("/")[0] else f"../{plan}/{report}"


def previous_run(entries: Iterable[Entry], identity: str) -> Entry | None:
    """Return the newest earlier run that is comparable with a run, such as shop/run-01_2; None when there is none.

    Both have the same plan, load, window, profile, machine and target, and neither is INVALID or INTERRUPTED. A VALID
    run is preferred: `compare` does not judge DOUBTFUL ones.
    """
    entries = tuple(entries)
    new = next((entry for entry in entries if entry.id == identity), None)
    if new is None:
        return None
    earlier = (entry for entry in runs_of(entries, new.plan) if entry.order_key < new.order_key)
    known = [entry for entry in earlier if _are_comparable(entry, new)]
    valid = [entry for entry in known if entry.result and entry.result.is_valid]
    return next(reversed(valid or known), None)


def _are_comparable(baseline: Entry, contender: Entry) -> bool:
    baseline_result, contender_result = baseline.result, contender.result
    if baseline_result is None or contender_result is None or baseline.run is None or contender.run is None:
        return False
    return (
        baseline_result.total is not None
        and contender_result.total is not None
        and Conditions.of(baseline.run) == Conditions.of(contender.run)
        and baseline.run.kept_up == contender.run.kept_up  # a level of a sweep began with a warm system
        and not mismatches([baseline_result], [contender_result])
        and not invalid_reasons([baseline_result], [contender_result])
    )
