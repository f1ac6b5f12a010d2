"""A real Prometheus 3 that receives a run by OTLP: the queries of the page and of the dashboard find it."""

import time
from types import SimpleNamespace

import pytest

from harness.live.otlp.receiver import HISTOGRAM_VARIABLE, receiver_at
from harness.live.otlp.watcher import OtlpRuns
from harness.run.directory import RunDirectory
from tests.live.test_prometheus import NATIVE, VARIABLES, dashboard_queries, documented_queries
from tests.support.factories import failed, record, sample
from tests.support.prometheus import otlp_prometheus

pytestmark = pytest.mark.counterpart

# What only an address that is scraped publishes: the system's processes need a telemetry file.
CLASSIC = "loadtest_response_time_seconds_bucket"
ELSEWHERE = ("loadtest_process_", "loadtest_run_ended")


@pytest.fixture(scope="module", params=["native", "classic"])
def received(request, tmp_path_factory):
    """A Prometheus that received two runs, an export a second, the times of the first and the last one, and the kind
    of histograms.
    """
    kind = {"native": "base2_exponential_bucket_histogram", "classic": "explicit_bucket_histogram"}[request.param]
    folder = tmp_path_factory.mktemp("received")
    with otlp_prometheus(folder / "prometheus") as served, pytest.MonkeyPatch.context() as patch:
        patch.setenv(HISTOGRAM_VARIABLE, kind)
        began_s = time.time()
        plan = SimpleNamespace(once_labels=())
        spec = SimpleNamespace(plan=plan, hidden=(), is_traced=False, profile=SimpleNamespace(name="local"))
        for number in (1, 2):
            directory = RunDirectory(folder / "tiny" / f"run-01_{number}")
            directory.path.mkdir(parents=True)
            directory.write_run(record())
            with OtlpRuns(receiver_at(served.otlp_url), print) as otlp:
                otlp.begin(directory, spec)
                for second in range(5):
                    otlp.add([sample(elapsed_ms=100 * number), failed(elapsed_ms=200 * number)], 5.0 * second, 3)
                    time.sleep(1)  # Prometheus computes rates from real time
                otlp.finish()
            delivered = directory.read_run().otlp
            assert (delivered.lost_export_count, delivered.problem) == (0, "")
        yield served, began_s, time.time(), request.param


def test_two_runs_have_their_own_series_with_the_counts_that_were_sent(received):
    served, *_ = received
    for metric in ("requests_total", "errors_total"):
        count = {"requests_total": 10, "errors_total": 5}[metric]
        found = served.query(f"sum by (run) (last_over_time(loadtest_{metric}[5m]))")
        assert found == {("tiny/run-01_1",): count, ("tiny/run-01_2",): count}
    info = served.query("sum by (env, plan, run) (last_over_time(loadtest_run_info[5m]))")
    assert info == {("local", "tiny", "tiny/run-01_1"): 1, ("local", "tiny", "tiny/run-01_2"): 1}


def test_a_percentile_of_the_histogram_is_within_its_resolution(received):
    served, _, _, kind = received
    series, labels, width = (
        (f"{NATIVE}}}[5m]", "run", 0.03) if kind == "native" else (f"{CLASSIC}[5m]", "run, le", 0.28)
    )
    found = served.query(f"histogram_quantile(0.99, sum by ({labels}) (last_over_time({series})))")
    assert found["tiny/run-01_1",] == pytest.approx(0.2, rel=width)
    assert found["tiny/run-01_2",] == pytest.approx(0.4, rel=width)


@pytest.mark.parametrize(
    "expression",
    [
        *dashboard_queries(),
        *documented_queries(is_native=True),
        *(query for query in documented_queries() if CLASSIC in query),
    ],
)
def test_every_query_of_the_dashboard_and_of_the_page_finds_the_run(received, expression):
    served, began_s, ended_s, kind = received
    if (CLASSIC in expression, NATIVE in expression) == (kind == "native", kind == "classic"):
        pytest.skip(f"a query of other histograms than the {kind} ones that were sent")
    if any(name in expression for name in ELSEWHERE):
        pytest.skip("not sent without a telemetry file")
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    found = served.has_values(expression, began_s, ended_s)
    assert found, "no series, or only NaN"
