"""The gate of the nightly when tonight's work is another one: requests that are no longer sent, other shares."""

from dataclasses import replace

import pytest

from harness.history.acceptance import Acceptance
from harness.kinds.nightly.gate import GONE_LABEL, LEARNING, OK, OTHER_WORK, REGRESSED, WARNED, GateRules
from harness.metrics.metric import metric_of
from tests.kinds.nightly.test_gate import checks_of, figures, run


def shop(day, pay=5_000, average_ms=100.0, plan="1", **total):
    """Return a run of a plan with these files: 10,000 samples of Home, and those of Pay if any."""
    one = run(day, source_hashes={"plan": plan}, total=figures("TOTAL", average_ms, 10_000 + pay, **total))
    labels = (figures("Home", 100.0), *([figures("Pay", 100.0, pay)] if pay else []))
    return replace(one, result=replace(one.result, labels=labels))


def test_a_request_that_runs_of_a_plan_no_longer_send_fails_until_it_is_accepted():
    lost = [*map(shop, range(1, 9)), shop(9, 0, average_ms=50), shop(10, 0, average_ms=50)]
    (gone,) = checks_of(lost[:-1], label="Pay")
    assert (gone.state, gone.metric, gone.since) == (REGRESSED, None, "2026-11-09")
    assert gone.note.startswith("5,000 samples → none; the nightly run of 2026-11-08 had it; if intended: lth accept")
    (gone,) = checks_of(lost, label="Pay")
    assert (gone.state, gone.since) == (REGRESSED, "2026-11-09")

    def accepted(since, label):
        return Acceptance(since, "tiny", None, None, label, None, "no more payments")

    assert checks_of(lost, [accepted("2026-11-09", "Pay")], label="Pay") == []
    for other in (accepted("2026-11-08", "Pay"), accepted("2026-11-09", "Home")):
        assert [check.state for check in checks_of(lost, [other], label="Pay")] == [REGRESSED]


def test_total_of_other_work_is_not_judged_but_for_its_errors():
    rules = GateRules(metrics=(metric_of("average"), metric_of("errors")))
    usual = [shop(day) for day in range(1, 9)]
    found = checks_of([*usual, shop(9, 0, average_ms=50, error_ratio=0.2)], rules=rules)
    assert [(check.state, check.metric and check.metric.name) for check in found] == [
        (OTHER_WORK, None),
        (WARNED, "errors"),
    ]
    assert found[0].note == "of TOTAL only errors are judged: Pay: 5,000 samples → none"
    # The nightly runs of other work are no baseline of the next ones.
    found = checks_of([*usual, shop(9, 0, average_ms=50), shop(10, 0, average_ms=50)])
    assert [(check.state, check.earlier_count) for check in found] == [(LEARNING, 1)]
    found = checks_of([*usual, shop(9, 0, average_ms=50), shop(10, average_ms=150)])
    assert [(check.state, check.metric) for check in found] == [(OTHER_WORK, None)]
    found = checks_of([*usual, shop(9, 0, average_ms=50), shop(10), shop(11, average_ms=150)])
    assert [(check.state, check.earlier_count) for check in found] == [(WARNED, 9)]


@pytest.mark.parametrize("last", [shop(9, 0, plan="2"), shop(9, 0, plan=None)])
def test_a_request_that_another_plan_does_not_send_is_only_named(last):
    (gone,) = checks_of([*map(shop, range(1, 9)), last], label="Pay")
    assert gone.state == GONE_LABEL


def test_a_rare_request_that_is_missing_by_chance_is_only_named():
    (gone,) = checks_of([*(shop(day, 9) for day in range(1, 9)), shop(9, 0)], label="Pay")
    assert gone.state == GONE_LABEL
    (gone,) = checks_of([*(shop(day, 9) for day in range(1, 9)), shop(9, 0)], label="TOTAL")
    assert gone.state == OK
