"""The warnings of a run: those that its evidence has, without those that only follow from another one.

Each module of this package is one warning: its code, texts, page, and the function that finds it. A new one is a new
module; nothing else names it.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from harness.judge.account import ALL_LINES, one_state
from harness.judge.account.line import Sides, values_of
from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.judge.warning_order import ORDER

__all__ = [
    "ReportPart",
    "RunWarning",
    "Severity",
    "WarningKind",
    "WarningsFound",
    "distinct",
    "explained",
    "find_warnings",
    "warning_kinds",
    "without_numbers",
]

_EARLIER = {code: line.code for line in ALL_LINES for code in line.formerly}
_WEIGHTS = {code: index for index, code in enumerate(ORDER)}
# The end of a sentence; a full stop in 1.5 s or in a name of a file is none.
_SENTENCE_END = re.compile(r"\.(?:\s|$)")
_NUMBER = re.compile(r"\d[\d.,]*")
# The page with a section for each code that makes a run DOUBTFUL.
DOUBTFUL_PAGE = "doubtful.md"


@cache
def warning_kinds() -> Mapping[str, WarningKind]:
    """Return the warnings that runs may have by their codes, by weight.

    They are `WARNING` of each module of this package, and those of the lines of the account.
    """
    names = (module.name for module in pkgutil.iter_modules(__path__))
    kinds: list[WarningKind] = [importlib.import_module(f"{__name__}.{name}").WARNING for name in names]
    kinds += [line.warning for line in ALL_LINES]
    return {
        kind.code: kind for kind in sorted(kinds, key=lambda kind: (_WEIGHTS.get(kind.code, len(ORDER)), kind.code))
    }


@dataclass(frozen=True)
class RunWarning:
    """A warning of a run: `code` for programs, `text` for people.

    `subject` is the response code that it concerns, else empty. `code` is that of a WarningKind, except in
    files of versions with other warnings: such a one is a plain warning at the verdict.
    """

    code: str
    text: str
    subject: str = ""

    @classmethod
    def of_earlier(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the JSON of earlier versions, in which lines of the account had other codes."""
        return {**data, "code": _EARLIER[data["code"]]} if data.get("code") in _EARLIER else data

    @property
    def severity(self) -> Severity:
        """What it means for the run."""
        return kind.severity if (kind := warning_kinds().get(self.code)) else Severity.WARNING

    @property
    def concerns(self) -> tuple[ReportPart, ...]:
        """The parts of the report that it concerns."""
        return kind.concerns if (kind := warning_kinds().get(self.code)) else (ReportPart.VERDICT,)

    @property
    def brief(self) -> str:
        """The cause with its numbers: the first sentence of the text, without its full stop."""
        return _SENTENCE_END.split(self.text, maxsplit=1)[0]

    @property
    def advice(self) -> str:
        """The text behind the cause: what to do."""
        return self.text[len(self.brief) + 1 :].strip()

    @property
    def page(self) -> str:
        """The section of the docs that explains it, such as doubtful.md#too-short; empty for one without."""
        return f"{DOUBTFUL_PAGE}#{self.code}" if self.severity is Severity.DOUBTFUL else ""


def without_numbers(reason: str) -> str:
    """Return a reason with a sign for each number: the same for all runs that have it."""
    return _NUMBER.sub("#", reason)


def distinct(reasons: Iterable[str]) -> list[str]:
    """Return the reasons without repetition; of those that differ only in their numbers, the first."""
    by_kind: dict[str, str] = {}
    for reason in reasons:
        by_kind.setdefault(without_numbers(reason), reason)
    return list(by_kind.values())


def explained(warnings: Iterable[RunWarning]) -> str:
    """Return a sentence with the command that explains why a run is DOUBTFUL; empty where no warning makes it so."""
    codes = list(dict.fromkeys(warning.code for warning in warnings if warning.page))
    if not codes:
        return ""
    topic = codes[0] if len(codes) == 1 else "doubtful"
    return f"What DOUBTFUL means, and what to do: lth help {topic}"


@dataclass(frozen=True)
class WarningsFound:
    """The warnings of a run, and the codes of those that explain a line of its account, by the code of the line."""

    warnings: tuple[RunWarning, ...]
    causes: Mapping[str, tuple[str, ...]]


def find_warnings(evidence: Evidence, account: Mapping[str, Sides]) -> WarningsFound:
    """Return all warnings of a run by weight, without those that only follow from another or from failed requests.

    A line of the account that is in doubt is a warning, too, unless another one explains it.
    """
    kinds = [kind for kind in warning_kinds().values() if not (evidence.is_failed and kind.is_of_answers)]
    kinds_found = []
    for kind in kinds:
        values = values_of(account[kind.code]) if kind.code in account else kind.values_in(evidence)
        if values:
            kinds_found.append((kind, values))
    hides = {kind: account[kind.code].explains if kind.code in account else kind.hides for kind, _ in kinds_found}
    causes = {
        code: tuple(kind.code for kind, own in hides.items() if code in own and kind.severity is Severity.DOUBTFUL)
        for code in account
    }
    hidden = {code for own in hides.values() for code in own}
    lost = evidence.lost_cpu
    if lost and not lost.is_of_warm_up:  # not only a follow-up: it names who used the CPU in the seconds that differ
        hidden.discard(one_state.LINE.code)
    listed = tuple(
        RunWarning(kind.code, kind.full_text.format(**values), values.get("subject", ""))
        for kind, each in kinds_found
        if kind.code not in hidden
        for values in each
    )
    return WarningsFound(listed, causes)
