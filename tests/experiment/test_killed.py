"""kill -9 at each act of each process of each kind of experiment: nothing runs on, no run is lost, it is resumed."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.test_every_kind import (
    AB,
    BISECT,
    CAPACITY,
    NIGHTLY,
    OVERLOAD,
    SUITE,
    SWEEP,
    TRUST,
    TUNE,
    Kind,
    ended,
    records,
)  # fmt: skip
from tests.support.fake_runs import _run_files, with_delay
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import becomes, processes_of
from tests.support.tiny import tiny_home

SECRET = "hunter2-hunter2"
FAKES = ROOT / "tests" / "support" / "fakes"
# A night of one run: what its run and its guardians do is the same in each kind whose runs are children.
NIGHT = replace(NIGHTLY, run_count=1)
# The record of an experiment is complete in a file of another name.
RECORD = re.compile(r"os.rename /reports/.*/\.(ab|tune|bisect|trust|sweep|overload|N-N)-N\.json\.new")
ONE_RUN = SUITE.replace("repeats = 3", "repeats = 1")


def by_hand(test):
    """Mark a test that runs a command for each act, which takes minutes."""
    return pytest.mark.counterpart(pytest.mark.timeout(1800)(test))


class Killed:
    """An experiment of the tiny plan in processes of its own, one of which is killed."""

    def __init__(self, kind: Kind, folder: Path, *, is_quick: bool) -> None:
        home = with_delay(tiny_home(folder))
        self.kind, self.folder, self.is_quick = kind, folder, is_quick
        self.reports, self.log = folder / "reports", folder / "acts"
        (home / "env" / "suite.toml").write_text(ONE_RUN if kind is NIGHT else SUITE)
        (folder / "tmp").mkdir()
        plan = home / "plans" / "tiny.toml"
        plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
        given = [word.replace("SUITE", str(home / "env" / "suite.toml")) for word in kind.arguments]
        options = [f"--home={home}", f"--reports={self.reports}", f"--build={folder / 'build'}"]
        self.command = [sys.executable, str(ROOT / "scripts" / kind.verb), *given, *options]
        self.environment = {
            **os.environ, "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "works", "TMPDIR": str(folder / "tmp"),
            "GIT_DIR": str(folder / "no-git"), "SHOP_PASSWORD": SECRET, "HARNESS_RUNS": str(folder / "runs"),
            "FAKE_RUN": str(folder / "fakes"), "PYTHONPATH": str(ROOT / "tests" / "support" / "killing"),
        }  # fmt: skip
        (folder / "fakes").mkdir()
        for name, text in zip(("template.json", "template.jtl"), _run_files(), strict=True):
            (folder / "fakes" / name).write_text(text)

    def run(self, role: str = "", act: str = "", number: int = 1) -> str:
        """Run the command to its end, and return what it printed; a process of this role is killed at an act of it."""
        self.log.unlink(missing_ok=True)
        fake = str(FAKES / "scripts_run.py") if self.is_quick else ""
        kill = {
            "role": role,
            "act": act,
            "number": number,
            "root": str(self.folder),
            "log": str(self.log),
            "fake": fake,
        }
        done = subprocess.run(
            self.command, env={**self.environment, "KILL": json.dumps({**kill, "tree": str(ROOT)})}, cwd=self.folder,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        printed = done.stdout + done.stderr
        killed_codes = {"harness": (-9,), "run": (0, 1, 3)}  # 3: its only run failed
        assert done.returncode in (killed_codes.get(role, (0, 1)) if self.is_killed else (0, 1)), printed
        assert "Traceback" not in printed
        becomes(lambda: [one.pid for one in processes_of(self.folder)], [], 20.0)
        if self.is_killed and act == "start guardian.py":  # the guardian did not yet know the folder
            for path in (self.folder / "tmp").iterdir():
                path.rmdir()
        self.check_files()
        return printed

    @property
    def acts(self) -> list[str]:
        """What the processes of the role did in the last command."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def is_killed(self) -> bool:
        """Whether a process was killed in the last command."""
        return "KILLED" in self.acts

    def check_files(self) -> None:
        """Fail unless each file of results is whole, the secret is in none, and what is temporary is gone."""
        files = [path for path in self.reports.rglob("*") if path.is_file()]
        # The guardian, which is not below the folder, masks and removes a moment later.
        becomes(lambda: [path for path in files if path.exists() and SECRET.encode() in path.read_bytes()], [])
        for path in files:
            if path.is_file():
                data = path.read_bytes()
                if path.suffix == ".json" and not path.name.startswith("."):
                    json.loads(data)
                if path.suffix == ".md" and not path.name.startswith("."):
                    assert data.endswith(b"\n"), path
        becomes(lambda: list((self.folder / "tmp").iterdir()), [])

    def ended(self) -> list[str]:
        """Return the runs of its last record."""
        return [run for record in records(self.folder, self.kind)[-1:] for run in ended(record)]

    def check_end(self, printed: str) -> None:
        """Fail unless there is one record, finished, with all its runs and its page."""
        found = records(self.folder, self.kind)
        assert [record["state"] for record in found] == ["finished"], printed
        assert len([run for run in ended(found[0]) if run]) >= self.kind.run_count
        assert (self.reports / self.kind.folder / f"{found[0]['name']}.md").is_file()


