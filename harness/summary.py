"""Samples and the facts of a run become one RunSummary: every figure of the report, and nothing that is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.caveats import Caveat, find_caveats
from harness.figures import LOAD, CodeCount, ErrorKind, Group, LabelFigures, driven_labels
from harness.jtl import Dropped
from harness.littles_law import LittlesLaw
from harness.record import RunRecord
from harness.tally import SampleTally
from harness.telemetry import Usage
from harness.verdict import Verdict, judge

FORMAT_VERSION = 1
ERROR_KINDS_KEPT = 20


@dataclass(frozen=True)
class RunSummary:
    """The canonical result of one run or one JTL; written as run-<series>_<n>.json."""

    format_version: int
    source: str
    run: RunRecord | None
    verdict: Verdict
    groups: tuple[Group, ...]
    codes: tuple[CodeCount, ...]
    errors: tuple[ErrorKind, ...]
    error_kinds_left_out: int
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
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSummary:
        """Return the summary that `to_json` wrote."""
        values = dict(data)
        values["run"] = RunRecord.from_json(data["run"], data["source"]) if data["run"] else None
        values["verdict"] = Verdict.from_json(data["verdict"])
        values["groups"] = tuple(
            Group(
                group["name"],
                tuple(LabelFigures(**label) for label in group["labels"]),
                LabelFigures(**group["total"]),
            )
            for group in data["groups"]
        )
        values["codes"] = tuple(CodeCount(**code) for code in data["codes"])
        values["errors"] = tuple(ErrorKind(**kind) for kind in data["errors"])
        values["usages"] = tuple(Usage(**usage) for usage in data["usages"])
        values["littles_law"] = LittlesLaw(**data["littles_law"]) if data["littles_law"] else None
        values["caveats"] = tuple(Caveat(**caveat) for caveat in data["caveats"])
        values["dropped_first"] = tuple((line, reason) for line, reason in data["dropped_first"])
        return cls(**values)


def summarise(
    tally: SampleTally, dropped: Dropped, source: str, run: RunRecord | None = None, usage: Sequence[Usage] = ()
) -> RunSummary:
    """Return the summary of a tally; `run` is its run.json, None for a bare JTL named `source`."""
    groups = tally.groups()
    load = next((group for group in groups if group.name == LOAD), None)
    codes, errors = tally.codes(), tally.errors()
    driven = driven_labels(groups)
    law = tally.concurrency.littles_law(run.load.think_time_s if run else 0.0)
    return RunSummary(
        format_version=FORMAT_VERSION,
        source=source,
        run=run,
        verdict=judge(load.total if load else None, run, errors),
        groups=groups,
        codes=codes,
        errors=errors[:ERROR_KINDS_KEPT],
        error_kinds_left_out=max(0, len(errors) - ERROR_KINDS_KEPT),
        usages=tuple(usage),
        littles_law=law,
        caveats=find_caveats(
            run, load.total if load else None, [code for code in codes if code.label in driven], law, usage, dropped
        ),
        dropped_count=dropped.count,
        dropped_first=tuple(dropped.first),
    )
