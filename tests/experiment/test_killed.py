"""kill -9 at any act of a process of any kind of experiment: nothing runs on, no run is lost, and it is resumed."""

import functools
import json
import os
import random
import subprocess
import sys
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
SEED = 46
KINDS = {kind.verb: kind for kind in (AB, TUNE, BISECT, TRUST, NIGHTLY, OVERLOAD, SWEEP, CAPACITY)}
# Their runs are children, for which a stand-in takes no time.
QUICK = ("ab", "tune", "bisect", "nightly", "overload")
# In which tenth of its acts a process is killed; the place in it is random, but the same each time.
TENTHS = pytest.mark.parametrize("tenth", range(10))


class Killed:
    """An experiment of the tiny plan in processes of its own, one of which is killed."""

    def __init__(self, kind: Kind, home: Path, folder: Path, *, is_quick: bool) -> None:
        self.kind, self.folder, self.is_quick = kind, folder, is_quick
        self.reports, self.log = folder / "reports", folder / "acts"
        (home / "env" / "suite.toml").write_text(SUITE)
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

    def run(self, role: str = "", at: int = 0) -> subprocess.CompletedProcess[str]:
        """Run the command to its end; with a role, that process is killed at its act of this number."""
        fake = str(FAKES / "scripts_run.py") if self.is_quick else ""
        kill = {"role": role, "at": at, "root": str(self.folder), "log": str(self.log), "fake": fake, "tree": str(ROOT)}
        done = subprocess.run(
            self.command, env={**self.environment, "KILL": json.dumps(kill)}, cwd=self.folder, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        becomes(lambda: [one.cmdline() for one in processes_of(self.folder)], [], 20.0)
        return done

    def acts(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def check_files(self) -> None:
        """Fail unless each file of results is whole, and the secret is in none."""
        for path in self.reports.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert SECRET.encode() not in data, path
                if path.suffix == ".json" and not path.name.startswith("."):
                    json.loads(data)
                if path.suffix == ".md" and not path.name.startswith("."):
                    assert data.endswith(b"\n"), path
        # Its guardian removes what is temporary, but for a folder of which it did not know yet.
        _, last = (self.acts() or [["", ""]])[-1]
        known = [Path(last)] if "/tmp/" in last.replace(str(self.folder), "") else []
        becomes(
            lambda: [one for one in (self.folder / "tmp").iterdir() if not any(one in (p, *p.parents) for p in known)],
            [],
        )


def survives(killed: Killed, tmp_path: Path, role: str, at: int) -> None:
    """Kill a process; then the same command ends the experiment with all the runs that it had."""
    kind = killed.kind
    first = killed.run(role, at)
    print(f"{kind.verb}: {role} killed at act {at}: {killed.acts()[-1:]}, exit code {first.returncode}")
    before = [run for record in records(tmp_path, kind)[-1:] for run in ended(record)]
    killed.check_files()
    again = killed.run()
    said = f"{first.stdout}{first.stderr}---\n{again.stdout}{again.stderr}"
    assert again.returncode in (0, 1), said
    assert "Traceback" not in said
    found = records(tmp_path, kind)
    last = found[-1]
    assert last["state"] == "finished", said
    assert ended(found[0])[: len(before)] == before, said
    assert len([run for run in ended(last) if run]) >= kind.run_count
    assert (killed.reports / kind.folder / f"{last['name']}.md").is_file()
    killed.check_files()


@pytest.fixture
def home(home):
    return with_delay(home)


@pytest.mark.real
@pytest.mark.parametrize("verb", ["ab", "nightly"])
def test_a_harness_killed_at_some_act_is_resumed_with_all_its_runs(verb, home, tmp_path):
    chosen = random.Random(f"{SEED} {verb}").randint(10, 60)
    survives(Killed(KINDS[verb], home, tmp_path, is_quick=True), tmp_path, "harness", chosen)


@pytest.fixture(scope="session")
def acts_of(tmp_path_factory):
    """Return the number of acts of a process of an experiment that nobody kills; its results are never half there."""

    @functools.cache
    def count(verb: str, role: str, is_quick: bool) -> int:
        folder = tmp_path_factory.mktemp(f"{verb}-{role}")
        whole = Killed(KINDS[verb], with_delay(tiny_home(folder)), folder, is_quick=is_quick)
        assert whole.run(role).returncode in (0, 1)
        opened = [Path(path) for event, path in whole.acts() if event == "open" and str(whole.reports) in path]
        results = [path for path in opened if path.suffix in (".json", ".md", ".svg", ".xml")]
        assert [path for path in results if not path.name.startswith(".")] == []
        return len(whole.acts())

    return count


def kill_in(tenth: int, killed: Killed, tmp_path: Path, role: str, count: int) -> None:
    chosen = random.Random(f"{SEED} {killed.kind.verb} {role} {tenth}").random()
    survives(killed, tmp_path, role, max(1, round((tenth + chosen) / 10 * count)))


@pytest.mark.counterpart
@TENTHS
@pytest.mark.parametrize("verb", QUICK)
def test_a_harness_killed_in_each_phase(verb, tenth, home, tmp_path, acts_of):
    killed = Killed(KINDS[verb], home, tmp_path, is_quick=True)
    kill_in(tenth, killed, tmp_path, "harness", acts_of(verb, "harness", True))


@pytest.mark.counterpart
@TENTHS
@pytest.mark.parametrize("role", ["harness", "run", "guardian"])
@pytest.mark.parametrize("verb", KINDS)
def test_each_process_killed_in_each_phase_of_real_runs(verb, role, tenth, home, tmp_path, acts_of):
    # The runs of some kinds are in the harness itself.
    role = "harness" if role == "run" and verb not in QUICK else role
    kill_in(tenth, Killed(KINDS[verb], home, tmp_path, is_quick=False), tmp_path, role, acts_of(verb, role, False))
