"""The comparison with other load test tools: response times by packets, and the tables."""

import os
import socket
import struct
import threading
import time

import pytest

from bench.runs.load_tools import TOOLS, Stated
from bench.runs.tools import Measured, Speed, p99_ms, speeds_table, stated_table
from bench.runs.wire import Exchange, Packet, Wire, exchanges_of, packet_of

_PORT = 8080


def packet(from_port, to_port, data):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
    return head + struct.pack("!HHIIBBHHH", from_port, to_port, 0, 0, 5 << 4, 0, 0, 0, 0) + data


def test_packets_with_data_are_requests_or_responses_and_others_are_left_out():
    assert packet_of(packet(40_000, _PORT, b"GET /"), 7, _PORT) == Packet(7, 40_000, is_request=True)
    assert packet_of(packet(_PORT, 40_000, b"HTTP"), 8, _PORT) == Packet(8, 40_000, is_request=False)
    assert packet_of(packet(_PORT, 40_000, b""), 9, _PORT) is None


def test_an_exchange_ends_with_the_last_packet_of_its_response():
    times = [(0, 1, True), (1, 2, True), (5, 1, False), (9, 1, False), (10, 2, False), (11, 1, True), (14, 1, False)]
    packets = [Packet(ms * 1_000_000, client, is_request) for ms, client, is_request in times]
    assert exchanges_of(packets) == [Exchange(0, 9), Exchange(1_000_000, 9), Exchange(11_000_000, 3)]


def test_a_request_without_a_response_and_a_response_without_a_request_are_no_exchanges():
    assert exchanges_of([Packet(1, 1, is_request=False), Packet(2, 2, is_request=True)]) == []


@pytest.mark.parametrize(("count", "expected"), [(100, 99), (101, 100), (1, 1)])
def test_the_p99_is_the_least_time_that_99_percent_do_not_exceed(count, expected):
    assert p99_ms([Exchange(0, float(ms)) for ms in range(count, 0, -1)]) == expected


def test_without_packets_the_p99_is_unknown():
    assert p99_ms([]) is None


def test_the_tables_have_medians_the_error_of_the_p99_and_tools_that_are_not_here():
    speeds = {level: [Speed(rate, 10.0, 50 << 20) for rate in (900, 1000, 2000)] for level in (1, 50, 500, 1000)}
    stated = Stated(100, 2400.0, {"50": 20.5, "99": 30.25})
    found = {"wrk": Measured(speeds, 25.0, stated, stated), "k6": Measured(problem="not here")}
    assert speeds_table(found).splitlines()[2:] == [
        "| wrk | 1,000 | 1,000 | 1,000 | 10.0 | 10.0 | 50 |  |",
        "| k6 |  |  |  |  |  |  | not here |",
    ]
    assert stated_table(found).splitlines()[2:] == [
        "| wrk | 25.0 | 30.2 | +5.2 | 20.5, –, 30.2; 2,400 | 20.5, –, 30.2; 2,400 |",
        "| k6 |  |  |  |  |  |",
    ]


def test_what_gatling_and_the_dashboard_of_jmeter_state_is_read(tmp_path):
    tools = {tool.name: tool for tool in TOOLS}
    (tmp_path / "gatling.txt").write_text(
        "> request count | 1 |\n---- Global Information ----\n"
        "> request count                        |  1,059 |  1,056 |  3\n"
        "> response time 50th percentile (ms)   |    131 |    131 |  129\n"
        "> response time 99th percentile (ms)   |  3,680 |  3,680 |  3,209\n"
        "> mean throughput (rps)                |   8.43 |      8 |  0.43\n"
    )
    assert tools["Gatling"].read(tmp_path / "gatling.txt") == Stated(1059, 8.43, {"50": 131, "99": 3680})
    (tmp_path / "statistics.json").write_text(
        '{"Total": {"sampleCount": 7, "throughput": 2.5, "medianResTime": 3, "pct1ResTime": 4, "pct2ResTime": 5,'
        ' "pct3ResTime": 6}}'
    )
    assert tools["JMeter"].read(tmp_path / "statistics.json") == Stated(7, 2.5, {"50": 3, "90": 4, "99": 6})


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="packets are recorded as root")
def test_the_wire_has_the_delay_of_a_server_and_not_that_of_its_client():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                time.sleep(0.1)
                connection.sendall(b"answer")
                connection.recv(100)

        thread = threading.Thread(target=serve)
        with Wire(port) as wire:
            thread.start()
            with socket.create_connection(("127.0.0.1", port)) as client:
                start_s = time.monotonic()
                client.sendall(b"request")
                time.sleep(1)
                client.recv(100)
                elapsed_ms = (time.monotonic() - start_s) * 1000
            thread.join()
    (exchange,) = wire.exchanges()
    assert 100 <= exchange.elapsed_ms < 600
    assert elapsed_ms >= 1000
