"""The account of the tail in the report of a profiled run: on its first screen, and in its section."""

import gzip

import pytest

from harness.metrics.figures import LabelCounts, LabelFigures
from harness.metrics.histogram import Histogram
from harness.report.files import write_report
from harness.report.tail_text import tail_texts
from tests.support.full_run import START_MS, run_directory, samples_of_100_s

SLOW_SECONDS = range(60, 66)
# Nothing in a report is Markdown of the system's own.
LOCK = "shop.Till<b> at shop.Pay.pay"


@pytest.fixture(scope="module")
def markdown(tmp_path_factory):
    """The report of a run in which the first user waits 500 ms longer in six seconds, for a lock."""
    rows = samples_of_100_s()
    lines = ["P\tshop", f"N\t0\tlock\t{LOCK}", "H\t1\thttp-*"]
    for second in range(100):
        from_us, is_slow = (START_MS + 1_000 * second) * 1_000, second in SLOW_SECONDS
        if is_slow:
            rows = rows.replace(f"{START_MS + 1_000 * second},900,Pay,201", f"{START_MS + 1_000 * second},1400,Pay,201")
            lines.append(f"W\t{second}\t0\t{from_us + 5_000}\t500000")
        lines.append(f"L\t{second}\t{from_us + 1_000}\t{from_us + (1_399_000 if is_slow else 899_000)}")
    directory = run_directory(tmp_path_factory.mktemp("tail"), samples=rows)
    (directory.path / "profile.tsv.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    write_report(directory)
    return directory.report.read_text(encoding="utf-8")


def test_the_first_screen_says_what_the_tail_waits_for(markdown):
    first, *_ = markdown.partition("\n## ")
    sentence = "p99 of Pay is 500 ms above p50: lock shop.Till\\<b\\> at shop.Pay.pay 500 (500 to 500), unexplained 0."
    assert sentence in first
    assert "Slowest: 1400 ms `LLLLLLLLLLL" in first


def test_the_section_has_each_cause_with_its_interval_and_share(markdown):
    _, section = markdown.split("## Where the time went")
    assert "### Why the tail of Pay is slow" in section
    assert "| lock shop.Till\\<b\\> at shop.Pay.pay | 500 | 500 to 500 | 100 |" in section
    assert "near p99 (1400 ms) with those near p50 (900 ms)." in section


def of(label: str, count: int, slow_ms: int) -> LabelFigures:
    """Return the figures of a label of which one request in twenty is slow."""
    counts = LabelCounts(Histogram.of([100 if at % 20 else slow_ms for at in range(count)]), first_ms=0, last_ms=1000)
    return LabelFigures.of(label, False, counts)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([], "Not known: it needs 100 requests of a label, and none has so many; run longer"),
        ([of("Pay", 99, 900)], "Not known: it needs 100 requests of a label, and none has so many; run longer"),
        ([of("Pay", 99, 900), of("Cart", 100, 109)], "There is no tail: no label's p99 is 10 ms or more above its p50"),
        ([of("Pay", 100, 900)], "Not known: no thread of the system was recorded at work on a request"),
    ],
    ids=["no label", "few requests", "no tail", "no threads"],
)
def test_a_profiled_run_without_an_account_says_why(labels, said):
    assert tail_texts((), labels) == [f"### Why the tail is slow\n\n{said}."]
