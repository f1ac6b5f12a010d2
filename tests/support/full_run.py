"""A run directory with everything that a run leaves, and what its report consists of."""

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from harness.run.directory import RunDirectory, json_text
from harness.system.own_metrics import answer_line, head_line
from harness.system.snapshots import STATEMENTS, SnapshotLines
from harness.system.system import OwnMetric
from tests.support.factories import record

START_MS = 1_700_000_000_000
HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,allThreads"
)
CHARTS = ("response-time", "throughput", "errors", "distribution", "cpu", "memory", "heap")
LOG = """INFO started
java.lang.IllegalStateException: no card 4711
\tat shop.Till.pay(Till.java:7)
Caused by: java.net.SocketTimeoutException: Read timed out
\tat java.net.Socket.read(Socket.java:1)
"""


@dataclass(frozen=True)
class _Row:
    """A sample that a user starts in a second of the run."""

    second: int
    user: int
    elapsed_ms: int = 900
    code: str = "201"
    failure: str = ""
    label: str = "Pay"
    thread: str = "Users"
    users: int = 2


def jtl_row(second, user, **changes):
    """Return a row of a JTL, without a failure by default; `changes` are fields of _Row."""
    row = _Row(second, user, **changes)
    success, message = ("false", "no") if row.failure else ("true", "Created")
    return (
        f"{START_MS + 1000 * second},{row.elapsed_ms},{row.label},{row.code},{message},{row.thread} 1-{user},"
        f"{success},{row.failure},300,100,{row.users}"
    )


def samples_of_100_s():
    """Two users, the second from second 10 on, one sample each a second; one error; setUp before, a step once."""
    rows = [jtl_row(-5, 1, label="Tenant", thread="setUp"), jtl_row(-3, 1, label="Tenant", thread="setUp", failure="x")]
    rows.append(jtl_row(0, 1, label="Create", users=1))
    for second in range(100):
        rows.append(jtl_row(second, 1, users=1 if second < 10 else 2))
        if second >= 10:
            is_bad = second == 43
            rows.append(jtl_row(second, 2, code="500" if is_bad else "202", failure="no card 4711" if is_bad else ""))
    return "\n".join([HEAD, *rows, "torn,row"])


def telemetry_of_100_s():
    rows = ["time_ms,process,cpu_cores,rss_bytes,thread_count,iowait_cores,runnable_threads"]
    for second in range(-5, 105):
        time_ms = START_MS + 1000 * second
        rows += [f"{time_ms},host,1.950,900000000,,0.050,3", f"{time_ms},jmeter,1.700,200000000,40,,"]
    return "\n".join(rows) + "\n"


def heap_of_100_s():
    rows = ["time_ms,process,used_bytes,committed_bytes,reserved_bytes"]
    for second in range(0, 100, 10):
        time_ms, mb = START_MS + 1000 * second, 1024**2
        rows += [
            f"{time_ms},shop,{300 * mb},{512 * mb},{1024 * mb}",
            f"{time_ms + 5},shop,{100 * mb},{512 * mb},{1024 * mb}",
        ]
    return "\n".join(rows) + "\n"


def add_profile(directory):
    """Add what a profiled run leaves: 200 samples of a method, a lock wait, an allocation, a statement, own metrics.

    A virtual thread lived for as long as a request took.
    """
    second = START_MS // 1000 + 50
    lines = [
        "P\tshop", "S\t0\tshop.Cart.sum;shop.Page.show", f"E\tcpu\t{second}\t0\t\t\t200\t0\t0",
        f"E\tlock\t{second}\t0\tshop.Till\tmain\t1\t5000000\t5000000",
        f"E\talloc\t{second}\t0\tbyte[]\t\t1\t1048576\t1048576", f"L\t7\t{second}000000\t{second}900000",
    ]  # fmt: skip
    (directory.path / "profile.tsv.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    (directory.system_logs / "statements-till.tsv").write_text("statement\tcount\ttotal_ms\nCOMMIT\t380\t95.0\n")
    metrics = [OwnMetric("in use", ()), OwnMetric("pauses", (), "ms", is_total=True)]
    answers = [answer_line(START_MS + 1000 * at_s, [at_s, 10 * at_s]) for at_s in (20, 40)]
    (directory.system_logs / "own-metrics-shop.jsonl").write_text("".join([head_line(metrics), *answers]))


def add_snapshots(directory):
    """Add what a run asks a database: 10 s before the load, 20 s and 60.5 s after its start, and after its end."""
    lines, head = SnapshotLines(), "statement\tcount\ttotal_ms\tlongest_ms"
    counts = ((-10_000, 0), (20_000, 40), (60_480, 202), (120_000, 380))
    texts = [
        lines.line(START_MS + at_ms, 20, {STATEMENTS: [head, f"COMMIT\t{count}\t{count / 4}\t9"]})
        for at_ms, count in counts
    ]
    (directory.system_logs / "snapshots-till.jsonl").write_text("".join(texts))


def add_histograms(directory):
    """Add what a soak leaves: two histograms of one class."""
    rows = ["moment process time_ms took_ms class instances bytes", f"start shop {START_MS} 200 shop.Cart 4 64"]
    rows += [f"end shop {START_MS + 100_000} 200 shop.Cart 9 144"]
    text = "\n".join([*rows, ""]).replace(" ", "\t")
    (directory.path / "histograms.tsv.gz").write_bytes(gzip.compress(text.encode()))


def full_record():
    return record(
        plan_notes=("A stand-in takes the bank's place.",),
        dump_figures=(("live threads", "63"),),
        exception_logs=("shop.log", "gone.log"),
        unknown={"heap": (("till", "the recording till.jfr is missing"),)},
        note="first try",
        took_s=106.0,  # setUp begins 5 s before the load
        ended_at="2026-01-01T00:01:46Z",
    )


def run_directory(folder: Path, run=None, samples=None):
    """Return a run directory with everything that a run leaves."""
    path = folder / "reports" / "tiny" / "run-01_1"
    (path / "system").mkdir(parents=True)
    for name, text in (
        ("run.json", json_text(run or full_record())),
        ("samples.jtl", samples_of_100_s() if samples is None else samples),
        ("telemetry.csv", telemetry_of_100_s()),
        ("heap.csv", heap_of_100_s()),
        ("system/shop.log", LOG),
    ):
        (path / name).write_text(text)
    return RunDirectory(path)


def files_of(directory):
    """The bytes of the report, its JSON and its charts, by name."""
    paths = [directory.report, directory.summary_json, *directory.path.glob("*.svg")]
    return {path.name: path.read_bytes() for path in paths}


def sections_of(markdown):
    """Return the titles of the sections and folded parts, in order."""
    return re.findall(r"^(?:## |<details><summary>)(.+?)(?:</summary>)?$", markdown, re.MULTILINE)
