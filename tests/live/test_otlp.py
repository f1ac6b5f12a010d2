"""What a receiver of OpenTelemetry data gets of a run, and what the report has when it does not."""

import json
import threading
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness import __version__
from harness.base.errors import UsageError
from harness.base.interrupts import Interrupts
from harness.base.records import build, to_plain
from harness.live.otlp.messages import bucket_index
from harness.live.otlp.receiver import HEADERS_VARIABLE, HISTOGRAM_VARIABLE, NotDeliveredError, receiver_at
from harness.live.otlp.watcher import SPANS_PER_S, OtlpRuns
from harness.live.watchers import watcher_options
from harness.report.setup import setup_lines
from harness.run.directory import RunDirectory
from harness.run.record import DeliveryRecord, RunRecord
from tests.support.collector import collecting
from tests.support.factories import failed, record, sample
from tests.support.local_server import Dripping, serving
from tests.support.otlp_receiver import attributes, receiving
from tests.support.processes import becomes

MESSAGE = "Number of samples in transaction : 2, number of failing samples : 0"
SECRET = "s3cr3t-of-the-shop"


def trace_id(number):
    return f"{number + 1:032x}"


def delivery_text(run):
    return dict(setup_lines(run))["--otlp"]


def by_label(metric):
    """The points of a metric by (label, group, kind); all are of one run."""
    points = getattr(metric, metric.WhichOneof("data")).data_points
    assert len({attributes(point)["run"] for point in points}) == 1
    return {tuple(value for name, value in attributes(point).items() if name != "run"): point for point in points}


@pytest.fixture(params=["direct", pytest.param("collector", marks=pytest.mark.counterpart)])
def through(request):
    """What is between a run and the receiver at an address: nothing, or a real collector that sends on what it gets."""
    return {"direct": nullcontext, "collector": collecting}[request.param]


def test_the_last_metrics_have_exactly_the_counts_of_all_samples(followed, through):
    values_ms = [0, 1, 7, 7, 100, 125, 1000, 1001, 60_000]
    seconds = [
        (0.0, [sample(elapsed_ms=ms, all_threads=3) for ms in values_ms[:4]]),
        (1.0, [sample(elapsed_ms=ms, all_threads=3) for ms in values_ms[4:]]),
        (
            9.0,
            [failed("Pay", elapsed_ms=50, all_threads=4), sample("Log in", 20), sample("Visit", 70, message=MESSAGE)],
        ),
    ]
    with receiving() as receiver, through(receiver.url) as url:
        _, run = followed(url, *seconds)
    times = by_label(receiver.last["loadtest.response_time"])
    assert times.keys() == {("Pay", "load", "request"), ("Log in", "once", "request"), ("Visit", "load", "transaction")}
    pay = times["Pay", "load", "request"]
    assert (pay.count, pay.zero_count, pay.min, pay.max) == (10, 1, 0.0, 60.0)
    assert pay.sum == pytest.approx((sum(values_ms) + 50) / 1000, rel=1e-12)
    found = {pay.positive.offset + index: count for index, count in enumerate(pay.positive.bucket_counts) if count}
    assert pay.scale == 5
    # 7 ms is twice there; 1000 ms and 1001 ms are in different buckets, because 1 s is the upper bound of its own.
    expected = {bucket_index(ms): values_ms.count(ms) + (ms == 50) for ms in [*values_ms[1:], 50]}
    assert found == expected
    assert sum(found.values()) == 9
    errors = by_label(receiver.last["loadtest.errors"])
    assert {key: point.as_int for key, point in errors.items()} == {key: int(key[0] == "Pay") for key in times}
    requests = by_label(receiver.last["loadtest.requests"])
    assert requests["Pay", "load", "request"].as_int == 10
    assert by_label(receiver.last["loadtest.error_causes"])["Pay", "402", "expected 201"].as_int == 1
    # At the start, after 9 s, and at the end.
    assert run.otlp == DeliveryRecord(3, 0, 0, 0, "")
    assert delivery_text(run) == "3 exports delivered"


def test_counts_are_cumulative_and_rise_from_one_start(followed):
    with receiving() as receiver:
        followed(receiver.url, (0.0, [sample()]), (5.0, [sample()]), (6.0, [sample()]))
    points = []
    for _, request in receiver.requests:
        metrics = {one.name: one for one in request.resource_metrics[0].scope_metrics[0].metrics}
        assert metrics["loadtest.requests"].sum.is_monotonic
        assert metrics["loadtest.response_time"].exponential_histogram.aggregation_temporality == 2  # cumulative
        points.append(metrics["loadtest.requests"].sum.data_points[0])
    assert [point.as_int for point in points] == [1, 2, 3]
    assert len({point.start_time_unix_nano for point in points}) == 1
    assert points[0].start_time_unix_nano <= points[0].time_unix_nano < points[2].time_unix_nano


