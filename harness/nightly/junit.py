"""Render a nightly run as JUnit XML: a test case for each run, for each check of the gate, and for each goal."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from harness.nightly.gate import GONE_LABEL, LEARNING, NEW_ENVIRONMENT, NEW_LABEL, NO_VALUE, OK, REGRESSED, Check
from harness.nightly.outcome import GOAL_MISSED, NOT_MEASURED, LoadResult, NightlyResult, Outcome
from harness.nightly.render import check_text
from harness.report.goals import GoalResult
from harness.report.verdict import DOUBTFUL

# Characters that XML forbids even when escaped; labels may contain them.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# States without a judgement.
_SKIPPED = (LEARNING, NEW_LABEL, GONE_LABEL, NEW_ENVIRONMENT, NO_VALUE)


def junit_xml(result: NightlyResult) -> str:
    """Return the XML: an invalid run is an error; missed goals and regressions are failures.

    WARNED checks pass with a text on standard output. DOUBTFUL runs and checks without a judgement are skipped with
    the reason.
    """
    record = result.record
    document = JUnitXml(_text(f"{record.title} {record.name}"))
    document.add_testsuite(_suite("runs", [_run_case(outcome, result) for outcome in result.outcomes]))
    checks = [_check_case(load, check) for load in result.loads for check in load.checks]
    document.add_testsuite(_suite("gate", checks + [_missing_case(label) for label in result.missing_labels]))
    goals = [_goal_case(outcome, goal, result) for outcome in result.outcomes for goal in outcome.goals]
    if goals:
        document.add_testsuite(_suite("goals", goals))
    if record.storage_problems:
        document.add_testsuite(_suite("storage", [_storage_case(record.storage_problems)]))
    stream = io.BytesIO()
    document.write(stream, pretty=True)
    return stream.getvalue().decode("utf-8")


def _suite(name: str, cases: Sequence[TestCase]) -> TestSuite:
    suite = TestSuite(name)
    suite.add_testcases(list(cases))
    return suite


def _run_case(outcome: Outcome, result: NightlyResult) -> TestCase:
    case = TestCase(
        _text(result.record.title_of(outcome.run)), f"runs.{_text(outcome.load.plan)}", outcome.run.took_s or 0.0
    )
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


def _goal_case(outcome: Outcome, goal: GoalResult, result: NightlyResult) -> TestCase:
    name = f"{result.record.title_of(outcome.run)}: {goal.goal_text}"
    case = TestCase(_text(name), f"goals.{_text(outcome.load.plan)}", 0.0)
    if goal.is_met:
        case.system_out = _text(goal.measured_text)
    else:
        case.result = [Failure(_text(goal.text), GOAL_MISSED)]
    return case


def _check_case(load: LoadResult, check: Check) -> TestCase:
    figure = f"{check.label} {check.metric.title}" if check.metric else f"{check.label} {check.state}"
    case = TestCase(_text(f"{load.load.title}, {load.load.profile}: {figure}"), f"gate.{_text(load.load.plan)}", 0.0)
    text = _text(f"{check.state}: {check_text(check)}")
    if check.state == REGRESSED:
        case.result = [Failure(text, REGRESSED)]
    elif check.state in _SKIPPED:
        case.result = [Skipped(text)]
    else:
        case.system_out = text
    return case


def _missing_case(label: str) -> TestCase:
    case = TestCase(_text(label), "gate", 0.0)
    case.result = [Error("the suite judges this label, and no run has it", "INVALID")]
    return case


def _storage_case(problems: Sequence[str]) -> TestCase:
    case = TestCase("push and pull", "storage", 0.0)
    case.result = [Error(_text("; ".join(problems)), "INVALID")]
    return case


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
