"""Both sides of an A/B test must be the same work: a side that no longer sends a step is never IMPROVED or OK."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED
from harness.judge.verdict import INVALID, VALID, Verdict
from harness.judge.warnings import RunWarning
from harness.kinds.ab.outcome import headline, outcome_of
from harness.kinds.ab.record import AbRun
from harness.kinds.ab.render import ab_report
from tests.support.ab_tests import finished_record
from tests.support.results import label_result, run_result

TIMES_MS = {"a": 100.0, "b": 100.0, "pay": 130.0}


def run(name, counts, factor):
    labels = [label_result(label, TIMES_MS[label] * factor, sample_count=count) for label, count in counts.items()]
    count = sum(counts.values())
    mean_ms = sum(TIMES_MS[label] * factor * number for label, number in counts.items()) / count
    total = label_result("TOTAL", mean_ms, sample_count=count)
    return run_result(name, *labels, total=total, verdict=Verdict(VALID, (), (), ()))


def outcome(base, new, factor, pairs=6):
    """Return the outcome of a test whose side B takes so many times as long."""
    runs, results = [], {}
    for pair in range(1, pairs + 1):
        for side, counts, by in (("A", base, 1.0), ("B", new, factor)):
            name = f"run-01_{len(runs) + 1}"
            runs.append(AbRun(side=side, pair=pair, state="ended", run=name))
            results[name] = run(name, counts, by * (1 + 0.001 * (pair % 3)))
    return outcome_of(finished_record(runs=tuple(runs), seed=1), results)


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_a_step_that_one_side_never_sends_is_named_and_never_better_or_ok(factor):
    whole, gone = {"a": 1000, "b": 1000, "pay": 1000}, {"a": 1500, "b": 1500}
    found = outcome(whole, gone, factor)
    assert (found.verdict, found.is_decided) == (REGRESSED, True)
    assert headline(found) == "REGRESSED after 6 pairs: pay: 6,000 samples → none."
    assert {one.word for one in found.metrics} == {CANNOT_TELL}
    assert "pay: 6,000 samples → none" in ab_report(found, (), "")
    new = outcome(gone, whole, factor)
    assert (new.verdict, headline(new)) == (CANNOT_TELL, "CANNOT TELL after 6 pairs: pay: none → 6,000 samples.")


def test_the_same_work_is_judged_by_its_times():
    whole = {"a": 1000, "b": 1000, "pay": 1000}
    assert outcome(whole, whole, 0.7).verdict == BETTER
    assert outcome(whole, whole, 1.3).verdict == REGRESSED
    assert outcome(whole, {"a": 1000, "b": 200, "pay": 1800}, 1.0).work.startswith("another mix: ")


FAILED = Verdict(INVALID, ("all 10 samples failed",), (), ())
SHORT_OF_USERS = (RunWarning("asked-offered", "x"),)


@pytest.mark.parametrize(
    ("bad_a", "bad_b", "changes", "verdict"),
    [
        ((), (), {}, OK),
        ((), (2,), {"verdict": FAILED}, CANNOT_TELL),
        ((), (2, 4, 6), {"verdict": FAILED}, CANNOT_TELL),
        ((2,), (), {"verdict": FAILED}, OK),
        ((2,), (4,), {"verdict": FAILED}, OK),
        ((), (2, 4), {"warnings": SHORT_OF_USERS}, OK),
        ((), (2, 4, 6), {"warnings": SHORT_OF_USERS}, CANNOT_TELL),
        ((2,), (4, 6, 8), {"warnings": SHORT_OF_USERS}, OK),
    ],
)
def test_a_side_that_fails_now_and_then_is_neither_ok_nor_better_by_its_other_runs(bad_a, bad_b, changes, verdict):
    def found(factor):
        runs, results = [], {}
        for pair in range(1, 7 + len({*bad_a, *bad_b})):
            for side, by, bad in (("A", 1.0, bad_a), ("B", factor, bad_b)):
                name = f"run-01_{len(runs) + 1}"
                runs.append(AbRun(side=side, pair=pair, state="ended", run=name))
                one = run(name, {"a": 1000}, by * (1 + 0.001 * (pair % 3)))
                results[name] = replace(one, **changes) if pair in bad else one
        return outcome_of(finished_record(runs=tuple(runs), seed=1), results)

    same, faster = found(1.0), found(0.7)
    assert (same.verdict, faster.verdict, found(1.3).verdict) == (
        verdict,
        BETTER if verdict == OK else verdict,
        REGRESSED,
    )
    assert all(len(one.counted) == 6 and one.is_decided for one in (same, faster))
    if verdict == CANNOT_TELL:
        start = f"CANNOT TELL after 6 pairs: {len(bad_b)} of {6 + len(bad_b)} runs of B do not count: run-01_4: "
        assert headline(same).startswith(start)
