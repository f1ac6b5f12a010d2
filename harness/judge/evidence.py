"""The evidence for warnings: what a run's samples, seconds and records show, and the values for a warning's text.

Each function below the dataclass yields the values for one text per case found, and nothing where all is well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.base import units
from harness.judge.goals import MOSTLY_ERRORS_RATIO
from harness.judge.run_length import least_samples_s, longer_option
from harness.judge.users_counted import counts_by_label
from harness.metrics.histogram import Histogram
from harness.metrics.load_seconds import spells_of
from harness.metrics.threads import NO_ROWS, ThreadEvidence
from harness.plan.goal import Goal
from harness.plan.load import OPEN
from harness.run.telemetry.clock_steps import watches_clock

if TYPE_CHECKING:  # it loads slowly, and most JTLs have none
    from harness.cloudwatch.points import CloudMetrics
    from harness.jtl.sample import Dropped
    from harness.judge.jobs import FoundJob
    from harness.judge.loads import LoadFigures
    from harness.judge.lost_cpu import LostCpu
    from harness.metrics.figures import CodeCount, Group, LabelFigures
    from harness.metrics.gaps import Gap
    from harness.metrics.generators import GeneratorFigures, SharedWork
    from harness.metrics.littles_law import LittlesLaw
    from harness.metrics.resource_growth import Growth
    from harness.metrics.throttle import Throttle
    from harness.metrics.timeline import SecondFigures
    from harness.metrics.wake_delays import GeneratorDelay
    from harness.metrics.window import Window
    from harness.run.record import RunRecord
    from harness.run.telemetry.clock_steps import ClockStep
    from harness.run.telemetry.table import ProcessStop, Usage
    from harness.system.profile import ProcessProfile

# A closed load that stalled for so long, or for this share of the window, has too few slow samples.
STALL_LEAST_S = 3.0
STALL_RATIO = 0.05
# So much of the users' waiting is for messages where nothing else is.
_AWAITED_RATIO = 0.9
# The throughput is false when more than this share of the run has no sample that ended or waited.
GAP_INVALID_RATIO = 0.10
# Times are whole milliseconds: below this median one step of the clock is a fifth of it and more.
COARSE_CLOCK_MS = 5
LABELS_NAMED = 5
_GAPS_NAMED = 3

# The values for the names in braces of a warning's text; `subject` is the response code that the warning concerns.
Values = Mapping[str, str]
# So many times its users wait, over so long a time, in a file whose times are in µs. Some tools send up to twenty
# requests at once for a user.
_UNIT_FACTOR, _UNIT_LEAST_S = 25, 10.0


@dataclass(frozen=True)
class Evidence:
    """The data from which warnings are found: of a run, or of a bare JTL (`run` is None).

    `load` is the TOTAL of the load in the window; `law` and `usages` also cover the window. `codes` are those of the
    driven labels over the whole run. `pause_s` is the mean pause before a request that the plan makes. `is_span_known`
    is False if a clock was set. `longest_ms`, the load's slowest sample, `gaps`, `throttle` and `clock_step` cover the
    whole run. `loads` are those of a run with several. `lost_cpu` is what others used in the seconds that make the
    window unsteady. `growths` are those of the system's resources in the window. In `stops` a load generator was
    stopped; `gaps` leave these out. `outage` says since when all requests failed, empty where some succeeded later.
    `jobs` are those of the run. `origin_s` is the second (since 1970) in which the load began. `row_count` is how many
    rows were read, also those that could not be used, and `sorted_by` the column by which somebody sorted them, empty
    if they are as they were written. `whole` is the TOTAL of the whole load, `seconds` are its seconds
    from `origin_s` on. `labels` are the labels of `load`, `whole_labels` those of `whole`, `sent` those of all rows.
    `cut` are the rows of transactions that the end of their user cut, `untimed` those of transactions without a time,
    `closed` the requests that JMeter closed at the end of an open load, by label: no table has them. `closed_waits` are
    the times that these had waited. `beside` are the groups that are no load. `given_goal` are goals for these results,
    in place of the run's own. `generator_delay` is what the generator added in the window. `profiles` are those of the
    system's JVMs. `threads` is what single rows of bare JTLs show.
    `shared_work` has, by the name of a generator, what others drove, too.
    """

    run: RunRecord | None
    load: LabelFigures | None
    codes: tuple[CodeCount, ...]
    law: LittlesLaw | None
    usages: tuple[Usage, ...]
    dropped: Dropped
    window: Window
    is_span_known: bool
    generators: tuple[GeneratorFigures, ...] = ()
    shared_work: Mapping[str, SharedWork] = field(default_factory=dict)
    longest_ms: int | None = None
    gaps: tuple[Gap, ...] = ()
    throttle: Throttle | None = None
    cloudwatch: CloudMetrics | None = None
    clock_step: ClockStep | None = None
    pause_s: float = 0.0
    loads: tuple[LoadFigures, ...] = ()
    lost_cpu: LostCpu | None = None
    growths: tuple[Growth, ...] = ()
    stops: tuple[ProcessStop, ...] = ()
    outage: str = ""
    jobs: tuple[FoundJob, ...] = ()
    origin_s: int | None = None
    row_count: int = 0
    sorted_by: str = ""
    whole: LabelFigures | None = None
    seconds: Sequence[SecondFigures] = ()
    cut: Mapping[str, int] = field(default_factory=dict)
    untimed: Mapping[str, int] = field(default_factory=dict)
    closed: Mapping[str, int] = field(default_factory=dict)
    closed_waits: Histogram = field(default_factory=Histogram)
    labels: tuple[LabelFigures, ...] = ()
    whole_labels: tuple[LabelFigures, ...] = ()
    sent: frozenset[str] = frozenset()
    beside: tuple[Group, ...] = ()
    given_goal: Goal | None = None
    generator_delay: GeneratorDelay | None = None
    profiles: tuple[ProcessProfile, ...] = ()
    threads: ThreadEvidence = NO_ROWS

    @property
    def goal(self) -> Goal:
        """The goals that were given for these results, else those of the run."""
        return self.given_goal or (self.run.goal if self.run else Goal())

    @property
    def is_failed(self) -> bool:
        """Whether so many samples of the run failed that times, rates and users are those of failures."""
        return bool(self.run and self.load and (self.outage or self.load.error_ratio > MOSTLY_ERRORS_RATIO))

    @property
    def is_open(self) -> bool:
        """Whether requests are sent at their scheduled time, however slow the answers are."""
        return self.run is not None and self.run.load.model == OPEN

    @property
    def was_ended(self) -> bool:
        """Whether something ended the load before its requested time: a stop condition, or an interruption."""
        return self.run is not None and bool(self.run.interrupted or self.run.stopped_early)

    @property
    def users_most(self) -> int | None:
        """The most users that were active in a second; None if not known."""
        users = (spell.value.active_users for spell in spells_of(self.seconds))
        return max((known for known in users if known is not None), default=None)

    @property
    def missing_row_count(self) -> int:
        """How many of the rows that JMeter wrote were not read; 0 where that is not known."""
        rows = self.run.rows if self.run else None
        return max(0, rows.written_count - self.row_count) if rows else 0

    @property
    def holes(self) -> tuple[Gap, ...]:
        """The gaps that neither waiting, nor a late generator, nor a pause of the load explains."""
        return () if self._has_all_rows else self._not_waited

    @property
    def pauses(self) -> tuple[Gap, ...]:
        """The gaps in which the load paused: JMeter wrote no row, and its clock was not set."""
        return self._not_waited if self._has_all_rows else ()

    @property
    def _has_all_rows(self) -> bool:
        rows = self.run.rows if self.run else None
        return (
            rows is not None
            and not (rows.at_least or self.missing_row_count or self.dropped.count)
            and (self.run is not None and watches_clock(self.run))
        )

    @property
    def waiting_count(self) -> float:
        """How many requests of the load were in flight on average."""
        return self.whole.counts.elapsed_sum_ms / self._load_ms if self.whole and self._load_ms else 0.0

    @property
    def _load_ms(self) -> int:
        """The time from the first start to the last end of the load."""
        return self.whole.counts.last_ms - (self.whole.counts.first_ms or 0) if self.whole else 0

    @property
    def has_other_unit(self) -> bool:
        """Whether the users of a bare JTL wait for so long that its times are not in milliseconds."""
        users = self.users_most
        if self.run or not users or self._load_ms < _UNIT_LEAST_S * units.MS_PER_S:
            return False
        return self.waiting_count > _UNIT_FACTOR * users

    @property
    def _not_waited(self) -> tuple[Gap, ...]:
        gaps = () if self.has_other_unit else self.gaps
        return tuple(gap for gap in gaps if not gap.is_waited and not self.began_after(gap))

    def began_after(self, gap: Gap) -> tuple[GeneratorFigures, ...]:
        """Return the generators that began after a gap before which all others had ended; empty elsewhere."""
        ended = [one for one in self.generators if one.last_s <= gap.from_s]
        began = [one for one in self.generators if one not in ended and one.first_s >= gap.from_s - 1]
        return tuple(began) if ended and len(ended) + len(began) == len(self.generators) else ()

    @property
    def stalls(self) -> tuple[Gap, ...]:
        """The gaps in which the system stalled; none where users wait for messages, which come when they come."""
        is_none = self.has_other_unit or self._awaits_messages
        return () if is_none else tuple(gap for gap in self.gaps if gap.is_waited)

    @property
    def _awaits_messages(self) -> bool:
        """Whether most of the users' waiting is that of steps that only wait for messages."""
        whole_ms = self.whole.counts.elapsed_sum_ms if self.whole else 0
        awaited_ms = sum(counts_by_label(self.run, lambda group: group.awaited_ms).values())
        return awaited_ms > _AWAITED_RATIO * whole_ms

    @property
    def long_stalls(self) -> tuple[Gap, ...]:
        """The stalls that overlap the window; none where they are too short to make the run DOUBTFUL."""
        window = self.window
        stalls = tuple(gap for gap in self.stalls if gap.from_s < window.to_s and gap.to_s > window.from_s)
        total_s = sum(gap.length_s for gap in stalls)
        longest_s = max((gap.length_s for gap in stalls), default=0.0)
        return stalls if longest_s >= STALL_LEAST_S or total_s > STALL_RATIO * window.length_s else ()


