"""One word for one thing: the column titles and the verdicts of every kind of report are those of one list."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from harness.judge.result import MARKS, TONES
from harness.metrics.metric import METRICS, metric_of
from harness.report.columns import CLASSIC, LAYOUTS, WIDE, columns_of, parse_sort
from harness.report.files import write_report
from tests.support.every_report import COMMANDS, EXPERIMENTS, make_reports, report_path
from tests.support.full_run import add_histograms, add_profile, add_snapshots, full_record, run_directory

VERDICTS = frozenset(
    {
        # a run; a comparison; a test of an overload; an experiment with settings
        "VALID", "DOUBTFUL", "INVALID", "INTERRUPTED", "REGRESSED", "IMPROVED", "OK", "CANNOT TELL", "GRACEFUL",
        "CONGESTION COLLAPSE", "FOUND", "NO EFFECT",
        # a check or a run of a nightly
        "WARNED", "LEARNING", "NEW ENVIRONMENT", "GOAL MISSED", "FAILED", "NOT RUN",
    }
)  # fmt: skip
# Other words in capitals.
ABBREVIATIONS = frozenset({"AWS", "CPU", "GB", "GC", "JTL", "JVM", "KB", "MB", "SLA", "TOTAL", "UTC", "COMMIT"})
TIMES = frozenset({"average ms", "p50 ms", "p75 ms", "p90 ms", "p95 ms", "p99 ms", "p99.9 ms", "min ms", "max ms"})
RATES = frozenset({"req/s", "errors", "errors %", "KB/s received", "KB/s sent"})
FIRST_BYTE = frozenset(f"first byte {percentile} ms" for percentile in ("p50", "p90", "p95", "p99"))
CONNECT = frozenset({"connect ms", "connect p95 ms", "connect p99 ms"})
WIDE_ONLY = (
    frozenset({"stddev ms", "successful req/s", "average bytes", "latency ms", "waiting ms", "receiving ms"})
    | FIRST_BYTE
    | CONNECT
)
# The columns of a run's report that are no metrics.
OF_A_RUN = frozenset(
    """
    label|count|goal|measured|result|code|cause|example|first s|last s|process|CPU % of one core|range|memory MB
    peak of live threads|machine|resource|mean|used MB|committed MB|reserved MB|points|class|start MB|end MB|growth MB
    start objects|end objects|method|self %|with what it calls %|lock|waited at|held by|waits|all ms|longest ms
    allocated at|MB/s|%|statement|count per request|ms per request|mean ms|thread|start s|ms|GC pauses ms|lock waits ms
    CPU of the host, % of a core|metric|unit|per s|in all|log|exception, innermost cause: message of the first
    first line|account|one side|the other|difference
    """.strip().replace("\n", "|").replace("    ", "").split("|")
)  # fmt: skip
# Those of reports about several runs, without the names of the sides: sweep-01 average ms.
OF_SEVERAL = frozenset(
    """
    run|runs|load|users|samples|verdict|change|change %|threshold|interval|p|adjusted p|n|why|baseline|contender|A|B
    pair|order|counts|round|started UTC|took|commit|profile|release|test|ramp-up s|duration s|setting|values|met|step
    system CPU %|generator CPU %|users ÷ req/s ms|variant|load %|at load %|offered/s|started/s|goodput/s|95 % interval
    good|late|rejected fast|rejected slowly|timed out|users scheduled|users started|users missing|kept %|peak goodput/s
    recovered after s|block|effect %|interval %|average %|throughput %|more %
    probability %|what|average, 95 % interval|commit or value
    run scatter %|8 pairs see %|cheapest test for 5 %|may gate|within a run %|between runs %|between starts %
    asked = offered|offered = read|read = counted|counted = one state|users' time = waiting + pausing
    both sides = the same work|between days %|second run %
    1 pair|4 pairs|6 pairs|8 pairs|10 pairs|start|run of the start
    """.strip().replace("\n", "|").replace("    ", "").split("|")
)  # fmt: skip
_SIDE = re.compile(r"^(?:(?:tiny/)?sweep-\d+|baseline|contender)(?: |$)")
# Older words for percentiles and verdicts.
OLDER = re.compile(
    r"\bmedian\b|\bp?\d+(?:\.\d+)? % ms\b|^\d+ %$|\bworse\b|\bbetter\b|^~$|[Gg]oals? met: ", re.MULTILINE
)


def titles_of(page: str) -> Iterator[str]:
    """Yield the titles of the columns of all tables, without footnotes."""
    lines = page.splitlines()
    for head, rule in pairwise(lines):
        if rule.startswith("| ---"):
            yield from (re.sub(r" *\[\^\d+\]", "", title).strip() for title in re.split(r"(?<!\\)\|", head)[1:-1])


def capitals_of(page: str) -> set[str]:
    """Return the words in capitals, without commands, options, comments and texts of people."""
    prose = re.sub(r"`[^`]*`|<!--.*?-->|!\[.*?\]\(.*?\)|\[\^\d+\]|^\s*- .*$|\S*=\S*", "", page, flags=re.MULTILINE)
    return set(re.findall(r"\b[A-Z]{2,}(?: [A-Z]{2,})*\b", prose))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a report of every kind."""
    folder = tmp_path_factory.mktemp("made")
    make_reports(folder)
    return folder


