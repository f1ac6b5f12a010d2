"""Warnings about machines: of the load generator, of its parts, and of the host that a system shares."""

import random
from dataclasses import replace

import pytest

from harness.metrics.wake_delays import WakeDelays
from harness.run.record import GeneratorRecord
from harness.system.profile import Collections, ProcessProfile
from harness.system.profile_cost import ProfileCost
from tests.judge.test_warnings import usage
from tests.support.factories import record, sample, two_users
from tests.support.summaries import summary_of, warnings_of


def test_a_generator_that_uses_all_cpu_is_a_warning():
    found = warnings_of(two_users(), record(), usage=(usage("jmeter", 1.7), usage("host", 1.9)))
    assert found["generator-cpu"].startswith("The load generator used 85 % of the 2 cores. ")
    assert "host-cpu" not in found  # it follows


def test_a_busy_machine_is_a_warning_that_says_what_shares_it():
    text = warnings_of(two_users(), record(), usage=(usage("jmeter", 0.9), usage("shop", 0.9), usage("host", 1.9)))
    assert text["host-cpu"].startswith("The 2 cores that generator and system share were 95 % busy. ")
    assert "a machine of its own" in text["host-cpu"]


def test_with_a_remote_system_the_hosts_cpu_belongs_to_the_generator():
    found = warnings_of(two_users(), record(target="http://shop"), usage=(usage("host", 1.9),))
    assert "share" not in found["host-cpu"]
    assert "a larger machine" in found["host-cpu"]


@pytest.mark.parametrize(("host_cores", "has_warning"), [(1.29, False), (1.31, True)])
def test_cpu_use_of_other_processes_is_a_warning(host_cores, has_warning):
    # Of two cores the run accounts for 1.1: more than that by 10 % of both, 0.2, is a warning.
    run = (usage("jmeter", 0.3), usage("shop", 0.8))
    found = warnings_of(two_users(), record(), usage=(usage("host", host_cores), *run))
    assert ("other-cpu" in found) is has_warning
    if has_warning:
        assert "Other programs used 10 % of this machine's CPU during the measurement." in found["other-cpu"]
    assert "other-cpu" not in warnings_of(two_users(), record(), usage=run)  # the host is not known


@pytest.mark.parametrize(("stolen_cores", "has_warning"), [(0.09, False), (0.11, True)])
def test_a_hypervisor_that_takes_more_than_a_twentieth_of_the_cores_makes_a_run_doubtful(stolen_cores, has_warning):
    run = (usage("jmeter", 0.3), usage("shop", 0.8), usage("host", 1.1), usage("stolen", stolen_cores))
    found = warnings_of(two_users(), record(), usage=run)
    assert ("stolen-cpu" in found) is has_warning
    assert "other-cpu" not in found  # no process of this machine used it
    if has_warning:
        assert "gave 6 % of the 2 cores to other virtual machines." in found["stolen-cpu"]


def test_an_idle_generator_has_no_warning():
    found = warnings_of(two_users(), record(), usage=(usage("jmeter", 1.6), usage("host", 1.7)))
    assert not {"generator-cpu", "host-cpu"} & set(found)


@pytest.mark.parametrize(
    ("late", "p99_ms", "added_ms"),
    [
        (None, 1000, None),  # an older run
        ((100,), 1000, 0),
        ((99, *(0,) * 12, 1), 1000, 0),  # 20 ms of 1,000 ms, once a second
        ((35, *(0,) * 15, 4), 600, 45),  # 45 to 64 ms, four times a second
        ((35, *(0,) * 15, 4), 4000, 45),  # no more than the twentieth part
    ],
)
def test_a_generator_that_wakes_up_late_is_a_warning_with_what_it_added(late, p99_ms, added_ms):
    # Two of five answers wait for what is left of such a delay.
    rng, late_ms = random.Random(1), 54 if added_ms else 0
    times = [
        rng.gauss(p99_ms - late_ms, 5) + rng.choice((0, 0, 0, 1, 1)) * rng.uniform(0, late_ms) for _ in range(2000)
    ]
    samples = [sample(elapsed_ms=int(ms), start_ms=1_000_000 + 20 * at, all_threads=2) for at, ms in enumerate(times)]
    run = record(wake_delays=WakeDelays(1000, 1, (late,) * 50) if late else None)
    summary = summary_of(samples, run)
    delay, texts = summary.generator_delay, {one.code: one.text for one in summary.warnings}
    assert (delay is None) is (late is None)
    if delay:
        assert delay.added_ms == pytest.approx(added_ms, rel=0.4, abs=1)
    assert ("generator-delay" in texts) is (p99_ms == 600)
    assert "generator-delay" not in warnings_of(samples, run, usage=(usage("jmeter", 1.7),))  # it follows


@pytest.mark.parametrize(("ratios", "is_named"), [((), False), ((0.02, 0.009), False), ((0.02, 0.011), True)])
def test_a_profile_that_takes_over_three_percent_of_a_jvms_cpu_time_is_doubtful(ratios, is_named):
    costs = tuple(ProfileCost(f"part {at}", 60 * ratio, ratio) for at, ratio in enumerate(ratios))
    shop = ProcessProfile("shop", 60.0, 0, (), 0.0, (), 0, (), Collections(0, 0.0, 0.0), costs=costs)
    summary = summary_of(two_users(), record(), profiles=(shop,))
    found = [one for one in summary.warnings if one.code == "profile-cost"]
    assert [one.text for one in found] == (
        [
            "Profiling took 3.1 % of the CPU time of shop. Most of it: part 0 2.0 %. The system is slower than "
            "without. Run without a profile for the numbers, and with one for causes."
        ]
        if is_named
        else []
    )
    assert (summary.verdict.state == "DOUBTFUL") or not is_named


