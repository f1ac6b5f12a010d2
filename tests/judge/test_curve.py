"""The requested and the delivered users of a load with stages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.jtl.sample import Sample
from harness.judge.curve import request_curve, user_curve
from harness.metrics.tally import SampleTally, Scope
from harness.plan.load.groups import GroupLoad, Stage
from harness.report.charts.run_charts import OVER_TIME, run_charts
from harness.report.markdown import report
from tests.judge.test_loads import summary_of
from tests.support.factories import sample

STEPS = GroupLoad("Browse", (Stage(2, None, 0, 10), Stage(6, None, 4, 6), Stage(2, None, 0, 10)))


def delivered(users: list[int], generator: str = "") -> SampleTally:
    """Return the samples of a load that has these users in each second, from 1000 s on."""
    tally = Scope().tally()
    for second, count in enumerate(users):
        for tenth in range(10):
            start_ms = (1000 + second) * 1000 + tenth * 100
            name = f"{generator}Browse 1-1"
            tally.add(sample(label="Page", elapsed_ms=50, start_ms=start_ms, thread_name=name, all_threads=count))
    return tally


def test_users_as_requested_do_not_deviate() -> None:
    curve = user_curve(STEPS, delivered([2] * 10 + [2, 3, 4, 5] + [6] * 6 + [2] * 10))
    assert curve
    assert (curve.start_s, curve.bucket_s) == (1000, 1)
    assert curve.requested[:15] == (2,) * 10 + (2, 3, 4, 5, 6)
    assert curve.delivered[:15] == (2,) * 10 + (2, 3, 4, 5, 6)
    assert curve.deviation_ratio == pytest.approx(0, abs=0.001)


def test_the_deviation_is_the_mean_difference_by_the_mean_curve() -> None:
    # One user less in each of the 6 seconds of the peak; the curve has 20 + 14 + 36 + 20 users in all.
    curve = user_curve(STEPS, delivered([2] * 10 + [2, 3, 4, 5] + [5] * 6 + [2] * 10))
    assert curve
    assert curve.deviation_ratio == pytest.approx(6 / 90, abs=0.0001)


def test_users_who_pause_before_their_first_request_do_not_deviate() -> None:
    # The load began at 998 s, two seconds before its first sample.
    users = [2] * 10 + [2, 3, 4, 5] + [6] * 6 + [2] * 10
    curve = user_curve(replace(STEPS, think_time_s=2.0), delivered(users[2:]))
    assert curve and (curve.start_s, curve.deviation_ratio) == (998, pytest.approx(0, abs=0.001))
    assert curve.delivered[:3] == (None, None, 2)
    after = user_curve(replace(STEPS, think_time_s=2.0), delivered(users))
    assert after and (after.start_s, after.deviation_ratio) == (1000, pytest.approx(0, abs=0.001))


def test_a_late_load_still_deviates_where_users_pause() -> None:
    late = [2] * 14 + [2, 3, 4, 5] + [6] * 6 + [2] * 10
    curve = user_curve(replace(STEPS, think_time_s=2.0), delivered(late))
    assert curve and curve.deviation_ratio > 0.2


def test_users_of_several_generators_add_up() -> None:
    tally = delivered([1] * 10 + [1, 2, 2, 3] + [3] * 6 + [1] * 10, "127.0.0.1:1-")
    tally.merge(delivered([1] * 10 + [1, 1, 2, 2] + [3] * 6 + [1] * 10, "127.0.0.1:2-"))
    curve = user_curve(STEPS, tally)
    assert curve and curve.deviation_ratio == pytest.approx(0, abs=0.001)


def test_a_long_load_has_wider_intervals() -> None:
    curve = user_curve(GroupLoad("Browse", (Stage(1, None, 0, 900), Stage(2, None, 0, 900))), delivered([1] * 20))
    assert curve and (curve.bucket_s, len(curve.requested)) == (4, 451)


@pytest.mark.parametrize(
    "load",
    [
        GroupLoad("Browse", (Stage(2, None, 0, 10),)),
        GroupLoad("Browse", (Stage(None, 2.0, 0, 10), Stage(None, 4.0, 0, 10))),
    ],
    ids=["one-stage", "open"],
)
def test_other_loads_have_no_curve(load: GroupLoad) -> None:
    assert user_curve(load, delivered([2] * 10)) is None


def test_the_report_has_the_line_and_the_chart() -> None:
    samples = [
        sample(
            label="Page", elapsed_ms=50, start_ms=(1000 + second) * 1000 + tenth * 100, thread_name="Browse 1-1",
            all_threads=users, group_threads=users,
        )
        for second, users in enumerate([2] * 10 + [2, 3, 4, 5] + [6] * 6 + [2] * 10)
        for tenth in range(10)
    ]  # fmt: skip
    summary = summary_of(samples, STEPS)
    charts = run_charts(summary)
    assert "users-1.svg" in [chart.name for chart in charts[OVER_TIME]]
    text = report(summary, charts, "", "run-01_1")
    assert "Users: 0.00 % from the curve of its stages (mean difference per second ÷ mean of the curve)." in text
    assert "users-1.svg" in text


SHAPED = GroupLoad("Browse", (Stage(9, None, 0, 10, 20.0), Stage(9, None, 10, 20, 60.0)), is_paced=True)
# 10 s of 20, in the ramp those in the middle of each second, 20 s of 60.
REQUESTED = [20] * 10 + [22, 26, 30, 34, 38, 42, 46, 50, 54, 58] + [60] * 20


def sent(counts: list[int], elapsed_ms: int = 0) -> SampleTally:
    """Return the samples of a load that ends so many requests in each second, from 1000 s on."""
    tally = Scope().tally()
    for second, count in enumerate(counts):
        for number in range(count):
            start_ms = (1000 + second) * 1000 + number * 1000 // count
            tally.add(one_page(start_ms, elapsed_ms))
    return tally


def one_page(start_ms: int, elapsed_ms: int) -> Sample:
    return sample(
        label="Page", elapsed_ms=elapsed_ms, start_ms=start_ms, thread_name="Browse 1-1", all_threads=9
    )  # fmt: skip


def test_slow_responses_do_not_count_as_late_requests() -> None:
    # A quarter of each second's requests end in the next one: in the ramp that is one of the 4 more per second.
    curve = request_curve(SHAPED, sent(REQUESTED, elapsed_ms=250))
    assert curve and curve.deviation_ratio < 0.002
    assert curve.requested[0] == pytest.approx((15 + 20 + 20) / 3, abs=0.01)
    late = request_curve(SHAPED, sent(REQUESTED, elapsed_ms=2500))
    assert late and late.deviation_ratio < 0.002


def test_requests_as_requested_do_not_deviate() -> None:
    curve = request_curve(SHAPED, sent(REQUESTED))
    assert curve
    # 45 requests per second on average: 3 s have 100 or more.
    assert (curve.start_s, curve.bucket_s, len(curve.requested), curve.deviation_ratio) == (1000, 3, 14, 0)
    assert curve.requested[:5] == curve.delivered[:5] == (20, 20, 20, 22.667, 34)
    assert user_curve(SHAPED, sent(REQUESTED)) is None
    assert request_curve(STEPS, sent(REQUESTED)) is None
    line = "Requests: 0.00 % from the curve of its stages (mean difference per 3 s ÷ mean of the curve)."
    assert curve.text() == line


def test_requests_that_were_not_sent_deviate_in_both_directions() -> None:
    # 50 of 60 in the last 20 seconds, and 6 more than 20 in the first 9: 200 + 54 of 1800.
    curve = request_curve(SHAPED, sent([26] * 9 + REQUESTED[9:20] + [50] * 20))
    assert curve and curve.deviation_ratio == pytest.approx(254 / 1800, abs=0.00001)
    assert curve.text().endswith("The users were too few for the curve, or the responses too slow: give more users.")
    assert max(curve.delivered[-6:]) == 50


def test_the_report_of_requests_has_the_line_and_the_chart() -> None:
    samples = [
        sample(
            label="Page", elapsed_ms=1, start_ms=(1000 + second) * 1000 + number,
            thread_name="Browse-ThreadStarter 1-1",
            all_threads=9, group_threads=9,
        )
        for second, count in enumerate(REQUESTED)
        for number in range(count)
    ]  # fmt: skip
    summary = summary_of(samples, SHAPED)
    charts = run_charts(summary)
    assert "requests-1.svg" in [chart.name for chart in charts[OVER_TIME]]
    assert "Requests: 0.00 % from the curve of its stages" in report(summary, charts, "", "run-01_1")


def test_the_level_at_an_instant_follows_the_stages() -> None:
    assert [STEPS.level_at(at_s) for at_s in (-1, 0, 9.5, 10, 12, 14, 19.9, 20, 29.9, 30)] == [
        0, 2, 2, 2, 4, 6, 6, 2, 2, 0,
    ]  # fmt: skip


def test_users_end_one_by_one_in_a_fall() -> None:
    fall = GroupLoad("Browse", (Stage(4, None, 0, 5), Stage(0, None, 4, 0)))
    curve = user_curve(fall, delivered([4] * 6 + [3, 2, 1]))
    assert curve and curve.requested[:9] == (4,) * 6 + (3, 2, 1)
    assert curve.deviation_ratio == 0
