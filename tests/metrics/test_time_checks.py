"""Time: gaps, stalls, steps of a clock, appended runs. Every run here has a true rate that is known."""

import re

import pytest

from harness.jtl.inputs import resolve
from harness.jtl.sample import Dropped
from harness.judge.summarise import SummaryOptions, summarise, window_of
from harness.metrics.gaps import Gap, find_gaps
from harness.metrics.tally import Scope
from harness.metrics.timeline import Order, SecondFigures
from harness.metrics.window import parse_window
from harness.report.jtls import summary_of_jtls
from tests.support.factories import closed_load, record, sample, tally_of

START_MS = 1_700_000_000_000
STEADY = parse_window("steady")


def even(length_s, per_s=50, elapsed_ms=200, from_s=0.0, users=10, begin_ms=START_MS):
    """Return the samples of `users` users, `per_s` ends a second."""
    step_ms = 1000 / per_s
    return [
        sample(
            elapsed_ms=elapsed_ms,
            start_ms=begin_ms + round(1000 * from_s + number * step_ms) - elapsed_ms,
            all_threads=users,
        )
        for number in range(1, int(length_s * per_s) + 1)
    ]


def shifted(samples, step_ms):
    return [one._replace(start_ms=one.start_ms + step_ms) for one in samples]


def a_run(took_s, users=10, **changes):
    load = closed_load(users=users, duration_s=None, **changes.pop("load", {}))
    whole_s = round(took_s)
    ended = f"2026-01-01T{whole_s // 3600:02d}:{whole_s % 3600 // 60:02d}:{whole_s % 60:02d}Z"
    return record(load=load, took_s=took_s, ended_at=ended, **changes)


def summary_of(samples, run=None, dropped=None):
    tally = tally_of(samples, dropped=dropped)
    window = window_of(tally, STEADY, run) if run else None
    return summarise(tally, "tiny/run-01_1", run, options=SummaryOptions(window=window))


def codes(summary):
    return {warning.code for warning in summary.warnings}


# Steps of a clock


def test_a_run_without_a_step_is_valid():
    summary = summary_of(even(120), a_run(123.0))
    assert summary.verdict.state == "VALID"
    assert codes(summary) <= {"few-samples", "closed-model"}


@pytest.mark.parametrize(
    ("step_s", "state", "reason"),
    [
        (10, "DOUBTFUL", "A clock was set by about +7.2 s during the run"),
        (3600, "INVALID", "A clock was set by about +59 min 57 s"),
        (-30, "INVALID", "A clock was set by about −30 s"),
    ],
)
def test_a_clock_step_makes_the_run_invalid_without_blaming_the_generator(step_s, state, reason):
    whole = even(120)
    samples = whole[:3000] + shifted(whole[3000:], 1000 * step_s)
    summary = summary_of(samples, a_run(123.0))
    assert summary.verdict.state == state
    assert reason in "; ".join(summary.verdict.reasons)
    assert "clock-step" in codes(summary)
    assert "users-time" not in codes(summary)


def test_a_step_back_between_samples_is_detected_by_the_two_clocks_of_the_run():
    run = a_run(123.0)
    summary = summary_of(even(90), record(load=run.load, took_s=123.0, ended_at="2026-01-01T00:01:33Z"))
    assert summary.verdict.state == "INVALID"
    assert summary.verdict.reasons == ("A clock was set by about −30 s during the run",)
    [warning] = [one for one in summary.warnings if one.code == "clock-step"]
    assert "By the wall clock the run took 1 min 33 s, by the monotonic clock 2 min 3 s" in warning.text


def test_sub_samples_written_after_their_parent_are_not_a_step():
    samples = even(60, elapsed_ms=5000)
    parts = [
        part for one in samples for part in (one, one._replace(label="Pay-0", elapsed_ms=100))
    ]  # ends 4.9 s earlier
    assert "clock-step" not in codes(summary_of(parts, a_run(70.0, users=500)))


# Gaps and missing rows


