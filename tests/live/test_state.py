"""What the live page shows, computed from every sample."""

import pytest

from harness.judge.summarise import summarise
from harness.live.state import LiveState
from harness.live.telemetry_tail import TailUse
from harness.metrics.figures import LOAD
from harness.plan.goal import Goal
from tests.support.factories import failed, sample, tally_of


def state(**changes):
    return LiveState(**{"goal": Goal(), "duration_s": 60.0, **changes})


def test_a_point_has_users_samples_errors_and_the_percentiles_of_the_second_in_which_samples_ended():
    one = state()
    one.add([sample(elapsed_ms=ms, all_threads=3) for ms in range(1, 101)], 1.0)
    one.add([failed(elapsed_ms=7, start_ms=1_002_500, all_threads=4)], 2.0)
    # JMeter's rule: rank max(1, ⌊n·p + 0.5⌋). In the second of 1,001,000 ms no sample ended.
    # The rows of the heat map end at 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, … ms.
    cells = "0: 1 1 1 1 1 1 2 2 2 4 4 5 7 8 10 13 17 20"
    points = [[0, 3, 100, 0, 50, 90, 95, 99, cells], [1, 3, 0, 0, *[None] * 4, ""], [2, 4, 1, 1, 7, 7, 7, 7, "6: 1"]]
    assert one.points(0, is_ended=True) == points
    assert one.points(0) == points[:2]  # the newest second is not complete
    assert one.points(1) == points[1:2]


def test_a_row_that_is_written_late_counts_in_its_own_second():
    one = state()
    one.add([sample(elapsed_ms=10), sample(elapsed_ms=10, start_ms=1_003_000)], 3.0)
    one.add([sample(elapsed_ms=30, start_ms=1_000_900)], 4.0)
    assert one.points(0)[0][:5] == [0, 1, 2, 0, 10]
    late = sample(elapsed_ms=10, start_ms=1_000_000)
    one.add([sample(elapsed_ms=10, start_ms=1_099_000)], 99.0)
    one.add([late], 99.0)
    assert one.points(0)[0][2] == 2  # too late for a point
    assert one.now()["labels"][-1][:2] == ["TOTAL", "5"]


def test_while_requests_hang_the_users_are_those_of_jmeter_and_each_second_has_a_point():
    one = state()
    one.add([sample(elapsed_ms=10, all_threads=3)], 1.0, 3)
    one.add([], 12.0, 150)
    points = one.points(0, is_ended=True)
    assert [point[:3] for point in points] == [[0, 3, 1], *([second, 150, 0] for second in range(1, 8))]
    # A row that was late by some seconds has its second.
    one.add([sample(elapsed_ms=10, start_ms=1_010_000, all_threads=3)], 13.0, 151)
    assert one.points(0, is_ended=True)[10][:3] == [10, 151, 1]


def test_the_users_of_several_load_generators_add_up_to_12000():
    one = state()
    names = [f"10.0.0.{number}:1099-Users 1-1" for number in (7, 8, 9)]
    one.add([sample(thread_name=name, all_threads=users) for users in (10, 4000) for name in names], 1.0)
    assert one.points(0, is_ended=True)[0][1] == 12_000


def test_transactions_are_no_samples_beside_their_requests_and_alone_they_are():
    message = "Number of samples in transaction : 2, number of failing samples : 0"
    one = state()
    one.add([sample(elapsed_ms=10), sample("Visit", 20, message=message)], 1.0)
    assert one.points(0, is_ended=True)[0][2:5] == [1, 0, 10]
    alone = state()
    alone.add([sample("Visit", 20, message=message)], 1.0)
    assert alone.points(0, is_ended=True)[0][2:5] == [1, 0, 20]


def test_the_totals_are_those_of_the_report_of_the_same_samples():
    samples = [sample(("Find", "Pay")[number % 2], 50 + number, 1_000_000 + 10 * number) for number in range(3000)]
    samples += [failed("Pay", start_ms=1_030_000 + number) for number in range(7)]
    one = state()
    for second in range(0, len(samples), 100):
        one.add(samples[second : second + 100], float(second))
    now = one.now()
    summary = summarise(tally_of(samples), "x", None)
    load = summary.whole or summary.group(LOAD)
    total = dict(zip(["label", *now["heads"]], now["labels"][-1], strict=True))
    assert total["label"] == "TOTAL"
    assert total["count"] == str(load.total.sample_count) == "3007"
    assert total["p50 ms"] == f"{load.total.percentiles_ms['50']:.0f}"
    assert total["p95 ms"] == f"{load.total.percentiles_ms['95']:.0f}"
    assert total["errors %"] == "0.23"  # 7 of 3007
    assert now["causes"] == [["Pay", "402", "expected 201", "7"]]
    # The page adds up the points for its share of errors.
    points = one.points(0, is_ended=True)
    assert [sum(point[column] for point in points) for column in (2, 3)] == [3007, 7]


@pytest.mark.parametrize(("limit_ms", "result"), [(100, "met"), (99, "missed")])
def test_goals_have_their_state_so_far(limit_ms, result):
    one = state(goal=Goal(p90_ms=limit_ms))
    one.add([sample(elapsed_ms=100)], 1.0)
    assert [f"p90 ≤ {limit_ms} ms", "100 ms", result] in one.now()["goals"]


def test_before_the_first_sample_there_are_no_tables():
    one = state()
    now = one.now()
    assert (now["labels"], now["goals"], now["causes"]) == ([], [], [])
    assert one.clock() == "0:00 passed, 1:00 left"


def test_the_time_left_is_known_only_with_a_duration_and_processes_have_units():
    one = state(duration_s=None, uses={"web": TailUse("web", 0.25, 50 * 1024 * 1024)})
    one.add([sample()], 61.0)
    assert one.clock() == "1:01 passed"
    assert one.now()["uses"] == [["web", "25", "50"]]


def test_of_very_many_labels_the_page_counts_those_that_it_leaves_out():
    one = state()
    one.add([sample(f"Find {number}") for number in range(103)], 1.0)
    labels = [row[0] for row in one.now()["labels"]]
    assert (len(labels), labels[99:]) == (102, ["Find 99", "(3 more labels: see the report)", "TOTAL"])
