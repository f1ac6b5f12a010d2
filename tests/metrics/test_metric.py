"""The one list of metrics: what its entries say, and that one entry is enough for a new metric."""

import json
import subprocess
import sys

import jsonschema
import pytest

from harness.base.errors import UsageError
from harness.metrics.metric import METRICS, Table, compared_metrics, goal_metrics, metric_of, parse_metric, percentiles
from tests.support.paths import ROOT

# What p99.9 looks like in each part of the program, once it is in the list. All samples took 100, 101 or 102 ms.
SHOWN = {
    "progress": "| p90 7 ms | p99.9 7 ms",
    "load generators": "| p90 ms | p99.9 ms | errors % |",
    "table": "| p50 ms | p90 ms | p99.9 ms |",
    "table CSV": ",p90_ms,p95_ms,p99_ms,p99.9_ms,",
    "table JSON": '"99.9": 102',
    "report": "| p99.9 ≤ 90 ms | 102 ms | **missed** |",
    "schema": '"p99.9_ms": {"description": "Limit of the p99.9, ms"',
    "run JSON": '"p99.9_ms": 90',
    "comparison": "| TOTAL | p99.9 ms | 102 | 112 |",
    "comparison JSON": '"p99.9": 0.2',
    "history": "the p99.9",
    "history CSV": ",p99_ms,p99.9_ms,first_byte_p50_ms,first_byte_p95_ms,receiving_ms,messages_per_s,"
    "messages_sent_per_s,rows_per_s,sessions_per_s,session_ms,events_per_s,longest_gap_ms,received_bytes_per_s,error_ratio,metric,",
    "history JSON": '"p99.9_ms": 102',
    "sweep": "| p95 ms | p99.9 ms |",
    "sweep CSV": ",p95_ms,p99.9_ms,",
    "sweep JSON": '"p99.9_ms": 52',
    "summary": "| p90 ms | p99.9 ms | received B/s | errors % |",
    "site index": "p99.9 ms",
    "site comparison": "&#34;percentiles_ms&#34;, &#34;99.9&#34;",
    "suite": "--p99.9=500 p99.9",
    "nightly": "| TOTAL | p99.9 ms | WARNED | 500 | 1000 | +100.00 % | 10.00 % |",
    "nightly JSON": '"p99.9": 0.1',
    "acceptances": "2026-11-20,tiny,,,,p99.9,x",
    "goal of a plan": "'p99.9_ms': 700",
    "goal of a run": "'p99.9_ms': 800",
}

# The same of a metric that is no response time.
SHOWN_OF_RECEIVED = {
    "sweep": "| p99.9 ms | received B/s |",
    "sweep CSV": ",p99.9_ms,received_bytes_per_s,",
    "sweep JSON": '"received_bytes_per_s": 600.0',
    "nightly": "| req/s | average ms | p90 ms | p99.9 ms | received B/s | errors % |",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each part of the program wrote with p99.9 in all tables."""
    command = [sys.executable, "-m", "tests.support.added_metric", str(tmp_path_factory.mktemp("reports"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", SHOWN)
@pytest.mark.real
def test_one_entry_in_the_list_adds_a_metric_everywhere(outputs, part):
    assert SHOWN[part] in outputs[part]


@pytest.mark.parametrize("part", SHOWN_OF_RECEIVED)
@pytest.mark.real
def test_a_metric_that_is_no_response_time_is_shown_too(outputs, part):
    assert SHOWN_OF_RECEIVED[part] in outputs[part]


@pytest.mark.real
def test_every_output_is_checked(outputs):
    assert outputs.keys() == SHOWN.keys()


@pytest.mark.real
def test_the_json_of_a_run_with_an_added_goal_is_valid_against_the_schema(outputs):
    jsonschema.Draft202012Validator(json.loads(outputs["schema"])).validate(json.loads(outputs["run JSON"]))


def test_each_name_belongs_to_one_metric():
    names = [name for metric in METRICS for name in {metric.key, metric.name, metric.id, *metric.aliases}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["p90", "90", "p90_ms"])
def test_a_metric_is_found_by_every_spelling_in_files(name):
    assert metric_of(name) == parse_metric(name, "--metric") == metric_of("p90")


@pytest.mark.parametrize("name", ["p91", "p99.9"])
def test_a_metric_without_comparison_is_refused(name):
    with pytest.raises(UsageError, match=f"--metric {name}: no such metric"):
        parse_metric(name, "--metric")


def test_the_list_defines_compared_metrics_and_goals():
    assert [metric.name for metric in compared_metrics()] == [
        "average", "p50", "p75", "p90", "p95", "p99", "throughput", "errors", "first byte p50", "first byte p95",
        "receiving", "messages", "messages sent", "rows", "sessions", "session", "events", "longest gap",
    ]  # fmt: skip
    assert [metric.key for metric in goal_metrics()] == ["average_ms", "p90_ms", "error_ratio"]
    assert percentiles(Table.DEFAULT) == ("50", "90")
    assert percentiles() == ("50", "75", "90", "95", "99", "99.9")
