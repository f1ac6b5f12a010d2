"""The result of a report as a value: its verdict, what it means for a reader, key figures and next steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FOUND, NO_EFFECT, GOAL_MISSED = "FOUND", "NO EFFECT", "GOAL MISSED"


@dataclass(frozen=True)
class KeyFigure:
    """A number that a reader needs first, as text with its unit, and how many warnings question it."""

    name: str
    value: str
    unit: str = ""
    warning_count: int = 0


@dataclass(frozen=True)
class NextStep:
    """What to do next: a sentence, and a command that can be pasted, empty without one."""

    text: str
    command: str = ""


class Tone(StrEnum):
    """What a verdict means for its reader."""

    GOOD = "good"
    DOUBT = "doubt"
    BAD = "bad"
    NONE = "none"


MARKS = {Tone.GOOD: "\u2705", Tone.DOUBT: "\u26a0\ufe0f", Tone.BAD: "\u274c", Tone.NONE: ""}


# Every verdict word, and what it means; a verdict that is none of them has no mark.
TONES = {
    "VALID": Tone.GOOD, "OK": Tone.GOOD, "IMPROVED": Tone.GOOD, "GRACEFUL": Tone.GOOD, FOUND: Tone.GOOD,
    "DOUBTFUL": Tone.DOUBT, "CANNOT TELL": Tone.DOUBT, "INTERRUPTED": Tone.DOUBT,
    NO_EFFECT: Tone.GOOD, "WARNED": Tone.DOUBT, GOAL_MISSED: Tone.BAD,
    "INVALID": Tone.BAD, "REGRESSED": Tone.BAD, "CONGESTION COLLAPSE": Tone.BAD,
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What a report found, as plain text: `verdict` such as REGRESSED, and the sentence `headline` that explains it.

    `kind` is run, soak, sweep, capacity, overload, ab, tune, bisect, trust, nightly, compare, compare-sweeps, sweeps,
    release or history. A verdict is INTERRUPTED while runs are in progress or after an interruption, and empty where
    nothing is judged. `first_chart` is the path of an image from the folder of the report, empty without a chart.
    `goals` is one sentence about the goals, empty without any; `is_missed` if one is missed.
    """

    kind: str = ""
    title: str = ""
    verdict: str = ""
    headline: str = ""
    key_figures: tuple[KeyFigure, ...] = ()
    first_chart: str = ""
    goals: str = ""
    is_missed: bool = False
    next_steps: tuple[NextStep, ...] = ()

    @property
    def tone(self) -> Tone:
        """What the verdict and the goals mean together: a missed goal is bad whatever the verdict."""
        return Tone.BAD if self.is_missed else TONES.get(self.verdict, Tone.NONE)

    @property
    def mark(self) -> str:
        """The mark of the verdict in Markdown; empty where nothing is judged."""
        return MARKS[self.tone]
