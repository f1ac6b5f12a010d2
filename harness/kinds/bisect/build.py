"""Checks out and builds what a run of a bisection needs, just before the run: most commits are never built."""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.base import units
from harness.base.errors import StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.process import Launch, start, stop, tail_of
from harness.experiment.execute import Began, Done, InChildren, Step
from harness.experiment.record import ENDED
from harness.experiment.sides import ReadySide, SideFiles, SideText, check_sides, ready_side
from harness.experiment.worktree import build_side, checked_out, files_of
from harness.kinds.bisect.record import BisectRun, Candidate
from harness.plan.load.model import Load
from harness.plan.plan import Plan
from harness.run.arguments import changed
from harness.run.preflight import check_request

# A build that takes longer hangs.
BUILD_LIMIT_S = 900.0
_POLL_S, _STOP_S = 0.2, 1.0


@dataclass(frozen=True)
class Builder:
    """Gets candidates ready; `files` are those of the working copy, `load_of` returns the load that a plan gives."""

    options: argparse.Namespace
    files: SideFiles
    load_of: Callable[[Plan], Load]
    guardian: Guardian
    interrupts: Interrupts

    def folders(self, candidate: Candidate) -> Mapping[str, Path]:
        """Return the folders home and build of the runs of a candidate."""
        files = files_of(self.files.home, candidate.commit, self.files.build) if candidate.commit else self.files
        return {"home": files.home, "build": files.build}

    def side(self, name: str, candidate: Candidate, good: ReadySide | None = None) -> ReadySide:
        """Return a candidate, checked like lth run does; a commit is checked out.

        UsageError when it cannot run, or not the traffic of the good one.
        """
        files = self.files
        if candidate.commit:
            files = checked_out(files.home, candidate.commit, files.build, self.guardian)
        text = SideText(candidate.text, ref=candidate.commit)
        side = ready_side(name, text, changed(self.options, set=candidate.settings or None), files)
        load = self.load_of(side.request.plan)
        if good:
            check_sides(good, side, self.load_of(good.request.plan), load)
        check_request(side.request, load)
        return side

    def build(self, side: ReadySide) -> None:
        """Build a side; UsageError when it cannot be built, KeyboardInterrupt after Ctrl-C."""
        build_side(side, self.guardian, self._run)
        if self.interrupts.count:
            raise KeyboardInterrupt

    def _run(self, launch: Launch) -> None:
        """Run a build; StartError when it fails or takes too long, KeyboardInterrupt after Ctrl-C."""
        process, until_s = start(launch), time.monotonic() + BUILD_LIMIT_S
        try:
            while process.returncode is None and not self.interrupts.count:
                if time.monotonic() > until_s:
                    raise StartError(f"{launch.name}: stopped after {units.duration_text(BUILD_LIMIT_S)}: it hung")
                try:
                    process.wait(_POLL_S)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            stop(process, _STOP_S)
        if self.interrupts.count:
            raise KeyboardInterrupt
        if process.returncode:
            raise StartError(f"{launch.name} ended with code {process.returncode}", "", tail_of(launch.log))


@dataclass(frozen=True)
class BuildingFirst(InChildren):
    """Does each run as a child process, after the build of what it needs; what cannot be built is skipped."""

    builder: Builder = field(kw_only=True)
    candidates: tuple[Candidate, ...] = field(kw_only=True)
    good: ReadySide = field(kw_only=True)

    def run(self, step: Step, left_s: float | None, began: Began) -> Done:
        """Build, then do the run, and return what became of it."""
        assert isinstance(step.run, BisectRun)
        began(None)
        since_s, index = time.monotonic(), step.run.candidate
        try:
            self.builder.build(self.builder.side("--bad", self.candidates[index], self.good if index else None))
        except UsageError as error:
            problem = error.what.removeprefix(f"--bad={self.candidates[index].text}").lstrip(": ")
            return Done(replace(step.run, state=ENDED, is_built=False, problem=problem), None, f"skipped: {problem}")
        built = replace(step.run, build_s=round(time.monotonic() - since_s, 1))
        return super().run(replace(step, run=built), left_s, began)
