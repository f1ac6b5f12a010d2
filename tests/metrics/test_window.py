"""The window of a run. Expected cuts are worked out by hand, MSER-5 is compared with a plain form of its formula."""

import json
import math
import random
import re
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.jtl.csv import parse
from harness.jtl.sample import Dropped
from harness.metrics.full_load import Drive
from harness.metrics.timeline import SecondFigures
from harness.metrics.window import Window, WindowSpec, describe, find_window, parse_window, window_of_stages
from tests.support.golden import golden_run
from tests.support.windows import ALL, STEADY, cuts, noise, run_of, with_users

# The requested window


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("all", ALL),
        (" Steady ", STEADY),
        ("30s..2m", WindowSpec("given", 30, 120)),
        ("..90", WindowSpec("given", 0, 90)),
        ("10..", WindowSpec("given", 10, None)),
        ("0.5m..1h30m", WindowSpec("given", 30, 5400)),
    ],
)
def test_a_window_is_all_steady_or_an_interval(text, spec):
    assert parse_window(text) == spec


@pytest.mark.parametrize(
    ("text", "what", "todo"),
    [
        ("", "--window : not a window", "give all, steady, or FROM..TO"),
        ("..", "--window ..: not a window", "give all, steady, or FROM..TO"),
        ("30", "--window 30: not a window", "give all, steady, or FROM..TO"),
        ("quiet", "--window quiet: not a window", "give all, steady, or FROM..TO"),
        ("2m..30s", "TO is not after FROM", "give a later TO"),
        ("30..30", "TO is not after FROM", "give a later TO"),
        ("..0", "TO is not after FROM", "give a later TO"),
        ("soon..2m", "--window FROM=soon: not a duration", "give seconds or 90s"),
        ("1..2..3", "--window TO=2..3: not a duration", "give seconds or 90s"),
        ("-5..9", "--window FROM=-5: not a duration", "give seconds or 90s"),
        ("1.5..9", "--window FROM=1.5: not whole seconds", "give 2s or 3s"),
        ("9" * 400 + "..", "not whole seconds", "give 2s or 3s"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(text, what, todo):
    with pytest.raises(UsageError) as caught:
        parse_window(text)
    assert what in caught.value.what
    assert todo in caught.value.todo


def test_all_is_the_whole_run_without_a_steadiness_check():
    window = find_window(ALL, run_of([100] * 7))
    assert window == Window("all", from_s=0, to_s=7, length_s=7, run_s=7, is_steady=None, reason="")


def test_a_given_interval_ends_with_the_run_at_the_latest():
    seconds = run_of([100] * 60)
    assert find_window(parse_window("10..20"), seconds) == Window("given", 10, 20, 10, 60)
    assert find_window(parse_window("50..2m"), seconds) == Window("given", 50, 60, 10, 60)
    assert find_window(parse_window("50.."), seconds) == Window("given", 50, 60, 10, 60)


def test_a_given_interval_after_the_end_of_the_run_is_refused():
    with pytest.raises(UsageError, match="begins at 60 s, but the run ends at 60 s"):
        find_window(parse_window("60..90"), run_of([100] * 60))


@pytest.mark.parametrize(
    ("after", "planned_s", "to_s"),
    [
        ([], 60.0, 60),
        ([100] * 3, 60.0, 63),  # for the last answers
        ([100] * 4, 60.0, 60),
        ([100] * 12, 59.5, 60),
        ([100] * 12, None, 72),
        ([100] * 12, 600.0, 72),  # it was stopped
    ],
)
def test_what_users_send_long_after_the_last_stage_is_in_no_window(after, planned_s, to_s):
    seconds = run_of([100] * 60 + after)
    run_s = len(seconds)
    assert window_of_stages(seconds, planned_s) == Window("all", 0, to_s, to_s, run_s, tail_cut_s=run_s - to_s)


def test_two_percent_of_a_long_load_and_a_stall_at_its_end_are_in_the_window():
    assert window_of_stages(run_of([100] * 1020), 1000.0).to_s == 1020
    assert window_of_stages(run_of([100] * 1021), 1000.0).to_s == 1000
    stalled = [*run_of([100] * 55), *[SecondFigures(0, 0, None, 0, 10)] * 14, SecondFigures(10, 140_000, 10)]
    assert window_of_stages(stalled, 60.0).to_s == 70


# Ramp and tail


def test_ramp_tail_and_partial_seconds_are_cut():
    # 10 users are first seen in second 3 and last in second 73; both are mixed.
    window = find_window(STEADY, with_users([1, 4, 7] + [10] * 71 + [8, 5, 2]), Drive(10))
    assert window == Window(
        "steady", from_s=4, to_s=73, length_s=69, run_s=77, ramp_cut_s=4, warm_up_cut_s=0, tail_cut_s=4, is_steady=True
    )


def test_a_run_without_ramp_and_tail_loses_its_first_and_last_second():
    assert cuts(find_window(STEADY, with_users([1] * 80), Drive(1))) == (1, 0, 1)


def test_an_unknown_target_is_the_most_sustained_users():
    seconds = with_users([2, 6] + [10] * 30 + [11] + [10] * 39 + [3])
    assert cuts(find_window(STEADY, seconds)) == (3, 0, 2)


def test_users_that_never_reach_their_target_are_accepted():
    seconds = with_users([2, 6] + [10] * 70 + [3])
    assert cuts(find_window(STEADY, seconds, Drive(50))) == (3, 0, 2)


def test_a_temporarily_missing_user_is_not_a_tail():
    seconds = with_users([5] + [10] * 30 + [9] * 20 + [10] * 30 + [4])
    assert cuts(find_window(STEADY, seconds, Drive(10))) == (2, 0, 2)


def test_with_loops_the_tail_begins_when_the_first_user_leaves():
    leaving = [users for users in range(19, 0, -1) for _ in range(3)]
    window = find_window(STEADY, with_users([7, 14] + [20] * 60 + leaving), Drive(20))
    assert (window.from_s, window.to_s, window.is_steady) == (3, 61, True)


def test_users_that_are_never_all_active_give_the_whole_run_and_a_reason():
    # The first has done its loops when the last one comes.
    climb = [users for users in range(1, 20) for _ in range(2)]
    window = find_window(STEADY, with_users(climb + climb[::-1]), Drive(20))
    assert (window.from_s, window.to_s, cuts(window), window.is_steady) == (0, 76, (0, 0, 0), False)
    assert window.reason == "2 s between ramp-up and tail are too short; it takes 50 s"


def test_a_stall_before_the_end_is_counted_and_not_cut_as_tail():
    # The last 30 s bring no answer; then all that hung ends while the users leave.
    window = find_window(STEADY, with_users([10] * 70 + [None] * 30 + [9, 3]), Drive(10))
    assert window.to_s == 99


def test_the_target_of_fluctuating_users_is_their_usual_number_not_their_peak():
    numbers = random.Random(3)
    users = [1, 5] + [round(numbers.gauss(30, 4)) for _ in range(200)] + [4]
    ramp_s, _, tail_s = cuts(find_window(STEADY, with_users(users)))
    assert ramp_s <= 10
    assert tail_s <= 10


def test_without_a_users_column_the_first_and_last_second_are_cut():
    window = find_window(STEADY, run_of(noise(1, 100), users=None), Drive(10))
    assert (window.ramp_cut_s, window.tail_cut_s, window.is_steady) == (1, 1, True)


def test_the_plan_sets_the_end_of_ramp_and_arrivals_of_an_open_load():
    # allThreads wanders; the ramp takes 20 s, the arrivals end after 100 s, then 15 s of queue are worked off.
    seconds = [SecondFigures(8, 800, users % 7) for users in range(115)]
    window = find_window(STEADY, seconds, Drive(users_are_driven=False, ramp_s=20.0, duration_s=100.0))
    assert (window.from_s, window.to_s, cuts(window), window.is_steady) == (20, 100, (20, 0, 15), True)


def test_the_drain_of_an_open_load_is_tail():
    seconds = [SecondFigures(count, 100 * count, 3) for count in [20] * 80 + [9, 3, 0, 0, 1]]
    assert cuts(find_window(STEADY, seconds, Drive(users_are_driven=False))) == (1, 0, 5)


def test_a_run_too_short_for_a_decision_is_counted_without_ramp_and_tail():
    window = find_window(STEADY, with_users([1, 5] + [10] * 40 + [3]), Drive(10))
    assert (window.from_s, window.to_s, cuts(window), window.is_steady) == (3, 41, (3, 0, 2), False)
    assert window.reason == "38 s between ramp-up and tail are too short; it takes 50 s"


@pytest.mark.parametrize(
    ("first_ms", "cut_s"),
    [
        # The averages are the same: of 118 samples 18 may be cut.
        ([180.0, 220.0], 15),
        # A warm-up is cut, though only 78 samples are left: the report warns of it.
        ([400.0, 440.0], 40),
    ],
)
def test_few_samples_are_only_cut_where_the_average_differs(first_ms, cut_s):
    seconds = run_of([200.0, *first_ms * 20, *[200.0, 202.0] * 39, 200.0], users=1, per_second=1)
    assert cuts(find_window(STEADY, seconds)) == (1, cut_s, 1)


@pytest.mark.parametrize("seed", [2, 66, 82, 87, 95])
def test_a_short_warm_up_is_cut_where_mser_would_cut_half(seed):
    """Measured over 150 runs: 2 are not steady; 10 if nothing was cut then."""
    numbers = random.Random(seed)
    means_ms = [100 * (1 + 2 * math.exp(-second / 6)) * (1 + 0.06 * numbers.gauss(0, 1)) for second in range(120)]
    window = find_window(STEADY, run_of(means_ms))
    assert window.is_steady
    assert 10 <= window.warm_up_cut_s <= 25


def test_half_of_the_seconds_may_be_empty():
    series = [None if second % 2 else 10 for second in range(200)]
    assert find_window(STEADY, with_users(series), Drive(10)).is_steady


@pytest.mark.parametrize("length_s", [0, 1, 2, 3, 6])
def test_a_very_short_run_is_counted_completely_and_is_not_steady(length_s):
    for seconds in (with_users([10] * length_s), with_users([None] * length_s)):
        for are_driven in (True, False):
            window = find_window(STEADY, seconds, Drive(10, are_driven, ramp_s=20.0, duration_s=60.0))
            assert (window.from_s, window.to_s, window.length_s, window.run_s) == (0, length_s, length_s, length_s)
            assert (window.is_steady, cuts(window)) == (False, (0, 0, 0))


@pytest.mark.real
@given(
    st.lists(
        st.one_of(
            st.just(SecondFigures(0, 0, None)),
            st.builds(SecondFigures, st.integers(1, 9), st.integers(0, 9000), st.one_of(st.none(), st.integers(0, 5))),
        ),
        max_size=150,
    ),
    st.one_of(st.none(), st.integers(1, 8)),
    st.booleans(),
)
def test_the_parts_of_a_run_always_add_up(seconds, target_users, are_driven):
    window = find_window(STEADY, seconds, Drive(target_users, are_driven))
    assert window.length_s == window.to_s - window.from_s
    assert window.from_s == window.ramp_cut_s + window.warm_up_cut_s
    assert window.to_s + window.tail_cut_s == window.run_s == len(seconds)
    assert bool(window.reason) is not window.is_steady
    assert Window(**json.loads(json.dumps(asdict(window)))) == window


def test_a_stall_before_the_users_leave_is_counted_with_the_samples_that_waited():
    # 10 users, 10 ms; the system answers nothing from 12 s to 32 s, then all samples end and the users leave.
    seconds = (
        [SecondFigures(1000, 10_000, 10)] * 12
        + [SecondFigures(0, 0, None, 0, 10)] * 20
        + [SecondFigures(10, 200_000, 9)]
    )
    window = find_window(STEADY, seconds, Drive(10))
    assert (window.to_s, window.tail_cut_s) == (33, 0)


def test_a_user_who_waits_beyond_the_planned_end_does_not_lengthen_the_load():
    # One of 10 users waits from 118 s to 131 s for an answer; that the others left at 120 s is seen only then.
    waiting = SecondFigures(0, 0, 10, 0, 1)
    seconds = [*run_of([100] * 120, per_second=20), *[waiting] * 10, SecondFigures(1, 13_000, 1)]
    assert cuts(find_window(STEADY, seconds, Drive(10, duration_s=120.0)))[-1] == 11
    assert find_window(STEADY, seconds, Drive(10, duration_s=120.0)).is_steady
    assert not find_window(STEADY, seconds, Drive(10)).is_steady


def test_an_open_load_that_drains_before_its_planned_end_has_no_tail():
    seconds = run_of([100] * 80, per_second=20) + run_of([100] * 20, per_second=2)
    window = find_window(STEADY, seconds, Drive(users_are_driven=False, duration_s=100.0))
    assert (window.to_s, window.is_steady) == (99, False)


# As text


@pytest.mark.parametrize(
    ("window", "line"),
    [
        (Window("all", 0, 105, 105, 105), "Measured window: the whole run, 105 s."),
        (Window("given", 30, 90, 60, 105), "Measured window: 30 s to 90 s of 105 s."),
        (
            Window("steady", 35, 99, 64, 105, 25, 10, 6, True),
            "Measured window: 35 s to 99 s of 105 s (steady); excluded: ramp-up 25 s, warm-up 10 s, tail 6 s.",
        ),
        (
            Window("steady", 1, 104, 103, 105, 1, 0, 1, True),
            "Measured window: 1 s to 104 s of 105 s (steady); excluded: first second, last second.",
        ),
        (
            Window("steady", 25, 105, 80, 105, 25, 0, 0, False, "why"),
            "Measured window: 25 s to 105 s of 105 s (not steady); excluded: ramp-up 25 s.",
        ),
        (
            Window("steady", 0, 4, 4, 4, is_steady=False, reason="why"),
            "Measured window: the whole run, 4 s (too short to tell).",
        ),
    ],
)
def test_the_report_states_the_measured_window(window, line):
    assert describe(window) == line


# Real runs of 2014-2015; times in the comments were read off their series by eye


@pytest.mark.parametrize(
    ("run", "users", "ramp_s", "is_steady", "warm_up_s"),
    [
        ("run-02_3", 50, 26, True, (450, 900)),  # 9 s answers until 470 s, then 30 s timeouts to the end
        ("run-06_5", 120, 61, True, (700, 1300)),  # slows down from 700 s to 960 s
        ("run-09_4", 50, 26, False, (0, 0)),  # 6.6 s, from 2900 s on 33 s, from 10500 s on failing in 23 s
        ("run-10_3", 30, 16, True, (900, 1100)),  # 9 s answers until 950 s, then 45 s
        ("run-10_5", 30, 16, False, (0, 0)),  # 8.5 s until 11,200 s, then 45 s
        ("run-13_1", 50, 26, True, (450, 1000)),  # everything fails, at an even pace from 900 s on
    ],
)
@pytest.mark.real
def test_real_runs_are_cut_where_their_series_change(run, users, ramp_s, is_steady, warm_up_s):
    window = find_window(STEADY, seconds_of(golden_run(run) / "samples.jtl"), Drive(users))
    assert abs(window.ramp_cut_s - ramp_s) <= 2
    assert window.is_steady is is_steady
    assert warm_up_s[0] <= window.warm_up_cut_s <= warm_up_s[1]
    assert window.tail_cut_s < 90


def seconds_of(path):
    with path.open("rb") as stream:
        samples = list(parse(stream, path.name, Dropped()))
    first_ms = min(sample.start_ms for sample in samples)
    ended = {}
    for sample in samples:
        ended.setdefault((sample.end_ms - first_ms) // 1000, []).append(sample)
    return [
        SecondFigures(
            len(ended.get(second, ())),
            sum(sample.elapsed_ms for sample in ended.get(second, ())),
            max((sample.all_threads for sample in ended.get(second, ())), default=None),
        )
        for second in range(max(ended) + 1)
    ]


@pytest.mark.real
@pytest.mark.parametrize("rise", [0.3, -0.3])
def test_the_values_of_a_window_that_is_not_steady_are_those_of_the_seconds_that_are_named(rise):
    seen = 0
    for seed in range(4):
        numbers = random.Random(seed)
        seconds = run_of([round(100 * (1 + rise * at / 180) * numbers.uniform(0.93, 1.07)) for at in range(180)])
        window = find_window(STEADY, seconds)
        for value, from_s, to_s in spans_in(window):
            seen += 1
            part = [second for second in seconds[from_s:to_s] if second.sample_count]
            average_ms = sum(one.elapsed_sum_ms for one in part) / sum(one.sample_count for one in part)
            assert value == pytest.approx(average_ms, rel=0.01)
    assert seen >= 4


def spans_in(window):
    """Return value, begin and end of each part that the reason of a window names, without an `otherwise`."""
    end_s = window.to_s
    if step := re.search(r"([\d.]+) ms before (\d+) s, ([\d.]+) ms after(?: \(from (\d+) s on\))?", window.reason):
        at_s = int(step[2])
        return [(float(step[1]), int(step[4] or window.from_s), at_s), (float(step[3]), at_s, end_s)]
    parts = re.findall(r"([\d.]+) ms from (\d+) to (\d+) s", window.reason)
    return [(float(value), int(from_s), int(to_s)) for value, from_s, to_s in parts]
