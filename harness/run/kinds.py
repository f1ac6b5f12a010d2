"""The kinds of reports about several runs: how they are called, where they are, and which runs are theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of report: `key` is what messages call it, `title` the heading of lists, `prefix` how its names begin.

    Reports are beside the runs of their plan. A kind with a `folder` has it in the reports folder: it contains, as the
    reports folder does, a folder for each plan, with the runs of these reports. A kind with `has_series` is called
    after the series of its runs, which are beside it: sweep-07 consists of run-07_1 and following.
    """

    key: str
    title: str
    prefix: str
    folder: str = ""
    has_series: bool = False

    @property
    def numbered(self) -> re.Pattern[str]:
        """The pattern of its names with a number, such as sweep-07; the number is its group."""
        return re.compile(rf"{self.prefix}-(\d+)")

    def named(self, rest: str) -> str:
        """Return the name of one of its reports: sweep-07 for 07."""
        return f"{self.prefix}-{rest}"

    def rest_of(self, name: str) -> str:
        """Return the name of one of its reports without the prefix: 07 for sweep-07."""
        return name.removeprefix(f"{self.prefix}-")


SWEEP = Kind("sweep", "Sweeps", "sweep", has_series=True)
OVERLOAD = Kind("overload test", "Overload tests", "overload", has_series=True)
AB_TEST = Kind("A/B test", "A/B tests", "ab", folder="ab", has_series=True)
EXPERIMENT = Kind("experiment", "Experiments", "tune", folder="tune", has_series=True)
COMPARISON = Kind("comparison", "Comparisons", "compare")
RELEASE = Kind("release", "Releases", "release")
HISTORY = Kind("history", "Over time", "history")
# In the order of lists.
KINDS = (SWEEP, OVERLOAD, AB_TEST, EXPERIMENT, COMPARISON, RELEASE, HISTORY)
# The folder of sweeps side by side in the reports folder; they are of several plans, and have any name.
SWEEPS_FOLDER = "sweeps"


def level_note(sweep: str) -> str:
    """Return the note of a sweep's run: a Markdown link to the sweep's report."""
    return f"A level of [{sweep}]({sweep}.md)."
