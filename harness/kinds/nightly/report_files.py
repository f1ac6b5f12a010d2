"""Write the nightly report, its charts and its JUnit XML from the record and the runs of all nightly runs."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.base.errors import HarnessError
from harness.base.plain_text import without_control
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import FINISHED
from harness.history.acceptance import ACCEPTED, read_acceptances
from harness.history.files import read_catalogue
from harness.judge.goals import GoalResult
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
    GOAL_MISSED,
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
from harness.report.pages import write_page
from harness.report.results import chart_path, store_result
from harness.run.directory import write_whole

# Characters that XML forbids even when escaped; labels may contain them.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
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
    write_whole(files.report.with_suffix(".xml"), junit_xml(result))
    charts = nightly_charts(result)
    drawn = [chart for of_load in charts.values() for chart in of_load]
    write_charts(files.folder, drawn, FILE_NAME)
    write_page(files.report, lambda notes: nightly_report(result, charts, notes))
    if result.record.state == FINISHED:  # else it belongs to the process that runs or resumes the nightly run
        store_result(files.report, result_of(result, chart_path(files.name, drawn)))
    return result


def junit_xml(result: NightlyResult) -> str:
    """Return the XML: an invalid run is an error; missed goals and regressions are failures.

    WARNED checks pass with a text on standard output. DOUBTFUL runs and checks without a judgement are skipped with
    the reason.
    """
    record = result.record
    document = JUnitXml(_text(f"{record.title} {record.name}"))
    document.add_testsuite(_suite("runs", [_run_case(outcome, result) for outcome in result.outcomes]))
    checks = [_check_case(load, check) for load in result.loads for check in load.checks]
    why = "the suite judges this label, and no run has it"
    missing = [_error_case(label, "gate", why) for label in result.missing_labels]
    document.add_testsuite(_suite("gate", checks + missing))
    goals = [_goal_case(outcome, goal, result) for outcome in result.outcomes for goal in outcome.goals]
    if goals:
        document.add_testsuite(_suite("goals", goals))
    if record.storage_problems:
        case = _error_case("push and pull", "storage", "; ".join(record.storage_problems))
        document.add_testsuite(_suite("storage", [case]))
    stream = io.BytesIO()
    document.write(stream, pretty=True)
    return stream.getvalue().decode("utf-8")


def _suite(name: str, cases: Sequence[TestCase]) -> TestSuite:
    suite = TestSuite(name)
    suite.add_testcases(list(cases))
    return suite


def _run_case(outcome: LoadOutcome, result: NightlyResult) -> TestCase:
    name, took_s = _text(result.record.title_of(outcome.run)), outcome.run.took_s or 0.0
    case = TestCase(name, f"runs.{_text(outcome.load.plan)}", took_s)
    why = _text("; ".join(outcome.reasons))
    if outcome.state == GOAL_MISSED:
        case.result = [Failure(why, GOAL_MISSED)]
    elif outcome.state in (NOT_MEASURED, DOUBTFUL):
        # JUnit XML has no other state for a run that neither passed nor failed.
        case.result = [Skipped(f"{DOUBTFUL}: {why}" if outcome.state == DOUBTFUL else why)]
    elif outcome.state != OK:
        case.result = [Error(why, outcome.state)]
    if outcome.run.run:
        case.system_out = _text(f"{outcome.load.plan}/{outcome.run.run}")
    return case


def _goal_case(outcome: LoadOutcome, goal: GoalResult, result: NightlyResult) -> TestCase:
    name = f"{result.record.title_of(outcome.run)}: {goal.goal_text}"
    case = TestCase(_text(name), f"goals.{_text(outcome.load.plan)}", 0.0)
    if goal.is_met:
        case.system_out = _text(goal.measured_text)
    else:
        case.result = [Failure(_text(goal.text), GOAL_MISSED)]
    return case


def _check_case(load: LoadResult, check: Check) -> TestCase:
    figure = f"{check.label} {check.metric.title if check.metric else check.state}"
    case = TestCase(_text(f"{load.load.title}, {load.load.profile}: {figure}"), f"gate.{_text(load.load.plan)}", 0.0)
    text = _text(f"{check.state}: {check_text(check)}")
    if check.state == REGRESSED:
        case.result = [Failure(text, REGRESSED)]
    elif check.state in _SKIPPED:
        case.result = [Skipped(text)]
    else:
        case.system_out = text
    return case


def _error_case(name: str, classname: str, why: str) -> TestCase:
    case = TestCase(_text(name), classname, 0.0)
    case.result = [Error(_text(why), "INVALID")]
    return case


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", without_control(text))