def test_rows_lost_by_a_full_disk_make_the_run_invalid():
    # 61 req/s; 2.5 s without rows, and one torn record.
    whole = even(15, per_s=61, elapsed_ms=160)
    samples = [one for one in whole if not START_MS + 7000 <= one.end_ms < START_MS + 9500]
    summary = summary_of(samples, a_run(18.0), Dropped(1, [(428, "torn record")]))
    (gap,) = summary.gaps
    assert (gap.from_s, gap.is_waited) == (8, False)  # the first start is in the second before
    assert gap.length_s == pytest.approx(2.5, abs=0.15)
    assert summary.verdict.state == "INVALID"
    (reason,) = summary.verdict.reasons
    assert reason == "Samples of at least 2 s are missing from the JTL: 8 s to 10 s"


def test_the_named_gaps_add_up_to_what_is_said_to_be_missing():
    whole = even(40, per_s=61, elapsed_ms=160)
    lost = ((10_500, 13_400), (20_300, 24_800))
    samples = [one for one in whole if not any(begin <= one.end_ms - START_MS < end for begin, end in lost)]
    (reason,) = summary_of(samples, a_run(43.0), Dropped(1, [(428, "torn record")])).verdict.reasons
    total, *gaps = map(int, re.findall(r"\d+", reason))
    assert total == sum(to_s - from_s for from_s, to_s in zip(gaps[::2], gaps[1::2], strict=True)) >= 5


def test_a_jtl_with_an_hours_gap_reports_the_rate_without_it():
    # Two runs of 100 req/s and 60 s each, an hour apart: 12,000 samples in 3,720 s are 3.23 req/s.
    summary = summary_of(even(60, per_s=100) + even(60, per_s=100, from_s=3660))
    (text,) = (warning.text for warning in summary.warnings if warning.code == "offered-read")
    assert text.startswith("Rows are missing, or a clock was set: no samples for 59 min 59 s. ")
    assert "(62 s to 3661 s)" in text
    found = float(text.partition("Without it the throughput is ")[2].partition(" req/s")[0])
    assert found == pytest.approx(100, rel=0.01)
    assert "--window FROM..TO" in text


def test_one_sample_a_thousand_seconds_ahead_is_a_gap():
    ahead = even(60, per_s=100)
    ahead[3000] = ahead[3000]._replace(start_ms=ahead[3000].start_ms + 1_000_000)
    summary = summary_of(ahead)
    assert {"offered-read", "clock-step"} & codes(summary) == {"clock-step"}  # the gap is its follow-up
    assert summary.gaps
    assert summary.verdict.state == "DOUBTFUL"


def test_another_header_line_is_an_appended_run(tmp_path):
    head = "timeStamp,elapsed,label,success,allThreads\n"
    rows = "".join(f"{START_MS + 10 * number},5,Pay,true,1\n" for number in range(1000))
    later = "".join(f"{START_MS + 10_000 + 10 * number},5,Pay,true,1\n" for number in range(1000))
    path = tmp_path / "two.jtl"
    path.write_text(head + rows + head + later)
    summary = summary_of_jtls(resolve([str(path)]))
    (text,) = (warning.text for warning in summary.warnings if warning.code == "appended")
    assert text.startswith("The JTL contains 2 runs, one after the other. A header is repeated in line 1002. ")
    path.write_text(head + rows)
    assert "appended" not in codes(summary_of_jtls(resolve([str(path)])))


def seconds(*parts):
    """Return seconds of (how many, samples, elapsed each, users)."""
    return [
        SecondFigures(count, count * elapsed_ms, users if count else None)
        for length, count, elapsed_ms, users in parts
        for _ in range(length)
    ]


