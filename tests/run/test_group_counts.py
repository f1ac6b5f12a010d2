"""How the counts of thread groups are read, added up and measured between two times."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.base.records import build
from harness.run.directory import json_text
from harness.run.group_counts import DIED, NO_DATA, EarlyEnd, ExtractionCount, GroupCounts, IgnoredCount, LabelCount
from harness.run.jmeter.drive import with_steps
from harness.run.jmeter.groups import busy_steps, read_groups
from harness.run.record import RunRecord
from tests.support.factories import record


def lines(*rows: str) -> str:
    """The file of the agent; blanks stand for tabs."""
    return "".join(f"{row.replace(' ', chr(9))}\n" for row in rows)


def group(name: str = "a", from_s: int = 100, step_s: int = 1, **more: object) -> GroupCounts:
    values: dict[str, object] = {"pause_ms": (0, 0), "pause_count": 0, "alive_ms": (1000, 1000), "arrivals": None}
    return GroupCounts(name, from_s, step_s, **{**values, **more})  # type: ignore[arg-type]


def test_those_who_began_are_there_until_they_end():
    # Two users begin in second 10, 200 and 300 ms before its end. One pauses for its last 100 ms and 400 ms more. Both
    # end in second 13, after 500 ms.
    text = lines(
        "G 0 false a", "S 0 10 1 100 2 500 1 0", "T 10", "S 0 11 -1 -600 0 0 0 0", "T 11", "T 12",
        "S 0 13 0 0 -2 -1000 0 0", "T 13", "T 14",
    )  # fmt: skip
    (counts,) = read_groups(text)
    assert counts == GroupCounts("a", 10, 1, (100, 400, 0, 0), 1, (500, 2000, 2000, 1000), None)


def test_a_killed_jmeter_has_users_until_the_last_second_that_it_wrote():
    text = lines("G 0 false a", "S 0 10 1 1000 1 1000 1 0", "T 10", "T 11", "T 12") + "S\t0\t13\t-1\t-90"
    (counts,) = read_groups(text)
    assert (counts.alive_ms, counts.pause_ms) == ((1000,) * 3, (1000,) * 3)


def test_a_change_that_is_written_later_counts_in_its_own_second():
    early = lines("G 0 true a", "S 0 10 0 0 1 700 0 2", "S 0 11 0 0 -1 -600 0 1", "T 11")
    late = lines("G 0 true a", "S 0 10 0 0 1 700 0 1", "T 10", "S 0 11 0 0 -1 -600 0 1", "S 0 10 0 0 0 0 0 1", "T 11")
    assert read_groups(early) == read_groups(late)
    assert read_groups(late)[0].arrivals == (2, 1)


def test_groups_of_one_name_are_one_group():
    text = lines(
        "G 0 false a", "G 1 false a", "S 0 10 0 0 1 1000 0 0", "S 1 11 0 0 1 500 0 0", "C 0 cut 1 5 x", "C 1 cut 2 5 x",
        "C 0 died 1 9 ", "C 1 died 1 7 ", "T 11",
    )  # fmt: skip
    (counts,) = read_groups(text)
    assert counts.alive_ms == (1000, 1500)
    assert counts.cut == (LabelCount("x", 3),)
    assert counts.ended_early == (EarlyEnd(DIED, "", 2, 7),)


def test_steps_that_users_were_in_at_the_end_are_no_early_ends():
    text = lines("G 0 false a", "C 0 busy 2 5 Read", "C 0 busy 1 6 Read", "C 0 busy 1 7 Write\\t", "T 11")
    assert busy_steps(text) == {"Read": 3, "Write\t": 1}
    assert [counts.ended_early for counts in read_groups(text)] == [()]
    assert busy_steps("") == {}


def test_ignored_results_are_added_up_by_label_and_by_jmeter():
    text = lines("G 0 false a", "I 0 3 1 200 Poll", "I 0 2 0 90 Buy", "T 10", "I 0 1 1 50 Poll", "T 11")
    (counts,) = read_groups(text)
    assert counts.ignored == (IgnoredCount("Poll", 4, 2, 250), IgnoredCount("Buy", 2, 0, 90))
    (both,) = GroupCounts.of_all([(0, (counts,)), (0, (counts,))])
    assert both.ignored == (IgnoredCount("Poll", 8, 4, 500), IgnoredCount("Buy", 4, 0, 180))
    secret = replace(counts, ignored=(IgnoredCount("Poll tk-4711-of", 1, 0, 9),))
    assert secret.masked(["tk-4711-of"]).ignored == (IgnoredCount("Poll •••", 1, 0, 9),)


def test_what_extractors_found_is_added_up_by_variable_and_label():
    text = lines(
        "G 0 false a",
        "X 0 3 2 0 0 1 get t Buy none",
        "T 10",
        "X 0 2 0 0 0 -1 get t Buy none",
        "X 0 1 1 0 1 0 get t Pay ",
    )
    (counts,) = read_groups(text)
    bought, paid = counts.extractions
    assert bought == ExtractionCount("get", "t", "Buy", "none", 5, 2, 0, 0, 0)
    assert (paid.label, paid.sent_kept_count, paid.sent_count) == ("Pay", 1, 1)
    (both,) = GroupCounts.of_all([(0, (counts,)), (0, (counts,))])
    assert both.extractions == (
        ExtractionCount("get", "t", "Buy", "none", 10, 4, 0, 0, 0),
        replace(paid, count=2, missed_count=2, sent_kept_count=2),
    )
    assert replace(counts, extractions=(replace(paid, label="tk-4711-of"),)).masked(["tk-4711-of"]).extractions == (
        replace(paid, label="•••"),
    )


@pytest.mark.parametrize("what", ["made good", "without data", "idle"])
def test_what_is_counted_by_label_is_added_up_and_is_no_early_end(what):
    text = f"G\t0\tfalse\ta\nC\t0\t{what}\t2\t5\tBuy\nC\t0\t{what}\t1\t6\tBuy\nT\t11\n"
    (counts,) = read_groups(text)
    (both,) = GroupCounts.of_all([(0, (counts,)), (0, (counts,))])
    assert (getattr(both, what.replace(" ", "_")), both.ended_early) == ((LabelCount("Buy", 6),), ())


def test_a_run_that_does_not_end_names_the_steps_that_keep_it():
    busy = {"Read": 3, "Write": 1}
    why = "JMeter did not end by itself within 5 s after its duration and was stopped"
    assert (
        with_steps(why, busy) == f"{why}: still waiting in Read (3 users), Write (1 user). Give such a step a timeout"
    )
    assert with_steps(why, {}) == why
    assert with_steps("the disk is full", busy) == "the disk is full"


def test_names_have_any_characters():
    name = "a\\n\tb\nc\\\r"
    written = name.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    text = f"G\t0\tfalse\t{written}\nC\t0\tclosed\t3\t5\t{written}\nT\t1\n"
    (counts,) = read_groups(text)
    assert (counts.name, counts.closed) == (name, (LabelCount(name, 3),))


@pytest.mark.parametrize("text", ["", "G\t0\tfa", "G\t0\tfalse\ta"])
def test_without_a_whole_line_nothing_is_known(text):
    assert read_groups(text) == ()


def test_nothing_is_known_when_something_could_not_be_counted():
    assert read_groups(lines("G 0 false a", "S 0 10 0 0 1 1000 0 0", "T 10", "U", "T 11", "U")) == ()


def test_a_group_whose_users_never_began_has_no_seconds():
    (counts,) = read_groups(lines("G 0 true a", "T 10"))
    assert (counts.alive_ms, counts.pause_ms, counts.arrivals) == ((), (), ())


def test_a_long_run_has_values_of_several_seconds_with_the_same_totals():
    rows = [f"S 0 {second} 0 0 0 {second} 0 1" for second in range(7, 8_007)]
    (counts,) = read_groups(lines("G 0 true a", *rows, "T 8006"))
    assert counts.step_s == 2
    assert len(counts.alive_ms) <= 7200
    assert sum(counts.alive_ms) == sum(range(7, 8_007))
    assert counts.arrivals == (1, *[2] * 3999, 1)
    assert counts.from_s == 6
    assert counts.arrival_count(1_000_000, 2_000_000) == pytest.approx(1000)


def test_an_interval_has_the_share_of_the_seconds_at_its_edges():
    counts = group(pause_ms=(500, 300, 0), alive_ms=(2000, 1000, 1000), arrivals=(4, 2, 1))
    assert counts.pauses_s(100_000, 103_000) == pytest.approx(0.8)
    assert counts.pauses_s(100_500, 101_500) == pytest.approx(0.25 + 0.15)
    assert counts.users_s(100_250, 100_750) == pytest.approx(1.0)
    assert counts.arrival_count(99_000, 101_500) == pytest.approx(5)
    assert counts.users_s(0, 90_000) == counts.users_s(200_000, 300_000) == 0
    assert group().arrival_count(0, 1) is None


def test_several_jmeters_are_added_by_group_and_second():
    one = (group(pause_ms=(10, 20), pause_count=3, closed=(LabelCount("x", 1),)), group("b"))
    other = (group(from_s=101, pause_ms=(5, 6), pause_count=2, closed=(LabelCount("x", 2), LabelCount("y", 1))),)
    first, second = GroupCounts.of_all([(0, one), (0, other)])
    assert first == group(
        pause_ms=(10, 25, 6),
        pause_count=5,
        alive_ms=(1000, 2000, 1000),
        closed=(LabelCount("x", 3), LabelCount("y", 1)),
    )
    assert second == group("b")


def test_times_of_another_clock_are_moved_and_divided_between_seconds():
    ahead = group(pause_ms=(400, 0), ended_early=(EarlyEnd(NO_DATA, "rows", 1, 101_000),), arrivals=(4, 0))
    (counts,) = GroupCounts.of_all([(250, (ahead,))])
    assert counts.from_s == 99
    assert counts.pause_ms == (100, 300, 0)
    assert counts.alive_ms == (250, 1000, 750)
    assert counts.arrivals == (1, 3, 0)
    assert counts.ended_early == (EarlyEnd(NO_DATA, "rows", 1, 100_750),)


def test_ends_of_several_jmeters_have_the_time_of_the_first():
    ends = [EarlyEnd(DIED, "", 1, 101_000), EarlyEnd(DIED, "", 2, 100_500)]
    (counts,) = GroupCounts.of_all([(0, (group(ended_early=(end,)),)) for end in ends])
    assert counts.ended_early == (EarlyEnd(DIED, "", 3, 100_500),)


def test_a_group_that_is_open_in_one_jmeter_only_has_no_arrivals():
    (counts,) = GroupCounts.of_all([(0, (group(arrivals=(1, 1)),)), (0, (group(),))])
    assert counts.arrivals is None


def test_nothing_is_known_when_one_jmeter_does_not_know():
    assert GroupCounts.of_all([(0, (group(),)), (0, ())]) == ()
    assert GroupCounts.of_all([]) == ()


def test_secrets_are_in_no_name_and_no_message():
    secret = "s3cret-value"
    counts = group(
        f"a {secret}",
        cut=(LabelCount(secret, 1),),
        closed=(LabelCount(secret, 1),),
        ended_early=(EarlyEnd(NO_DATA, f"no {secret}", 1, 1),),
    )
    assert secret not in repr(counts.masked((secret,)))
    assert group().masked((secret,)) == group()


def test_run_json_has_the_groups_and_an_older_one_has_none():
    counts = group(cut=(LabelCount("x", 1),), ended_early=(EarlyEnd(DIED, "", 1, 5),), arrivals=(1, 2))
    run = record(groups=(counts,))
    text = json_text(run)
    data = json.loads(text)
    assert build(RunRecord, data).groups == (counts,)
    del data["groups"]
    assert build(RunRecord, data).groups == ()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9_999), st.integers(0, 4_000)), max_size=12), st.integers(0, 3))
def test_the_series_are_the_times_that_overlap_each_second(users, late):
    """Each user begins and ends; what is written is added up in any order, some of it late."""
    changes = defaultdict(lambda: [0] * 6)
    for begin_ms, length_ms in users:
        for at_ms, by in ((begin_ms, 1), (begin_ms + length_ms, -1)):
            cell = changes[at_ms // 1000]
            cell[2] += by
            cell[3] += by * (1000 - at_ms % 1000)
    rows = [f"S 0 {second} {' '.join(map(str, cell))}" for second, cell in changes.items()]
    counts = read_groups(lines("G 0 false a", *rows[late:], *rows[:late], f"T {max(changes, default=0)}"))
    expected = [
        sum(max(0, min(begin + length, 1000 * (at + 1)) - max(begin, 1000 * at)) for begin, length in users)
        for at in range(15)
    ]
    found = dict(enumerate(counts[0].alive_ms, start=counts[0].from_s))
    assert [found.get(at, 0) for at in range(15)] == expected


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(-70_000, 70_000), st.integers(0, 200), st.lists(st.integers(0, 9_000), min_size=1)),
        min_size=1,
        max_size=4,
    )
)
def test_sums_of_several_clocks_lose_and_add_nothing(parts):
    groups = [
        (ahead, (group(from_s=from_s, pause_ms=tuple(values), alive_ms=tuple(values)),))
        for ahead, from_s, values in parts
    ]
    (counts,) = GroupCounts.of_all(groups)
    assert sum(counts.alive_ms) == sum(sum(values) for _, _, values in parts)
    assert len(counts.pause_ms) == len(counts.alive_ms)
    assert min(counts.alive_ms) >= 0
