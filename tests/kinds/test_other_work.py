"""Runs of other work are not alike because their TOTAL is: neither commits, nor settings, nor levels."""

from dataclasses import replace

import pytest

from harness.compare.comparison import CANNOT_TELL
from harness.judge.result import FOUND, NO_EFFECT
from harness.kinds.bisect.outcome import outcome_of as bisected
from harness.kinds.bisect.record import BisectRecord, BisectRun, Candidate
from harness.kinds.bisect.render import _warnings
from harness.kinds.bisect.text import headline as bisect_headline
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.outcome import outcome_of as tuned
from harness.kinds.tune.record import TuneRecord, TuneRun
from harness.kinds.tune.render import tune_report
from harness.kinds.tune.text import headline as tune_headline
from harness.sweep.analysis import analyse
from harness.sweep.levels import Sweep, level_run, levels_of
from harness.sweep.text import doubts_of
from tests.support.ab_tests import finished_record
from tests.support.results import label_result, run_result

WHOLE, GONE = {"a": 1000, "pay": 1000}, {"a": 2000}
SHARED = {name: getattr(finished_record(), name) for name in (
    "plan", "arguments", "load", "planned_s", "limit_s", "budget_s", "thresholds", "state", "started_at", "spent_s",
    "git_commit", "git_changed",
)}  # fmt: skip


def run(name, counts, total_ms):
    labels = [label_result(label, 100.0, sample_count=count) for label, count in counts.items()]
    total = label_result("TOTAL", total_ms, sample_count=sum(counts.values()))
    return run_result(name, *labels, total=total)


def bisection(bad_counts, bad_ms):
    candidates = tuple(Candidate(f"a3f2c1{index}") for index in range(3))
    runs = tuple(
        BisectRun(run=f"run-01_{at}", state="ended", candidate=index) for at, index in enumerate((0, 2, 1) * 4)
    )
    record = BisectRecord(
        name="bisect-01", command="lth bisect", runs=runs, candidates=candidates, metric_name="average",
        noise_ratio=0.002, noise_log_width=0.2, **SHARED,
    )  # fmt: skip
    results = {
        one.run: run(one.run, bad_counts, bad_ms * (1 + 0.001 * (at % 2)))
        if one.candidate
        else run(one.run, WHOLE, 100.0 * (1 + 0.001 * (at % 2)))
        for at, one in enumerate(runs)
    }
    return bisected(record, results)


@pytest.mark.parametrize(
    ("counts", "total_ms", "verdict"),
    [(WHOLE, 100.0, NO_EFFECT), (GONE, 100.0, CANNOT_TELL), (WHOLE, 130.0, FOUND), (GONE, 130.0, FOUND)],
)
def test_a_bisection_between_ends_of_other_work_finds_no_likeness(counts, total_ms, verdict):
    found = bisection(counts, total_ms)
    assert (found.verdict, found.is_decided, bool(found.work)) == (verdict, True, counts == GONE)
    said = bisect_headline(found)
    assert said.startswith(verdict)
    named = ("pay: 4,000 samples → none" in said, any("pay: 4,000" in text for text in _warnings(found, said)))
    assert named == {(False, NO_EFFECT): (False, False), (True, CANNOT_TELL): (True, False)}.get(
        (counts == GONE, verdict), (False, counts == GONE)
    )


def tuning(counts, total_ms):
    cells = ((0,), (1,))
    blocks = tuple(range(1, 9))
    runs = tuple(
        TuneRun(run=f"run-01_{block}{index}", state="ended", block=block, index=index, cell=index)
        for block in blocks
        for index in (0, 1)
    )
    record = TuneRecord(
        name="tune-01", command="lth tune", runs=runs, factors=(Factor("pool", ("10", "20")),), cells=cells,
        blocks=((0, 1),) * len(blocks), repeat=None, metric_name="average", **SHARED,
    )  # fmt: skip
    results = {
        one.run: run(one.run, counts, total_ms * (1 + 0.001 * (one.block % 3)))
        if one.cell
        else run(one.run, WHOLE, 100.0 * (1 + 0.001 * (one.block % 2)))
        for one in runs
    }
    return tuned(record, results)


@pytest.mark.parametrize(
    ("counts", "total_ms", "verdict"),
    [(WHOLE, 100.0, NO_EFFECT), (GONE, 100.0, CANNOT_TELL), (WHOLE, 70.0, FOUND), (GONE, 70.0, FOUND),
     (GONE, 130.0, FOUND)],
)  # fmt: skip
def test_a_setting_with_which_a_step_is_gone_has_no_effect_by_no_total(counts, total_ms, verdict):
    found = tuning(counts, total_ms)
    gone = "with pool=20 pay: 8,000 samples → none"
    is_of_best = counts == GONE and total_ms <= 100
    assert (found.verdict, found.work) == (verdict, gone if is_of_best else "")
    assert (gone in tune_headline(found)) == (verdict == CANNOT_TELL)
    assert (gone in tune_report(found, (), "")) == is_of_best


def test_a_level_of_other_work_is_named_and_one_of_the_same_is_not():
    def doubts(*counts):
        runs = (
            (users, level_run(run(f"run-{users}", each, 100.0))) for users, each in zip((1, 5, 9), counts, strict=True)
        )
        found = Sweep("tiny/sweep-07", levels_of(runs))
        both = [found, replace(found, label="a")]
        return [[text for text in doubts_of(one, analyse(one.levels, None)) if "the work" in text] for one in both]

    alike = {"a": 1010, "pay": 990}
    assert doubts(WHOLE, alike, alike) == [[], []]
    other = "At 5 and 9 users the work is not that at 1 user: pay: 1,000 samples → none. Compare label by label."
    assert doubts(WHOLE, GONE, GONE) == [[other], []]
    mix = (
        "At 9 users the work is not that at 1 user: another mix: a is 50 → 80 % of the samples. Compare label by label."
    )
    assert doubts(WHOLE, alike, {"a": 1600, "pay": 400}) == [[mix], []]
