"""What each of several generators did, and the warnings about one that differs from the others."""

import io

import pytest

from harness.jtl.inputs import resolve
from harness.jtl.sample import Dropped, generator_of
from harness.jtl.xml import parse_xml
from harness.judge.summarise import summarise
from harness.judge.summary import Observed
from harness.judge.verdict import INVALID
from harness.metrics.generators import short_names
from harness.metrics.tally import SampleTally
from harness.report.jtls import Counting, summary_of_jtls
from harness.report.machine import generator_table
from harness.report.screen import closing
from harness.run.telemetry.table import Usage
from tests.support.factories import closed_load, failed, record, sample, tally_of
from tests.support.markdown_rows import cells_of, rows_of

GENERATORS = ("10.0.0.7:1099", "10.0.0.8:1099", "10.0.0.9:1099")


def samples(generator, count=300, elapsed_ms=100, errors=0, users=2, **starts):
    """Return the samples of a generator, the first ones failed; `starts` are first_ms and every_ms."""
    make = [failed] * errors + [sample] * (count - errors)
    starts = {"first_ms": 1_000_000, "every_ms": 200, **starts}
    return [
        one(
            elapsed_ms=elapsed_ms,
            start_ms=starts["first_ms"] + number * starts["every_ms"],
            all_threads=users,
            thread_name=f"{generator}-Users 1-1",
        )
        for number, one in enumerate(make)
    ]


def summary_of(*groups, observed=None, **changes):
    tally = tally_of([one for group in groups for one in group])
    most = {}
    for one in (one for group in groups for one in group):
        name = generator_of(one.thread_name)
        most[name] = max(one.all_threads, most.get(name, 0))
    return summarise(tally, "x", record(**{"load": closed_load(users=sum(most.values())), **changes}), observed)


def codes_of(summary):
    return {warning.code for warning in summary.warnings} & {
        "asked-offered",
        "slow-generator",
        "failing-generator",
    }


def text_of(summary, code):
    (text,) = [warning.text for warning in summary.warnings if warning.code == code]
    return text


def test_a_single_or_unnamed_generator_has_no_table():
    assert summary_of(samples(GENERATORS[0])).generators == ()
    assert summary_of([sample(), sample()]).generators == ()


def test_each_generators_share_of_the_load_adds_up_to_total():
    summary = summary_of(samples(GENERATORS[0], 10), samples(GENERATORS[1], 30, elapsed_ms=300, errors=3, users=5))
    first, second = summary.generators
    assert (first.name, first.sample_count, first.average_ms, first.p90_ms, first.error_count) == (
        GENERATORS[0], 10, 100.0, 100, 0,
    )  # fmt: skip
    assert (second.name, second.sample_count, second.average_ms, second.error_ratio) == (GENERATORS[1], 30, 300.0, 0.1)
    assert (first.most_users, second.most_users) == (2, 5)
    # Starts at 1000.0 s, the second in which the load began; the last of ten, 0.2 s apart, ends 0.1 s after its start.
    assert (first.first_s, first.last_s) == (0.0, 1.9)
    assert summary.group("load").total.sample_count == 40
    assert summary.littles_law.peak_users == 7
    rows = rows_of(generator_table(summary.generators))
    assert cells_of(rows, "generator", "count", "average ms", "p90 ms", "errors %", "errors") == [
        ["10.0.0.7:1099", "10", "100", "100", "0.00", "0"],
        ["10.0.0.8:1099", "30", "300", "300", "10.00", "3"],
    ]
    assert cells_of(rows, "req/s", "most users", "first s", "last s") == [
        ["5.26", "2", "0.0", "1.9"],
        ["4.92", "5", "0.0", "6.1"],
    ]
    last = "".join(text for line in closing(summary, "x.md", "", 80).below for text, _ in line.parts)
    assert "Generators: 10.0.0.7:1099 10 samples 5.26 req/s, 10.0.0.8:1099 30 samples 4.92 req/s." in last