@pytest.mark.parametrize(("ratio", "is_named"), [(None, False), (0.0, False), (0.05, False), (0.34, True)])
def test_a_cpu_quota_that_is_used_up_is_a_warning_with_its_share(ratio, is_named):
    run = (replace(usage("shop", 0.8), throttled_ratio=ratio), usage("jmeter", 0.3))
    summary = summary_of(two_users(), record(), usage=run)
    texts = [warning.text for warning in summary.warnings if warning.code == "cpu-quota"]
    assert bool(texts) is is_named
    if is_named:
        assert "used up in part of its periods: shop 34 %." in texts[0]
        assert summary.verdict.state == "VALID"


def driven(name, ahead_ms, is_local):
    return GeneratorRecord(name, 1, None, "5.6.3", "17.0.15", ahead_ms, is_local)


def test_remote_generators_are_not_watched_and_their_clocks_may_differ():
    here = driven("127.0.0.1:1099", 499, True)
    there = driven("10.0.0.7:1099", -500, False)
    found = warnings_of(two_users(), record(generators=(here, there)))
    assert "Whether 10.0.0.7:1099 limited the load is not known." in found["unwatched-generator"]
    assert found["clocks-apart"].startswith("The clocks of the load generators differ by 500 ms. ")
    assert "(negative: behind it): 10.0.0.7:1099 -500 ms." in found["clocks-apart"]
    assert not {"unwatched-generator", "clocks-apart"} & set(warnings_of(two_users(), record(generators=(here,))))


HOST_RECORD = record().host


def part(name, machine, **changes):
    there = GeneratorRecord(name, 1, None, "5.6.3", "17.0.15", 700, False, HOST_RECORD, machine, 0)
    return replace(there, **changes)


def warnings_of_parts(parts, usages):
    return warnings_of(two_users(), record(generators=tuple(parts)), [usage(*one) for one in usages])


@pytest.mark.parametrize(
    ("cores", "brief"),
    [
        ((1.7, 1.0, 1.0), "3 parts are too few: 1 above 80 % CPU; 4 would do. These may"),  # 3 × 0.85 / 0.8
        ((1.95, 1.7, 1.0), "3 parts are too few: 2 above 80 % CPU; at least 4 would do. These may"),
        ((1.5, 1.5, 1.5), None),
    ],
)
def test_parts_are_too_few_when_one_of_their_machines_has_too_little_cpu(cores, brief):
    parts = [part(f"gen{number}", f"m{number}") for number in (1, 2, 3)]
    found = warnings_of_parts(parts, [(f"generator gen{number}", used) for number, used in enumerate(cores, start=1)])
    assert "generator-cpu" not in found  # one cause, one message
    assert found.get("few-parts", "").startswith(brief or "") and ("few-parts" in found) is (brief is not None)


def test_parts_on_one_machine_share_its_cores_and_are_no_other_programs():
    both = [("generator gen1", 0.9), ("harness gen1", 0.05), ("generator gen2", 0.9), ("harness gen2", 0.05)]
    together = [part("gen1", "m1"), part("gen2", "m1")]
    found = warnings_of_parts(together, [*both, ("host gen1", 1.95)])
    assert found["few-parts"].startswith("2 parts are too few: 1 above 80 % CPU; 3 would do.")
    assert "90 % of the 2 cores of gen1, gen2." in found["few-parts"]
    assert "other-cpu" not in found
    apart = [part("gen1", "m1"), part("gen2", "m2")]
    found = warnings_of_parts(apart, [*both, ("host gen1", 1.0), ("host gen2", 1.6)])
    assert "few-parts" not in found
    assert found["other-cpu"].startswith("Other programs used 32 % of the CPU of gen2")


def test_parts_on_this_machine_share_it_with_the_launcher():
    parts = [part("local-1", "m1", is_local=True), part("local-2", "m1", is_local=True)]
    used = [("host", 1.8), ("harness", 0.05), *((f"generator local-{number}", 0.85) for number in (1, 2))]
    found = warnings_of_parts(parts, used)
    assert found["generator-cpu"].startswith("The load generators used 85 % of the 2 cores.")
    assert not {"few-parts", "other-cpu"} & set(found)  # more parts here would not help


def test_the_clocks_of_parts_are_corrected_unless_they_move():
    steady = warnings_of_parts([part("gen1", "m1", clock_moved_ms=499), part("gen2", "m2")], [])
    assert not {"clocks-apart", "separate-clocks", "unwatched-generator"} & set(steady)
    found = warnings_of_parts([part("gen1", "m1", clock_moved_ms=-500), part("gen2", "m2")], [])
    assert found["clocks-apart"].startswith("The clocks of the load generators differ by 500 ms. ")
    assert "gen1 -500 ms" in found["clocks-apart"]
