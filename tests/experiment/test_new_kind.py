"""A kind of experiment in one file: several plans in turn, each a few times; run, interrupted, resumed and listed."""

import argparse
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.cli.verbs import LOADS, OF_AGGREGATE, VERBS
from harness.experiment import runner
from harness.experiment.arguments import new_fields
from harness.experiment.counting import problem_of, result_of
from harness.experiment.execute import InChildren, Step
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import ENDED, FINISHED, RUNNING, ExperimentRun, PlanExperiment, RunTime, run_times
from harness.experiment.runner import Design, Runner, rewritten
from harness.experiment.start import ExperimentParts, log_end, run_experiment
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.report.pages import write_page
from harness.report.run_result import RunResult
from harness.run import kinds
from harness.run.child import Children, ChildRun
from harness.run.directory import RunDirectory, load_record
from harness.site.files import write_site
from tests.support.fake_runs import behave, calls, use_fake_runs
from tests.support.processes import interrupted_when

TURNS = kinds.Kind("turn", "Plans in turn", "turn", has_series=True, verb="turns")


@dataclass(frozen=True)
class TurnRun(ExperimentRun):
    plan: str


@dataclass(frozen=True, kw_only=True)
class TurnsRecord(PlanExperiment):
    runs: tuple[TurnRun, ...]
    plans: tuple[str, ...]
    report_kind: ClassVar = TURNS
    what: ClassVar = "plans in turn"

    def plan_of(self, run: ExperimentRun) -> str:
        return f"../{run.plan}"

    @property
    def settings(self) -> tuple[object, ...]:
        return (self.plans,)

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


@dataclass(frozen=True)
class Turns(Design[TurnsRecord, TurnsOutcome]):
    files: ExperimentFiles
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
        if len(outcome.ended) == len(outcome.record.plans):
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
    (tmp_path / "reports" / "tiny" / "run-06_1").mkdir(parents=True)
    (tmp_path / "reports" / "other").mkdir()
    return tmp_path / "reports"


def turns(reports: Path, *plans: str, **given: object) -> TurnsOutcome:
    """Run the command of the new kind: scripts/turns --plans …"""
    given = {
        "verb": "turns",
        "taken": (),
        "max": None,
        "note": "",
        "new": False,
        "resume": None,
        "home": reports,
        "reports": reports,
        **given,
    }
    options = argparse.Namespace(**given)
    fields = new_fields(options)
    fields["command"] = f"lth turns --plans={','.join(plans)}"
    new = TurnsRecord(**fields, plan="tiny", runs=(), plans=plans)
    outcomes = []

    def close(runner: Runner[TurnsRecord, TurnsOutcome]) -> int:
        outcomes.append(runner.outcome)
        log_end(runner.outcome.record, runner.design.files, f"{len(runner.outcome.ended)} plans")
        return 0

    with Interrupts() as interrupts, Guardian() as guardian, ExitStack() as stack:
        run_experiment(
            new, options, stack,
            ExperimentParts(
                lambda files, _: Turns(files, reports), lambda *_: InChildren(Children(interrupts, guardian)), close,
                guess_s=1.0, read_results=lambda *_: {},
            ),
        )  # fmt: skip
    return outcomes[0]


@pytest.mark.real
def test_a_kind_in_one_file_is_run_interrupted_resumed_rendered_and_listed(reports, tmp_path, charts, capsys):
    new = ("tiny", "other", "tiny")
    behave(tmp_path, {"2": "wait"})
    with interrupted_when((tmp_path / "fakes" / "waits").exists):
        assert turns(reports, *new).record.state == RUNNING
    assert "turn-07: not finished; resume with: lth turns --plan=tiny --resume=07\n" in capsys.readouterr().out
    page = reports / "tiny" / "turn-07.md"
    assert "**1 of 3 plans measured.**" in page.read_text()

    behave(tmp_path, None)
    stored = load_record(TurnsRecord, reports / "tiny" / "turn-07.json")
    assert (stored.state, [run.plan for run in stored.runs]) == (RUNNING, ["tiny", "other"])
    outcome = turns(reports, *new)
    assert outcome.record.state == FINISHED
    assert [run.plan for run in outcome.ended] == ["tiny", "other", "tiny"]
    assert [call["plan"] for call in calls(tmp_path)] == ["tiny", "other", "other", "tiny"]
    assert "\n- tiny: 101.3 ms\n- other: " in page.read_text()
    out = capsys.readouterr().out
    assert "tiny/turn-07: resumed after 1 run (--new starts another turn)\n" in out
    assert re.search(r"turn-07: tiny; about \d+ s left\n", out)
    with pytest.raises(UsageError, match="--resume: tiny/turn-07 is finished"):
        turns(reports, *new, resume="07")
    with pytest.raises(UsageError, match="tiny/turn-07 has other settings"):
        turns(reports, "tiny", resume="07")

    page_text = page.read_text()
    page.unlink()
    experiments = Experiments(TurnsRecord, reports)
    rewritten(Turns(experiments.find("turn-07"), reports), experiments, lambda *_: {})
    assert page.read_text() == page_text
    write_summary(reports)
    assert "- [turn-07](tiny/turn-07.md): 3 of 3 plans measured.\n" in (reports / SUMMARY_NAME).read_text()
    write_site(reports, tmp_path / "site", charts)
    assert "Plans in turn" in (tmp_path / "site" / "index.html").read_text()
    assert (tmp_path / "site" / "tiny" / "turn-07.html").is_file()


@pytest.mark.real
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
    assert turns(reports, "tiny", "tiny").record.state == FINISHED
    assert capsys.readouterr().out.count("the disk is full; free some space\n") == 2
    assert "**2 of 2 plans measured.**" in (reports / "tiny" / "turn-07.md").read_text()


def test_the_command_of_each_kind_writes_the_report_of_a_stored_experiment_again():
    """A new kind is an entry in kinds.py, one in VERBS, its command and its package."""
    for kind in kinds.EXPERIMENTS:
        assert callable(import_module(f"harness.commands.{kind.verb}").written)
        assert kind.verb in VERBS
        assert kind.verb in LOADS
        assert kind.verb in OF_AGGREGATE
