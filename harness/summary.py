"""Samples and the facts of a run become one RunSummary: every figure of the report, and nothing that is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.caveats import Caveat, find_caveats
from harness.errors import UsageError
from harness.figures import LOAD, PERCENTILES, CodeCount, ErrorKind, Group, driven_labels
from harness.jtl import Dropped
from harness.littles_law import LittlesLaw, littles_law
from harness.record import OPEN, RunRecord
from harness.tally import SampleTally
from harness.telemetry import Usage
from harness.timeline import Timeline
from harness.units import MS_PER_S
from harness.verdict import Verdict, judge
from harness.window import Window, WindowSpec, find_window, parse_window

FORMAT_VERSION = 2
ERROR_KINDS_KEPT = 20


@dataclass(frozen=True)
class RunSummary:
    """The canonical result of one run or one JTL; written as run-<series>_<n>.json.

    `groups` are counted over the window; `whole` is the load over all of the run where the window left something out.
    Codes, errors and the timeline are always of all samples.
    """

    format_version: int
    source: str
    run: RunRecord | None
    verdict: Verdict
    window: Window
    groups: tuple[Group, ...]
    whole: Group | None
    codes: tuple[CodeCount, ...]
    errors: tuple[ErrorKind, ...]
    error_kinds_left_out: int
    timeline: Timeline | None
    usages: tuple[Usage, ...]
    littles_law: LittlesLaw | None
    caveats: tuple[Caveat, ...]
    dropped_count: int
    dropped_first: tuple[tuple[int, str], ...]

    def group(self, name: str) -> Group | None:
        """The group of that name; None when it has no samples."""
        return next((group for group in self.groups if group.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data, keys in the order of the fields."""
        plain = asdict(replace(self, groups=(), whole=None))
        return {
            **plain,
            "groups": [group.to_json() for group in self.groups],
            "whole": self.whole.to_json() if self.whole else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSummary:
        """Return the summary that `to_json` wrote; UsageError when it is none."""
        source = str(data.get("source"))
        try:
            values = dict(data)
            values["run"] = RunRecord.from_json(data["run"], source) if data["run"] else None
            values["verdict"] = Verdict.from_json(data["verdict"])
            values["window"] = Window(**data["window"])
            values["groups"] = tuple(Group.from_json(group, source) for group in data["groups"])
            values["whole"] = Group.from_json(data["whole"], source) if data["whole"] else None
            values["codes"] = tuple(CodeCount(**code) for code in data["codes"])
            values["errors"] = tuple(ErrorKind(**kind) for kind in data["errors"])
            values["timeline"] = Timeline.from_json(data["timeline"]) if data["timeline"] else None
            values["usages"] = tuple(Usage(**usage) for usage in data["usages"])
            values["littles_law"] = LittlesLaw(**data["littles_law"]) if data["littles_law"] else None
            values["caveats"] = tuple(Caveat(**caveat) for caveat in data["caveats"])
            values["dropped_first"] = tuple((line, reason) for line, reason in data["dropped_first"])
            return cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{source}: not the JSON of a summary ({error})", "use the harness that wrote it"
            ) from None


def window_of(tally: SampleTally, spec: WindowSpec, run: RunRecord | None) -> Window:
    """Return the window in which the load is counted; seconds count from the one in which it began."""
    span_ms, span_s = tally.span_ms(), tally.pulse.span_s
    if span_ms is None or span_s is None:
        return find_window(spec, ())
    seconds = tally.pulse.by_second(min(span_ms[0] // MS_PER_S, span_s[0]), span_s[1])
    if run is None:
        return find_window(spec, seconds)
    load = run.load
    return find_window(spec, seconds, load.users, load.model != OPEN, load.ramp_s, load.duration_s)


def window_span_ms(tally: SampleTally, window: Window) -> tuple[int, int] | None:
    """Return the window as instants (ms since 1970, the second one excluded); None without samples of the load.

    All of the run is from the first start to the last end.
    """
    span_ms, span_s = tally.span_ms(), tally.pulse.span_s
    if span_ms is None or span_s is None or window.length_s == window.run_s:
        return span_ms
    origin_s = min(span_ms[0] // MS_PER_S, span_s[0])
    return round((origin_s + window.from_s) * MS_PER_S), round((origin_s + window.to_s) * MS_PER_S)


def summarise(
    tally: SampleTally,
    dropped: Dropped,
    source: str,
    run: RunRecord | None = None,
    usage: Sequence[Usage] = (),
    window: Window | None = None,
    counted: SampleTally | None = None,
    percentiles: Sequence[str] = PERCENTILES,
    with_transactions: bool = False,
) -> RunSummary:
    """Return the summary of a tally; `run` is its run.json, None for a bare JTL named `source`.

    `counted` is the tally of the samples within `window`; None when the window leaves nothing out.
    """
    groups = tally.groups(percentiles, with_transactions)
    whole = load = next((group for group in groups if group.name == LOAD), None)
    if counted is not None:
        load = next((group for group in counted.groups(percentiles, with_transactions) if group.name == LOAD), None)
        groups = tuple(group for group in (load, *groups) if group and (group is load or group.name != LOAD))
    window = window or window_of(tally, parse_window("all"), run)
    codes, errors = tally.code_counts(), tally.error_kinds()
    driven = driven_labels(groups)
    law = _law(tally, window, run)
    return RunSummary(
        format_version=FORMAT_VERSION,
        source=source,
        run=run,
        verdict=judge(whole.total if whole else None, run, errors, load.total if load else None),
        window=window,
        groups=groups,
        whole=whole if counted is not None else None,
        codes=codes,
        errors=errors[:ERROR_KINDS_KEPT],
        error_kinds_left_out=max(0, len(errors) - ERROR_KINDS_KEPT),
        timeline=tally.pulse.timeline(),
        usages=tuple(usage),
        littles_law=law,
        caveats=find_caveats(
            run,
            load.total if load else None,
            [code for code in codes if code.label in driven],
            law,
            usage,
            dropped,
            window,
        ),
        dropped_count=dropped.count,
        dropped_first=tuple(dropped.first),
    )


def _law(tally: SampleTally, window: Window, run: RunRecord | None) -> LittlesLaw | None:
    span_ms = window_span_ms(tally, window)
    if span_ms is None or tally.pulse.span_s is None:
        return None
    seconds = tally.pulse.by_second(span_ms[0] // MS_PER_S, -(-span_ms[1] // MS_PER_S) - 1)
    return littles_law(seconds, span_ms[1] - span_ms[0], run.load.think_time_s if run else 0.0)