@pytest.fixture
def run_page(tmp_path):
    run = run_directory(tmp_path, full_record())
    for add in (add_profile, add_snapshots, add_histograms):
        add(run)
    write_report(run)
    return run.report.read_text(encoding="utf-8")


def test_every_column_of_a_run_is_in_the_list(run_page):
    found = set(titles_of(run_page))
    assert found - OF_A_RUN - TIMES - RATES == set()
    assert {"p50 ms", "p90 ms", "p95 ms", "p99 ms"} < found
    assert OF_A_RUN - found == set()
    assert capitals_of(run_page) <= VERDICTS | ABBREVIATIONS


def test_the_older_words_are_found():
    assert OLDER.findall("median\n90 % ms\nOK, better\n~") == ["median", "90 % ms", "better", "~"]
    assert not OLDER.search("p90 ms\n95 % interval\nOK")


@pytest.mark.real
@pytest.mark.parametrize("kind", [*COMMANDS, *EXPERIMENTS])
def test_the_columns_and_verdicts_of_every_kind_of_report_use_the_same_words(kind, made):
    page = report_path(kind, made).read_text(encoding="utf-8")
    found = {title if title in OF_SEVERAL else _SIDE.sub("", title) for title in titles_of(page)} - {""}
    assert found - OF_SEVERAL - OF_A_RUN - TIMES - RATES == set()
    assert capitals_of(page) - VERDICTS - ABBREVIATIONS == set()


def test_every_verdict_has_a_mark():
    assert set(TONES) <= VERDICTS
    assert {verdict: MARKS[tone] for verdict, tone in TONES.items() if not MARKS[tone]} == {}


def test_the_columns_of_tables_are_in_the_list_and_jmeters_only_in_the_classic_layout():
    titles = {layout: {column.title for column in columns_of(layout)} for layout in LAYOUTS}
    assert titles[WIDE] <= TIMES | RATES | WIDE_ONLY | {"count"}
    assert titles.pop(CLASSIC) == {"#count", "average", "median", "90%", "min", "max", "errors", "bandwidth"}
    assert [title for each in titles.values() for title in each if OLDER.search(title)] == []


def test_a_percentile_has_one_name_in_tables_sentences_and_on_the_command_line():
    for metric in METRICS:
        if metric.percentile:
            assert (metric.title, metric.phrase, metric.name) == (f"{metric.name} ms", *[f"p{metric.percentile}"] * 2)
    assert metric_of("median") == metric_of("p50")


@pytest.mark.parametrize("name", ["p90 ms", "p90", "P90", "90 % ms", "90 %", "90%", "p90_ms", "90 % MS"])
def test_tables_are_sorted_by_new_and_older_titles(name):
    assert parse_sort(name).column.title == "p90 ms"


@pytest.mark.parametrize("name", ["p50", "median", "median ms", "median_ms", "50 %", "p50_ms"])
def test_the_p50_is_still_called_median_on_the_command_line(name):
    assert parse_sort(name).column.title == "p50 ms"
