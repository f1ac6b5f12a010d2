"""Runs that take no time, for tests of what starts scripts/run: the setting delay_ms of the tiny system slows them."""

from __future__ import annotations

import functools
import json
import runpy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.base import guardian
from harness.base.interrupts import Interrupts
from harness.base.process import Launch
from harness.cli.verbs import main
from harness.experiment import warm_runner
from harness.experiment.execute import MeasuredRun
from harness.run import child
from harness.run.directory import reserve
from harness.run.limited_run import IN_TIME, INTERRUPTED, ProcessEnd
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import wait_for
from tests.support.report_folder import add_run, add_samples


@functools.cache
def _run_files() -> tuple[str, str]:
    """Return the JSON and the JTL of a run of 2,000 samples of 100 ms."""
    with tempfile.TemporaryDirectory() as reports:
        directory = add_run(Path(reports), "tiny/run-01_1", samples=2000, seconds=100)
        return directory.summary_json.read_text(), directory.samples.read_text()


def with_delay(home: Path) -> Path:
    """Give the tiny system of a home the setting delay_ms; return the home."""
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "delay_ms = 0\n")
    return home


def use_fake_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scripts/ab and scripts/tune in this process start the stand-in for scripts/run."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    for name, text in zip(("template.json", "template.jtl"), _run_files(), strict=True):
        (folder / name).write_text(text)
    monkeypatch.setattr(child, "RUN", (str(ROOT / "tests" / "support" / "fakes" / "scripts_run.py"),))
    monkeypatch.setenv("FAKE_RUN", str(folder))
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))


def use_fake_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stand-in for scripts/run do its work in this process: a child process takes a tenth of a second.

    There is no guardian process either: nothing is started that it could end.
    """
    use_fake_runs(tmp_path, monkeypatch)
    monkeypatch.setattr(guardian, "end_leftovers", lambda: None)
    monkeypatch.setattr(guardian.Guardian, "_begin_once", lambda _: None)
    monkeypatch.setattr(guardian.Guardian, "_send", lambda *_: None)
    script = str(ROOT / "tests" / "support" / "fakes" / "scripts_run.py")

    def run_limited(launch: Launch, _limit_s: float, interrupts: Interrupts, poll: Any = None) -> ProcessEnd:
        assert poll is None
        behaviour = json.loads((tmp_path / "fakes" / "behaviour").read_text()).get(str(len(calls(tmp_path)) + 1))
        if behaviour == "wait":
            with (tmp_path / "fakes" / "calls").open("a") as log:
                log.write("{}\n")
            (tmp_path / "fakes" / "waits").touch()
            wait_for(lambda: interrupts.count)
            return ProcessEnd(130, 0.1, INTERRUPTED)
        with monkeypatch.context() as patch:
            patch.setattr("sys.argv", launch.argv[1:])
            try:
                runpy.run_path(script)
            except SystemExit as end:
                return ProcessEnd(int(end.code or 0), 0.1, IN_TIME)
        raise AssertionError("it ends itself")

    monkeypatch.setattr(child, "run_limited", run_limited)


def use_fake_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps and searches in this process measure nothing: their runs behave as `behave` says."""

    def measured(self: Any, record: Any, _run: Any, began: Callable[..., None]) -> MeasuredRun:
        reports = self._files.folder.parent.parent
        directory = reserve(reports, record.plan, record.series)
        began(directory, None)
        log = tmp_path / "fakes" / "calls"
        number = len(calls(tmp_path)) + 1
        log.write_text((log.read_text() if log.exists() else "") + json.dumps({"run": directory.name}) + "\n")
        behaviour = json.loads((tmp_path / "fakes" / "behaviour").read_text()).get(str(number))
        interrupts = self._context.interrupts
        with interrupts.deferred():
            if behaviour == "wait":
                (tmp_path / "fakes" / "waits").touch()
                wait_for(lambda: interrupts.count)
        directory.path.rmdir()
        name = f"{record.plan}/{directory.name}"
        failed = {"failures": 400} if behaviour == "fail" else {}
        add_samples(reports, name, samples=400, seconds=100, interrupted=behaviour == "wait", **failed)
        return MeasuredRun(directory, behaviour == "wait")

    monkeypatch.setattr(warm_runner.Levels, "measured", measured)


def tiny_command(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reports: str) -> Callable[..., int]:
    """Return a function that calls a script for the tiny plan and returns its exit code; runs take no time.

    `reports` is the folder of the reports in `tmp_path`.
    """
    use_fake_children(tmp_path, monkeypatch)
    folders = [f"--home={home}", f"--reports={tmp_path / reports}", f"--build={tmp_path / 'build'}"]

    def start(script: str, *arguments: str, behaviour: dict[str, str] | None = None) -> int:
        behave(tmp_path, behaviour)
        return main(["--plan=tiny", *arguments, *folders], f"scripts/{script}")

    return start


def behave(tmp_path: Path, behaviour: dict[str, str] | None) -> None:
    """Set what the stand-in does in the call of each number; nothing special without."""
    (tmp_path / "fakes" / "behaviour").write_text(json.dumps(behaviour or {}))


def calls(tmp_path: Path) -> list[dict[str, Any]]:
    """Return the options of each run that was started."""
    path = tmp_path / "fakes" / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
