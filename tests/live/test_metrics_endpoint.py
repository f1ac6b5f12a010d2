"""The metrics of runs over HTTP: what a client gets, who gets it, and what cannot stop the run."""

import http.client
import socket
from types import SimpleNamespace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from harness.live.metrics_endpoint import MetricsEndpoint
from harness.live.page_address import Address
from harness.run.directory import RunDirectory
from tests.support.factories import failed, record, sample

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
SCRAPER = {"X-Prometheus-Scrape-Timeout-Seconds": "10"}


@pytest.fixture
def spec():
    plan = SimpleNamespace(once_labels=())
    return SimpleNamespace(plan=plan, profile=SimpleNamespace(name="local"), hidden=())


@pytest.fixture
def directory(tmp_path):
    folder = tmp_path / "tiny" / "run-01_1"
    folder.mkdir(parents=True)
    (folder / "telemetry.csv").write_text(
        "time_ms,process,cpu_cores,rss_bytes,thread_count\n10000,jmeter,1.5,700,9\n10000,stolen,0.25,0,\n"
    )
    return RunDirectory(folder)


class Endpoint:
    """The endpoint of a run on a free port; `lines` are what it logs."""

    def __init__(self, is_in_a_hurry=False, host="127.0.0.1"):
        self.lines = []
        self.served = MetricsEndpoint(Address(host, 0), self.lines.append, lambda: is_in_a_hurry)

    def get(self, path="/metrics", **headers):
        port = int(self.lines[0].partition("/metrics")[0].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.getheader("Content-Type"), body

    def metrics(self, **headers):
        """Return the value of every sample by its name and its labels, in OpenMetrics."""
        status, kind, body = self.get(Accept=OPENMETRICS, **headers)
        assert status == 200
        assert kind.startswith(OPENMETRICS)
        assert body.endswith("# EOF\n")
        return {
            (one.name, *(value for name, value in sorted(one.labels.items()) if name != "run")): one.value
            for family in text_string_to_metric_families(body)
            for one in family.samples
        }


@pytest.fixture
def endpoint(directory, spec):
    """The endpoint of a run that goes on."""
    endpoint = Endpoint()
    with endpoint.served:
        endpoint.served.begin(directory, spec)
        yield endpoint


def test_the_metrics_have_every_sample_users_processes_and_the_run(endpoint):
    endpoint.served.add([sample("Pay", 100, all_threads=7), sample("Pay", 101), failed("Pay", elapsed_ms=2600)], 1.0)
    found = endpoint.metrics()
    assert found["loadtest_requests_total", "load", "request", "Pay"] == 3
    assert found["loadtest_errors_total", "load", "request", "Pay"] == 1
    assert found["loadtest_error_causes_total", "expected 201", "402", "Pay"] == 1
    assert found["loadtest_received_bytes_total", "load", "request", "Pay"] == 900
    assert found["loadtest_response_time_seconds_count", "load", "request", "Pay"] == 3
    assert found["loadtest_response_time_seconds_sum", "load", "request", "Pay"] == pytest.approx(2.801)
    # Labels sort as group, kind, label, le.
    at = {key[4]: value for key, value in found.items() if key[0] == "loadtest_response_time_seconds_bucket"}
    assert (at["0.08"], at["0.1"], at["0.125"], at["2.5"], at["3.15"], at["+Inf"]) == (0, 1, 2, 2, 3, 3)
    assert len(at) == 47
    assert found["loadtest_active_users",] == 1
    assert found["loadtest_process_cpu_seconds_total", "jmeter"] == 1.5
    assert found["loadtest_process_resident_memory_bytes", "jmeter"] == 700
    assert ("loadtest_process_resident_memory_bytes", "stolen") not in found
    assert found["loadtest_run_ended",] == 0
    info = next(key for key in found if key[0] == "loadtest_run_info")
    assert info[2:] == ("local", "tiny")  # after the commit


def test_every_series_names_its_run(endpoint):
    endpoint.served.add([failed()], 1.0)
    lines = [line for line in endpoint.get()[2].splitlines() if not line.startswith("#")]
    assert len(lines) > 50
    assert all('run="tiny/run-01_1"' in line for line in lines)


def test_a_client_of_prometheus_own_format_gets_that(endpoint):
    assert endpoint.get()[1].startswith("text/plain; version=0.0.4")


def test_only_metrics_are_served_and_only_to_requests_to_this_machine(endpoint):
    assert endpoint.get("/")[0] == 404
    assert endpoint.get("/run.json")[0] == 404
    assert endpoint.get("/metrics?x=1")[0] == 200
    assert endpoint.get(Host="evil.example:9464")[0] == 403
    assert endpoint.get(Host="localhost:1234")[0] == 200  # a forwarded port


def test_with_an_address_written_out_any_name_of_the_machine_is_answered(directory, spec):
    endpoint = Endpoint(host="0.0.0.0")
    with endpoint.served:
        endpoint.served.begin(directory, spec)
        assert endpoint.get(Host="load-1.example:9464")[0] == 200
    assert endpoint.lines[0].endswith("/metrics (other machines can read it, without a password)")


def test_a_taken_port_is_one_line_and_the_run_goes_on(directory, spec):
    lines = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with MetricsEndpoint(Address("127.0.0.1", port), lines.append, lambda: False) as served:
            served.begin(directory, spec)
            served.add([sample()], 1.0)
            served.finish()
    why = "Address already in use"
    assert lines == [f"--metrics: 127.0.0.1:{port} cannot be used ({why}); there is no metrics endpoint"]


def test_a_row_that_cannot_be_counted_ends_the_counts_and_not_the_run(endpoint):
    endpoint.served.add([sample(sample_count=0)], 1.0)
    endpoint.served.add([sample()], 2.0)
    assert len(endpoint.lines) == 2
    assert endpoint.lines[1].startswith("--metrics: the counts are not updated any more (ZeroDivisionError(")


def scraped_twice(endpoint, directory, spec):
    endpoint.served.begin(directory, spec)
    for _ in range(2):
        endpoint.metrics(**SCRAPER)


@pytest.mark.real
def test_the_run_waits_for_a_scraper_that_has_not_got_the_final_counts(directory, spec):
    endpoint = Endpoint()
    with endpoint.served:
        scraped_twice(endpoint, directory, spec)
        endpoint.served.finish()
    # The period was some milliseconds, and a second more is allowed; nobody came.
    assert endpoint.lines[1:] == ["--metrics: waiting at most 1 second for the last scrape; Ctrl-C skips it"]


@pytest.mark.parametrize("why", ["final", "hurry", "nobody", "failed"])
def test_the_run_does_not_wait_without_need(directory, spec, why):
    endpoint = Endpoint(is_in_a_hurry=why == "hurry")
    with endpoint.served:
        if why == "nobody":
            endpoint.served.begin(directory, spec)
            endpoint.metrics()  # a person, not a scraper
            endpoint.metrics()
        else:
            scraped_twice(endpoint, directory, spec)
        if why != "failed":  # an error ended the run
            endpoint.served.finish()
        if why == "final":
            found = endpoint.metrics(**SCRAPER)
            assert (found["loadtest_run_ended",], found["loadtest_active_users",]) == (1, 0)
    assert endpoint.lines[1:] == []


def directory_of(directory, number):
    """The directory of another run of the series, with CPU and memory."""
    found = RunDirectory(directory.path.with_name(f"run-01_{number}"))
    found.path.mkdir()
    (found.path / "telemetry.csv").write_text(
        (directory.path / "telemetry.csv").read_text().replace("1.5,700", f"{number}.5,{number}00")
    )
    return found


def values(endpoint, name, **headers):
    """The value of a metric by run, and by label or process."""
    _, _, body = endpoint.get(Accept=OPENMETRICS, **headers)
    return {
        (one.labels["run"], one.labels.get("label") or one.labels.get("process")): one.value
        for family in text_string_to_metric_families(body)
        for one in family.samples
        if one.name == name
    }


@pytest.mark.real
def test_one_address_serves_the_runs_of_a_series_and_no_count_of_one_is_in_another(directory, spec):
    endpoint = Endpoint()
    with endpoint.served as served:
        served.announce("level 1 of 2")
        assert values(endpoint, "loadtest_requests_total") == {}  # the target is there before the first run
        served.begin(directory, spec)
        served.add([sample("Pay"), sample("Pay")], 1.0)
        served.finish()
        served.announce("level 2 of 2")
        assert values(endpoint, "loadtest_requests_total") == {("tiny/run-01_1", "Pay"): 2}
        served.add([sample("Pay")], 2.0)  # of no run
        served.begin(directory_of(directory, 2), spec)
        served.add([sample("Pay"), sample("Refund", all_threads=3)], 1.0)
        found = values(endpoint, "loadtest_requests_total")
        assert found == {("tiny/run-01_1", "Pay"): 2, ("tiny/run-01_2", "Pay"): 1, ("tiny/run-01_2", "Refund"): 1}
        users = {("tiny/run-01_1", None): 0, ("tiny/run-01_2", None): 3}
        assert values(endpoint, "loadtest_active_users") == users
        assert values(endpoint, "loadtest_run_ended") == {("tiny/run-01_1", None): 1, ("tiny/run-01_2", None): 0}
        cpu_s = values(endpoint, "loadtest_process_cpu_seconds_total")
        assert (cpu_s["tiny/run-01_1", "jmeter"], cpu_s["tiny/run-01_2", "jmeter"]) == (1.5, 2.5)
        # A sum over runs counts the memory of the machine once.
        memory = {("tiny/run-01_2", "jmeter"): 200}
        assert values(endpoint, "loadtest_process_resident_memory_bytes") == memory
    assert len(endpoint.lines) == 1  # the address is printed once


def test_an_ended_run_stays_until_the_next_one_goes_on_and_every_scraper_has_its_final_counts(directory, spec):
    endpoint = Endpoint()
    with endpoint.served as served:
        served.begin(directory, spec)
        served.finish()
        served.begin(directory_of(directory, 2), spec)
        endpoint.get()  # a person
        both = {("tiny/run-01_1", None), ("tiny/run-01_2", None)}
        assert values(endpoint, "loadtest_run_ended").keys() == both
        assert values(endpoint, "loadtest_run_ended", **SCRAPER).keys() == both
        assert values(endpoint, "loadtest_run_ended", **SCRAPER).keys() == {("tiny/run-01_2", None)}
        served.finish()
        for _ in range(2):  # nothing goes on: the last one stays
            assert values(endpoint, "loadtest_run_ended", **SCRAPER) == {("tiny/run-01_2", None): 1}


def test_an_ended_run_that_no_scraper_requested_within_a_minute_is_left_out(directory, spec, monkeypatch):
    monkeypatch.setattr("harness.live.metrics_collector.GONE_S", -1.0)
    endpoint = Endpoint()
    with endpoint.served as served:
        served.begin(directory, spec)
        served.finish()
        served.begin(directory_of(directory, 2), spec)
        assert values(endpoint, "loadtest_run_ended") == {("tiny/run-01_2", None): 0}


def test_a_run_that_could_not_be_counted_ends_no_count_of_the_next_one(endpoint, directory, spec):
    endpoint.served.add([sample(sample_count=0)], 1.0)
    endpoint.served.finish()
    endpoint.served.begin(directory_of(directory, 2), spec)
    endpoint.served.add([sample("Pay")], 1.0)
    assert values(endpoint, "loadtest_requests_total") == {("tiny/run-01_2", "Pay"): 1}


def test_a_run_of_another_process_is_served_without_its_secrets(directory):
    endpoint = Endpoint()
    with endpoint.served as served:
        served.show(directory, record(once_labels=("Log in hush-12345",)), ("hush-12345",))
        served.add([failed("Log in hush-12345", failure="no hush-12345"), sample("Pay")], 1.0)
        body = endpoint.get()[2]
        assert "hush" not in body
        assert 'group="once"' in body
        assert values(endpoint, "loadtest_requests_total")["tiny/run-01_1", "Log in •••"] == 1


def test_a_wrong_address_is_refused_and_nothing_is_started(refused):
    assert "--metrics=web:9464: not an IP address with a port; give 1, a port, or" in refused("--metrics", "web:9464")
    assert "--metrics=99: not a whole number from 1024 to 65535" in refused("--metrics", "99")
