"""A kind of experiment in one file: several plans in turn, each a few times; run, interrupted, resumed and listed."""

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.compare.result import RunResult
from harness.experiment import runner
from harness.experiment.counting import problem_of, result_of
from harness.experiment.execute import InChildren, Step
from harness.experiment.record import ENDED, FINISHED, RUNNING, ExperimentRecord, ExperimentRun, RunTime, run_times
from harness.experiment.runner import Design, Runner
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.report.pages import write_page
from harness.run import kinds
from harness.run.child import Children, ChildRun
from harness.run.directory import RunDirectory, load_record
from harness.run.recorded import RecordedFolder
from harness.site.files import write_site
from tests.support.fake_runs import behave, calls, use_fake_runs
from tests.support.processes import wait_for

TURNS = kinds.Kind("turn", "Plans in turn", "turn")


@dataclass(frozen=True)
class TurnRun(ExperimentRun):
    plan: str


@dataclass(frozen=True, kw_only=True)
class TurnsRecord(ExperimentRecord):
    runs: tuple[TurnRun, ...]
    plans: tuple[str, ...]
    what: ClassVar = "plans in turn"

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        return run_times((run, 1.0) for run in self.runs if run.state == ENDED)


@dataclass(frozen=True)
class TurnsOutcome:
    record: TurnsRecord
    results: Mapping[str, RunResult]

    @property
    def ended(self) -> tuple[TurnRun, ...]:
        return tuple(run for run in self.record.runs if run.state == ENDED)

    @property
    def is_decided(self) -> bool:
        return len(self.ended) == len(self.record.plans)


@dataclass(frozen=True)
class Turns(Design[TurnsRecord, TurnsOutcome]):
    files: RecordedFolder
    reports: Path

    def judge(self, record: TurnsRecord, results: Mapping[str, RunResult]) -> TurnsOutcome:
        return TurnsOutcome(record, results)

    def store(self, outcome: TurnsOutcome) -> None:
        self.files.write(outcome.record)

    def write_page(self, outcome: TurnsOutcome) -> None:
        lines = []
        for run in outcome.ended:
            result = result_of(RunDirectory(self.reports / run.plan / (run.run or "")))
            why = problem_of(result, run.problem).text
            average = result.total.average_ms if result and result.total else 0.0
            lines.append(f"- {run.plan}: {why or f'{average:.1f} ms'}")
        head = f"# {self.files.name}\n\n**{len(lines)} of {len(outcome.record.plans)} plans measured.**\n\n"
        write_page(self.files.report, lambda _: head + "\n".join(lines) + "\n")

    def next_step(self, outcome: TurnsOutcome) -> Step | None:
        if outcome.is_decided:
            return None
        plan = outcome.record.plans[len(outcome.ended)]
        return Step(
            run=TurnRun(plan),
            heading=f"{self.files.name}: {plan}",
            child=ChildRun(
                plan, (f"--plan={plan}", "--series=07"), {"reports": self.reports}, self.files.folder / "log"
            ),
            runs_in=self.reports / plan,
            limit_s=60.0,
            planned_s=[1.0],
            left_s=[1.0] * (len(outcome.record.plans) - len(outcome.ended)),
        )


@pytest.fixture
def reports(tmp_path, monkeypatch) -> Path:
    use_fake_runs(tmp_path, monkeypatch)
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, TURNS))
    (tmp_path / "reports" / "tiny" / "turn-07").mkdir(parents=True)
    (tmp_path / "reports" / "other").mkdir()
    return tmp_path / "reports"


def new_turns(*plans: str) -> TurnsRecord:
    return TurnsRecord(
        name="turn-07", command="make turns", budget_s=None, state=RUNNING, runs=(), started_at="2026-11-24T02:00:00Z",
        spent_s=0.0, git_commit=None, git_changed=None, plans=plans,
    )  # fmt: skip


def measured(reports: Path, record: TurnsRecord) -> TurnsOutcome:
    files = RecordedFolder(reports / "tiny" / "turn-07")
    with Interrupts() as interrupts, ExitStack() as stack:
        children = Children(interrupts, stack.enter_context(Guardian()))
        with interrupts.deferred():
            return Runner(Turns(files, reports), record, {}, InChildren(children), 1.0).run()


def interrupt(tmp_path: Path) -> threading.Thread:
    def act() -> None:
        wait_for(lambda: (tmp_path / "fakes" / "waits").exists())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_a_kind_in_one_file_is_run_interrupted_resumed_rendered_and_listed(reports, tmp_path, charts, capsys):
    new = new_turns("tiny", "other", "tiny")
    behave(tmp_path, {"2": "wait"})
    thread = interrupt(tmp_path)
    assert measured(reports, new).record.state == RUNNING
    thread.join()
    page = reports / "tiny" / "turn-07.md"
    assert "**1 of 3 plans measured.**" in page.read_text()

    behave(tmp_path, None)
    stored = load_record(TurnsRecord, reports / "tiny" / "turn-07.json")
    assert (stored.state, [run.plan for run in stored.runs]) == (RUNNING, ["tiny", "other"])
    outcome = measured(reports, stored)
    assert outcome.record.state == FINISHED
    assert [run.plan for run in outcome.ended] == ["tiny", "other", "tiny"]
    assert [call["plan"] for call in calls(tmp_path)] == ["tiny", "other", "other", "tiny"]
    assert "\n- tiny: 101.3 ms\n- other: " in page.read_text()
    assert "turn-07: tiny; about 6 s left\n" in capsys.readouterr().out

    write_summary(reports)
    assert "- [turn-07](tiny/turn-07.md): 3 of 3 plans measured.\n" in (reports / SUMMARY_NAME).read_text()
    write_site(reports, tmp_path / "site", charts)
    assert "Plans in turn" in (tmp_path / "site" / "index.html").read_text()
    assert (tmp_path / "site" / "tiny" / "turn-07.html").is_file()


def test_a_page_that_cannot_be_written_ends_no_experiment_before_its_last_run(reports, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "_PAGE_LEAST_S", 0.0)
    count = iter(range(9))

    def fails(self, outcome):
        if next(count) < 2:
            raise UsageError("the disk is full", "free some space")
        write(self, outcome)

    write = Turns.write_page
    monkeypatch.setattr(Turns, "write_page", fails)
    behave(tmp_path, None)
    assert measured(reports, new_turns("tiny", "tiny")).record.state == FINISHED
    assert capsys.readouterr().out.count("the disk is full; free some space\n") == 2
    assert "**2 of 2 plans measured.**" in (reports / "tiny" / "turn-07.md").read_text()
