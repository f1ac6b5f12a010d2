"""What a process publishes of itself: read from its JSON during the load, and summed up over the window."""

import json
import re
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.errors import UsageError
from harness.report.machine import own_metrics_text
from harness.system.manifest import load_manifest
from harness.system.own_metrics import (
    OwnMetrics,
    OwnMetricUse,
    answer_line,
    head_line,
    read_own_metrics,
    sources_elsewhere,
    values_of,
)
from harness.system.own_metrics_files import OwnMetricsWriter, answering, own_metrics
from harness.system.system import MetricsSource, OwnMetric
from tests.support.local_server import Dripping, serving
from tests.support.paths import ROOT

pytestmark = pytest.mark.real  # seconds of CPU

IN_USE = OwnMetric("connections in use", ("gauges", "pool.Active", "value"))
PAUSES = OwnMetric("pauses", ("gauges", "gc.*.time", "value"), "ms", is_total=True)
SPACE = OwnMetric("Metaspace", ("gauges", "space", "value"), "bytes")
METRICS = (IN_USE, PAUSES, SPACE)
# Two answers of a KillBill 0.22.26, before and after 30 s with 4 users, without what no test needs.
KILLBILL = json.loads((ROOT / "tests" / "data" / "killbill_metrics.json").read_text())


def document(active=3, pauses=(10, 5)):
    collectors = {f"gc.{number}.time": {"value": value} for number, value in enumerate(pauses)}
    return {"gauges": {"pool.Active": {"value": active}, "gc.0.count": {"value": 99}, **collectors}}


def test_the_numbers_that_a_wildcard_finds_are_added_up():
    assert values_of(document(), METRICS) == [3, 15, None]


@pytest.mark.parametrize("value", ["3", True, None, {"value": 3}, [3], float("nan")])
def test_what_is_no_number_is_unknown(value):
    assert values_of({"gauges": {"pool.Active": {"value": value}}}, [IN_USE]) == [None]


@pytest.mark.parametrize("other", [[], "text", 7, None, {"gauges": []}])
def test_another_document_has_none_of_the_metrics(other):
    assert values_of(other, METRICS) == [None, None, None]


def lines(*answers):
    return [head_line(METRICS), *(answer_line(time_ms, values) for time_ms, values in answers)]


def test_a_level_has_mean_and_range_and_a_total_its_growth_within_the_window():
    found = read_own_metrics(
        "shop",
        lines(
            (900, [90, 0, None]),
            (1_000, [2, 100, None]),
            (2_000, [8, 140, None]),
            (3_000, [5, 160, None]),
            (4_100, [90, 9_000, None]),
        ),
        1_000,
        4_000,
    )
    assert found == OwnMetrics(
        "shop",
        3,
        (OwnMetricUse("connections in use", "", 5.0, 2, 8), OwnMetricUse("pauses", "ms", 30.0, growth=60.0)),
    )


def test_a_total_that_began_again_and_one_with_a_single_answer_have_no_growth():
    again = read_own_metrics("shop", lines((1_000, [2, 100, None]), (2_000, [2, 40, None])), 0, 10_000)
    single = read_own_metrics("shop", lines((1_000, [2, 100, None]), (2_000, [2, None, None])), 0, 10_000)
    assert [use.name for found in (again, single) for use in found.metrics] == ["connections in use"] * 2


@pytest.mark.parametrize("torn", ['{"time_ms": 2000, "val', "", "7\n", "[]\n", '{"time_ms": 2000}\n'])
def test_a_line_that_a_killed_harness_left_incomplete_is_skipped(torn):
    found = read_own_metrics("shop", [*lines((1_000, [2, 100, 7])), torn], 0, 10_000)
    assert (found.answer_count, [use.mean for use in found.metrics]) == (1, [2, 7])


def test_the_table_has_each_value_in_its_unit_and_notes_when_there_was_no_answer():
    answers = ((1_000, [2, 100, 100 * 1024**2]), (3_000, [3, 103, 101 * 1024**2]))
    text = own_metrics_text(read_own_metrics("shop", lines(*answers), 0, 10_000))
    assert text.splitlines()[-3:] == [
        "| connections in use |  | 2.5 | 2-3 |  |  |",
        "| pauses | ms |  |  | 1.50 | 3.00 |",
        "| Metaspace | MB | 100.5 | 100.0-101.0 |  |  |",
    ]
    none = own_metrics_text(read_own_metrics("shop", lines(*answers), 5_000, 6_000))
    assert none == "### shop\n\nNot known: no answer in the measurement window."


