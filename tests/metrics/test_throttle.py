"""Throttling: the throughput of steady users falls at one time and stays at a constant fraction."""

import math
import random

import pytest

from harness.base.records import build, to_plain
from harness.jtl.inputs import resolve
from harness.judge.summarise import origin_of
from harness.judge.summary import RunSummary
from harness.metrics.full_load import Drive, full_load_s
from harness.metrics.interval import Interval
from harness.metrics.throttle import find_throttle
from harness.metrics.timeline import SecondFigures
from harness.metrics.window import GIVEN, Window
from harness.report.jtls import Counting, summary_of_jtls, tally_of_jtls
from tests.support.factories import closed_load, record, sample, tally_of
from tests.support.golden import golden_run
from tests.support.summaries import summary_of, warnings_of

pytestmark = pytest.mark.real  # seconds of CPU


def run(rate_at, length_s, users_at=lambda _: 50, errors_at=None, seed=1, variation=0.15):
    """Return seconds with about `rate_at(second)` samples each; the rate varies, and so does chance."""
    numbers = random.Random(seed)
    seconds = []
    for second in range(length_s):
        users = users_at(second)
        rate = max(0.0, rate_at(second) * (1 + variation * numbers.gauss(0, 1)))
        count = by_chance(numbers, rate)
        elapsed_ms = 1000 * users / rate if rate else 0
        failed = round(count * errors_at(second)) if errors_at else 0
        seconds.append(SecondFigures(count, round(count * elapsed_ms), users if count else None, failed))
    return seconds


def by_chance(numbers, mean):
    """Return a Poisson number, by Knuth's multiplication; of a large mean by a normal one."""
    if mean > 30:
        return round(mean + numbers.gauss(0, 1) * mean**0.5)
    count, product = 0, numbers.random()
    while product > math.exp(-mean):
        count, product = count + 1, product * numbers.random()
    return count


def fall_of(seconds):
    return find_throttle(seconds, full_load_s(seconds, Drive()))


def step(at_s, before, after):
    return lambda second: before if second < at_s else after


