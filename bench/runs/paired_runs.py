"""Runs of a plan with two profiles in turn, and what `aggregate.py compare` prints of both: the cost of a feature."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.runs.paired_change import paired_change
from harness.base.errors import EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.log import stderr_log
from harness.base.project import SHIPPED
from harness.base.units import parse_whole_number
from harness.compare.sources import read_result
from harness.report.run_result import RunResult
from harness.run.names import full_path
from harness.run.telemetry.processes import GENERATOR

WITHOUT, WITH = "without", "with"
_SERIES = {WITHOUT: "01", WITH: "02"}
_US_PER_S = 1_000_000
_log = stderr_log("bench: ")


def add_run_options(parser: argparse.ArgumentParser, duration: str, users: str) -> None:
    """Add the number and the size of the runs."""
    parser.add_argument("--repeat", default="6", metavar="N", help="runs of each side (6)")
    parser.add_argument("--users", default=users, metavar="N", help=f"users of each run ({users})")
    parser.add_argument("--duration", default=duration, metavar="S", help=f"seconds of each run ({duration})")


@dataclass(frozen=True)
class PairedRuns:
    """Runs of `plan` with the profiles `texts`, TOML by side, below `folder`; with a `target` no system is started."""

    plan: str
    texts: Mapping[str, str]
    folder: Path
    target: str = ""

    def compare(self, options: argparse.Namespace) -> int:
        """Run both sides in turn; print the comparison and the CPU time per sample; return the comparison's exit code.

        StartError when a run fails.
        """
        repeat = parse_whole_number(options.repeat, "--repeat", 2, 100)
        self._write_home()
        for number in range(repeat):
            _log(f"round {number + 1} of {repeat}")
            for side in (WITHOUT, WITH) if number % 2 == 0 else (WITH, WITHOUT):
                self._run(side, options)
        done = subprocess.run(self._comparison(), stdout=subprocess.PIPE, text=True, check=False)
        # The last line is the path of the report, which is gone.
        text = done.stdout.rstrip("\n").rpartition("\n")[0].rstrip("\n")
        print(f"```\n{text}\n\n{self._cpu_text(repeat)}\n```")
        return done.returncode

    def _cpu_text(self, repeat: int) -> str:
        runs = self.folder / "reports" / self.plan
        base, new = (
            [cpu_us(read_result(full_path(runs / f"run-{_SERIES[side]}_{number}"))) for number in range(1, repeat + 1)]
            for side in (WITHOUT, WITH)
        )
        found = paired_change(base, new)
        return f"CPU of JMeter per sample: {found.base:.2f} µs without, {found.new:.2f} µs with: {found.change_text}"

    def _write_home(self) -> None:
        """Write a home with the plans and systems of this one, and the two profiles."""
        home = self.folder / "home"
        (home / "env").mkdir(parents=True)
        for name in ("plans", "systems"):
            (home / name).symlink_to(SHIPPED / name)
        for name, text in self.texts.items():
            whole = f'format_version = 1\ntitle = "Local machine"\n{text}'
            (home / "env" / f"{name}.toml").write_text(whole, encoding="utf-8")

    def _run(self, side: str, options: argparse.Namespace) -> None:
        command = [sys.executable, str(SHIPPED / "scripts" / "run"), "--plan", self.plan, "--env", side]
        command += ["--home", str(self.folder / "home"), "--reports", str(self.folder / "reports")]
        command += ["--series", _SERIES[side], "--users", options.users, "--duration", options.duration]
        command += ["--target", self.target] if self.target else []
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if code not in (EXIT_OK, EXIT_REGRESSED):
            raise StartError(f"{' '.join(command)} ended with code {code}", "see its output")

    def _comparison(self) -> list[str]:
        """Return the command that compares both series, DOUBTFUL runs too: on a busy machine most are."""
        command = [sys.executable, str(SHIPPED / "aggregate.py"), "compare", "--anyway", "--plan", self.plan]
        command += ["--reports", str(self.folder / "reports"), "--output", str(self.folder / "compare.md")]
        return [*command, "--base", f"run-{_SERIES[WITHOUT]}_*", "--new", f"run-{_SERIES[WITH]}_*"]


def cpu_us(result: RunResult) -> float:
    """Return the CPU time of JMeter per sample of a run, µs, within its window; StartError when it is not known."""
    cores = sum(usage.cpu_cores_mean for usage in result.usages if usage.process == GENERATOR)
    rate_per_s = result.total.rate_per_s if result.total else None
    if not cores or not rate_per_s:
        raise StartError(f"{result.name}: the CPU time of JMeter is not known", "run longer")
    return cores / rate_per_s * _US_PER_S
