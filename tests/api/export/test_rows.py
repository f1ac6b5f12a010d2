"""The tables of an export."""

from harness.api.export.rows import HISTOGRAM_COLUMNS, SECOND_COLUMNS, histogram_rows, second_rows
from harness.metrics.label_seconds import LabelSeconds
from tests.support.factories import failed, sample

TRANSACTION = "Number of samples in transaction : 1, …"


def seconds_of(*samples):
    counted = LabelSeconds(["Create"])
    for one in samples:
        counted.add(one)
    return counted.sort()


def rows_of(seconds):
    names = [name for name, _ in SECOND_COLUMNS]
    return [dict(zip(names, row, strict=True)) for row in second_rows(seconds)]


def test_a_row_has_the_counts_and_the_percentiles_of_its_second():
    samples = [sample("Pay", ms, 1_000_000, all_threads=3) for ms in range(1, 101)]
    row, total = rows_of(seconds_of(*samples, failed("Pay", elapsed_ms=2_000, start_ms=998_500)))
    assert row == {
        "time_s": 1000, "group": "load", "label": "Pay", "kind": "request", "active_users": 3,
        "sample_count": 101, "error_count": 1, "min_ms": 1,
        # JMeter's rule: rank max(1, ⌊n·p + 0.5⌋) of 101 values. 5050 + 2000 = 7050 ms in all.
        "average_ms": 7050 / 101, "p50_ms": 51, "p75_ms": 76, "p90_ms": 91, "p95_ms": 96, "p99_ms": 100,
        "p99.9_ms": 2000, "max_ms": 2000, "received_bytes": 30300, "sent_bytes": 10100,
    }  # fmt: skip
    assert total == {**row, "label": "TOTAL", "kind": "total"}


def test_total_has_the_requests_of_the_load_and_the_percentiles_of_all_of_them():
    rows = rows_of(
        seconds_of(
            sample("A", 10, 1_000), sample("B", 20, 1_000), sample("B", 30, 1_000),
            sample("Create", 500, 1_000), sample("Tenant", 500, 1_000, thread_name="setUp 1-1"),
            sample("Buy", 60, 1_000, message=TRANSACTION),
        )
    )  # fmt: skip
    assert [(row["group"], row["label"], row["kind"]) for row in rows] == [
        ("load", "A", "request"), ("load", "B", "request"), ("once", "Create", "request"),
        ("setUp", "Tenant", "request"), ("load", "Buy", "transaction"), ("load", "TOTAL", "total"),
    ]  # fmt: skip
    total = rows[-1]
    requests = [row["sample_count"] for row in rows if (row["group"], row["kind"]) == ("load", "request")]
    assert sum(requests) == total["sample_count"]  # TOTAL is none of them
    assert (total["sample_count"], total["p50_ms"], total["max_ms"], total["average_ms"]) == (3, 20, 30, 20.0)


def test_total_of_a_load_of_transactions_alone_has_these():
    rows = rows_of(seconds_of(sample("Buy", 60, 1_000, message=TRANSACTION)))
    assert [(row["label"], row["sample_count"]) for row in rows] == [("Buy", 1), ("TOTAL", 1)]


def test_a_row_of_the_histograms_is_how_many_samples_of_a_second_had_a_response_time():
    rows = list(histogram_rows(seconds_of(*(sample("Pay", ms, 1_000) for ms in (5, 7, 5)), sample("Pay", 9, 4_000))))
    assert [name for name, _ in HISTOGRAM_COLUMNS] == ["time_s", "group", "label", "kind", "elapsed_ms", "sample_count"]
    assert rows == [
        (1, "load", "Pay", "request", 5, 2), (1, "load", "Pay", "request", 7, 1), (4, "load", "Pay", "request", 9, 1),
    ]  # fmt: skip
