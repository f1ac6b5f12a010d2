"""Computes metrics per load generator, so that an overloaded or absent one is not hidden in an average."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.figures import LOAD, LabelCounts, LabelFigures
from harness.metrics.metric import AVERAGE, P90, TIME_KEYS, elapsed_metrics
from harness.metrics.tally import SampleTally
from harness.metrics.timeline import Source


@dataclass(frozen=True)
class GeneratorFigures:
    """The metrics of one load generator's samples in the measurement window, as for a label.

    They are None when none of its samples ended in the window; `times_ms` are by the metric's key. `most_users`, first
    start and last end (in seconds after the load began) refer to the whole run.
    """

    name: str
    sample_count: int
    error_count: int
    error_ratio: float | None
    times_ms: Mapping[str, float | None]
    rate_per_s: float | None
    most_users: int | None
    first_s: float
    last_s: float
    spread: ClassVar = "times_ms"
    spread_keys: ClassVar = TIME_KEYS

    @property
    def average_ms(self) -> float | None:
        """The average response time."""
        return self.times_ms.get(AVERAGE.key)

    @property
    def p90_ms(self) -> float | None:
        """The p90 of the response times."""
        return self.times_ms.get(P90.key)


def generator_figures(
    whole: SampleTally,
    counted: SampleTally | None,
    origin_s: int,
    file_names: Sequence[str],
    with_transactions: bool = False,
) -> tuple[GeneratorFigures, ...]:
    """Return the metrics of each load generator, in the order of files and names; nothing for a single one.

    `counted` is the tally of the measurement window, None when that is the whole run; `file_names` are the files'
    names.
    """
    sources = whole.by_source(with_transactions)
    if len(sources) < 2:
        return ()
    within = sources if counted is None else counted.by_source(with_transactions)
    names = _names(list(sources), file_names)
    users = whole.second_series.users
    most_users = {source: max(users.get(source, {}).values(), default=None) for source in sources}
    return tuple(
        _figures(names[source], sources[source], within.get(source), most_users[source], origin_s)
        for source in sorted(sources)
    )


class SharedWork(NamedTuple):
    """A generator's samples of the labels that others drove, too, and what theirs were in the generator's mix."""

    sample_count: int
    others_count: int
    average_ms: float
    others_ms: float
    error_count: int
    others_error_ratio: float

    @property
    def error_ratio(self) -> float:
        """The share of the generator's samples that failed."""
        return self.error_count / self.sample_count


def shared_work(
    whole: SampleTally, counted: SampleTally | None, file_names: Sequence[str], with_transactions: bool = False
) -> dict[str, SharedWork]:
    """Return by its name what each load generator shares with others: those of different plans may share nothing.

    The arguments are those of `generator_figures`.
    """
    sources = whole.by_source(with_transactions)
    if len(sources) < 2:
        return {}
    names, within = _names(list(sources), file_names), counted or whole
    is_alone = all(key.is_transaction for key in within.labels if key.group == LOAD)
    labels = [
        [(source, one) for source, one in by_source.items() if one.histogram.count]
        for key, by_source in within.labels.items()
        if key.group == LOAD and (with_transactions or is_alone or not key.is_transaction)
    ]
    found = ((source, _shared(source, labels)) for source in sources)
    return {names[source]: shared for source, shared in found if shared}


def _shared(own: Source, labels: Sequence[Sequence[tuple[Source, LabelCounts]]]) -> SharedWork | None:
    sample_count = others_count = error_count = 0
    time_ms = others_ms = others_errors = 0.0
    for by_source in labels:
        mine = [counts for source, counts in by_source if source == own]
        others = [counts for source, counts in by_source if source != own]
        if not (mine and others):
            continue
        others_counted = sum(counts.histogram.count for counts in others)
        weight = mine[0].histogram.count / others_counted
        sample_count, others_count = sample_count + mine[0].histogram.count, others_count + others_counted
        time_ms, error_count = time_ms + mine[0].elapsed_sum_ms, error_count + mine[0].error_count
        others_ms += weight * sum(counts.elapsed_sum_ms for counts in others)
        others_errors += weight * sum(counts.error_count for counts in others)
    if not sample_count:
        return None
    averages_ms = time_ms / sample_count, others_ms / sample_count
    return SharedWork(sample_count, others_count, *averages_ms, error_count, others_errors / sample_count)


def _figures(
    name: str, whole: LabelCounts, counted: LabelCounts | None, most_users: int | None, origin_s: int
) -> GeneratorFigures:
    figures = LabelFigures.of(name, False, counted) if counted else None
    return GeneratorFigures(
        name=name,
        sample_count=figures.sample_count if figures else 0,
        error_count=figures.error_count if figures else 0,
        error_ratio=figures.error_ratio if figures else None,
        times_ms={metric.key: metric.of(figures) if figures else None for metric in elapsed_metrics()},
        rate_per_s=figures.rate_per_s if figures else None,
        most_users=most_users,
        first_s=round((whole.first_ms or 0) / MS_PER_S - origin_s, 3),
        last_s=round(whole.last_ms / MS_PER_S - origin_s, 3),
    )


def _names(sources: Sequence[Source], file_names: Sequence[str]) -> dict[Source, str]:
    """Return a source's name: its file if that has no other source, else its address, else both."""
    per_file = Counter(source.file for source in sources)
    per_address = Counter(source.generator for source in sources)
    names = {}
    for source in sources:
        file_name = file_names[source.file] if source.file < len(file_names) else f"file {source.file + 1}"
        if not source.generator or (per_file[source.file] == 1 and len(per_file) > 1):
            names[source] = file_name
        elif per_address[source.generator] == 1:
            names[source] = source.generator
        else:
            names[source] = f"{file_name} {source.generator}"
    return names


def short_names(paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths without the folders and names that all of them share at the start and end.

    For gen1/run-01_1 and gen2/run-01_1 the result is gen1 and gen2.
    """
    parts = [PurePath(path).parts for path in paths]
    least = min(map(len, parts))
    end = next((index for index in range(least) if len({part[-1 - index] for part in parts}) > 1), least)
    begin = next((index for index in range(least - end) if len({part[index] for part in parts}) > 1), 0)
    short = tuple("/".join(part[begin : len(part) - end]) for part in parts)
    return short if all(short) else tuple(paths)