class Publisher(BaseHTTPRequestHandler):
    """Publishes metrics, the same ones each time."""

    body = b""

    def do_GET(self) -> None:
        """Answer with `body`."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_process_is_read_while_the_load_runs_and_its_answers_are_stored(tmp_path):
    with serving(Publisher, body=json.dumps(document()).encode()) as port:
        source = MetricsSource(f"http://127.0.0.1:{port}/metrics", METRICS)
        with OwnMetricsWriter(tmp_path / "system", {"shop": source}) as writer:
            pass
    assert writer.problems == []
    (found,) = own_metrics(tmp_path / "system", 0, 2**53)
    assert (found.process, found.answer_count) == ("shop", 1)
    assert found.metrics == (OwnMetricUse("connections in use", "", 3.0, 3, 3),)


@pytest.mark.parametrize("body", [b"", b"<html>", b"{"])
def test_a_process_that_answers_with_something_else_is_named(tmp_path, body):
    with serving(Publisher, body=body) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        with OwnMetricsWriter(tmp_path / "system", {"shop": MetricsSource(url, METRICS)}) as writer:
            pass
    assert writer.problems == [("shop", f"{url} does not answer with JSON")]
    assert own_metrics(tmp_path / "system", 0, 2**53) == (OwnMetrics("shop", 0, ()),)


def test_a_process_that_does_not_answer_is_named(tmp_path):
    with serving(Publisher) as port:
        pass
    source = MetricsSource(f"http://127.0.0.1:{port}/metrics", METRICS)
    with OwnMetricsWriter(tmp_path / "system", {"shop": source}) as writer:
        pass
    ((process, why),) = writer.problems
    assert (process, "Connection refused" in why) == ("shop", True)


def test_a_process_whose_answer_drips_holds_up_neither_start_nor_end(tmp_path):
    with serving(Dripping) as port:
        began_s = time.monotonic()
        sources = {"shop": MetricsSource(f"http://127.0.0.1:{port}/metrics", METRICS)}
        assert answering(sources) == {}
        with OwnMetricsWriter(tmp_path / "system", sources) as writer:
            pass
        assert time.monotonic() - began_s < 8
    ((process, why),) = writer.problems
    assert (process, "its answer is not complete after 2 s" in why) == ("shop", True)


def test_a_system_without_metrics_leaves_no_file(tmp_path):
    with OwnMetricsWriter(tmp_path / "system", {}):
        pass
    assert own_metrics(tmp_path / "system", 0, 2**53) == ()
    assert list(tmp_path.iterdir()) == []


def killbill_metrics():
    (process,) = (one for one in load_manifest(ROOT / "systems" / "killbill").processes if one.metrics)
    return process.metrics.metrics


def test_every_metric_of_the_manifest_is_in_the_answers_of_a_real_killbill():
    metrics = killbill_metrics()
    for answer in KILLBILL["answers"]:
        values = values_of(answer, metrics)
        assert [metric.name for metric, value in zip(metrics, values, strict=True) if value is None] == []


def test_the_report_of_a_killbill_has_the_growth_between_its_answers():
    metrics = killbill_metrics()
    answers = [answer_line(1_000 + 30_000 * at, values_of(one, metrics)) for at, one in enumerate(KILLBILL["answers"])]
    text = own_metrics_text(read_own_metrics("killbill", [head_line(metrics), *answers], 0, 60_000))
    before, after = (one["meters"] for one in KILLBILL["answers"])
    name = "com.codahale.metrics.servlet.InstrumentedFilter.responseCodes.created"
    created = after[name]["count"] - before[name]["count"]
    assert created > 0
    assert f"| responses 201 |  |  |  | {round(created / 30, 2)} | {created} |" in text
    # Dropwizard's timers are in seconds.
    assert re.search(r"\| main pool: wait for a connection, mean \| ms \| 0\.\d\d \| 0\.\d\d-0\.\d\d \|", text)


MANIFEST = """format_version = 1
title = "Shop"
target = "http://127.0.0.1:{{ ports.http }}"
[ports]
http = 0
[[process]]
name = "shop"
command = ["shop"]
[process.metrics]
url = "http://127.0.0.1:{{ ports.http }}/metrics"
values = [{ name = "pauses", path = ["gauges", "gc.*.time"], unit = "ms", total = true }]
"""


def manifest_of(folder, text):
    (folder / "shop").mkdir()
    (folder / "shop" / "system.toml").write_text(text)
    return load_manifest(folder / "shop")


def test_a_manifest_names_the_metrics_of_a_process(tmp_path):
    (process,) = manifest_of(tmp_path, MANIFEST).processes
    expected = OwnMetric("pauses", ("gauges", "gc.*.time"), "ms", is_total=True)
    assert process.metrics == MetricsSource("http://127.0.0.1:{{ ports.http }}/metrics", (expected,))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("path = ", "paths = ", "paths"),
        ('unit = "ms"', 'unit = "h"', "[[process]] shop metrics values pauses: unit = 'h'; give one of s, ms, bytes"),
        ('path = ["gauges", "gc.*.time"]', "path = []", "[[process]] shop metrics values pauses: path is empty"),
        ('name = "pauses", ', "", "[[process]] shop metrics values: name is missing"),
        ('url = "http://127.0.0.1:{{ ports.http }}/metrics"\n', "", "[[process]] shop metrics: url is missing"),
    ],
)
def test_a_wrong_key_of_the_metrics_is_refused(tmp_path, old, new, what):
    with pytest.raises(UsageError) as error:
        manifest_of(tmp_path, MANIFEST.replace(old, new))
    assert what in f"{error.value.what}; {error.value.todo}"


def test_a_system_that_runs_elsewhere_publishes_its_metrics_below_its_address():
    manifest = load_manifest(ROOT / "systems" / "killbill")
    (source,) = sources_elsewhere(manifest, "https://pay.lab:8443/kb/").values()
    assert source.url == "https://pay.lab:8443/kb/1.0/metrics"
    assert source.metrics == killbill_metrics()
    assert sources_elsewhere(replace(manifest, target="http://127.0.0.1:1"), "http://pay.lab") == {}


class Redirects(BaseHTTPRequestHandler):
    """Sends every client to another address."""

    to = ""

    def do_GET(self) -> None:
        """Redirect."""
        self.send_response(302)
        self.send_header("Location", self.to)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_only_a_system_that_publishes_the_metrics_itself_is_read():
    with (
        serving(Publisher, body=json.dumps(document()).encode()) as good,
        serving(Publisher, body=b'{"other": 1}') as other,
        serving(Redirects, to=f"http://127.0.0.1:{good}/metrics") as away,
    ):
        ports = {"good": good, "other": other, "away": away}
        sources = {name: MetricsSource(f"http://127.0.0.1:{port}/metrics", METRICS) for name, port in ports.items()}
        assert answering(sources) == {"good": sources["good"]}
