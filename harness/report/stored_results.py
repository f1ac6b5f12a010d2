"""Reads the result of a run that was reported earlier: from its JSON, else from its Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from harness.base.errors import HarnessError, UsageError
from harness.base.records import build
from harness.base.regular import regular
from harness.judge.summary import FORMAT_VERSION
from harness.metrics.figures import LOAD, is_streamed
from harness.metrics.metric import BESIDE, CONNECTS, FIRST_BYTES
from harness.report.markdown_report import parse_report
from harness.report.run_result import RUN, RunResult, without_parts
from harness.run.directory import RunDirectory, read_object
from harness.run.record import RUNNING, RunRecord

_LABEL_KEYS = (
    "label", "sample_count", "error_count", "error_ratio", "average_ms", "percentiles_ms", "min_ms", "max_ms",
    "rate_per_s", "received_bytes_per_s",
)  # fmt: skip


def result_from_json(data: Mapping[str, Any], where: str) -> RunResult:
    """Return the result in a run's JSON with its printed metrics; nothing is recomputed, batches are left out.

    So a list of a thousand runs is read quickly. Raise UsageError, without the run's name, when there is no result.
    """
    version = data.get("format_version")
    if not isinstance(version, int) or version < FORMAT_VERSION:
        raise UsageError("its JSON is of an older format", f"lth report {where}")
    if version > FORMAT_VERSION:
        raise UsageError("its JSON is of a newer format", "use the version of the harness that wrote it")
    try:
        load = next((group for group in data["groups"] if group["name"] == LOAD), None)
        fields = {
            **{key: data[key] for key in ("run", "verdict", "window", "origin_s")},
            "warnings": data["caveats"],
            "name": data["source"],
            "kind": RUN,
            "total": _label(load["total"]) if load else None,
            "labels": [_label(label) for label in load["labels"]] if load else [],
            "usages": data["observed"]["usages"],
            # What is empty is left out: its type would be imported.
            **{key: found for key in ("profiles", "databases", "tails") if (found := data["observed"].get(key))},
            "whole": _label(data["whole"]["total"]) if data["whole"] else None,
            "result": data.get("result"),
            "account": data.get("account", []),
        }
        return build(RunResult, fields)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError("its JSON is not a run's", f"lth report {where}") from None


def _label(figures: Mapping[str, Any]) -> dict[str, Any]:
    known = {key: figures.get(key, {}) for key in (FIRST_BYTES, CONNECTS, BESIDE)}
    if not is_streamed(figures["percentiles_ms"], known[FIRST_BYTES]):
        known = {**known, FIRST_BYTES: {}, BESIDE: without_parts(known[BESIDE])}
    return {**{key: figures[key] for key in _LABEL_KEYS}, **known}


class StoredResult(NamedTuple):
    """What a run left: its record, its result, and why there is none; the problem does not begin with its name."""

    run: RunRecord | None
    result: RunResult | None
    problem: str


def read_stored(directory: RunDirectory) -> StoredResult:
    """Return what a run left; problems are part of it and raise no error."""
    where = f"{directory.plan}/{directory.name}"
    run = None
    with suppress(HarnessError):  # the problem with its JSON is reported instead
        run = directory.read_run()
    try:
        result = _result_of(directory, run, where)
    except HarnessError as error:
        return StoredResult(run, None, str(error).removeprefix(f"{where}: "))
    return StoredResult(result.run or run, result, "")


def _result_of(directory: RunDirectory, run: RunRecord | None, where: str) -> RunResult:
    again = f"lth report {where}"
    if not directory.summary_json.is_file():
        if run and run.state == RUNNING:
            if directory.is_held:
                raise UsageError("it is running", "wait")
            raise UsageError("still running, or killed", f"if killed: {again}")
        if run or directory.run_json.is_file():
            raise UsageError("it has no report yet", again)
        return parse_report(text_of(directory.report), where)
    try:
        data = read_object(directory.summary_json)
    except UsageError:
        raise UsageError("its JSON cannot be read", again) from None
    return result_from_json(data, where)


def text_of(path: Path) -> str:
    try:
        return regular(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
