"""What a line of the account is: two sides that must be equal, their difference, and one rule that judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

NOT_KNOWN_TEXT = "not known"


class Balance(StrEnum):
    """Whether the two sides of a line are equal."""

    BALANCED = "balanced"
    DOUBT = "doubt"
    INVALID = "invalid"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Sides:
    """Both sides of a line as text, and their difference; `difference_ratio` is 0 where they are equal.

    `balance` is that of `judged`. `brief` says in at most 15 words what does not balance, `advice` what is behind it
    and what to do; both are empty where the line balances. `explains` are the codes of warnings and later lines that
    only follow from it.
    """

    left: str = NOT_KNOWN_TEXT
    right: str = NOT_KNOWN_TEXT
    difference_ratio: float | None = None
    balance: Balance = Balance.NOT_KNOWN
    brief: str = ""
    advice: str = ""
    explains: tuple[str, ...] = ()

    @property
    def is_off(self) -> bool:
        """Whether the sides are known to differ by too much."""
        return self.balance in (Balance.DOUBT, Balance.INVALID)


@dataclass(frozen=True)
class AccountLine:
    """A line of a run's account: `code` for programs, and everything else as a report prints it.

    `difference_ratio` is None where a side is not known. `text` says what does not balance, empty where all is well.
    `causes` are the codes of warnings that explain it.
    """

    code: str
    title: str
    left: str
    right: str
    difference_ratio: float | None
    balance: Balance
    text: str = ""
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LineKind:
    """A line of the account. Each is a module of harness/judge/account, as `LINE`.

    `concerns` are the parts of the report that a line in doubt is about. With `is_of_answers` it says nothing about a
    run that mostly failed. `page` is the module's docstring, a section of docs/doubtful.md. `hides` are the codes of
    all that may only follow from it, as its sides say. `formerly` are its codes in files of earlier versions.
    """

    code: str
    since: str
    title: str
    concerns: tuple[ReportPart, ...]
    is_of_answers: bool = False
    hides: tuple[str, ...] = ()
    formerly: tuple[str, ...] = ()
    page: str | None
    measure: Callable[[Evidence], Sides]

    def measured(self, evidence: Evidence) -> Sides:
        """Return both sides of the line; not known for a run of which no answer was measured."""
        return Sides() if self.is_of_answers and evidence.is_failed else self.measure(evidence)

    @property
    def warning(self) -> WarningKind:
        """The warning of a line that does not balance."""
        return WarningKind(
            code=self.code,
            since=self.since,
            severity=Severity.DOUBTFUL,
            concerns=self.concerns,
            hides=self.hides,
            is_of_answers=self.is_of_answers,
            brief="{brief}",
            text="{advice}",
            page=self.page,
            found_in=lambda evidence: values_of(self.measured(evidence)),
        )


def judged(difference_ratio: float, doubt_ratio: float, invalid_ratio: float | None = None) -> Balance:
    """Return whether a difference is too large: the rule of every line.

    A difference of `doubt_ratio` or less balances; one of more than `invalid_ratio` is invalid, without it never.
    """
    if invalid_ratio is not None and difference_ratio > invalid_ratio:
        return Balance.INVALID
    return Balance.DOUBT if difference_ratio > doubt_ratio else Balance.BALANCED


def values_of(measured: Sides) -> list[Mapping[str, str]]:
    """Return the values for the text of a line's warning; nothing where it balances."""
    return [{"brief": measured.brief, "advice": measured.advice}] if measured.is_off else []
