"""Judges a run: whether its numbers are valid, and whether they meet the plan's goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.base.plain_text import one_line
from harness.judge.account import Sides, invalid_reasons
from harness.judge.clock import false_clock
from harness.judge.deaths import dead_users
from harness.judge.evidence import Evidence
from harness.judge.goals import MOSTLY_ERRORS_RATIO, GoalResult, RunGroups, judge_goals, judge_load_goals
from harness.judge.warnings import RunWarning, Severity, distinct
from harness.metrics.figures import ErrorKind, LabelFigures
from harness.metrics.metric import AVERAGE, ERRORS, MEDIAN, P90, P95, THROUGHPUT, Measured

if TYPE_CHECKING:
    from harness.run.record import RunRecord

VALID, DOUBTFUL, INVALID, INTERRUPTED = "VALID", "DOUBTFUL", "INVALID", "INTERRUPTED"
# The answer of a report has at most so many words, and its goals name at most so many that are missed.
WORDS_MOST = 20
_NAMED_MOST = 3
# A reason in fewer words says nothing: then the goals are only counted.
_REASON_LEAST = 8


@dataclass(frozen=True)
class Verdict:
    """VALID, DOUBTFUL, INVALID or INTERRUPTED, with reasons; a VALID or DOUBTFUL run has goals met and goals missed.

    DOUBTFUL: the run did what was requested, but its numbers may not be the system's (a warning has that severity).
    INVALID: it did not do what was requested, or did not measure the system. `goals` has each goal with what was
    measured; the texts of those met and of those missed are separate, and a run that a stop condition ended missed one
    more.
    """

    state: str
    reasons: tuple[str, ...]
    goals_met: tuple[str, ...]
    goals_missed: tuple[str, ...]
    goals: tuple[GoalResult, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether nothing speaks against the numbers."""
        return self.state == VALID

    @property
    def exit_code(self) -> int:
        """The exit code of this verdict."""
        return self.exit_code_if(sure=False)

    def exit_code_if(self, *, sure: bool) -> int:
        """Return the exit code; with `sure` a DOUBTFUL run counts as INVALID."""
        if self.state == INTERRUPTED:
            return EXIT_INTERRUPTED
        if self.state == INVALID or (sure and self.state == DOUBTFUL):
            return EXIT_INVALID
        return EXIT_REGRESSED if self.goals_missed else EXIT_OK


def headline(verdict: Verdict) -> str:
    """Return the verdict in one line: the state, all reasons, and the goals."""
    state = ": ".join(filter(None, (verdict.state, "; ".join(verdict.reasons)))) + "."
    return one_line(" ".join(filter(None, (state, goals_sentence(verdict)))))


def answer(verdict: Verdict, total: Measured | None) -> str:
    """Return the verdict in at most WORDS_MOST words: the goals missed and its first reason, else its load.

    `total` is the load in the measurement window.
    """
    if verdict.goals_missed:
        return _answer_with_goals(verdict)
    if verdict.reasons:
        text = _first_reason(verdict, WORDS_MOST - len(verdict.state.split()))
    else:
        text = _measured_text(verdict, total) if total and verdict.state == VALID else ""
    return f"{': '.join(filter(None, (verdict.state, text)))}."


def _answer_with_goals(verdict: Verdict) -> str:
    """Return the verdict, the goals missed, as many by name as fit, and in the rest of the words the first reason."""
    counts = range(_NAMED_MOST, 0, -1)
    named = (f"{verdict.state}. {_goals_missed(verdict, count)}" for count in counts)
    least = _REASON_LEAST if verdict.reasons else 0
    heads = (head for head in named if len(head.split()) + least <= WORDS_MOST)
    goals = f"{len(verdict.goals_missed)} goals" if len(verdict.goals_missed) > 1 else "Goal"
    head = next(heads, f"{verdict.state}. {goals} missed.")
    reason = _first_reason(verdict, WORDS_MOST - len(head.split())) if verdict.reasons else ""
    return f"{head} {reason}.".replace("….", "…") if reason else head


def _first_reason(verdict: Verdict, words_most: int) -> str:
    """Return the first reason in at most so many words, and how many more there are."""
    first, *more = verdict.reasons
    noun = "doubt" if verdict.state == DOUBTFUL else "reason"
    rest = f", and {units.plural(len(more), f'more {noun}')}" if more else ""
    return _cut(first, words_most - len(rest.split())) + rest


def further_reasons(verdict: Verdict, warnings: Sequence[RunWarning]) -> list[str]:
    """Return the reasons that `answer` does not have in full, without those of which a warning says more."""
    said, briefs = answer(verdict, None), {warning.brief for warning in warnings}
    return [reason for reason in verdict.reasons if reason not in said and reason not in briefs]


def _cut(text: str, words_most: int) -> str:
    """Return at most so many words of a text: whole clauses, or an ellipsis behind words."""
    words = text.split()
    if len(words) <= words_most:
        return text
    start = " ".join(words[:words_most])
    clauses = max((start.rpartition(end)[0] for end in (": ", "; ")), key=len)
    return clauses or f"{start}…"


