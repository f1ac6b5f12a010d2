"""JMeter's HTTP sampler and the lean one send the same requests and store the same results."""

from __future__ import annotations

import csv
from collections import Counter
from xml.etree import ElementTree

import pytest

from harness.base.errors import UsageError
from harness.base.install import toolchain
from harness.cli.verbs import main
from harness.metrics import amounts
from harness.metrics.event_streams import COLUMNS, FILE_NAME, read_streams
from harness.metrics.interval import IntervalMs
from harness.report.setup import setup_lines
from harness.run.jmeter.connections import sampler_option
from harness.run.jmeter.process import SAMPLER
from tests.support.factories import record
from tests.support.hostile_server import CASES, hostile_server
from tests.support.paths import FAKE_JMETER, jmeter_home
from tests.support.sampler_plans import (
    OVER_TLS,
    SPECIAL,
    TIMEOUT_MS,
    TLS,
    Request,
    all_plan,
    assert_alike,
    bad_certificate,
    both_sides,
    case_requests,
    credentials_of,
    element_of,
    facts_of,
    group_of,
    path_of,
    plan_of,
    property_of,
    request_counts,
    run_jmeter,
    sampler_of,
)


@pytest.mark.real
def test_results_and_requests_are_those_of_jmeter_whatever_the_server_answers(tmp_path):
    certificate = bad_certificate(tmp_path)
    requests = [
        *case_requests(),
        *SPECIAL,
        *(Request(f"{name}, TLS", path_of(name), more=TLS) for name in OVER_TLS),
    ]
    ours, theirs = both_sides(tmp_path, all_plan(requests), certificate)
    assert_alike(ours, theirs)
    with_credentials = [one for one in requests if one.credentials]
    assert len(ours.results) == len(requests) + 2 * len(with_credentials) + 4 + 1
    for side in (ours, theirs):  # the server waits for 200 ms before the body, and for 400 within it
        slow = next(result for result in side.results if result.get("lb") == "slow body")
        assert int(slow.get("lt", "")) >= 190
        assert int(slow.get("t", "")) - int(slow.get("lt", "")) >= 150
        # Not over TLS, where Java waits once more when it closes.
        plain = [result for result in side.results if not result.get("lb", "").endswith("TLS")]
        timed_out = [int(result.get("t", "")) for result in plain if "SocketTimeout" in result.get("rc", "")]
        assert len(timed_out) > 8
        assert min(timed_out) >= TIMEOUT_MS - 5, timed_out  # JMeter corrects its clock now and then
        assert max(timed_out) < 2 * TIMEOUT_MS, timed_out
        connects = {result.get("lb"): int(result.get("ct", "")) for result in side.results}
        assert connects["simple, TLS"] > 0 == connects["torn, TLS"]
        assert next(result for result in side.results if result.get("lb") == "simple, TLS").get("s") == "true"
    not_packed = next(result for result in theirs.results if result.get("lb") == "gzip that is none")
    assert "at harness.sampler.Unzip.<init>" in not_packed.findtext("responseData", "")
    assert_streams(tmp_path)
    assert_handshakes(tmp_path)
    counts = request_counts(tmp_path)
    assert counts["lean"] > len(CASES)
    assert 5 < counts["jmeter"] < 40  # one of each kind that the lean sampler does not send, and two of some


def assert_handshakes(folder):
    """The lean sampler has measured a TLS handshake for each of its connections, within the connect time of its row."""
    assert not (folder / "own" / amounts.FILE_NAME).exists()
    with (folder / "lean" / amounts.FILE_NAME).open(newline="") as lines:
        found = [one for one in amounts.amounts_of(lines, IntervalMs(0, 1 << 50)) if one.kind == amounts.HANDSHAKES]
    most_ms: dict[str, int] = {}
    for result in ElementTree.parse(folder / "lean" / "results.xml").getroot():
        most_ms[result.get("lb", "")] = max(most_ms.get(result.get("lb", ""), 0), int(result.get("ct", "")))
    assert "simple, TLS" in {one.label for one in found}
    assert [one for one in found if not one.label.endswith("TLS")] == []
    # JMeter corrects the clock of its connect times now and then, as above.
    assert [one for one in found if not 0 < one.duration_us <= 1000 * (most_ms[one.label] + 5)] == []