def test_users_are_those_of_all_generators_and_none_at_the_end(followed):
    samples = [sample(thread_name=f"10.0.0.{number}:1099-Users 1-1", all_threads=4000) for number in (7, 8, 9)]
    with receiving() as receiver:
        followed(receiver.url, (0.0, samples))
    users = [
        next(one for one in request.resource_metrics[0].scope_metrics[0].metrics if one.name == "loadtest.active_users")
        for _, request in receiver.requests
    ]
    assert [one.gauge.data_points[0].as_int for one in users] == [12_000, 0]


def test_cpu_time_and_memory_of_processes_are_those_of_the_telemetry(followed, directory):
    (directory.path / "telemetry.csv").write_text(
        "time_ms,process,cpu_cores,rss_bytes,thread_count\n"
        "1000,jmeter,0.5,1000,9\n1000,web,1.5,2000,9\n2000,jmeter,0.25,3000,9\n2000,web,1.0,4000,9\n"
    )
    with receiving() as receiver:
        followed(receiver.url)
    cpu = by_label(receiver.last["loadtest.process_cpu"])
    assert {name: point.as_double for (name,), point in cpu.items()} == {"jmeter": 0.75, "web": 2.5}
    memory = receiver.last["loadtest.process_resident_memory"]
    assert memory.unit == "By"
    assert {name: point.as_int for (name,), point in by_label(memory).items()} == {"jmeter": 3000, "web": 4000}


def test_the_resource_names_the_run_and_the_environment_may_change_it(followed, monkeypatch):
    with receiving() as receiver:
        followed(receiver.url)
    about = receiver.resource
    assert about["service.name"] == "load-test"
    assert about["loadtest.run"] == about["service.instance.id"] == "tiny/run-01_1"
    assert about["loadtest.plan"] == "tiny"
    assert about["deployment.environment.name"] == "local"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=checkout")
    with receiving() as receiver:
        followed(receiver.url)
    assert receiver.resource["service.name"] == "nightly"
    assert receiver.resource["team"] == "checkout"


def test_a_failed_request_has_a_span_with_the_ids_of_its_header(followed):
    one = failed("Pay", code="500", failure=f"no {SECRET}", trace_id="0af7651916cd43dd8448eb211c80319c", elapsed_ms=250)
    fine = sample(trace_id=trace_id(1))
    with receiving() as receiver:
        _, run = followed(receiver.url, (0.0, [fine, one]), hidden=(SECRET,))
    ((resource, span),) = receiver.spans
    assert attributes(resource)["loadtest.run"] == "tiny/run-01_1"
    assert span.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert span.span_id.hex() == "0af7651916cd43dd"
    assert not span.parent_span_id
    assert (span.name, span.kind) == ("Pay", 3)  # a client's
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (1_000_000 * 10**6, 1_000_250 * 10**6)
    assert attributes(span) == {
        "thread.name": "Users 1-1", "http.response.status_code": 500, "error.type": "500",
    }  # fmt: skip
    assert (span.status.code, span.status.message) == (2, "no •••")
    assert run.otlp == DeliveryRecord(2, 0, 1, 0, "")
    assert delivery_text(run) == "2 exports and 1 span delivered"


def test_the_span_of_a_request_without_an_answer_says_why_and_not_what_the_plan_asserted(followed):
    message = "Non HTTP response message: Read timed out"
    one = failed(code="Non HTTP response code: X", message=message, failure="expected 200", trace_id=trace_id(1))
    with receiving() as receiver:
        followed(receiver.url, (0.0, [one]))
    ((_, span),) = receiver.spans
    assert span.status.message == message


def test_a_request_slower_than_the_p99_of_its_label_has_a_span_once_100_are_known(followed):
    def at(second, *times_ms):
        return [sample(elapsed_ms=ms, trace_id=trace_id(1000 * second + n)) for n, ms in enumerate(times_ms)]

    with receiving() as receiver:
        followed(
            receiver.url,
            (0.0, at(1, *range(1, 100), 900)),  # nothing is known to be slow yet
            (5.0, at(2, 5, 98, 99)),  # the p99 of the first 100 is 99 ms
            (6.0, [*at(3, 100, 99), sample("Other", 5000, trace_id=trace_id(9999))]),
            (7.0, [sample(elapsed_ms=700, message=MESSAGE)]),  # a transaction has no trace id
        )
    assert [(span.end_time_unix_nano - span.start_time_unix_nano) / 10**6 for _, span in receiver.spans] == [100]
    assert receiver.spans[0][1].status.code == 0


