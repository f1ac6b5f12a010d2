"""A receiver of OpenTelemetry data that is down, refuses or is slow: the run goes on, and what is lost is counted."""

import threading
import time

import pytest

from harness.base.ports import free_port
from harness.live.otlp.watcher import WAITING_MOST
from harness.run.record import DeliveryRecord
from tests.live.test_otlp import by_label, delivery_text, trace_id
from tests.support.factories import failed, sample
from tests.support.otlp_receiver import receiving


def test_a_receiver_that_is_down_costs_one_line_and_the_report_counts_what_is_lost(followed):
    began_s = time.monotonic()
    seconds = [(float(second), [failed(trace_id=trace_id(second))]) for second in range(12)]
    lines, run = followed(f"http://127.0.0.1:{free_port()}", *seconds)
    assert time.monotonic() - began_s < 3
    why = "connection refused"
    assert [line for line in lines if why in line] == [
        f"OTLP: {why}; the run goes on, and its report counts what was not delivered"
    ]
    assert run.otlp == DeliveryRecord(4, 4, 12, 12, why)
    assert delivery_text(run) == f"4 of 4 exports, 12 of 12 spans were not delivered: {why}"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"code": 401}, "HTTP 401 Unauthorized"),
        ({"code": 503}, "HTTP 503 Service Unavailable"),
        ({"code": 302}, "HTTP 302 Found"),
        ({"content_type": "text/html"}, "a web page answered, which is no receiver of OTLP"),
        ({"rejected": 2}, "the receiver rejected 2 values of v1/metrics"),
    ],
)
def test_a_receiver_that_refuses_is_named_with_its_reason(followed, changes, why):
    with receiving(**changes) as receiver:
        lines, run = followed(receiver.url, (0.0, [sample()]))
    assert len([line for line in lines if why in line]) == 1
    assert delivery_text(run) == f"2 of 2 exports were not delivered: {why}"


def test_an_answer_that_is_no_message_of_otlp_is_no_delivery(followed, monkeypatch):
    monkeypatch.setattr("tests.support.otlp_receiver.OtlpReceiver.answer", lambda *_: b"\xff\xff")
    with receiving() as receiver:
        _, run = followed(receiver.url, (0.0, [sample()]))
    assert delivery_text(run) == "2 of 2 exports were not delivered: the answer is not one of OTLP"


def test_a_receiver_that_rejects_spans_loses_these_alone(followed, monkeypatch):
    monkeypatch.setattr("harness.live.otlp.watcher.rejected_points", lambda _: 0)
    rows = [failed(trace_id=trace_id(number)) for number in range(5)]
    with receiving(rejected=2) as receiver:
        _, run = followed(receiver.url, (0.0, rows))
    why = "the receiver rejected 2 values of v1/traces"
    assert delivery_text(run) == f"0 of 2 exports, 2 of 5 spans were not delivered: {why}"


@pytest.mark.real
def test_a_slow_receiver_never_holds_the_run_up(followed, monkeypatch):
    monkeypatch.setattr("harness.live.otlp.receiver.TIMEOUT_S", 0.2)
    monkeypatch.setattr("harness.live.otlp.watcher.FLUSH_S", 0.3)
    seconds = [(5.0 * number, [sample()]) for number in range(WAITING_MOST + 5)]
    with receiving() as receiver:
        receiver.goes_on.clear()
        began_s = time.monotonic()
        lines, run = followed(receiver.url, *seconds)
        assert time.monotonic() - began_s < 2
    assert run.otlp.export_count == run.otlp.lost_export_count == len(seconds) + 1
    assert len([line for line in lines if "the run goes on" in line]) == 1


@pytest.mark.real
def test_a_receiver_that_was_slow_gets_the_last_counts_when_it_recovers(followed):
    with receiving() as receiver:
        receiver.goes_on.clear()
        recovers = threading.Timer(0.3, receiver.goes_on.set)
        recovers.start()
        _, run = followed(receiver.url, *((5.0 * number, [sample()]) for number in range(WAITING_MOST + 9)))
        recovers.join()
        assert by_label(receiver.last["loadtest.requests"])["Pay", "load", "request"].as_int == WAITING_MOST + 9
    assert 0 < run.otlp.lost_export_count < run.otlp.export_count
    assert run.otlp.problem == "the receiver is too slow"