@pytest.mark.parametrize(
    ("at_s", "length_s", "before", "after"),
    [
        (2050, 14_400, 7.4, 1.49),  # a t2.medium for 4 h
        (300, 14_400, 7.4, 1.49),  # with few credits
        (11_300, 14_400, 7.4, 2.5),  # with many
        (1800, 7200, 3.5, 0.7),  # a t2.small
        (30, 60, 200, 40),  # a process limited to 20 % in a short run
        (600, 1200, 1000, 500),
    ],
)
def test_a_fall_to_a_constant_fraction_is_found_with_its_time_and_factor(at_s, length_s, before, after):
    found = fall_of(run(step(at_s, before, after), length_s))
    assert found is not None
    assert abs(found.at_s - at_s) <= max(1, 15 // after)  # the time of some 15 samples
    assert (found.began_s, found.constant_s) == (found.at_s, found.at_s)
    assert found.ratio == pytest.approx(after / before, rel=0.1)
    assert found.user_count == 50
    # 50 users without a pause: the response time grows by the inverse of the factor.
    assert found.after_ms / found.before_ms == pytest.approx(before / after, rel=0.1)


def test_a_fall_that_takes_some_minutes_has_its_begin_and_its_end():
    def rate_at(second):
        return 15 if second < 3100 else 8 if second < 3400 else 5

    found = fall_of(run(rate_at, 7200))
    assert abs(found.at_s - 3100) <= 30
    assert abs(found.constant_s - 3400) <= 60
    assert found.began_s == found.at_s
    assert found.after_per_s == pytest.approx(5, rel=0.05)


def test_of_a_fall_in_steps_the_greatest_counts_and_the_first_is_its_begin():
    def rate_at(second):
        return 7.6 if second < 2700 else 6 if second < 3000 else 1.5

    found = fall_of(run(rate_at, 14_400))
    assert abs(found.at_s - 3000) <= 15
    assert abs(found.began_s - 2700) <= 60
    assert found.constant_s == found.at_s
    assert found.before_per_s == pytest.approx(7.6, rel=0.02)


def levels(*falls):
    """Return a rate of 8/s that goes to each of `falls`, pairs of a second and a rate, at its second."""
    return lambda second: next((rate for at_s, rate in reversed(falls) if second >= at_s), 8)


@pytest.mark.parametrize("length_s", [1200, 1800, 2700, 3600, 7200, 14_400])
@pytest.mark.parametrize(("middle", "is_first_greatest"), [(3, True), (6, False)])
def test_a_fall_in_two_steps_five_minutes_apart_is_found_in_runs_of_20_minutes_to_4_hours(
    length_s, middle, is_first_greatest
):
    began_s = length_s // 2 - 150
    found = fall_of(run(levels((began_s, middle), (began_s + 300, 1.6)), length_s))
    assert abs(found.began_s - began_s) <= 60
    assert abs(found.constant_s - began_s - 300) <= 60
    assert abs(found.at_s - began_s - (0 if is_first_greatest else 300)) <= 15
    assert found.ratio == pytest.approx(0.2, rel=0.15)


@pytest.mark.parametrize("length_s", [2400, 3600, 7200, 14_400])
def test_a_fall_that_takes_ten_minutes_is_found_in_runs_of_40_minutes_to_4_hours(length_s):
    began_s = length_s // 2 - 300
    found = fall_of(run(levels((began_s, 4.5), (began_s + 300, 3), (began_s + 600, 1.6)), length_s))
    assert abs(found.began_s - began_s) <= 15
    assert abs(found.constant_s - began_s - 600) <= 100


def test_a_fall_to_a_half_in_the_middle_of_20_minutes_is_found():
    found = fall_of(run(step(600, 2.7, 1.3), 1200))
    assert abs(found.at_s - 600) <= 30


@pytest.mark.parametrize("length_s", [300, 1200, 3600, 14_400])
@pytest.mark.parametrize(
    "rates",
    [(2 / 3, 1 / 3), (0.55, 0.3), (0.5, 0.25), (0.75, 0.25), (0.75, 0.5, 0.25), (0.6, 0.36, 0.22), (0.7, 0.4, 0.1)],
)
def test_three_or_four_stairs_are_not_throttling(length_s, rates):
    count = len(rates) + 1
    stairs = levels(*((length_s * (number + 1) // count, 8 * rate) for number, rate in enumerate(rates)))
    for seed in range(2):
        assert fall_of(run(stairs, length_s, seed=seed)) is None


def test_an_uneven_rate_before_the_fall_does_not_hide_it():
    def rate_at(second):
        return (9, 6, 8, 5, 7)[second // 2200] if second < 11_000 else 1.5

    assert abs(fall_of(run(rate_at, 14_400)).at_s - 11_000) <= 30


def test_a_short_stall_before_the_fall_does_not_hide_it():
    seconds = run(step(5000, 20, 5), 14_400)
    seconds[3000:3030] = [SecondFigures(0, 0, None)] * 30
    assert abs(fall_of(seconds).at_s - 5000) <= 15


@pytest.mark.parametrize(
    ("what", "rate_at"),
    [
        ("a steady run", lambda _: 40),
        ("a warm-up", lambda second: 40 * (1 - 0.8 * 2.7 ** (-second / 30))),
        ("a rise", lambda second: 10 if second < 600 else 40),
        ("a drift over the whole run", lambda second: 40 - second / 40),
        ("a drift over a third of the run", lambda second: 40 - 30 * min(1.0, max(0.0, (second - 360) / 400))),
        ("fast at first", lambda second: 10 + 40 * 2.7 ** (-second / 120)),
        ("a fall by a fifth", lambda second: 40 if second < 600 else 32),
        ("a slow interval that ends", lambda second: 8 if 500 <= second < 800 else 40),
        ("a stall that ends", lambda second: 0 if 500 <= second < 700 else 40),
        ("slow in the last minute", lambda second: 40 if second < 1140 else 8),
        ("stairs down to the end", lambda second: 40 - 8 * (second // 300)),
        ("nothing at all after the middle", lambda second: 40 if second < 600 else 0),
        ("up and down", lambda second: 40 if second // 60 % 2 else 10),
    ],
)
def test_other_changes_of_the_throughput_are_not_throttling(what, rate_at):
    for seed in range(5):
        assert fall_of(run(rate_at, 1200, seed=seed)) is None, what


@pytest.mark.parametrize(
    "users_at",
    [
        lambda second: min(50, 1 + second // 10),  # a ramp-up over most of the run
        lambda second: 50 if second < 600 else 10,
        lambda second: 10 if second < 600 else 40,  # more users, and a system that slows down
        lambda second: 50 - second // 120 * 5,
        lambda second: 50 if second < 900 else max(1, 50 - (second - 900) // 6),  # the end of the load
    ],
)
def test_a_run_with_changing_users_is_not_throttled(users_at):
    # Throughput in proportion to the users, and one that falls although they change.
    assert fall_of(run(lambda second: users_at(second) / 2, 1200, users_at=users_at)) is None
    if users_at(700) != 50:
        assert fall_of(run(step(600, 40, 10), 1200, users_at=users_at)) is None


def test_a_system_that_dies_is_not_throttled():
    dying = run(step(600, 40, 10), 1200, errors_at=lambda second: 0.9 if second >= 600 else 0.0)
    assert fall_of(dying) is None


def test_requests_that_time_out_after_the_fall_do_not_hide_it():
    found = fall_of(run(step(600, 40, 8), 1200, errors_at=lambda second: 0.3 if second >= 660 else 0.0))
    assert abs(found.at_s - 600) <= 2
    assert found.after_error_ratio == pytest.approx(0.27, abs=0.05)


def test_without_the_number_of_users_nothing_is_reported():
    seconds = [figures._replace(active_users=None) for figures in run(step(600, 40, 8), 1200)]
    assert fall_of(seconds) is None
    assert find_throttle(seconds, Interval(0, 1200), users_are_driven=False).user_count is None


def test_a_run_without_samples_or_with_few_is_not_throttled():
    assert find_throttle([], Interval(0, 0)) is None
    assert find_throttle([SecondFigures(0, 0, None)] * 100, Interval(0, 100)) is None
    assert fall_of([SecondFigures(second < 10, 100, 2) for second in range(15)]) is None


def test_of_300_good_runs_none_is_called_throttled():
    """Runs of 2 min and less with a few samples per second, as tests of a single page have."""
    for seed in range(300):
        numbers = random.Random(seed)
        per_s = numbers.choice((0.5, 2, 10, 50))
        good = run(lambda _, per_s=per_s: per_s, numbers.choice((30, 60, 120)), seed=seed, variation=0.3)
        assert fall_of(good) is None, seed


def throttled_samples(at_s=600, length_s=1200, users=2, middle_ms=None):
    """Return the samples of two users: 0.2 s each, and 1 s from a second on; with `middle_ms` this for 5 min first."""
    samples = []
    for user in range(users):
        now_ms = 10 * user
        while now_ms < 1000 * length_s:
            elapsed_ms = 200 if now_ms < 1000 * at_s else 1000
            if middle_ms and at_s <= now_ms / 1000 < at_s + 300:
                elapsed_ms = middle_ms
            samples.append(sample(elapsed_ms=elapsed_ms, start_ms=1_000_000 + now_ms, all_threads=users))
            now_ms += elapsed_ms
    return sorted(samples, key=lambda one: one.start_ms + one.elapsed_ms)


def test_the_warning_says_when_and_by_how_much_and_what_to_look_at():
    text = warnings_of(throttled_samples(), record(load=closed_load(users=2, duration_s=1200.0), took_s=1205.0))[
        "throttled"
    ]
    assert text.startswith("Throttled? The throughput fell to 20 % at 10:00. It stayed there: 10 req/s fell to 2 ")
    # One of 200 ms began before.
    assert "fell to 2 req/s with 2 steady users, and response times rose from 200 to 999 ms." in text
    assert "table FILE --window ..600 and 600.." in text


def test_steady_users_with_fewer_requests_in_flight_sent_less_and_the_system_was_not_throttled():
    every = throttled_samples(at_s=1200)
    ended = [one for at, one in enumerate(every) if at % 2 or one.start_ms < 1_600_000]
    text = warnings_of(ended)["throttled"]
    assert text.startswith(
        "Users sent less: the throughput fell to 50 % at 10:00. It stayed there: 10 req/s fell to 5 "
    )
    assert "response times stayed at 200 ms. A slower system has more requests in flight. Rows or a step" in text
    assert "credits" not in text


@pytest.mark.real
def test_from_when_on_is_when_the_rate_is_constant_whichever_step_is_the_greatest():
    for middle_ms in (300, 600):  # the second step is the greatest, then the first
        text = warnings_of(throttled_samples(at_s=2400, length_s=4800, middle_ms=middle_ms))["throttled"]
        assert text.startswith(
            ("Throttled? The throughput fell to 20 % at 44:59.", "Throttled? The throughput fell to 20 % at 45:00.")
        ), text
        assert "fell to 2 req/s (the fall began at 40:00) with 2 steady users" in text
        assert "table FILE --window ..2400 and " in text


def test_a_bare_jtl_has_the_warning_and_its_json_the_numbers():
    summary = summary_of(throttled_samples())
    assert "throttled" in {warning.code for warning in summary.warnings}
    again = build(RunSummary, to_plain(summary))
    assert again.throttle == summary.throttle
    assert again.throttle.at_s in (599, 600, 601)


@pytest.mark.parametrize(
    ("from_s", "to_s", "is_warned"), [(0, 600, False), (60, 595, False), (300, 720, True), (600, 1200, True)]
)
def test_only_a_window_with_the_fall_or_after_it_has_the_warning(from_s, to_s, is_warned):
    window = Window(GIVEN, from_s, to_s, to_s - from_s, 1200)
    samples = throttled_samples()
    ends_s = [(one.start_ms + one.elapsed_ms) / 1000 - 1000 for one in samples]
    counted = tally_of([one for one, end_s in zip(samples, ends_s, strict=True) if from_s <= end_s < to_s])
    codes = {warning.code for warning in summary_of(samples, window=window, counted=counted).warnings}
    assert ("throttled" in codes) is is_warned


def test_a_run_without_a_fall_has_no_warning():
    steady = throttled_samples(at_s=1200)
    assert "throttled" not in warnings_of(steady)
    assert summary_of(steady).throttle is None


# Found by counting the samples per minute, and then per ten seconds, around the greatest fall.
RECORDED = {"run-02_3": 440, "run-06_5": 700, "run-09_4": 3010, "run-10_3": 955, "run-10_5": 11_290, "run-13_1": None}


# Seconds from when to when the first and the last step of the fall are, around the greatest.
CUT = {"run-09_4": (-300, 0), "run-10_3": (0, 0), "run-10_5": (-300, 0)}


@pytest.mark.counterpart
@pytest.mark.parametrize("minutes", [45, *(pytest.param(one, marks=pytest.mark.counterpart) for one in (20, 90))])
@pytest.mark.parametrize("name", CUT)
def test_the_fall_of_a_recorded_run_is_found_when_the_run_is_cut_short(name, minutes):
    tally = tally_of_jtls(resolve([str(golden_run(name) / "samples.jtl")]), Counting(with_timeline=False))
    seconds = tally.second_series.by_second(origin_of(tally), tally.second_series.span_s.last_s)
    at_s, (first_s, last_s) = RECORDED[name], CUT[name]
    for share in (0.3, 0.5, 0.7):
        begin_s = int(at_s - share * 60 * minutes)
        if begin_s < 60 or begin_s + 60 * minutes > len(seconds) - 60 or at_s + first_s - begin_s < 240:
            continue
        found = fall_of(seconds[begin_s : begin_s + 60 * minutes])
        assert found is not None, share
        assert abs(begin_s + found.began_s - at_s - first_s) <= 60 or found.began_s == found.at_s
        assert abs(begin_s + found.constant_s - at_s - last_s) <= 120


@pytest.mark.real
@pytest.mark.parametrize(
    "name", [one if at < 2 else pytest.param(one, marks=pytest.mark.counterpart) for at, one in enumerate(RECORDED)]
)
def test_the_fall_of_a_recorded_run_is_found_within_a_minute(name):
    throttle = summary_of_jtls(resolve([str(golden_run(name) / "samples.jtl")])).throttle
    if RECORDED[name] is None:  # nearly every sample failed: its throughput is not that of work
        assert throttle is None
    else:
        assert abs(throttle.at_s - RECORDED[name]) <= 60
