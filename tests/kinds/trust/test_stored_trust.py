"""Stored trust tests of version 1.1, when a trust test was a sweep with one level, keep their keys and values."""

import json
from typing import Any

import pytest

from harness.base.records import build, to_plain
from harness.kinds.trust.record import TrustRecord
from harness.metrics.metric import compared_metrics
from harness.plan.load.model import LoadRequest
from tests.support.paths import ROOT

FOLDER = ROOT / "tests" / "data" / "stored_trust"
RESULTS = ("verdict", "answer", "headline", "result", "metrics", "costs")


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", ["closed", "open"])
def test_a_stored_trust_test_is_written_again_with_the_same_keys_and_values(name):
    data = stored(name)
    record = build(TrustRecord, data)
    kept = {key: value for key, value in data.items() if key not in RESULTS}
    kept["thresholds"] |= {one.name: one.threshold for one in compared_metrics() if not one.is_of_all}  # newer ones
    assert json.loads(json.dumps(to_plain(record))) == kept
    again = build(TrustRecord, json.loads(json.dumps(to_plain(record))))
    assert again == record


def test_a_stored_trust_test_has_its_starts_and_its_load():
    closed, opened = (build(TrustRecord, stored(name)) for name in ("closed", "open"))
    assert (closed.starts, opened.starts) == (12, 6)
    assert [(run.start, run.index) for run in closed.runs] == [(1, 0), (1, 1), (2, 0), (3, 0)]
    assert closed.load == LoadRequest(users=2)
    assert opened.load == LoadRequest(ramp_s=5.0, duration_s=60.0, rate_per_s=2.0)
