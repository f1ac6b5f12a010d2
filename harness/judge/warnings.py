"""The warnings of a run: those that its evidence has, without those that only follow from another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.base.option_names import caller_of, spelled
from harness.judge.evidence import Evidence
from harness.judge.warning_codes import ReportPart, Severity, WarningCode
from harness.run.record import RunRecord

__all__ = [
    "FOLLOW_UPS",
    "ReportPart",
    "RunWarning",
    "Severity",
    "WarningCode",
    "distinct",
    "explained",
    "find_warnings",
    "without_numbers",
]

_BY_CODE = {str(code): code for code in WarningCode}
# The end of a sentence; a full stop in 1.5 s or in a name of a file is none.
_SENTENCE_END = re.compile(r"\.(?:\s|$)")
_NUMBER = re.compile(r"\d[\d.,]*")
# The page with a section for each code that makes a run DOUBTFUL.
DOUBTFUL_PAGE = "doubtful.md"

# A warning and those that only follow from it: they are not listed beside it.
FOLLOW_UPS: Mapping[WarningCode, frozenset[WarningCode]] = {
    cause: frozenset(follow_ups)
    for cause, follow_ups in {
        WarningCode.CLOCK_STEP: (WarningCode.GAP, WarningCode.LITTLES_LAW, WarningCode.NOT_STEADY),
        WarningCode.GAP: (WarningCode.LITTLES_LAW, WarningCode.NOT_STEADY),
        WarningCode.APPENDED: (
            WarningCode.CLOCK_STEP, WarningCode.GAP, WarningCode.LONG_SPAN, WarningCode.NOT_STEADY,
        ),
        WarningCode.GENERATOR_CPU: (WarningCode.LITTLES_LAW, WarningCode.HOST_CPU),
        WarningCode.OTHER_RUN: (WarningCode.OTHER_CPU,),
        WarningCode.STOLEN_CPU: (WarningCode.HOST_CPU,),
        WarningCode.MANY_ERRORS: (WarningCode.ERRORS_IN_FIGURES,),
        WarningCode.STOPPED_EARLY: (WarningCode.TOO_SHORT, WarningCode.TOO_FEW_SAMPLES, WarningCode.FEW_SAMPLES),
        WarningCode.THROTTLED: (WarningCode.NOT_STEADY,),
        WarningCode.TOO_SHORT: (WarningCode.NOT_STEADY, WarningCode.TOO_FEW_SAMPLES, WarningCode.FEW_SAMPLES),
        WarningCode.TOO_FEW_SAMPLES: (WarningCode.FEW_SAMPLES,),
    }.items()
}  # fmt: skip
# What follows from requests that fail: a run that mostly failed has none of these.
_OF_ANSWERS = frozenset(
    {
        WarningCode.STALL, WarningCode.PAUSE, WarningCode.TOO_SHORT, WarningCode.NOT_STEADY, WarningCode.THROTTLED,
        WarningCode.FAST_WARM_UP, WarningCode.ERRORS_IN_FIGURES, WarningCode.MANY_ERRORS, WarningCode.TOO_FEW_SAMPLES,
        WarningCode.FEW_SAMPLES, WarningCode.COARSE_CLOCK, WarningCode.LITTLES_LAW, WarningCode.HOST_CPU,
        WarningCode.GENERATOR_CPU,
    }
)  # fmt: skip


@dataclass(frozen=True)
class RunWarning:
    """A warning of a run: `code` for programs, `text` for people.

    `subject` is the response code that it concerns, else empty. `code` is that of a member of WarningCode, except in
    files of versions with other warnings: such a one is a plain warning at the verdict.
    """

    code: str
    text: str
    subject: str = ""

    @property
    def severity(self) -> Severity:
        """What it means for the run."""
        return _BY_CODE[self.code].severity if self.code in _BY_CODE else Severity.WARNING

    @property
    def concerns(self) -> tuple[ReportPart, ...]:
        """The parts of the report that it concerns."""
        return _BY_CODE[self.code].concerns if self.code in _BY_CODE else (ReportPart.VERDICT,)

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


def explained(warnings: Iterable[RunWarning], run: RunRecord | None) -> str:
    """Return a sentence with the command that explains why a run is DOUBTFUL; empty where no warning makes it so."""
    codes = list(dict.fromkeys(warning.code for warning in warnings if warning.page))
    if not codes:
        return ""
    topic = codes[0] if len(codes) == 1 else "doubtful"
    return spelled(f"What DOUBTFUL means, and what to do: make help {topic}", caller_of(run.command if run else ""))


def find_warnings(evidence: Evidence) -> tuple[RunWarning, ...]:
    """Return all warnings of a run by weight, without those that only follow from another or from failed requests.

    They name options as the command of the run does: --duration=60s in a project, DURATION=60s in a clone.
    """
    caller = caller_of(evidence.run.command if evidence.run else "")
    codes = [code for code in WarningCode if not (evidence.is_failed and code in _OF_ANSWERS)]
    found = {code: values for code in codes if (values := list(code.found_in(evidence)))}
    follow_ups = set[WarningCode]().union(*(FOLLOW_UPS.get(code, ()) for code in found))
    if evidence.lost_cpu:  # not only a follow-up: it names who used the CPU in the seconds that differ
        follow_ups.discard(WarningCode.NOT_STEADY)
    return tuple(
        RunWarning(str(code), spelled(code.text.format(**values), caller), values.get("subject", ""))
        for code, each in found.items()
        if code not in follow_ups
        for values in each
    )
