"""A real Prometheus scrapes a run of a real JMeter: its numbers are those of the report, and the dashboard works."""

import csv
import json
import math
import re
import time
from bisect import bisect_left
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler

import pytest

from harness.base.install import toolchain
from harness.base.ports import free_port
from harness.metrics.figures import LOAD
from harness.metrics.instruments import BOUNDS_MS
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.paths import ROOT
from tests.support.processes import interrupted_after
from tests.support.prometheus import Prometheus, prometheus
from tests.support.tiny import DUMMY_JMX, TINY_PLAN, TINY_PROFILE, TINY_SYSTEM, arguments_of_run, run_json

pytestmark = pytest.mark.real

DASHBOARD = json.loads((ROOT / "docs" / "grafana" / "load-test.json").read_text(encoding="utf-8"))
# The response times as a native histogram, which only OTLP delivers.
NATIVE = "loadtest_response_time_seconds{"
# What Grafana puts in place of its variables.
VARIABLES = {"$run": "tiny/run-01_1", "$kind": "request", "$__rate_interval": "4s", "$__range": "5m"}
_SAMPLER = DUMMY_JMX[DUMMY_JMX.index("        <kg.apc") : DUMMY_JMX.index("        <hashTree/>")]
_PAY = _SAMPLER.replace('RESPONSE_TIME">50<', 'RESPONSE_TIME">${__Random(3,250)}<')
_REFUND = _SAMPLER.replace('testname="Pay"', 'testname="Refund"').replace('SUCCESFULL">true', 'SUCCESFULL">false')
JMX = DUMMY_JMX.replace(_SAMPLER, f"{_PAY}        <hashTree/>\n{_REFUND}")


@dataclass(frozen=True)
class Scraped:
    """A run that was scraped each second: what it printed, its report, and its times."""

    prometheus: Prometheus
    output: str
    code: int
    report: dict
    record: dict
    start_s: float
    end_s: float
    times_ms: list[tuple[int, str]]

    @property
    def load(self):
        """The main load of the whole run."""
        return self.report["whole"] or next(group for group in self.report["groups"] if group["name"] == LOAD)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory, target_of_module):
    folder = tmp_path_factory.mktemp("scraped")
    for name, text in (
        ("plans/tiny.jmx", JMX),
        ("plans/tiny.toml", TINY_PLAN),
        ("env/local.toml", TINY_PROFILE),
        ("systems/tiny/system.toml", TINY_SYSTEM),
    ):
        (folder / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "home" / name).write_text(text)
    port = free_port()
    with prometheus(folder / "prometheus", f"127.0.0.1:{port}") as served:
        options = (
            "--users",
            "8",
            "--duration",
            "4",
            "--errors",
            "100%",
            "--compare",
            "0",
            "--target",
            target_of_module,
        )
        arguments = arguments_of_run(folder / "home", folder, [*options, "--metrics", str(port)])
        start_s = time.time()
        with interrupted_after(120):
            done = command("scripts/run", *arguments, JMETER_HOME=str(toolchain.ensure_jmeter()))
        end_s = time.time()
        report = json.loads((folder / "reports" / "tiny" / "run-01_1.json").read_text())
        record = run_json(folder / "reports")
        with (folder / "reports" / "tiny" / "run-01_1" / "samples.jtl").open() as stored:
            times_ms = sorted((int(row["elapsed"]), row["label"]) for row in csv.DictReader(stored))
        yield Scraped(served, done.stdout + done.stderr, done.returncode, report, record, start_s, end_s, times_ms)


@pytest.fixture(scope="module")
def target_of_module():
    """A server that the run finds; the dummy sampler answers itself."""
    with serving(SimpleHTTPRequestHandler) as port:
        yield f"http://127.0.0.1:{port}"


