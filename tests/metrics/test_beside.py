"""Metrics that only some labels have: messages, rows, sessions, streams, and the parts of a response time."""

import json
import random

import pytest

from harness.base.errors import UsageError
from harness.compare.decision import compare
from harness.compare.sources import read_result
from harness.history.catalogue import runs_of
from harness.history.files import read_catalogue
from harness.history.series import history
from harness.judge.summarise import SummaryOptions, summarise
from harness.metrics import amounts, event_streams
from harness.metrics.beside import read_beside
from harness.metrics.figures import LOAD
from harness.metrics.interval import IntervalMs
from harness.metrics.metric import METRICS, Beside, metric_of
from harness.plan.goal import GoalRule
from harness.plan.goal_input import parse_goal
from harness.plan.thresholds import Thresholds
from harness.report.files import write_report
from tests.support.comparisons import metric
from tests.support.factories import closed_load, record, sample, tally_of
from tests.support.report_folder import START_MS, add_run

SECONDS = 120
MESSAGES, THROUGHPUT, RECEIVING = map(metric_of, ("messages", "throughput", "receiving"))


def stored(reports, name, lines, file=amounts, goal="errors<1%", **changes):
    """Store a run of ten requests a second for two minutes, and the lines that its agent wrote; return its result."""
    values = {"samples": 10 * SECONDS, "seconds": SECONDS, "goal": parse_goal(goal, "--goal"), **changes}
    directory = add_run(reports, f"tiny/{name}", **values)
    (directory.path / file.FILE_NAME).write_text("\n".join([",".join(file.COLUMNS), *lines, ""]))
    write_report(directory)
    return read_result(directory.summary_json)


def lines_of(kind, per_s, seed=1, duration_us=0):
    """Return a line for each second, of about `per_s` messages."""
    numbers = random.Random(seed)
    return [
        f'{START_MS + 1000 * second},"Pay",{kind},{per_s + numbers.randrange(-2, 3)},{duration_us}'
        for second in range(SECONDS)
    ]


def found_in(before, after):
    return compare([before], [after], Thresholds(), scatter=None)


@pytest.mark.real
def test_a_run_that_receives_fewer_messages_has_regressed_although_it_sends_as_many_requests(tmp_path):
    before, after = (stored(tmp_path, f"run-01_{per_s}", lines_of("messages", per_s)) for per_s in (20, 15))
    found = found_in(before, after)
    total = metric(found.total, MESSAGES)
    assert (found.verdict, total.verdict, metric(found.total, THROUGHPUT).verdict) == ("REGRESSED", "REGRESSED", "OK")
    assert (total.unit, round(total.baseline), round(total.contender)) == ("batches", 20, 15)
    assert any("messages" in reason for reason in found.reasons)
    assert metric(found_in(after, before).total, MESSAGES).word == "IMPROVED"


@pytest.mark.real
def test_runs_that_receive_as_many_messages_are_alike(tmp_path):
    before, after = (stored(tmp_path, f"run-01_{seed}", lines_of("messages", 20, seed)) for seed in (1, 2))
    found = found_in(before, after)
    assert metric(found.total, MESSAGES).word == "OK"
    assert not any("messages" in reason for reason in found.reasons)


@pytest.mark.real
def test_a_subscriber_that_receives_nothing_any_more_has_regressed(tmp_path):
    before = stored(tmp_path, "run-01_1", lines_of("messages", 20))
    silent = [f'{START_MS + 1000 * second},"Pay",messages,0,0' for second in range(SECONDS)]
    none, again = (stored(tmp_path, f"run-01_{number}", silent) for number in (2, 3))
    found = found_in(before, none)
    assert (found.verdict, metric(found.total, MESSAGES).verdict) == ("REGRESSED", "REGRESSED")
    assert metric(found_in(none, again).total, MESSAGES).verdict == "CANNOT TELL"
    assert not any("messages" in reason for reason in found_in(none, again).reasons)


@pytest.mark.real
def test_runs_without_messages_are_not_compared_by_them(tmp_path):
    before, after = (stored(tmp_path, f"run-01_{number}", ()) for number in (1, 2))
    found = found_in(before, after)
    assert [one.metric.name for one in found.total.metrics if one.metric.beside] == []


