"""Write the nightly report, its charts and its JUnit XML from the record and the runs of all nightly runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.base.errors import HarnessError
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import FINISHED
from harness.history.acceptance import ACCEPTED, read_acceptances
from harness.history.files import read_catalogue
from harness.judge.result import GOAL_MISSED
from harness.judge.verdict import DOUBTFUL
from harness.kinds.nightly.answer import result_of
from harness.kinds.nightly.gate import (
    GONE_LABEL,
    LEARNING,
    NEW_ENVIRONMENT,
    NEW_LABEL,
    NO_VALUE,
    OK,
    OTHER_WORK,
    REGRESSED,
    Check,
)
from harness.kinds.nightly.outcome import (
    NOT_MEASURED,
    KnownOf,
    LoadOutcome,
    LoadResult,
    NightlyResult,
    metrics_of,
    nightly_result,
    unseen,
)
from harness.kinds.nightly.record import NightlyRecord
from harness.kinds.nightly.render import FILE_NAME, check_text, nightly_charts, nightly_report
from harness.report.charts.chart import write_charts
from harness.report.junit import CaseState, JUnitCase, Suites, goal_case, junit_xml
from harness.report.pages import write_page
from harness.report.results import chart_path, store_result
from harness.run.directory import write_whole

# States without a judgement.
_SKIPPED = (LEARNING, NEW_LABEL, GONE_LABEL, NEW_ENVIRONMENT, NO_VALUE, OTHER_WORK)


def read_nightly_result(files: ExperimentFiles, home: Path) -> NightlyResult:
    """Return the result of a nightly run; `home` has the file of accepted changes."""
    reports = files.folder.parent
    record = Experiments(NightlyRecord, reports).read(files)
    return nightly_result(record, read_catalogue(reports).entries, read_acceptances(home / ACCEPTED))


def verdict_before(files: ExperimentFiles, home: Path) -> str | None:
    """Return the verdict of the nightly run before this one; None when there is none, or it cannot be read."""
    there = Experiments(NightlyRecord, files.folder.parent).of("")
    at = [one.name for one in there].index(files.name)
    try:
        return read_nightly_result(there[at - 1], home).verdict if at else None
    except HarnessError:
        return None


def write_nightly_report(files: ExperimentFiles, home: Path, known: KnownOf) -> NightlyResult:
    """Write the report, its charts and the JUnit XML and return the result; the output is deterministic.

    The report's notes block is preserved. `home` has the file of accepted changes, `known` what trust tests found.
    """
    result = read_nightly_result(files, home)
    metrics = metrics_of(result.record)
    loads = (replace(one, unseen=unseen(one.load, metrics, files.folder.parent, known) or "") for one in result.loads)
    result = replace(result, loads=tuple(loads))
    write_whole(files.report.with_suffix(".xml"), nightly_xml(result))
    charts = nightly_charts(result)
    drawn = [chart for of_load in charts.values() for chart in of_load]
    write_charts(files.folder, drawn, FILE_NAME)
    write_page(files.report, lambda notes: nightly_report(result, charts, notes))
    if result.record.state == FINISHED:  # else it belongs to the process that runs or resumes the nightly run
        store_result(files.report, result_of(result, chart_path(files.name, drawn)))
    return result


def junit_suites(result: NightlyResult) -> Suites:
    """Return the test suites: an invalid run is an error; missed goals and regressions are failures.

    WARNED checks pass with a text on standard output. DOUBTFUL runs and checks without a judgement are skipped with
    the reason.
    """
    record = result.record
    why = "the suite judges this label, and no run has it"
    suites = {
        "runs": [_run_case(outcome, result) for outcome in result.outcomes],
        "gate": [
            *(_check_case(load, check) for load in result.loads for check in load.checks),
            *(_error_case(label, "gate", why) for label in result.missing_labels),
        ],
    }
    goals = [
        goal_case(goal, record.title_of(outcome.run), f"goals.{outcome.load.plan}")
        for outcome in result.outcomes
        for goal in outcome.goals
    ]
    storage = [_error_case("push and pull", "storage", "; ".join(record.storage_problems))]
    return suites | ({"goals": goals} if goals else {}) | ({"storage": storage} if record.storage_problems else {})


def nightly_xml(result: NightlyResult) -> str:
    """Return the JUnit XML of a nightly run."""
    return junit_xml(f"{result.record.title} {result.record.name}", junit_suites(result))


def _run_case(outcome: LoadOutcome, result: NightlyResult) -> JUnitCase:
    why, state, kind = "; ".join(outcome.reasons), CaseState.PASSED, ""
    if outcome.state == GOAL_MISSED:
        state, kind = CaseState.FAILED, GOAL_MISSED
    elif outcome.state in (NOT_MEASURED, DOUBTFUL):
        state, why = CaseState.SKIPPED, f"{DOUBTFUL}: {why}" if outcome.state == DOUBTFUL else why
    elif outcome.state != OK:
        state, kind = CaseState.ERROR, outcome.state
    printed = f"{outcome.load.plan}/{outcome.run.run}" if outcome.run.run else ""
    name, group = result.record.title_of(outcome.run), f"runs.{outcome.load.plan}"
    return JUnitCase(name, group, state, why, kind, printed, outcome.run.took_s or 0.0)


def _check_case(load: LoadResult, check: Check) -> JUnitCase:
    figure = f"{check.label} {check.metric.title if check.metric else check.state}"
    name, group = f"{load.load.title}, {load.load.profile}: {figure}", f"gate.{load.load.plan}"
    text = f"{check.state}: {check_text(check)}"
    if check.state == REGRESSED:
        return JUnitCase(name, group, CaseState.FAILED, text, REGRESSED)
    if check.state in _SKIPPED:
        return JUnitCase(name, group, CaseState.SKIPPED, text)
    return JUnitCase(name, group, printed=text)


def _error_case(name: str, group: str, why: str) -> JUnitCase:
    return JUnitCase(name, group, CaseState.ERROR, why, "INVALID")