def _measured_text(verdict: Verdict, total: Measured) -> str:
    """Return p95, throughput and errors of the load; errors are of the whole run if a goal for them was judged."""
    times = ((metric, metric.of(total)) for metric in (P95, P90, MEDIAN, AVERAGE))
    time = next((f"{metric.phrase} {metric.text(value)} ms" for metric, value in times if value is not None), "")
    rate = THROUGHPUT.of(total)
    rate_text = f"{THROUGHPUT.text(rate)} req/s" if rate is not None else ""
    judged = (one.measured for one in verdict.goals if one.metric == ERRORS.key and one.label is None and not one.load)
    ratio = next(judged, ERRORS.of(total))
    share = "" if ratio is None else f"{ERRORS.text(ratio)} % errors" if ratio else "no errors"
    return ", ".join(filter(None, (" at ".join(filter(None, (time, rate_text))), share)))


def goals_sentence(verdict: Verdict) -> str:
    """Return one sentence about the goals: how many are met, or which are missed; empty without any."""
    if verdict.goals_missed:
        return _goals_missed(verdict, _NAMED_MOST)
    count = len(verdict.goals_met)
    return f"{count} of {units.plural(count, 'goal')} met." if count else ""


def _goals_missed(verdict: Verdict, named_most: int) -> str:
    missed, count = verdict.goals_missed, len(verdict.goals_missed) + len(verdict.goals_met)
    rest = len(missed) - named_most
    named = "; ".join(missed[:named_most]) + (f"; and {rest} more" if rest > 0 else "")
    return f"Goal missed: {named}." if len(missed) == 1 else f"{len(missed)} of {count} goals missed: {named}."


def judge(
    evidence: Evidence,
    warnings: Sequence[RunWarning],
    groups: RunGroups | None,
    errors: Sequence[ErrorKind],
    account: Mapping[str, Sides],
    run: RunRecord | None,
) -> Verdict:
    """Return the verdict from the load's TOTAL, from the lines of the account by their codes, and how the run ended.

    `groups` is None without a sample of the load. How `run` ended counts, also where the evidence lacks it. A run that
    a stop condition ended is DOUBTFUL, because it is shorter than requested, and missed a goal. It may have fewer users
    and any number of errors.
    """
    early = run.stopped_early if run else ""
    total = groups.whole.total if groups else None
    reasons = [*_reasons(total, run, errors, evidence.outage), *dead_users(evidence), *false_clock(evidence)]
    was_ended = bool(run and (run.interrupted or early or run.load.requests or run.load.is_auto))
    of_jobs = _of_jobs(evidence, was_ended=was_ended)
    reasons += of_jobs.reasons
    if run and run.interrupted:
        return Verdict(INTERRUPTED, ("stopped by hand before its end: the samples so far are saved", *reasons), (), ())
    reasons = reasons or invalid_reasons(account)  # after a crash fewer users are expected
    if reasons or groups is None:
        return Verdict(INVALID, tuple(reasons), (), ())  # invalid statistics meet no goal
    why = tuple(distinct(warning.brief for warning in warnings if warning.severity is Severity.DOUBTFUL))
    goals = (*judge_goals(evidence.goal, groups), *_goals_of_loads(evidence))
    goals += of_jobs.goals
    met, missed = (tuple(one.text for one in goals if one.is_met is is_met) for is_met in (True, False))
    return Verdict(
        DOUBTFUL if why else VALID, why, met, (*([f"stopped early: {early}"] if early else []), *missed), goals
    )


class _OfJobs(NamedTuple):
    """Why a run is INVALID, and what became of goals, by its jobs."""

    reasons: Sequence[str] = ()
    goals: tuple[GoalResult, ...] = ()


def _of_jobs(evidence: Evidence, *, was_ended: bool) -> _OfJobs:
    if not evidence.jobs:
        return _OfJobs()
    from harness.judge.jobs import goals_of_jobs, reasons_of_jobs  # here: few runs have any

    return _OfJobs(reasons_of_jobs(evidence.jobs, was_ended=was_ended), goals_of_jobs(evidence.jobs))


def _goals_of_loads(evidence: Evidence) -> tuple[GoalResult, ...]:
    """Return the results of the goals that several loads have of their own; each load has samples."""
    goals = evidence.run.load_goals if evidence.run else {}
    results: list[GoalResult] = []
    for load in evidence.loads:
        if load.name in goals and (whole := load.whole or load.group):
            results += judge_load_goals(goals[load.name], load.name, RunGroups(load.group, whole))
    return tuple(results)


def _reasons(load: LabelFigures | None, run: RunRecord | None, errors: Sequence[ErrorKind], outage: str) -> list[str]:
    reasons = []
    if load is None:
        reasons.append("the load has no samples")
        reasons += [f"{error.label} failed: {error.code} {error.cause}" for error in errors[:1]]
    elif load.error_ratio > MOSTLY_ERRORS_RATIO and not (run and run.stopped_early):
        part = "all" if load.error_count == load.sample_count else f"{units.percent_text(load.error_ratio)} % of"
        failed = f"{part} {load.sample_count} samples failed"
        reasons.append(f"{outage}; {failed}" if outage else f"{failed}: response times of errors are not meaningful")
    if run is None:
        return reasons
    from harness.run.record import FINISHED  # here: most JTLs belong to no run

    return [
        *reasons,
        *run.stop_reasons,
        *(["the harness was killed before this run ended"] if run.state != FINISHED else []),
    ]