def survives(killed: Killed, role: str, acts: list[tuple[str, int]]) -> None:
    """Kill a process at each of its acts, one in each command; the same command resumes, and at last it ends.

    An act that does not come again after a resumption is waited for in a new experiment.
    """
    before: list[str] = []
    for place, (act, number) in enumerate(acts, 1):
        print(f"{place}/{len(acts)} {killed.kind.verb}: {role} killed at: {act} ({number})", flush=True)
        printed = killed.run(role, act, number)
        if not killed.is_killed:
            killed.check_end(printed)
            shutil.rmtree(killed.reports)
            before = []
            killed.run(role, act, number)
        assert killed.is_killed
        now = killed.ended()
        assert now[: len(before)] == before
        before = now
        if [record["state"] for record in records(killed.folder, killed.kind)] == ["finished"]:
            shutil.rmtree(killed.reports)
            before = []
    printed = killed.run()
    assert killed.ended()[: len(before)] == before
    killed.check_end(printed)


def acts_of(kind: Kind, role: str, folder: Path, *, is_quick: bool) -> list[tuple[str, int]]:
    """Return what the processes of a role do in an experiment that nobody kills: each act once, with its number.

    A record is written when it begins, when a run begins and ends, and at its end: these are acts of their own.
    """
    folder.mkdir()
    whole = Killed(kind, folder, is_quick=is_quick)
    whole.check_end(whole.run(role))
    written = [act.removeprefix("open ") for act in whole.acts if act.startswith("open /reports")]
    results = [Path(name).name for name in written if name.endswith((".json", ".md", ".svg", ".xml"))]
    assert [name for name in results if not name.startswith(".")] == []  # a result is never half there
    # Python writes a file into a folder for temporary files, and removes it, to see whether it can.
    acts = [act for act in dict.fromkeys(whole.acts) if not act.endswith(" /tmp/N")]
    as_in_a_run = [re.sub("/tmp/sweep-N/warm-up/", "/reports/tiny/run-N_N/", act) for act in acts]
    acts = [act for act, other in zip(acts, as_in_a_run, strict=True) if act == other or other not in acts]
    count = {act: whole.acts.count(act) for act in acts}
    numbers = {act: {1, 2, 3, count[act]} if RECORD.fullmatch(act) else {1} for act in acts}
    return [(act, number) for act in acts for number in sorted(numbers[act]) if number <= count[act]]


def survives_all(kind: Kind, role: str, folder: Path, *, is_quick: bool = False, part: str = "") -> None:
    """Kill a process at each of its acts, or at those that have `part` in their names."""
    acts = [act for act in acts_of(kind, role, folder / "whole", is_quick=is_quick) if part in act[0]]
    assert acts
    (folder / "killed").mkdir()
    survives(Killed(kind, folder / "killed", is_quick=is_quick), role, acts)


@by_hand
@pytest.mark.parametrize("kind", [AB, NIGHT], ids=lambda kind: kind.verb)
def test_a_harness_killed_while_it_writes_its_record_is_resumed_with_all_its_runs(kind, tmp_path):
    survives_all(kind, "harness", tmp_path, is_quick=True, part=".json.new")


@by_hand
@pytest.mark.parametrize("kind", [AB, TUNE, BISECT, NIGHTLY, OVERLOAD], ids=lambda kind: kind.verb)
def test_a_harness_whose_runs_are_children_is_killed_at_each_act(kind, tmp_path):
    survives_all(kind, "harness", tmp_path, is_quick=True)


@by_hand
def test_a_harness_that_measures_itself_is_killed_at_each_act(tmp_path):
    survives_all(SWEEP, "harness", tmp_path)


@by_hand
@pytest.mark.parametrize(("kind", "record"), [(TRUST, "trust-N"), (CAPACITY, "reports/tiny/.sweep-N")])
def test_a_harness_is_killed_at_each_act_on_a_record_unlike_a_sweeps(kind, record, tmp_path):
    survives_all(kind, "harness", tmp_path, part=record)


@by_hand
def test_a_run_is_killed_at_each_act(tmp_path):
    survives_all(NIGHT, "run", tmp_path)


@by_hand
@pytest.mark.parametrize("kind", [NIGHT, SWEEP], ids=lambda kind: kind.verb)
def test_a_guardian_is_killed_at_each_act(kind, tmp_path):
    survives_all(kind, "guardian", tmp_path)
