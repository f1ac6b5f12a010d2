"""The account of the tail in the report of a profiled run: on its first screen, and in its section."""

import gzip
from dataclasses import replace

import pytest

from harness.jtl.sample import Sample
from harness.judge.tail import TailAccount, generator_stops, tails_of
from harness.metrics.figures import LabelCounts, LabelFigures
from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs
from harness.metrics.wake_delays import Stall
from harness.report.files import write_report
from harness.report.tail_text import tail_sentence, tail_texts
from harness.system.flight_recording import COLUMNS
from harness.system.flight_recording import FILE_NAME as RECORDED
from harness.system.profile import Collections, ProcessProfile
from harness.system.profile_events import VirtualThreads
from harness.system.profile_files import NO_AGENT, NO_JVM, NOT_A_JVM
from harness.system.thread_times import ThreadTimes
from tests.support.full_run import START_MS, full_record, run_directory, samples_of_100_s

SLOW_SECONDS = range(60, 66)
# Nothing in a report is Markdown of the system's own.
LOCK = "shop.Till<b> at shop.Pay.pay"
PROFILE = ProcessProfile("shop", 60.0, 0, (), 0.0, (), 0, (), Collections(0, 0.0, 0.0))
ACCOUNT = TailAccount("Pay", 1_000, 100, 500, 10, 0, (), 0.0, 400.0)


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
    sentence = "p99 of Pay is 500 ms above p50: lock Till\\<b\\> at Pay.pay 500 (500 to 500), unexplained 0."
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
        ([of("Pay", 100, 900)], "Not known: the samples or the recordings of threads cannot be read"),
    ],
    ids=["no label", "few requests", "no tail", "no threads"],
)
def test_a_profiled_run_without_an_account_says_why(labels, said):
    assert tail_texts((), labels, (PROFILE,)) == [f"### Why the tail is slow\n\n{said}."]


@pytest.mark.parametrize(
    ("tails", "profiles", "unknown", "said"),
    [
        ((ACCOUNT,), (PROFILE,), (), None),
        (
            (replace(ACCOUNT, queue_is_known=False),),
            (PROFILE,),
            (),
            "Not in the account: waiting for a CPU, which only Linux records.",
        ),
        (
            (ACCOUNT,),
            (replace(PROFILE, virtual=VirtualThreads(5, 0.0, 0.0, "the JVM does not answer")),),
            [("cart", "the JVM refused to start a recording (Module jdk.jfr not found.)")],
            "Not in the account: cart (the JVM refused to start a recording (Module jdk.jfr not found.)); "
            "waits of virtual threads of shop (the JVM does not answer).",
        ),
        (
            (ACCOUNT,),
            (replace(PROFILE, no_agent=NO_AGENT),),
            [("gateway", NOT_A_JVM)],
            f"Not in the account: gateway (it is not a JVM); exact CPU times of shop ({NO_AGENT}).",
        ),
        (
            (),
            (),
            [("system", NO_JVM)],
            "### Why the tail is slow\n\nNot known: system (the system has no JVM that the harness started).",
        ),
    ],
    ids=["all", "not Linux", "virtual threads and a JVM without JFR", "a native image behind", "a native image"],
)
def test_what_no_account_can_have_is_said_with_the_reason(tails, profiles, unknown, said):
    texts = tail_texts(tails, [], profiles, unknown)
    assert texts[len(tails) :] == ([said] if said else [])


def test_of_a_system_elsewhere_an_attached_recording_has_pauses_but_no_account(tmp_path):
    """Neither is claimed to be why requests are slow, with the reason; 100 collections of 120 ms would be one."""
    directory = run_directory(tmp_path, replace(full_record(), unknown={"profile": (("system", NO_JVM),)}))
    rows = [f"{START_MS + 1_000 * second},shop,gc,,120,120,," for second in range(100)]
    (directory.path / RECORDED).write_text("\n".join((",".join(COLUMNS), *rows, "")), encoding="utf-8")
    write_report(directory)
    markdown = directory.report.read_text(encoding="utf-8")
    (pauses,) = (line for line in markdown.splitlines() if line.startswith("| shop |") and " 120 |" in line)
    assert "| 89 | 10680 | 120 | 12.14 |" in pauses
    assert "Why slow requests are slow is not known of them: waits of threads are read of JVMs that" in markdown
    assert "### Why the tail is slow\n\nNot known: system (the system has no JVM that the harness started)." in markdown
    assert "above p50" not in markdown


def test_a_server_whose_threads_are_unknown_has_an_account_of_what_is_known_without_them():
    samples = [
        Sample(1_000 * at, 10 if at % 40 else 310, "Pay", "200", "", "users 1-1", True, "", None, None, None)
        for at in range(200)
    ]
    stalls = [Stall(1_000 * at + 5, 1_000 * at + 295) for at in range(0, 200, 40)]
    for of_generator, said in ((stalls, "load generator stood still 290 (290 to 290)"), ((), "100 % is unexplained")):
        (found,) = tails_of(
            samples, (), IntervalMs(0, 1_000_000), {"shop": ThreadTimes()}, generator_stops((), of_generator, 0), 0
        )
        assert said in tail_sentence(found)
    assert tails_of(samples, (), IntervalMs(0, 1_000_000), {}, (), 0) == ()