def test_spans_per_second_are_bounded_and_those_left_out_are_counted(followed):
    slow_or_failed = [failed(elapsed_ms=ms, trace_id=trace_id(ms)) for ms in range(1, SPANS_PER_S + 6)]
    with receiving() as receiver:
        _, run = followed(receiver.url, (0.0, slow_or_failed))
    lengths = [(span.end_time_unix_nano - span.start_time_unix_nano) // 10**6 for _, span in receiver.spans]
    assert lengths == [*range(SPANS_PER_S + 5, 5, -1)]  # the slowest ones
    assert delivery_text(run) == "2 exports and 10 spans delivered; 5 more slow or failed requests without a span"


def test_a_redirect_whose_rows_share_an_id_has_one_span(followed):
    rows = [
        failed("Moved", elapsed_ms=30, trace_id=trace_id(1)),
        failed("Moved-1", elapsed_ms=20, trace_id=trace_id(1)),
    ]
    with receiving() as receiver:
        followed(receiver.url, (0.0, rows))
    assert [span.name for _, span in receiver.spans] == ["Moved"]


def test_a_row_that_cannot_be_counted_ends_the_sending_and_not_the_run(followed):
    with receiving() as receiver:
        lines, run = followed(receiver.url, (0.0, [sample()]), (5.0, [sample(sample_count=0)]), (10.0, [sample()]))
        assert by_label(receiver.last["loadtest.requests"])["Pay", "load", "request"].as_int == 1
    assert len([line for line in lines if "the run goes on" in line]) == 1
    text = delivery_text(run)
    assert text.startswith("1 of 2 exports were not delivered: an error of the harness (ZeroDivisionError(")


@pytest.mark.real
def test_a_receiver_whose_answer_drips_has_not_answered():
    with serving(Dripping) as port, pytest.raises(NotDeliveredError, match="no answer within 2 s"):
        receiver_at(f"http://127.0.0.1:{port}").post("v1/metrics", b"")


def test_runs_of_a_series_have_counts_a_resource_and_a_delivery_of_their_own(directory):
    lines, plan = [], SimpleNamespace(once_labels=())
    spec = SimpleNamespace(plan=plan, hidden=(), is_traced=False, profile=SimpleNamespace(name="local"))
    second = RunDirectory(directory.path.with_name("run-01_2"))
    second.path.mkdir()
    second.write_run(record(name="run-01_2"))
    with receiving() as receiver, OtlpRuns(receiver_at(receiver.url), lines.append) as otlp:
        otlp.begin(directory, spec)
        otlp.add([sample(sample_count=0)], 0.0)  # it cannot be counted: the next run can
        otlp.finish()
        otlp.add([sample()], 1.0)  # of no run
        otlp.begin(second, spec)
        otlp.add([sample(), sample()], 0.0)
        otlp.finish()
    assert receiver.resource["loadtest.run"] == "tiny/run-01_2"
    assert by_label(receiver.last["loadtest.requests"])["Pay", "load", "request"].as_int == 2
    delivered = [one.read_run().otlp for one in (directory, second)]
    assert [(one.export_count, one.lost_export_count) for one in delivered] == [(1, 1), (2, 0)]
    assert [line for line in lines if "go to" in line] == [f"OTLP: metrics go to {receiver.url} every 5 s"]


def test_a_run_that_measured_nothing_leaves_no_thread(directory):
    def threads():
        return [thread for thread in threading.enumerate() if thread.name == "otlp"]

    plan = SimpleNamespace(once_labels=())
    spec = SimpleNamespace(plan=plan, hidden=(), is_traced=False, profile=SimpleNamespace(name="local"))
    with receiving() as receiver, OtlpRuns(receiver_at(receiver.url), lambda _: None) as otlp:
        otlp.begin(directory, spec)
    becomes(threads, [])


def test_headers_of_the_environment_are_sent_and_never_printed(followed, monkeypatch):
    monkeypatch.setenv(HEADERS_VARIABLE, f"Authorization=Bearer%20{SECRET}, api-key={SECRET}=")
    with receiving() as receiver:
        lines, _ = followed(receiver.url, (0.0, [sample()]))
    assert receiver.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert receiver.headers[0]["Api-key"] == f"{SECRET}="
    assert receiver.headers[0]["Content-Type"] == "application/x-protobuf"
    with receiving(code=403) as receiver:
        more, _ = followed(receiver.url, (0.0, [sample()]))
    assert SECRET not in repr([*lines, *more, receiver_at("http://127.0.0.1:4318")])


def test_the_kind_of_histograms_is_that_of_the_environment(monkeypatch):
    assert not receiver_at("http://127.0.0.1:4318").takes_explicit
    monkeypatch.setenv(HISTOGRAM_VARIABLE, "explicit_bucket_histogram")
    assert receiver_at("http://127.0.0.1:4318").takes_explicit
    monkeypatch.setenv(HISTOGRAM_VARIABLE, "exponential")
    with pytest.raises(UsageError, match=HISTOGRAM_VARIABLE):
        receiver_at("http://127.0.0.1:4318")


@pytest.mark.parametrize("text", [SECRET, f"Bearer {SECRET}", f"a b={SECRET}", f"api-key={SECRET}%0Ax", f"=,{SECRET}"])
def test_wrong_headers_are_refused_without_their_values(monkeypatch, text):
    monkeypatch.setenv(HEADERS_VARIABLE, text)
    with pytest.raises(UsageError) as error:
        receiver_at("http://127.0.0.1:4318")
    assert HEADERS_VARIABLE in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("localhost:4318", "--otlp=localhost:4318: not an http or https address; give --otlp=http://127.0.0.1:4318"),
        ("grpc://127.0.0.1:4317", "--otlp=grpc://127.0.0.1:4317: not an http or https address"),
        (f"http://bob:{SECRET}@127.0.0.1:4318", "--otlp=http://…@127.0.0.1:4318: only scheme, host, port and path"),
        ("http://127.0.0.1:99999", "--otlp=http://127.0.0.1:99999: not an address"),
    ],
)
def test_a_malformed_address_is_one_line_and_the_run_goes_on(directory, capsys, address, line):
    options = watcher_options(Namespace(live=None, metrics=None, otlp=address))
    text = capsys.readouterr().out
    assert line in text
    assert text.endswith("; nothing is sent, the run goes on\n")
    assert len(text.splitlines()) == 1
    with Interrupts() as interrupts, options.open(interrupts) as watchers:
        watchers.begin(directory, SimpleNamespace())
        watchers.add([sample()], 1.0)
        watchers.finish()
    delivered = delivery_text(directory.read_run())
    assert delivered.startswith(f"nothing was sent: {line.partition(';')[0]}")
    assert SECRET not in text + delivered