def test_setup_and_transactions_are_in_no_generators_share():
    setup = [sample("Tenant", thread_name=f"{GENERATORS[0]}-setUp Thread Group 1-1", start_ms=900_000)]
    message = "Number of samples in transaction : 2, number of failing samples : 0"
    transaction = [sample("Visit", message=message, thread_name=f"{GENERATORS[1]}-Users 1-1")]
    summary = summary_of(setup, samples(GENERATORS[0], 5), samples(GENERATORS[1], 5), transaction)
    assert [one.sample_count for one in summary.generators] == [5, 5]


def test_generators_of_an_xml_jtl_are_distinguished_too():
    rows = "".join(
        f'<httpSample t="10" ts="{1_000_000 + number}" s="true" lb="Pay" rc="200" rm="OK" '
        f'tn="gen{number % 2}:1099-Users 1-1" by="1" sby="1" ng="1" na="4"/>\n'
        for number in range(10)
    )
    tally = SampleTally()
    for one in parse_xml(io.BytesIO(f'<testResults version="1.2">\n{rows}</testResults>'.encode()), "x.xml", Dropped()):
        tally.add(one)
    assert tally.second_series.active_users(1000, 1000) == [8]


def test_equal_generators_raise_no_warning():
    summary = summary_of(samples(GENERATORS[0], errors=4), samples(GENERATORS[1], elapsed_ms=140, errors=9))
    assert codes_of(summary) == set()


def test_a_generator_50_percent_slower_than_the_others_is_reported():
    summary = summary_of(*(samples(one) for one in GENERATORS[:2]), samples(GENERATORS[2], elapsed_ms=150))
    assert "Load generator 10.0.0.9:1099 was at least 1.5 times as slow as the others." in text_of(
        summary, "slow-generator"
    )
    assert codes_of(summary_of(samples(GENERATORS[0], 199), samples(GENERATORS[1], 199, 300))) == set()  # too few
    assert codes_of(summary_of(samples(GENERATORS[0], 300, 4), samples(GENERATORS[1], 300, 8))) == set()  # 4 ms


def relabelled(group, *labels):
    """Return samples with these labels in turns."""
    return [one._replace(label=labels[number % len(labels)]) for number, one in enumerate(group)]


def test_generators_of_other_requests_are_compared_by_those_that_they_share():
    fast = relabelled(samples(GENERATORS[0]), "List")
    slow = relabelled(samples(GENERATORS[1], elapsed_ms=900, errors=40), "Pay")
    assert codes_of(summary_of(fast, slow)) == set()
    # A third one takes 100 ms for List and 900 for Pay, too; a fourth one twice as long for both.
    groups = (samples(GENERATORS[2], 600, *figures, every_ms=100) for figures in ((100,), (900, 80)))
    pairs = zip(*groups, strict=True)
    both = relabelled([pair[number % 2] for number, pair in enumerate(pairs)], "List", "Pay")
    assert codes_of(summary_of(fast, slow, both)) == set()
    twice = [
        one._replace(elapsed_ms=2 * one.elapsed_ms, success=number > 99, error_count=int(number < 100))
        for number, one in enumerate(both)
    ]
    assert codes_of(summary_of(fast, slow, twice)) == {"slow-generator", "failing-generator"}


def test_a_generator_with_many_more_errors_is_reported():
    summary = summary_of(samples(GENERATORS[0], errors=3), samples(GENERATORS[1], errors=10))
    assert "10.0.0.8:1099 failed at least 2 times as often" in text_of(summary, "failing-generator")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"first_ms": 1_006_000, "count": 270}, "but generators began late (10.0.0.8:1099 6 s)."),
        ({"count": 270}, "but generators ended early (10.0.0.8:1099 54 s)."),
    ],
)
def test_a_generator_that_began_late_or_ended_early_is_reported(changes, text):
    # The first drives for 60 s.
    assert text in text_of(summary_of(samples(GENERATORS[0]), samples(GENERATORS[1], **changes)), "asked-offered")


def test_generators_of_which_one_begins_late_and_the_other_ends_early_may_have_other_clocks():
    text = text_of(summary_of(samples(GENERATORS[0]), samples(GENERATORS[1], first_ms=1_040_000)), "asked-offered")
    assert "Load generators 10.0.0.8:1099, 10.0.0.7:1099 were absent for part of the load, or their clocks diff" in text