@pytest.mark.parametrize(
    "run",
    [
        # One user whose requests take 10 s.
        [SecondFigures(1, 10_000, 1) if second % 10 == 9 else SecondFigures(0, 0, None) for second in range(300)],
        # FOLIO, one user: 2.4 req/s, and one request of 4 s.
        seconds((100, 2, 414, 1), (3, 0, 0, 1), (1, 1, 4000, 1), (100, 2, 414, 1)),
        # ThruZero, one user: 5.6 req/s, the page with nine feeds takes 8 s at first.
        seconds((2, 5, 170, 1), (7, 0, 0, 1), (1, 1, 8000, 1), (12, 6, 170, 1)),
        # A hundred users that think for 5 s in step.
        [SecondFigures(100, 5000, 100) if second % 5 == 0 else SecondFigures(0, 0, None) for second in range(100)],
        # 0.2 req/s of Poisson arrivals: 20 s without one are nothing unusual.
        [
            SecondFigures(1, 50, 3) if second in (3, 9, 11, 31, 35, 40, 41, 58, 70) else SecondFigures(0, 0, None)
            for second in range(75)
        ],
        # A slow ramp: one user of ten, whose first requests take 4 s.
        seconds((1, 1, 900, 1), (3, 0, 0, 1), (1, 1, 4000, 1), (60, 20, 500, 10)),
        # A garbage collection of a second each 20 s.
        seconds(*([(19, 40, 500, 20), (1, 0, 0, 20)] * 5), (5, 40, 500, 20)),
        # One user, who makes two pauses that the plan contains.
        seconds((6, 12, 50, 1), (3, 0, 0, 1), (6, 12, 50, 1), (9, 0, 0, 1), (6, 12, 50, 1)),
        # Nothing at all.
        [],
        seconds((1, 1, 5, 1)),
    ],
)  # fmt: skip
def test_usual_pauses_of_a_run_are_not_gaps(run):
    assert find_gaps(run) == ()


def test_at_a_high_rate_two_empty_seconds_are_a_gap_and_one_is_not():
    assert find_gaps(seconds((30, 100, 100, 10), (1, 0, 0, 10), (30, 100, 100, 10))) == ()
    assert find_gaps(seconds((30, 100, 100, 10), (2, 0, 0, 10), (30, 100, 100, 10))) == (Gap(30, 32, 2.0, False, 10),)


# Thirds


def test_the_thirds_of_the_window_match_values_worked_out_by_hand():
    # 90 s: 100 ms and 10 req/s in the first 30 s, 50 ms and 20 req/s in the last.
    samples = even(30, 10, 100, -0.05) + even(30, 15, 70, 29.95) + even(30, 20, 50, 59.95)
    tally = tally_of(samples)
    window = window_of(tally, parse_window("1..91"), None)
    summary = summarise(tally, "x.jtl", options=SummaryOptions(window=window))
    assert summary.thirds.text == ("First third of the window: 100 ms, 10.0 req/s; last third: 50 ms, 20.0 req/s.")


# Little's law


@pytest.mark.parametrize(("busy", "is_off"), [(3, True), (120, True), (150, False)])
def test_littles_law_warns_in_a_short_window_when_it_is_off_by_half(busy, is_off):
    # 200 users for 4 s, of whom `busy` are accounted for: 40 ms each. Found was 27 of 2,000 without a word.
    samples = even(4, per_s=25 * busy, elapsed_ms=40, users=200)
    assert ("users-time" in codes(summary_of(samples, a_run(6.0, users=200)))) is is_off


# Order


def test_two_parts_of_a_file_have_the_order_of_the_whole():
    samples = even(10)
    back = shifted(samples, -30_000)
    whole = tally_of([*samples, *back])
    first, second = tally_of(samples), tally_of(back)
    first.merge(second)
    assert (whole.back_ms, first.back_ms) == (39_980, 39_980)
    other = Scope(file=1).tally()
    other.add(sample(start_ms=1000))
    first.merge(other)
    assert first.back_ms == 39_980  # another file begins when it likes


def test_rows_that_follow_no_others_go_back_no_further_than_by_themselves():
    file, whole = Order(), Order()
    for end_ms in (0, 50, 40, 100):
        file.add(end_ms)
    whole.merge(Order())
    whole.merge(file)
    assert whole == file == Order(least_ms=0, most_ms=100, back_ms=10)


def test_a_stall_with_a_single_response_is_not_a_hole_in_the_file():
    # 50 users and 50 req/s. Nothing ends in second 41 and 43, and a single answer in second 42; then come the others.
    run = [SecondFigures(50, 50_000, 50)] * 40
    run += [SecondFigures(13, 13_000, 50), SecondFigures(0, 0, None, 0, 50), SecondFigures(1, 2_700, 50, 0, 49)]
    run += [SecondFigures(0, 0, None, 0, 49), SecondFigures(33, 33 * 5_000, 50), SecondFigures(40, 40 * 3_000, 50)]
    run += [SecondFigures(50, 50_000, 50)] * 40
    assert [gap.is_waited for gap in find_gaps(run)] == [True, True]
