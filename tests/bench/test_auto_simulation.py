"""How long DURATION=auto takes and how far its means are off, on simulated loads with fixed seeds."""

from random import Random
from statistics import fmean

import pytest

from bench.statistics.auto import (
    COVERAGE_SCENES,
    LONG_S,
    SCENES,
    Scene,
    auto_load,
    second_of,
    share_covered,
    share_within,
    simulate,
)
from harness.run.jmeter.auto_end import AutoEnd
from tests.support.weekly import often


def end_of_all_checks(scene: Scene, seed: int, most_s: int) -> tuple[int, float | None, float | None]:
    noise, drift, watch = Random(seed), 0.0, AutoEnd(auto_load(most_s))
    for second in range(most_s):
        drift, samples = second_of(scene, second, drift, noise)
        watch.add(float(second), samples, len(samples))
        if watch.is_enough(float(second)):
            break
    return second, watch.record.average_ms, watch.record.within_ms


@pytest.mark.real
@pytest.mark.parametrize("seed", often(1, [0, 1]))
@pytest.mark.parametrize("scene", [SCENES["400 ms, 8 %"], SCENES["warm-up, 3 × slower at first, time constant 20 s"]])
def test_a_load_without_the_checks_that_do_not_matter_ends_as_with_all(scene, seed):
    found = simulate(scene, seed)
    assert (found.after_s, found.average_ms, found.within_ms) == end_of_all_checks(scene, seed, 600)


@pytest.mark.counterpart
@pytest.mark.real
@pytest.mark.parametrize("name", ["400 ms, 8 %", "12 ms, 8 %, 25 req/s, long tail"])
def test_frequent_checks_do_not_end_the_load_too_early(name):
    scene = SCENES[name]
    ended = [simulate(scene, seed, most_s=400) for seed in range(20)]
    by_itself = [one for one in ended if one.is_met]
    assert len(by_itself) >= 16
    # Of 1,000 loads 95 % are within it: fewer than 16 of 20 have a probability of 0.3 %.
    assert share_within(scene, ended) >= 16 / 20
    assert fmean(one.average_ms / scene.true_ms - 1 for one in by_itself) == pytest.approx(0, abs=0.02)


@pytest.mark.counterpart
@pytest.mark.real
def test_the_interval_that_ends_a_load_contains_the_true_mean_of_correlated_times():
    # With two checks in a row instead of five it was 90 % of 400.
    scene = COVERAGE_SCENES["400 ms, AR 0.9"]
    ended = [simulate(scene, seed, LONG_S) for seed in range(30)]
    # Of 30 fewer than 24 have a probability of 0.2 % at 94 %.
    assert share_covered(scene, ended) >= 24 / 30
