"""Nightly runs for tests, with everything that does not matter filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.experiment.record import ENDED, FINISHED, FORMAT_VERSION
from harness.history.catalogue import Entry
from harness.judge.verdict import VALID, Verdict
from harness.kinds.nightly.outcome import NightlyResult, nightly_result
from harness.kinds.nightly.record import Load, LoadRun, NightlyRecord
from harness.kinds.nightly.render import nightly_report
from harness.plan.thresholds import Thresholds
from harness.system.profile import Collections, MethodUse, ProcessProfile
from tests.support.factories import closed_load, record
from tests.support.results import label_result, run_result

# The means (ms) of nightly runs without a change.
STEADY = (100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0)


def load(**changes: Any) -> Load:
    """Return a load of two users that takes 100 s."""
    values: dict[str, Any] = {
        "plan": "tiny", "profile": "local", "title": "tiny, 2 users", "arguments": ("--plan=tiny", "--users=2"),
        "load": closed_load(), "target": None, "repeats": 1, "planned_s": 100.0, "limit_s": 500.0,
        "thresholds": Thresholds(),
    }  # fmt: skip
    return Load(**{**values, **changes})


def ended(number: int = 1, **changes: Any) -> LoadRun:
    """Return a run that finished: the first load, run-261121_1."""
    values: dict[str, Any] = {
        "load": 0, "round_number": 1, "state": ENDED, "run": f"run-261121_{number}", "exit_code": 0, "took_s": 112.4,
    }  # fmt: skip
    return LoadRun(**{**values, **changes})


def nightly_record(*runs: LoadRun, **changes: Any) -> NightlyRecord:
    """Return the nightly run of 2026-11-21 with these runs; all of them finished."""
    values: dict[str, Any] = {
        "format_version": FORMAT_VERSION, "name": "2026-11-21", "series": "261121", "title": "Nightly",
        "command": "make nightly", "budget_s": 5400.0, "metrics": ("average",), "labels": ("TOTAL",),
        "loads": (load(),), "state": FINISHED, "runs": runs, "started_at": "2026-11-21T02:00:00Z", "spent_s": 842.0,
        "storage_problems": (), "git_commit": "0123456789abcdef", "git_changed": False, "commits": None,
    }  # fmt: skip
    return NightlyRecord(**{**values, **changes})


def entry(date: str = "261121", number: int = 1, average_ms: float = 100.0, **changes: Any) -> Entry:
    """Return a valid run of the plan `tiny`; its date such as 261121 is its series."""
    name = f"run-{date}_{number}"
    started_at = f"20{date[:2]}-{date[2:4]}-{date[4:]}T02:00:0{number}Z"
    verdict = changes.pop("verdict", Verdict(VALID, (), (), ()))
    run = replace(record(name=name), started_at=started_at, **changes)
    figures = label_result("Pay", average_ms)
    result = run_result(f"tiny/{name}", figures, total=replace(figures, label="TOTAL"), run=run, verdict=verdict)
    return Entry("tiny", name, int(date), number, run, result)


def entries(*average_ms: float) -> list[Entry]:
    """Return a run for each of the nightly runs up to 2026-11-21, with that average."""
    return [entry(f"2611{22 - len(average_ms) + index:02d}", 1, value) for index, value in enumerate(average_ms)]


def profiled(one: Entry, self_count: int) -> Entry:
    """Return a run with a profile: in so many of its 2,000 samples one method ran itself."""
    methods = (MethodUse("shop.Cart.sum", self_count, 2_000),)
    profile = ProcessProfile("shop", 100.0, 2_000, methods, 0.0, (), 0, (), Collections(0, 0.0, 0.0))
    assert one.result
    return replace(one, result=replace(one.result, profiles=(profile,)))


def result_of(record: NightlyRecord, *runs: Entry) -> NightlyResult:
    return nightly_result(record, runs, ())


def page_of(result: NightlyResult) -> str:
    return nightly_report(result, {}, "seen by nobody")