def test_a_long_last_sample_of_one_generator_is_not_an_early_end_of_the_others():
    late = sample(start_ms=1_059_000, elapsed_ms=30_000, thread_name=f"{GENERATORS[0]}-Users 1-1")
    assert codes_of(summary_of(samples(GENERATORS[0]), samples(GENERATORS[1]), [late])) == set()


@pytest.mark.parametrize(("gap_ms", "is_one"), [(0, True), (-80, True), (900, True), (1500, False), (-3000, False)])
def test_files_that_follow_each_other_are_parts_of_one_and_no_generators_that_were_absent(tmp_path, gap_ms, is_one):
    files, at_ms = [], 1_700_000_000_000
    for number in range(3):
        rows = [(at_ms + 200 * row, 100) for row in range(200)]
        at_ms = rows[-1][0] + 100 + gap_ms
        text = "timeStamp,elapsed,label,responseCode,threadName,success,allThreads\n"
        text += "".join(f"{start},{took},Pay,200,Users 1-{start // 200 % 4},true,4\n" for start, took in rows)
        (tmp_path / f"part-{number}.jtl").write_text(text)
        files.append(str(tmp_path / f"part-{number}.jtl"))
    summary = summary_of_jtls(resolve(files), Counting())
    assert ("absent for part of the load" in " ".join(one.brief for one in summary.warnings)) is not is_one


def test_local_generators_and_their_controller_are_one_bottleneck():
    usages = tuple(
        Usage(process, 60, cores, cores, cores, 1, 1, 1, None)
        for process, cores in (("host", 1.7), ("jmeter", 0.2), ("generator a:1", 0.7), ("generator b:1", 0.8))
    )
    summary = summary_of(samples(GENERATORS[0]), observed=Observed(usages=usages), load=closed_load())
    assert text_of(summary, "generator-cpu").startswith("The load generators used 85 % of the 2 cores. ")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (("gen1/run-01_1", "gen2/run-01_1"), ("gen1", "gen2")),
        (("/a/shop/run-01_1", "/a/shop/run-01_2"), ("run-01_1", "run-01_2")),
        (("/a/x/run-01_1", "/b/y/run-02_1"), ("a/x/run-01_1", "b/y/run-02_1")),
        (("a.jtl", "b.jtl"), ("a.jtl", "b.jtl")),
        (("run", "x/run"), ("run", "x/run")),
        (("same", "same"), ("same", "same")),
        (("only/one",), ("only/one",)),
    ],
)
def test_paths_are_named_by_the_part_that_differs(paths, names):
    assert short_names(paths) == names


def one_after_the_other(break_s, *generators):
    """Return the summary of generators that drive for 20 s each, with a break between them."""
    groups = [
        samples(name, count=100, first_ms=1_000_000 + round(number * (20 + break_s) * 1000))
        for number, name in enumerate(generators)
    ]
    return summary_of(*groups)


def test_a_generator_that_begins_when_the_others_have_ended_is_the_reason_of_the_gap():
    summary = one_after_the_other(10, *GENERATORS[:2])
    assert summary.verdict.state == INVALID
    assert summary.verdict.reasons == (
        "There was no load for 10 s of 50 s: "
        "generator 10.0.0.8:1099 began 30 s after the first one, when the others had ended",
    )
    codes = {warning.code for warning in summary.warnings}
    assert "asked-offered" in codes and "offered-read" not in codes


def test_rows_that_are_missing_while_a_generator_drives_are_still_missing_rows():
    # The first drives for 20 s, both are silent for 10 s, and the second one has driven before, too.
    parts = [samples(GENERATORS[1], 100), samples(GENERATORS[1], 100, first_ms=1_030_000)]
    summary = summary_of(samples(GENERATORS[0], 100), *parts)
    assert "Rows are missing, or a clock was set" in summary.verdict.reasons[0]
    assert "offered-read" in {warning.code for warning in summary.warnings}
