"""Makes the summary of bare JTLs: files that JMeter wrote anywhere, without a run.json."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base import units
from harness.base.errors import UsageError
from harness.jtl.inputs import Input
from harness.metrics.batches import batch_count_of
from harness.metrics.counter_process import shared_counter
from harness.metrics.figures import GROUPS, LOAD, PERCENTILES, SUCCESSFUL
from harness.metrics.files import each_sample, read_tally
from harness.metrics.first_rows import ROWS_LEAST, ROWS_MOST, FirstRows
from harness.metrics.generators import short_names
from harness.metrics.silences import USERS_MOST, Silences
from harness.metrics.tally import SampleTally, Scope
from harness.metrics.window import Window, WindowSpec, parse_window

if TYPE_CHECKING:
    from harness.judge.summary import RunSummary
    from harness.metrics.threads import ThreadEvidence
    from harness.plan.goal import Goal
    from harness.run.record import RunRecord

WHOLE = parse_window("all")
# The seconds from 2001 to 2286. As milliseconds they are of 1970.
_SECONDS = range(10**9, 10**10)
# Reading so many rows again takes a second. Of more, few users decide alone.
_SILENCE_ROWS_MOST = 300_000


@dataclass(frozen=True)
class Counting:
    """How bare JTLs are read and counted; `columns` are those of files without a header line.

    With `run` its once-per-user steps are a separate group, the steady window is the one of its report, and the verdict
    says how it ended. `goal` is judged. With `successful` a group has the successful samples of the load.
    """

    window: WindowSpec = WHOLE
    percentiles: tuple[str, ...] = PERCENTILES
    with_transactions: bool = False
    columns: tuple[str, ...] | None = None
    strict: bool = False
    run: RunRecord | None = None
    with_timeline: bool = True
    goal: Goal | None = None
    successful: bool = False


def run_of(inputs: Sequence[Input]) -> RunRecord | None:
    """Return the record of the run that all inputs belong to; None without such a run, or if it is unreadable.

    UsageError while the run goes on.
    """
    folders = {given.path.parent if given.path else None for given in inputs}
    folder = folders.pop() if len(folders) == 1 else None
    if folder is None or not (folder / "run.json").exists():
        return None
    from harness.run.directory import RunDirectory  # imported late: most JTLs belong to no run

    directory, run = RunDirectory(folder), None
    with suppress(UsageError):
        run = directory.read_run()
    if run:
        directory.refuse_running(run)
    return run


def _load_judge() -> None:
    """Import what judges: that takes as long as counting 100,000 rows."""
    from harness.judge import summarise, warnings  # noqa: F401

    warnings.warning_kinds()


@shared_counter(meanwhile=_load_judge)
def summary_of_jtls(inputs: Sequence[Input], counting: Counting | None = None) -> RunSummary:
    """Return the summary of bare JTLs as one run; UsageError when they have no samples."""
    counting = counting or Counting()
    if (counting.window == WHOLE and not counting.successful) or all(given.path is not None for given in inputs):
        return _summary_of_jtls(inputs, counting)
    from harness.metrics.large_files import rereadable  # imported late: only standard input is stored

    with rereadable(inputs) as readable:
        return _summary_of_jtls(readable, counting)


def tally_of_jtls(inputs: Sequence[Input], counting: Counting, kept: FirstRows | None = None) -> SampleTally:
    """Return the tally of whole JTLs; UsageError without a sample, with `strict` also for dropped records.

    `kept` keeps the first samples of each.
    """
    scope = replace(_scope(counting), with_timeline=counting.with_timeline, then_window=counting.window != WHOLE)
    tally = read_tally(inputs, scope, kept or FirstRows(counting.columns))
    name, dropped = _name_of(tally), tally.dropped
    if counting.strict and dropped.count:
        what = f"{name}: {units.plural(dropped.count, 'record')} cannot be used ({dropped.first_text})"
        raise UsageError(what, "omit --strict to count the others")
    if tally.first_ms is None:
        first = replace(dropped, first=dropped.first[:1]).first_text
        why = f" ({units.plural(dropped.count, 'record')} dropped, the first: {first})" if dropped.count else ""
        raise UsageError(f"{name}: no samples{why}", "name a JTL with samples")
    span_ms = tally.span_ms(GROUPS)
    if span_ms and _SECONDS.start <= span_ms.from_ms and span_ms.to_ms < _SECONDS.stop:
        day = datetime.fromtimestamp(span_ms.from_ms / units.MS_PER_S, UTC).date()
        stamps = f"the time stamps are of {day} (the first is {span_ms.from_ms})"
        what = f"{name}: {stamps}: JMeter writes milliseconds, and these are probably seconds"
        raise UsageError(what, "multiply the column timeStamp by 1000")
    return tally


def _scope(counting: Counting) -> Scope:
    run = counting.run
    return Scope(tuple(run.once_labels), cut_labels=run.cut_labels) if run else Scope()


def _name_of(tally: SampleTally) -> str:
    return " + ".join(Path(name).name for name in tally.names.values())


def _summary_of_jtls(inputs: Sequence[Input], counting: Counting) -> RunSummary:
    once_labels = counting.run.once_labels if counting.run else ()
    kept = FirstRows(counting.columns, max(ROWS_LEAST, ROWS_MOST // max(1, len(inputs))))
    rows = cache(lambda: _rows(inputs, counting, kept))
    with shared_counter(meanwhile=partial(_try, rows)):
        tally = tally_of_jtls(inputs, counting, kept)
    from harness.judge.summarise import SummaryOptions, summarise, window_of  # loaded while a large file is counted

    window, scope = window_of(tally, counting.window, counting.run), _scope(counting)
    options = SummaryOptions(
        window=window,
        counted=counted_tally(inputs, tally, window, scope, counting.columns),
        percentiles=counting.percentiles,
        with_transactions=counting.with_transactions,
        with_timeline=counting.with_timeline,
        file_names=short_names(list(tally.names.values())),
        silences=silences_of(inputs, tally, once_labels, counting.columns),
        goal=counting.goal,
        threads=rows(),
        ended=counting.run,
    )
    summary = summarise(tally, _name_of(tally), options=options)
    return with_successful(summary, inputs, tally, scope, counting) if counting.successful else summary


def _rows(inputs: Sequence[Input], counting: Counting, kept: FirstRows) -> ThreadEvidence:
    """Return what single rows show; nothing of those of a run, whose own account is better."""
    from harness.metrics.threads import NO_ROWS, thread_evidence  # imported while a large file is counted

    return NO_ROWS if counting.run else thread_evidence(inputs, kept)


def _try(work: Callable[[], object]) -> None:
    """Do work whose error is of less importance than those of what goes on meanwhile."""
    with suppress(UsageError):
        work()


def with_successful(
    summary: RunSummary,
    inputs: Sequence[Input],
    tally: SampleTally,
    scope: Scope,
    counting: Counting | None = None,
) -> RunSummary:
    """Return a summary with a group of the successful samples of the load in its window, from another reading.

    A row of several samples of which some failed is left out. UsageError for a tally file, which has no samples.
    """
    from harness.judge.summarise import window_span_ms

    if tally.stored:
        raise UsageError("--successful: a tally has no single samples", "name the JTLs of which it was made")
    counting = counting or Counting()
    whole = summary.window.length_s == summary.window.run_s
    window_ms = None if whole else window_span_ms(tally, summary.window)
    counted = replace(scope, window_ms=window_ms, thread_groups=(), with_timeline=False).tally()
    for _, sample in each_sample(inputs, counting.columns):
        if not sample.error_count:
            counted.add(sample)
    groups = counted.groups(counting.percentiles, counting.with_transactions)
    own = (replace(group, name=SUCCESSFUL) for group in groups if group.name == LOAD)
    return replace(summary, groups=(*summary.groups, *own))


def counted_tally(
    inputs: Sequence[Input],
    tally: SampleTally,
    window: Window,
    scope: Scope,
    columns: Sequence[str] | None = None,
) -> SampleTally | None:
    """Return the tally of a scope's samples within the window, and of its batches; None when it excludes nothing."""
    from harness.judge.summarise import window_span_ms

    span_ms = window_span_ms(tally, window)
    if span_ms is None or window.length_s == window.run_s:
        return None
    scope = replace(scope, window_ms=span_ms, batch_count=batch_count_of(window.length_s), with_timeline=False)
    return read_tally(inputs, scope, FirstRows(columns, most=0))


def silences_of(
    inputs: Sequence[Input], tally: SampleTally, once_labels: Sequence[str], columns: Sequence[str] | None = None
) -> Silences | None:
    """Return the silences of each user, from another reading of the JTLs.

    None without gaps, of so many rows that reading them again takes too long for a gap of many users, when standard
    input cannot be read again, and when a tally file has none of them.
    """
    from harness.judge.summarise import gaps_of

    most = USERS_MOST if tally.row_count > _SILENCE_ROWS_MOST else math.inf
    may_pause = any(gap.user_count is not None and gap.user_count <= most for gap in gaps_of(tally))
    if not may_pause or any(given.path is None for given in inputs):
        return None
    silences = Silences(once_labels, with_transactions=not tally.requests.seconds)
    for first_file, stored in tally.stored.items():
        if stored is None or stored.with_transactions is not silences.with_transactions:
            return None
        silences.merge(stored, len(inputs) + first_file)
    for file, sample in each_sample(inputs, columns):
        silences.add(sample, file)
    return silences
