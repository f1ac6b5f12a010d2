"""Starts the loads that a client asks for, within a budget of time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock

from harness.base.errors import UsageError
from harness.base.interrupts import lifeline
from harness.base.units import duration_text, parse_duration_s
from harness.run.child import RUN
from harness.run.result_file import read_end

# How long a run may take to store its samples and its report after the budget is used up.
_END_S = 120
_POLL_S = 0.2


@dataclass
class Loads:
    """Runs plans one after the other; the time of all of them is at most `budget_s`."""

    folder: Path
    reports: Path
    budget_s: float
    _only_one: Lock = field(default_factory=Lock, repr=False)

    def run(self, plan: str, users: int, duration: str, stop: Event) -> str:
        """Run a plan to its end and return the name of the run. UsageError beyond the budget, or if nothing ran.

        The run itself refuses a target that the profile does not allow. It also ends, with its report, when `stop` is
        set and when this process ends.
        """
        with self._only_one:  # a client may ask for several at once
            if stop.is_set():
                raise UsageError(f"{plan}: did not run: the request was cancelled")
            return self._run(plan, users, duration, stop)

    def _run(self, plan: str, users: int, duration: str, stop: Event) -> str:
        length_s = parse_duration_s(duration, "duration")
        if length_s > self.budget_s:
            left = duration_text(round(self.budget_s))
            raise UsageError(f"{duration} is more than what is left of the budget: {left}", "ask for a shorter load")
        load = (f"--plan={plan}", f"--users={users}", f"--duration={duration}")
        folders = (f"--home={self.folder}", f"--reports={self.reports}")
        began_s = time.monotonic()
        with TemporaryDirectory() as folder, (Path(folder) / "output.txt").open("w+", encoding="utf-8") as output:
            result = Path(folder) / "result.json"
            try:
                with lifeline() as line:
                    child = subprocess.Popen(
                        [sys.executable, *RUN, *load, *folders, f"--result={result}"],
                        cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                        env={**os.environ, **line.environment}, pass_fds=(line.descriptor,),
                        start_new_session=True,  # a client that ends our session must not end the report
                    )  # fmt: skip
                    _wait(child, self.budget_s, stop)
                child.wait(_END_S)  # the samples are stored, and the report is INTERRUPTED
            finally:
                self.budget_s = max(0.0, self.budget_s - (time.monotonic() - began_s))
                child.kill()
            output.seek(0)
            *_, last = ["", *output.read().splitlines()]
            end = read_end(result)
        if end is None or end.run is None:
            why = "; ".join(end.reasons) if end and end.reasons else last
            raise UsageError(f"{plan}: did not run: {why}", "lth run prints more")
        return end.run


def _wait(child: subprocess.Popen[bytes], seconds: float, stop: Event) -> None:
    """Return when a child has ended, when the time is over, or when `stop` is set."""
    until_s = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < until_s:
        try:
            child.wait(_POLL_S)
            return
        except subprocess.TimeoutExpired:
            continue