@pytest.mark.real
def test_several_runs_are_compared_by_their_messages_too(tmp_path):
    sides = [
        [stored(tmp_path, f"run-0{side}_{n}", lines_of("messages", per_s, n)) for n in range(1, 6)]
        for side, per_s in ((1, 20), (2, 15))
    ]
    found = compare(*sides, Thresholds())
    assert (metric(found.total, MESSAGES).unit, metric(found.total, MESSAGES).verdict) == ("runs", "REGRESSED")


@pytest.mark.real
@pytest.mark.parametrize(
    ("goal", "is_met", "text"),
    [
        ("messages>19/s", True, "messages 20.22 messages/s, goal at least 19 messages/s"),
        ("Pay: messages>25 messages/s", False, "Pay: messages 20.22 messages/s, goal at least 25 messages/s"),
        ("messages<10", False, "messages 20.22 messages/s, goal 10 messages/s"),
        ("rows>1/s", False, "rows unknown, goal at least 1 rows/s"),
    ],
)
def test_a_goal_limits_messages(tmp_path, goal, is_met, text):
    result = stored(tmp_path, "run-01_1", lines_of("messages", 20), goal=f"errors<1%, {goal}")
    found = next(one for one in result.verdict.goals if one.metric != "error_ratio")
    assert (found.is_met, found.text) == (is_met, text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Longest  Gap<1.5s", GoalRule("longest_gap_ms", max=1500)),
        ("Read: receiving<5ms", GoalRule("receiving_ms", "Read", max=5)),
        ("the longest: session<5", GoalRule("session_ms", "the longest", max=5)),
        ("events>5 events/s", GoalRule("events_per_s", min=5)),
        ("Buy: messages sent>5 messages sent/s", GoalRule("messages_sent_per_s", "Buy", min=5)),
        ("x: handshake<50", GoalRule("handshake_ms", "x", max=50)),
    ],
)
def test_goals_name_them_in_words(text, rule):
    assert parse_goal(text, "--goal").rules == (rule,)


@pytest.mark.parametrize("limit", ["5 rows/s", "5 req/s", "5 %", "5ms"])
def test_a_rate_of_something_else_is_no_limit_of_messages(limit):
    with pytest.raises(UsageError, match=r"messages .*: not a rate"):
        parse_goal(f"messages>{limit}", "--goal")


@pytest.mark.real
def test_a_history_has_the_messages_of_each_run(tmp_path):
    for number in range(1, 4):
        stored(tmp_path, f"run-0{number}_1", lines_of("messages", 20 * number, number))
    (line,) = history(runs_of(read_catalogue(tmp_path).entries, "tiny"), "tiny", "Pay", MESSAGES).lines
    assert [round(point.value) for point in line.points] == [20, 40, 60]


def test_total_adds_rates_and_weighs_averages_by_what_they_count():
    rows = ["5000,a,rows,30,0", "5000,b,rows,10,0", "5000,a,sessions,1,1000000", "6000,b,sessions,1,4000000"]
    samples = [sample(label, 10, 1000 * second) for second in range(11) for label in ("a", "b")]
    tally = tally_of(samples)
    beside = read_beside([*rows, "6000,b,sessions,1,4000000"], (), IntervalMs(0, 10_000))
    summary = summarise(tally, "x", record(load=closed_load(users=1)), options=SummaryOptions(beside=beside))
    load = summary.group(LOAD)
    assert load.total.beside == {"rows_per_s": 4.0, "sessions_per_s": 0.3, "session_ms": 3000.0}
    assert [one.beside["session_ms"] for one in load.labels] == [1000.0, 4000.0]


@pytest.mark.real
def test_a_handful_of_long_sessions_leaves_a_comparison_as_it_is(tmp_path):
    few = [f'{START_MS + 1000 * second},"Pay",sessions,1,{1_000_000 * second}' for second in (50, 70, 90)]
    before, after = (stored(tmp_path, f"run-01_{number}", few[number:]) for number in (0, 1))
    found = found_in(before, after)
    assert not any("session" in reason for reason in found.reasons)
    assert not metric(found.total, metric_of("session")).decides


@pytest.mark.real
@pytest.mark.parametrize(
    ("kind", "name"), [("TLS handshakes", "handshake"), ("name lookups", "lookup"), ("requests written", "sending")]
)
def test_parts_of_some_requests_have_averages_of_their_own(tmp_path, kind, name):
    lines = [f'{START_MS + 50_000},"Pay",{kind},3,2000', f'{START_MS + 51_000},"Pay",{kind},1,10000']
    result = stored(tmp_path, "run-01_1", lines, goal=f"{name}<3")
    assert result.total.beside[f"{name}_ms"] == 4.0
    assert f"| Pay | {kind} | 4 |" in (tmp_path / "tiny" / "run-01_1.md").read_text()
    assert next(one.text for one in result.verdict.goals) == f"{name} 4.00 ms, goal 3 ms"