def gaps_text(gaps: Sequence[Gap]) -> str:
    """Return the seconds of the first gaps."""
    named = ", ".join(f"{gap.from_s} s to {gap.to_s} s" for gap in gaps[:_GAPS_NAMED])
    return f"{named} and {len(gaps) - _GAPS_NAMED} more" if len(gaps) > _GAPS_NAMED else named


def named_length(gaps: Sequence[Gap]) -> str:
    """Return the length of the seconds that `gaps_text` names; the parts of their neighbours are not in it."""
    return units.duration_text(sum(gap.to_s - gap.from_s for gap in gaps))


def stall_values(evidence: Evidence) -> Values:
    longest = max(evidence.stalls, key=lambda gap: gap.length_s)
    # With an open load, the row before the gap does not count the requests that came later.
    is_known = longest.user_count is not None and not evidence.is_open
    users = f" while {units.plural(longest.user_count or 0, 'user')} were active" if is_known else ""
    return {"length": units.duration_text(longest.length_s), "users": users, "gaps": gaps_text(evidence.stalls)}


def of_least_samples_s(evidence: Evidence) -> int:
    """Return how long (s) the window must be for enough samples; 0 if that is not known."""
    return least_samples_s(evidence.window, evidence.load.sample_count if evidence.load else 0)


def longer(evidence: Evidence, window_s: int) -> str:
    """Return the sentence with the duration, or the requests, of a run that has a window of `window_s`."""
    option = longer_option(evidence.run.load, evidence.window, window_s) if evidence.run else None
    if option is None or option.name == "loops":
        return "Run longer."
    return f"Run again with --{option.name}={option.text}."
