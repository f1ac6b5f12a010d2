"""JUnit XML: the test cases of a report, from its JSON, and the file that CI systems show."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.base.plain_text import without_control
from harness.base.records import build
from harness.judge.goals import GoalResult
from harness.judge.result import GOAL_MISSED, TONES, Result, Tone
from harness.judge.verdict import INVALID
from harness.metrics.metric import metric_of
from harness.report.results import KEY, result_in

# Characters that XML forbids even when escaped; labels may contain them.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CaseState(Enum):
    """What a test case is: JUnit XML has no other state for what neither passed nor failed than SKIPPED."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class JUnitCase:
    """A test case: `text` says why it did not pass, `kind` is a word for it such as REGRESSED, `printed` its output."""

    name: str
    group: str
    state: CaseState = CaseState.PASSED
    text: str = ""
    kind: str = ""
    printed: str = ""
    took_s: float = 0.0


Suites = Mapping[str, Sequence[JUnitCase]]


def junit_xml(title: str, suites: Suites) -> str:
    """Return the XML of test suites by name."""
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite  # deferred: few commands write XML

    results: dict[CaseState, Any] = {
        CaseState.FAILED: lambda case: Failure(_text(case.text), _text(case.kind)),
        CaseState.ERROR: lambda case: Error(_text(case.text), _text(case.kind)),
        CaseState.SKIPPED: lambda case: Skipped(_text(case.text)),
    }
    document = JUnitXml(_text(title))
    for name, cases in suites.items():
        suite = TestSuite(name)
        for case in cases:
            element = TestCase(_text(case.name), _text(case.group), case.took_s)
            if case.state in results:
                element.result = [results[case.state](case)]
            if case.printed:
                element.system_out = _text(case.printed)
            suite.add_testcase(element)
        document.add_testsuite(suite)
    stream = io.BytesIO()
    document.write(stream, pretty=True)
    return stream.getvalue().decode("utf-8")


def suites_of(data: Mapping[str, Any], code: int) -> Suites:
    """Return the suites of a report, from its JSON and the exit code of its command; empty ones are left out.

    The verdict is a case, and so are each goal of a run, each metric of a comparison, and each run of an experiment.
    """
    result = result_in(data) if KEY in data else Result()
    judged = data.get("verdict")
    goals = [build(GoalResult, one) for one in judged.get("goals", ())] if isinstance(judged, dict) else []
    suites = {
        "verdict": [verdict_case(result, code)] if result.headline else [],
        "goals": [goal_case(goal, result.title) for goal in goals],
        "metrics": list(_metric_cases(data, code)),
        "runs": [_run_case(run, result, code) for run in data.get("runs", ()) if isinstance(run, dict)],
    }
    return {name: cases for name, cases in suites.items() if cases}


def verdict_case(result: Result, code: int) -> JUnitCase:
    """Return the case of a verdict, as its mark is on the page; a doubt is skipped unless it fails the command."""
    name, group = result.title or result.kind, result.kind or "report"
    if result.tone in (Tone.GOOD, Tone.NONE):
        return JUnitCase(name, group, printed=result.headline)
    if result.tone == Tone.DOUBT and code == EXIT_OK:
        state = CaseState.SKIPPED
    elif result.is_missed or (result.verdict != INVALID and (result.tone == Tone.BAD or code == EXIT_REGRESSED)):
        state = CaseState.FAILED
    else:
        state = CaseState.ERROR
    return JUnitCase(name, group, state, result.headline, GOAL_MISSED if result.is_missed else result.verdict)


def goal_case(goal: GoalResult, run: str, group: str = "goals") -> JUnitCase:
    """Return the case of a goal of a run."""
    name = f"{run}: {goal.goal_text}"
    if goal.is_met:
        return JUnitCase(name, group, printed=goal.measured_text)
    return JUnitCase(name, group, CaseState.FAILED, goal.text, GOAL_MISSED)


def _metric_cases(data: Mapping[str, Any], code: int) -> Iterator[JUnitCase]:
    """Yield the metrics that a comparison of runs judged."""
    labels = [data.get("total"), *(data.get("labels") or ())] if "thresholds" in data else []
    for label in labels:
        for metric in label["metrics"] if label else ():
            kind, verdict = metric_of(metric["metric"]), metric["verdict"]
            sides = (metric["base"], metric["new"])
            values = " → ".join("unknown" if one is None else kind.mean_text(one) for one in sides)
            text = f"{verdict}: {values} {kind.unit}" + (f" ({metric['reason']})" if metric["reason"] else "")
            yield _judged_case(f"{label['label']}: {kind.name}", verdict, text, code)


def _judged_case(name: str, verdict: str, text: str, code: int) -> JUnitCase:
    group, tone = "compare", TONES.get(verdict, Tone.NONE)
    if tone == Tone.BAD and code != EXIT_OK:
        return JUnitCase(name, group, CaseState.FAILED, text, verdict)
    if tone in (Tone.BAD, Tone.DOUBT):
        return JUnitCase(name, group, CaseState.SKIPPED, text, verdict)
    return JUnitCase(name, group, printed=text)


def _run_case(run: Mapping[str, Any], result: Result, code: int) -> JUnitCase:
    """Return the case of a run of an experiment; one that missed its goal passed: its numbers count."""
    levels = [f"{run['users']} users"] if isinstance(run.get("users"), int) else []
    name = ", ".join((str(run.get("run") or "a run"), *levels))
    took_s, problem = float(run.get("took_s") or 0.0), str(run.get("problem") or "")
    if run.get("exit_code") in (EXIT_OK, EXIT_REGRESSED):
        return JUnitCase(name, result.kind, printed=problem, took_s=took_s)
    state = CaseState.SKIPPED if code in (EXIT_OK, EXIT_REGRESSED) else CaseState.ERROR
    exit_code = run.get("exit_code")
    text = problem or ("not finished" if exit_code is None else f"exit code {exit_code}")
    return JUnitCase(name, result.kind, state, text, took_s=took_s)


def junit_file_text(reports: Iterable[Suites], code: int, why: str) -> str:
    """Return the XML of a command that found these suites; suites of one name become one.

    With an exit code that no case explains the command is a case, with the reason `why` if it is known.
    """
    together: dict[str, list[JUnitCase]] = {}
    for name, cases in (pair for suites in reports for pair in suites.items()):
        together.setdefault(name, []).extend(cases)
    states = {case.state for cases in together.values() for case in cases}
    if code != EXIT_OK and not states & {CaseState.FAILED, CaseState.ERROR}:
        state = CaseState.FAILED if code == EXIT_REGRESSED else CaseState.ERROR
        together["command"] = [JUnitCase("exit code", "lth", state, why or f"the exit code is {code}", str(code))]
    return junit_xml("lth", together)


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", without_control(text))
