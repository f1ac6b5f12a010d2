"""The names of runs and of the kinds of reports about several runs, where these are, and which runs are theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# A random id at the end of a name, so that two clones never use the same; names of earlier versions have none.
ID = re.compile(r"[0-9a-f]{4}")
_MAYBE_ID = rf"(?:-{ID.pattern})?"
RUN_NAME = re.compile(rf"run-(\d+)_(\d+){_MAYBE_ID}")
# The names of plans, runs and experiments, also a plan's and a run's: shop/run-07_1.
_NAMES = re.compile(r"[A-Za-z0-9][\w.+-]*(?:/[A-Za-z0-9][\w.+-]*)?")
# The second nightly run of a date is <date>-2: so a number has fewer digits than an id.
_NIGHTLY = r"(\d{4})-(\d\d)-(\d\d)(?:-(\d{1,3}))?"
_WITH_ID = re.compile(rf"(run-\d+_\d+|[a-z]+-\d+|{_NIGHTLY})-{ID.pattern}")


def check_names(*names: str) -> None:
    """Raise ValueError for what is no name of a plan, a run or an experiment: names are in commands and in paths."""
    for name in names:
        if not _NAMES.fullmatch(name):
            raise ValueError(f"{name!r} is no name")


def short_name(name: str) -> str:
    """Return a name without its id: run-07_3 for run-07_3-4f2a. Other names are returned unchanged."""
    match = _WITH_ID.fullmatch(name)
    return match[1] if match else name


def full_names(name: str, names: Iterable[str]) -> list[str]:
    """Return which of the names a name means: itself if it is there, else all that it is the short name of, sorted."""
    there = set(names)
    return [name] if name in there else sorted(one for one in there if short_name(one) == name)


@dataclass(frozen=True)
class Kind:
    """A kind of report: `key` is what messages call it, `title` the heading of lists, `prefix` how its names begin.

    Reports are beside the runs of their plan. A kind with a `folder` has it in the reports folder: it contains, as the
    reports folder does, a folder for each plan, with the runs of these reports. A kind with `has_series` is called
    after the series of its runs, which are beside it: sweep-07 consists of run-07_1 and following. An experiment has a
    `verb`, which runs it. Names without a prefix are dates, and their reports are of several plans.
    """

    key: str
    title: str
    prefix: str
    folder: str = ""
    has_series: bool = False
    verb: str = ""

    @property
    def numbered(self) -> re.Pattern[str]:
        """The pattern of its names with a number, such as sweep-07 or sweep-07-4f2a; the numbers are its groups."""
        return re.compile((rf"{self.prefix}-(\d+)" if self.prefix else _NIGHTLY) + _MAYBE_ID)

    def named(self, rest: str) -> str:
        """Return the name of one of its reports: sweep-07 for 07."""
        return f"{self.prefix}-{rest}" if self.prefix else rest

    def folder_in(self, reports: Path) -> Path:
        """Return the folder of its reports in the folder of all results; it may be given itself."""
        return reports if reports.name == self.folder else reports / self.folder

    def rest_of(self, name: str) -> str:
        """Return the name of one of its reports without the prefix: 07-4f2a for sweep-07-4f2a."""
        return name.removeprefix(f"{self.prefix}-")

    def series_of(self, name: str) -> str:
        """Return the series of the runs of one of its reports: 07 for sweep-07-4f2a."""
        return self.rest_of(short_name(name))


SWEEP = Kind("sweep", "Sweeps", "sweep", has_series=True, verb="sweep")
OVERLOAD = Kind("overload test", "Overload tests", "overload", has_series=True, verb="overload")
AB_TEST = Kind("A/B test", "A/B tests", "ab", folder="ab", has_series=True, verb="ab")
DESIGNED = Kind("experiment", "Experiments", "tune", folder="tune", has_series=True, verb="tune")
BISECTION = Kind("bisection", "Bisections", "bisect", folder="bisect", has_series=True, verb="bisect")
TRUST = Kind("trust test", "Trust tests", "trust", folder="trust", has_series=True, verb="trust")
NIGHTLY = Kind("nightly run", "Nightly runs", "", folder="nightly", verb="nightly")
COMPARISON = Kind("comparison", "Comparisons", "compare")
RELEASE = Kind("release", "Releases", "release")
HISTORY = Kind("history", "Over time", "history")
# In the order of lists.
KINDS = (SWEEP, OVERLOAD, AB_TEST, DESIGNED, BISECTION, TRUST, COMPARISON, RELEASE, HISTORY)
# What does many runs.
EXPERIMENTS = (SWEEP, OVERLOAD, AB_TEST, DESIGNED, BISECTION, TRUST, NIGHTLY)
# The value of RESUME that means the last unfinished experiment.
LAST = "1"
# The folder of sweeps side by side in the reports folder; they are of several plans, and have any name.
SWEEPS_FOLDER = "sweeps"


def kind_of(name: str) -> Kind | None:
    """Return the kind of experiment that has such names, also with a suffix; None for none."""
    short = name.removesuffix(".json").removesuffix(".md")
    return next((kind for kind in EXPERIMENTS if kind.numbered.fullmatch(short)), None)


def level_note(sweep: str) -> str:
    """Return the note of a sweep's run: a Markdown link to the sweep's report."""
    return f"A level of [{sweep}]({sweep}.md)."
