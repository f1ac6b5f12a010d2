"""What a warning about a result is: its code, severity, texts, page, and the function that finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto

from harness.judge.evidence import Evidence, Values


class ReportPart(IntEnum):
    """A part of a report, in the order of the report.

    Warnings about the verdict and the measured window are printed below them; other parts have footnote marks.
    """

    VERDICT = auto()
    WINDOW = auto()
    COUNT = auto()
    MEDIAN = auto()
    TAIL = auto()
    ERRORS = auto()
    LAW = auto()
    GENERATORS = auto()
    CODE = auto()
    HOST = auto()
    GENERATOR = auto()
    LOAD = auto()
    SYSTEM = auto()


class Severity(Enum):
    """What a warning means for its run."""

    # True of most runs, and does not question the metrics: only the run's own report shows it.
    NOTE = "note"
    # The run stays VALID.
    WARNING = "warning"
    # The run is DOUBTFUL: its numbers may not be the system's.
    DOUBTFUL = "DOUBTFUL"


@dataclass(frozen=True, kw_only=True)
class WarningKind:
    """A warning that a run may have. Each is a module of harness/judge/warnings, as `WARNING`.

    A warning about the run as a whole concerns the verdict, too, and the report's summary prints its text.
    """

    # Its code in JSON files.
    code: str
    # The first version that has it.
    since: str
    severity: Severity = Severity.WARNING
    # The parts of a report that it is about.
    concerns: tuple[ReportPart, ...]
    # The fields of Evidence without which nothing can be found: it is not looked for where one is None or empty.
    needs: tuple[str, ...] = ()
    # The codes of those that only follow from it: they are not listed beside it.
    hides: tuple[str, ...] = ()
    # Whether it follows from requests that fail: a run that mostly failed does not have it.
    is_of_answers: bool = False
    # The cause with its numbers, at most 15 words: in the verdict of a DOUBTFUL run, and at a level of a sweep.
    brief: str = ""
    # What is behind the cause, up to the remedy.
    text: str
    # The module's docstring, from which docs/doubtful.md and the table in docs/format.md are generated.
    page: str | None
    # Yields the values for the names in braces of both texts, once per case.
    found_in: Callable[[Evidence], Iterable[Values]]

    @property
    def full_text(self) -> str:
        """The text that begins with the cause and ends with the remedy."""
        return f"{self.brief}. {self.text}" if self.brief else self.text

    def values_in(self, evidence: Evidence) -> list[Values]:
        """Return the values for the text of each case in the evidence."""
        is_missing = any(getattr(evidence, name) in (None, ()) for name in self.needs)
        return [] if is_missing else list(self.found_in(evidence))