@pytest.mark.real
def test_the_json_of_a_run_has_them_and_their_batches(tmp_path):
    result = stored(tmp_path, "run-01_1", lines_of("sessions", 4, duration_us=4_000_000))
    page = json.loads((tmp_path / "tiny" / "run-01_1.json").read_text())
    (load,) = [group for group in page["groups"] if group["name"] == LOAD]
    assert load["total"]["beside"].keys() == {"sessions_per_s", "session_ms"}
    assert result.total.beside == load["total"]["beside"] == load["labels"][0]["beside"]
    counted = result.total.batches.beside["sessions_per_s"]
    assert len(counted.counts) == 20
    assert sum(counted.counts) == pytest.approx(
        result.total.beside["sessions_per_s"] * 20 * result.total.batches.length_s
    )


def streams(rate_per_s, gap_ms, seed=1):
    """Return lines of answers of eleven events each, two a second."""
    numbers, lines = random.Random(seed), []
    for number in range(2 * SECONDS):
        lasts_us, gap_us = 10_000_000 // (rate_per_s + numbers.randrange(3)), 1000 * (gap_ms + numbers.randrange(5))
        lines.append(f'{START_MS + 500 * number},"Pay",11,{lasts_us},{gap_us}')
    return lines


@pytest.mark.real
def test_streams_are_compared_by_their_events_and_their_longest_gaps(tmp_path):
    before, slow, torn = (
        stored(tmp_path, f"run-01_{number}", streams(*each, seed=number), file=event_streams)
        for number, each in enumerate(((50, 100), (40, 100), (50, 150)), 1)
    )
    events, gap = map(metric_of, ("events", "longest gap"))
    assert [metric(found_in(before, slow).total, one).verdict for one in (events, gap)] == ["REGRESSED", "OK"]
    assert [metric(found_in(before, torn).total, one).verdict for one in (events, gap)] == ["OK", "REGRESSED"]
    assert 50 <= before.total.beside["events_per_s"] <= 52
    assert 100 <= before.total.beside["longest_gap_ms"] <= 104


def parts(*rows, goal="errors<1%"):
    """Return the metrics of samples with these elapsed times, latencies and connect times, ms."""
    samples = [
        sample("Pay", elapsed_ms, 1000 * number, latency_ms=latency_ms, connect_ms=connect_ms)
        for number, (elapsed_ms, latency_ms, connect_ms) in enumerate(rows)
    ]
    run = record(goal=parse_goal(goal, "--goal"), load=closed_load(users=1))
    summary = summarise(tally_of(samples), "x", run)
    return summary.group(LOAD).total.beside, summary.verdict.goals


def test_receiving_is_what_comes_after_the_first_byte_and_waiting_what_comes_before_it_without_connecting():
    found, goals = parts((100, 60, 20), (200, 100, 0), goal="receiving<69, waiting<71")
    assert found == {"waiting_ms": 70.0, "receiving_ms": 70.0}
    assert [(goal.is_met, goal.text) for goal in goals[-2:]] == [
        (False, "receiving 70 ms, goal 69 ms"), (True, "waiting 70 ms, goal 71 ms"),
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [[(100, None, 0)], [(100, 0, 0)], [(100, 60, 0), (300, 0, 0)]])
def test_answers_without_a_body_say_nothing_about_receiving(rows):
    found, goals = parts(*rows, goal="receiving<69")
    assert found == {}
    assert [goal.text for goal in goals if goal.metric == "receiving_ms"] == ["receiving unknown, goal 69 ms"]


@pytest.mark.parametrize(("lasts_ms", "is_known"), [(100, True), (500, False)])
def test_a_few_failures_without_a_body_matter_as_much_as_they_last(lasts_ms, is_known):
    rows = [(130, 100, 0)] * 999 + [(lasts_ms, 0, 0)] * 2  # at most 2 % of 30 s
    found, _ = parts(*rows) if is_known else parts(*rows, *[(lasts_ms, 0, 0)])
    assert bool(found) is is_known
    assert not is_known or abs(found["receiving_ms"] - 30) < 0.6


def test_each_metric_of_some_labels_has_a_way_to_be_made():
    assert {metric.beside for metric in METRICS if not metric.is_of_all and metric.part is None} == set(Beside)