def assert_streams(folder):
    """The lean sampler has measured the streams of events that ended, and nothing else; JMeter's own measures none."""
    assert not (folder / "own" / FILE_NAME).exists()
    with (folder / "lean" / FILE_NAME).open(newline="") as lines:
        head, *rows = csv.reader(lines)
    assert tuple(head) == COLUMNS
    counts = [(label, int(events)) for _, label, events, _, _ in rows]
    assert counts == [
        ("event stream", 4), ("event stream, torn", 3), ("event stream, gzip", 2), ("event stream, small", 1),
        ("json lines", 3), ("json lines, small", 2),
    ]  # fmt: skip
    times = {label: (int(stream_us), int(gap_us)) for _, label, _, stream_us, gap_us in rows}
    # A stream of 500 ms with a gap of 300, thrice the others. Its first event may be read late, on a busy machine.
    for result in ElementTree.parse(folder / "lean" / "results.xml").getroot():
        stream_us, gap_us = times.get(result.get("lb", ""), (0, 0))
        body_ms = int(result.get("t", "")) - int(result.get("lt", ""))
        assert gap_us <= stream_us <= 1000 * (body_ms + 5), result.attrib  # JMeter corrects its clock now and then
    assert 400_000 < times["event stream"][0] < 800_000
    assert 220_000 < times["event stream"][1] < 450_000
    assert times["event stream, small"] == (0, 0)
    assert 100_000 < times["json lines"][0] < 400_000
    (use, *_) = read_streams((folder / "lean" / FILE_NAME).read_text().splitlines(), IntervalMs(0, 1 << 50))
    assert (use.label, use.stream_count, use.event_count) == ("event stream", 1, 4)


@pytest.mark.counterpart
def test_each_request_has_the_credentials_that_jmeter_sends_where_a_thread_has_several(tmp_path):
    """HttpClient keeps those of earlier requests to an address, and may prefer them."""
    one, other, realm = credentials_of("one"), credentials_of("other", "x"), credentials_of("third", realm="a")
    changing = credentials_of("user-${round}")
    rounds = {"start": "1", "incr": "1", "name": "round"}
    counter = element_of(
        "CounterConfig", "c", "".join(property_of(f"CounterConfig.{key}", rounds[key]) for key in rounds)
    )
    turns = [one, other, (), realm, one, changing, realm, other, changing, (), other, one]
    samplers = [sampler_of(Request(f"turn {at}", "/simple", credentials=turn)) for at, turn in enumerate(turns)]
    wrong = sampler_of(Request("wrong", "/status%20401", credentials=one))
    starts = (group_of("a", counter + "".join(samplers[at:]), loops=4) for at in range(len(turns)))
    anew = group_of("new users", counter + "".join(samplers), loops=4, is_same_user="false")
    own, lean = both_sides(tmp_path, plan_of("".join([*starts, anew, group_of("w", wrong)])))
    assert_alike(own, lean)
    counts = request_counts(tmp_path)
    assert counts["lean"] > 0.4 * len(own.requests)


_CHALLENGES = [
    Request(f"credentials: {name}", path_of(name), credentials=credentials_of())
    for name in ("status 401, Digest", "status 407")
]
_CHALLENGES.append(Request("credentials: realm", "/status%20401,%20Digest", credentials=credentials_of(realm="a")))


@pytest.mark.real
@pytest.mark.counterpart
def test_a_server_that_asks_for_other_credentials_gets_them_as_jmeter_sends_them(tmp_path):
    plain = sampler_of(Request("after it", "/simple"))
    groups = [group_of(one.name, sampler_of(one) + plain, loops=2) for one in _CHALLENGES]
    own, lean = both_sides(tmp_path, plan_of("".join(groups)))
    assert_alike(own, lean)
    sent = [data for _, data in own.requests]
    assert sum(b"\r\nAuthorization: Digest " in data for data in sent) == 4
    assert sum(b"\r\nProxy-Authorization: Basic " in data for data in sent) == 2


@pytest.mark.real
@pytest.mark.counterpart
def test_a_server_that_asks_for_more_after_it_took_credentials_gets_one_request_more(tmp_path):
    """Until then the lean sampler sends the requests, and afterwards JMeter's own."""
    accepted = Request("accepted", "/simple", credentials=credentials_of())
    own, lean = both_sides(
        tmp_path, plan_of(group_of("all", "".join(map(sampler_of, [accepted, _CHALLENGES[0]])), loops=3))
    )
    assert [facts_of(one) for one in lean.results] == [facts_of(one) for one in own.results]
    first = next(data for _, data in own.requests if b"Digest" in data)
    more = Counter(data for _, data in lean.requests) - Counter(data for _, data in own.requests)
    assert more == {first: 1}
    assert b"\r\nAuthorization: Basic " in first
    counts = request_counts(tmp_path)
    assert counts == {"lean": 3, "jmeter": 4}