def test_the_last_scrape_has_the_counts_of_the_report(scraped):
    assert scraped.code == 0, scraped.output
    labels = {label["label"]: label for label in scraped.load["labels"]}
    assert set(labels) == {"Pay", "Refund"}
    ask = scraped.prometheus.query
    for metric, key in (("requests", "sample_count"), ("errors", "error_count")):
        found = ask(f"sum by (label) (last_over_time(loadtest_{metric}_total[5m]))")
        assert found == {(label,): figures[key] for label, figures in labels.items()}
    sums = ask("sum by (label) (last_over_time(loadtest_response_time_seconds_sum[5m]))")
    assert sums == {
        (label,): pytest.approx(figures["counts"]["elapsed_sum_ms"] / 1000) for label, figures in labels.items()
    }
    causes = ask("sum by (code, label) (last_over_time(loadtest_error_causes_total[5m]))")
    assert causes == {("201", "Refund"): labels["Refund"]["error_count"]}
    assert labels["Refund"]["error_count"] == labels["Refund"]["sample_count"] > 20
    assert ask("last_over_time(loadtest_run_ended[5m])").popitem()[1] == 1


@pytest.mark.parametrize("percentile", ["50", "90", "95", "99"])
def test_a_quantile_is_within_one_bucket_of_the_percentile_of_the_report(scraped, percentile):
    ratio = float(percentile) / 100
    buckets = "last_over_time(loadtest_response_time_seconds_bucket[5m])"
    found = scraped.prometheus.query(f"histogram_quantile({ratio}, sum by (le) ({buckets}))")
    of_labels = scraped.prometheus.query(f"histogram_quantile({ratio}, sum by (label, le) ({buckets}))")
    expected = {(): scraped.load["total"]["percentiles_ms"][percentile]} | {
        (label["label"],): label["percentiles_ms"][percentile] for label in scraped.load["labels"]
    }
    assert set(found | of_labels) == set(expected)
    for key, value_s in (found | of_labels).items():
        times_ms = [time_ms for time_ms, label in scraped.times_ms if key in ((), (label,))]
        # Of few samples the rank of a quantile is between two of them, which may be far apart: a stall of the machine.
        ranks = ratio * len(times_ms)
        low_ms, high_ms = times_ms[math.floor(ranks) - 1], times_ms[min(math.floor(ranks), len(times_ms) - 1)]
        assert low_ms <= expected[key] <= high_ms
        number = bisect_left(BOUNDS_MS, value_s * 1000)
        assert bisect_left(BOUNDS_MS, low_ms) - 1 <= number <= bisect_left(BOUNDS_MS, high_ms) + 1, (key, value_s)


def test_users_processes_and_the_run_are_there(scraped):
    ask = scraped.prometheus.query
    assert ask("max_over_time(loadtest_active_users[5m])").popitem()[1] == 8
    assert ask("last_over_time(loadtest_active_users[5m])").popitem()[1] == 0
    cpu_s = ask('sum by (process) (last_over_time(loadtest_process_cpu_seconds_total{process=~"jmeter|host"}[5m]))')
    assert cpu_s["host",] > cpu_s["jmeter",] > 0.1
    memory = ask('sum by (process) (last_over_time(loadtest_process_resident_memory_bytes{process="jmeter"}[5m]))')
    assert memory["jmeter",] > 30 * 1024 * 1024
    info = ask("sum by (commit, env, plan, run) (last_over_time(loadtest_run_info[5m]))")
    assert info == {((scraped.record["git_commit"] or "")[:12], "local", "tiny", "tiny/run-01_1"): 1}


def dashboard_queries():
    return [
        pytest.param(target["expr"], id=f"{panel['title']}-{target['refId']}".replace(" ", "_"))
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    ]


def documented_queries(*, is_native=False):
    """The queries of the page for one kind of histograms, as if every scrape interval was the one of this test."""
    text = (ROOT / "docs" / "prometheus.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```promql\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]
    other = "loadtest_response_time_seconds_bucket" if is_native else NATIVE
    lines = [line for line in lines if other not in line]
    return [line.replace("[1m]", "[4s]") for line in lines]


@pytest.mark.parametrize("expression", [*dashboard_queries(), *documented_queries()])
def test_every_query_of_the_dashboard_and_of_the_page_returns_series(scraped, expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    found = scraped.prometheus.values_between(expression, scraped.start_s, scraped.end_s)
    assert [values for values in found if any(value == value for value in values)], "no series, or only NaN"