def test_counts_have_units_and_messages_name_what_made_them(followed):
    one = failed("Pay", trace_id="0af7651916cd43dd8448eb211c80319c")
    with receiving() as receiver:
        followed(receiver.url, (0.0, [one]))
    # https://opentelemetry.io/docs/specs/semconv/general/metrics/#instrument-units: counts have singular annotations
    assert {name: metric.unit for name, metric in receiver.last.items() if metric.unit.startswith("{")} == {
        "loadtest.requests": "{request}",
        "loadtest.errors": "{request}",
        "loadtest.error_causes": "{request}",
        "loadtest.active_users": "{user}",
        "loadtest.run_info": "{run}",
    }
    assert all(metric.unit for metric in receiver.last.values())
    about = receiver.resource
    assert [about[f"telemetry.sdk.{name}"] for name in ("name", "language", "version")] == [
        "load-test-harness", "python", __version__,
    ]  # fmt: skip
    requests = [request for _, request in receiver.requests]
    scopes = {
        (scope.scope.name, scope.scope.version)
        for request in requests
        for resource in (request.resource_spans if hasattr(request, "resource_spans") else request.resource_metrics)
        for scope in (resource.scope_spans if hasattr(resource, "scope_spans") else resource.scope_metrics)
    }
    assert scopes == {("load-test-harness", __version__)}
    assert len(receiver.spans) == 1
    assert {headers["Content-Encoding"] for headers in receiver.headers} == {"gzip"}


def test_a_path_of_the_address_stays_before_that_of_the_signal(followed):
    with receiving(prefix="/api/otlp") as receiver:
        _, run = followed(f"{receiver.url}/api/otlp/", (0.0, [sample()]))
    assert delivery_text(run) == "2 exports delivered"
    assert "loadtest.requests" in receiver.last


def test_a_run_of_before_this_version_is_read_and_its_report_has_no_line():
    data = json.loads(json.dumps(to_plain(record())))
    del data["otlp"]
    old = build(RunRecord, data)
    assert old.otlp is None
    assert "--otlp" not in dict(setup_lines(old))
    delivered = replace(old, otlp=DeliveryRecord(1, 0, 1, 0, ""))
    assert build(RunRecord, json.loads(json.dumps(to_plain(delivered)))) == delivered
    assert dict(setup_lines(delivered))["--otlp"] == "1 export and 1 span delivered"