@pytest.mark.real
def test_a_response_at_the_time_limit_is_whole_or_a_timeout_and_never_one_of_the_next_request(tmp_path):
    user = "${__threadNum}"
    wait_ms = f"${{__jexl3({user} < 6 ? 400 : {user} > 15 ? 1000 : {TIMEOUT_MS} - 11 + {user})}}"
    requests = [Request(f"{n}x{user}", f"/wait/{wait_ms if n == 2 else 1}/{n}x{user}") for n in (1, 2, 3)]
    plan = plan_of(group_of("all", "".join(map(sampler_of, requests)), users=20, loops=2))
    lean = sampler_option(toolchain.ensure_sampler(jmeter_home()))
    with hostile_server() as server:
        run_jmeter(tmp_path / "lean", plan, {"port": server.address[1]}, lean)
        last_of = {number: data.partition(b" HTTP")[0].rpartition(b"/")[2] for number, data in server.requests}
    results = list(ElementTree.parse(tmp_path / "lean" / "results.xml").getroot())
    late = [result for result in results if result.get("s") == "false"]
    assert len(results) == len(server.requests) == 3 * 2 * 20
    assert {result.get("rm") for result in late} == {"Non HTTP response message: Read timed out"}
    assert 2 * 5 <= len(late) <= 2 * 15
    assert all(result.get("lb", "").startswith("2x") for result in late)
    assert all(result.findtext("responseData") == result.get("lb") for result in results if result not in late)
    # Each timeout ends a connection, and nothing else does.
    assert len(last_of) == 20 + len(late)
    assert sum(name.startswith(b"2x") for name in last_of.values()) == len(late)


@pytest.mark.real
def test_users_who_began_together_do_not_all_connect_again_at_once(tmp_path):
    """JMeter closes each connection httpclient4.time_to_live after it was opened; its own users do it together."""
    plan = plan_of(group_of("all", sampler_of(Request("page", "/wait/20/page")), users=20, loops=120))
    with hostile_server() as server:
        settings = {"port": server.address[1], "httpclient4.time_to_live": 2000}
        run_jmeter(tmp_path / "lean", plan, settings, sampler_option(toolchain.ensure_sampler(jmeter_home())))
        counts = Counter(number for number, _ in server.requests)
    assert counts.total() == 20 * 120
    lengths = [counts[number] for number in sorted(counts)[:20]]  # the first connection of each user
    assert len(counts) >= 2 * 20
    assert min(lengths) < 0.92 * max(lengths)


@pytest.mark.parametrize(
    ("sampler", "counts", "shown"),
    [
        ("lean", {"lean": 3, "jmeter": 0}, "JMeter 5.6.3 (lean HTTP sampler), "),
        ("lean", {"lean": 3, "jmeter": 2}, "JMeter 5.6.3 (lean HTTP sampler for 3 of 5 HTTP requests), "),
        ("lean", {"lean": 0, "jmeter": 2}, "JMeter 5.6.3 (lean HTTP sampler for 0 of 2 HTTP requests), "),
        ("lean", {}, "JMeter 5.6.3 (lean HTTP sampler, requests not counted), "),  # JMeter was killed
        ("jmeter", {}, "JMeter 5.6.3 (JMeter's own HTTP sampler), "),
        (None, {}, "JMeter 5.6.3, "),  # a run of an earlier version
    ],
)
def test_the_set_up_of_a_report_says_what_sent_the_requests(sampler, counts, shown):
    versions = {"java": "17", "jmeter": "5.6.3", **({SAMPLER: sampler} if sampler else {})}
    assert dict(setup_lines(record(versions=versions, http_requests=counts)))["generator"].startswith(shown)


def test_another_jmeter_uses_its_own_sampler():
    assert toolchain.ensure_sampler(FAKE_JMETER) is None
    assert sampler_option(None) == ""


def test_an_unknown_sampler_is_refused():
    with pytest.raises(UsageError, match=r"^--sampler=fast: no HTTP sampler; give lean or jmeter$"):
        main(["run", "lb-direct", "--sampler", "fast"], "lth")
