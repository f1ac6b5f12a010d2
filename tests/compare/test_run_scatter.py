"""Two single runs are judged by what is known of the scatter of runs: earlier runs, a trust test, or an assumption."""

import math
import random
from dataclasses import replace
from statistics import stdev

import numpy
import pytest

from bench.statistics.scatter import KINDS, RunFactors, run_of
from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED
from harness.compare.decision import compare
from harness.compare.run_scatter import ASSUMED, scatter_of
from harness.history.catalogue import Entry
from harness.history.earlier_runs import earlier_scatter
from harness.metrics.metric import AVERAGE, THROUGHPUT
from harness.plan.thresholds import Thresholds
from tests.support.factories import closed_load, record

KIND = replace(next(kind for kind in KINDS if kind.name == "unequal cells"), label_count=2, between=0.003)


def runs(count, seed=1, change=0.0):
    random_, found = numpy.random.default_rng(seed), []
    factors = RunFactors(random_, KIND)
    for number in range(count):
        found.append(run_of(random_, KIND, f"{seed}-{number}", factors.next(), 600, [change] * 2))
    return found


def verdict(base, new, scatter=ASSUMED):
    return compare([base], [new], Thresholds(), scatter=scatter).verdict


@pytest.mark.real
def test_equal_single_runs_of_an_unknown_system_cannot_be_told_apart_whatever_chance_does():
    pairs = [(runs(1, seed)[0], runs(1, seed + 100)[0]) for seed in range(20)]
    assert {verdict(*pair) for pair in pairs} == {CANNOT_TELL}
    # By the noise within them alone, chance would decide.
    assert {verdict(*pair, scatter=None) for pair in pairs} == {OK, CANNOT_TELL}


@pytest.mark.real
def test_equal_single_runs_of_a_system_whose_runs_hardly_scatter_are_ok():
    scatter = scatter_of(runs(12))
    assert scatter and scatter.text == "their scatter is that of 12 earlier runs"
    found = [verdict(runs(1, seed)[0], runs(1, seed + 100)[0], scatter) for seed in range(20)]
    assert found.count(OK) >= 6 and REGRESSED not in found
    assert {verdict(runs(1, seed)[0], runs(1, seed + 100, 0.1)[0], scatter) for seed in range(9)} == {REGRESSED}


def test_a_large_change_is_told_without_any_knowledge():
    assert verdict(runs(1)[0], runs(1, 2, 0.3)[0]) == REGRESSED
    found = compare(runs(1), runs(1, 2, -0.5), Thresholds())
    average = found.total and found.total.of(AVERAGE)
    assert average and average.word == BETTER


def test_the_scatter_of_earlier_runs_is_the_standard_deviation_of_their_logarithms():
    earlier = runs(8)
    scatter = scatter_of(earlier)
    assert scatter
    logs = [math.log(run.total.average_ms) for run in earlier if run.total and run.total.average_ms]
    assert scatter.of("TOTAL", AVERAGE) == (pytest.approx(stdev(logs)), 7, True)
    assert scatter.of("a new label", THROUGHPUT) == ASSUMED.other
    assert scatter_of(earlier[:4]) is None


def entry(number, run, load=None):
    run_record = record(name=f"run-01_{number}", started_at=f"2026-01-{number + 1:02}T00:00:00Z", load=load)
    return Entry("tiny", f"run-01_{number}", 1, number, run_record, replace(run, run=run_record))


def test_only_valid_earlier_runs_of_the_same_load_count():
    found = runs(9)
    entries = [entry(number, run) for number, run in enumerate(found[:6])]
    own = entry(20, found[7]), entry(21, found[8])
    compared = [one.result for one in own if one.result]
    entries += own
    random.Random(3).shuffle(entries)
    scatter = earlier_scatter(entries, compared)
    assert scatter and scatter.text == "their scatter is that of 6 earlier runs"
    other = [entry(number, run, closed_load(users=77)) for number, run in enumerate(found[:6])]
    later = [entry(number + 22, run) for number, run in enumerate(found[:6])]
    for one in (other, later, [entry(number, run) for number, run in enumerate(found[:4])]):
        assert earlier_scatter([*one, *own], compared) is None
    assert earlier_scatter(entries, [replace(compared[0], run=None), compared[1]]) is None
