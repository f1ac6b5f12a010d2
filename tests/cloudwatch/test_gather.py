"""Everything of a run in AWS: from moto, and its databases' load from a server of Performance Insights."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from harness.cli.verbs import main
from harness.cloudwatch.queries import parse_cloudwatch
from harness.run.directory import RunDirectory
from tests.support.cloudwatch_runs import BEGAN_S, REGION, add_recent_run, metrics
from tests.support.insights_server import RESOURCE_ID, InsightsServer, Planted
from tests.support.late import Late
from tests.support.local_server import serving
from tests.support.moto_server import moto_server
from tests.support.paths import ROOT
from tests.support.report_folder import run_folder

boto3 = Late("boto3")

pytestmark = pytest.mark.real

BALANCER = "app/folio/50dc6c495c0c9188"
SPEC = parse_cloudwatch(
    {
        "region": REGION,
        "ecs": [{"cluster": "perf", "services": "*"}],
        "rds": ["folio-db"],
        "msk": ["folio-kafka"],
        "opensearch": ["folio-search"],
        "elb": [BALANCER],
    },
    "x",
)
SLOW_SQL = "SELECT jsonb FROM diku_mod_inventory_storage.item WHERE lower(title) LIKE ?"
SERVICES = [f"mod-{number:02}" for number in range(12)]
BUSY = {"mod-03": 40.0, "mod-07": 22.0}


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as url:
        plant(url)
        yield url


@functools.cache
def client_of(url: str, service: str) -> Any:
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    return boto3.client(service, REGION, endpoint_url=url, **keys)


def plant(url: str) -> None:
    """Create services, a database and the metrics of fourteen minutes: ten before the run, and its four."""
    ecs, rds = client_of(url, "ecs"), client_of(url, "rds")
    ecs.create_cluster(clusterName="perf")
    ecs.register_task_definition(family="mod", containerDefinitions=[{"name": "mod", "image": "mod", "memory": 400}])
    for service in SERVICES:
        ecs.create_service(cluster="perf", serviceName=service, taskDefinition="mod", desiredCount=1)
    rds.create_db_instance(DBInstanceIdentifier="folio-db", DBInstanceClass="db.r6g.large", Engine="postgres")
    for service in SERVICES:
        put(
            url,
            "AWS/ECS",
            {"ClusterName": "perf", "ServiceName": service},
            CPUUtilization=(1.0, BUSY.get(service, 1.0)),
        )
    for broker in ("1", "2"):
        used = {"CpuUser": 20.0, "CpuSystem": 5.0, "KafkaDataLogsDiskUsed": 41.0, "UnderReplicatedPartitions": 0.0}
        put(url, "AWS/Kafka", {"Cluster Name": "folio-kafka", "Broker ID": broker}, **used)
    for group, lag in (("mod-search", (12.0, 40_000.0)), ("mod-audit", (7000.0, 7000.0))):
        consumer = {"Cluster Name": "folio-kafka", "Consumer Group": group, "Topic": "items"}  # moto minds the order
        put(url, "AWS/Kafka", consumer, SumOffsetLag=lag, MaxOffsetLag=lag)
    domain = {"DomainName": "folio-search", "ClientId": "123456789012"}
    put(url, "AWS/ES", domain, CPUUtilization=30.0, JVMMemoryPressure=70.0, IndexingRate=600.0, SearchLatency=12.5)
    balancer = {"RequestCount": 1200.0, "TargetResponseTime": 0.08, "HTTPCode_Target_5XX_Count": 6.0}
    put(url, "AWS/ApplicationELB", {"LoadBalancer": BALANCER}, **balancer)


def put(url: str, namespace: str, dimensions: dict[str, str], **values: float | tuple[float, float]) -> None:
    """Publish a reading a minute of metrics of a resource: one value, or those before and during the run."""
    readings = [
        {
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": one} for key, one in dimensions.items()],
            "Timestamp": datetime.fromtimestamp(BEGAN_S + 60 * minute + 30, UTC),
            "Value": value[minute >= 0] if isinstance(value, tuple) else value,
        }
        for name, value in values.items()
        for minute in range(-10, 4)
    ]
    client_of(url, "cloudwatch").put_metric_data(Namespace=namespace, MetricData=readings)


@pytest.fixture
def planted(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Planted]:
    """A Performance Insights with a slow statement; boto3 finds it, and moto for all else, by its own variables."""
    instance = client_of(moto, "rds").describe_db_instances()["DBInstances"][0]
    found = slow(instance["DbiResourceId"])
    with serving(InsightsServer, planted=found) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
        monkeypatch.setenv("AWS_ENDPOINT_URL_PI", f"http://127.0.0.1:{port}")
        yield found
    assert found.problems == []


def slow(identifier: str) -> Planted:
    """Return the load of a database that waits for its disk, ever longer, because of a slow statement."""
    waits = {("IO", "DataFileRead"): {BEGAN_S + 60 * minute: 2.0 + minute for minute in range(4)}}
    statistics = {
        "db.sql_tokenized.stats.calls_per_sec.avg": 4.0,
        "db.sql_tokenized.stats.avg_latency_per_call.avg": 625.0,
    }
    statements = [{"id": "2F3A", "statement": SLOW_SQL, "load": 2.5, **statistics}]
    return Planted(waits, statements, identifier=identifier)


def services_of(directory: RunDirectory) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(directory.summary_json.read_text())["observed"]["services"]
    return found


@pytest.mark.usefixtures("planted")
def test_a_planted_lag_and_a_slow_statement_are_in_the_report_with_everything_else(tmp_path):
    directory = add_recent_run(tmp_path, cloudwatch=SPEC)
    assert "do not keep up" not in directory.report.read_text()
    assert metrics(directory.path) == 0
    text = directory.report.read_text()
    lag = "mod-search at topic items of folio-kafka, lag 40,000 messages, before the run at most 12"
    assert f"Consumers do not keep up: {lag}. Their work" in text
    for row in (
        "| perf/mod-03 | 1.0 | 40.0 |",
        "| ECS perf/mod-07 | 22.0 | 22.0-22.0 | n/a | n/a |",
        "| MSK folio-kafka/2 | 25.0 | 25.0-25.0 | 41.0 | 41.0-41.0 | 0.0 | 0.0-0.0 | 2 of 2 |",
        "| MSK consumer folio-kafka/mod-audit/items | 7000.0 | 7000.0-7000.0 |",
        "| OpenSearch folio-search | 30.0 | 30.0-30.0 | 70.0 | 70.0-70.0 | 10.00 | 10.00-10.00 |",
        f"| load balancer {BALANCER} | 20.00 | 20.00-20.00 | 80 | 80-80 | 0.00 | 0.00-0.00 | 6.00 | 6.00-6.00 |",
        "| IO:DataFileRead | 3.50 |",
        f"| {SLOW_SQL} | 2.50 | 4.00 | 625.00 |",
    ):
        assert row in text, row
    assert "2 of 12 services took part." in text
    assert "| ECS perf/mod-00 |" not in text
    assert "123456789012" not in "".join(path.read_text() for path in directory.path.glob("*.*"))
    services = services_of(directory)
    assert list(services) == ["missing", "participants", "databases"]
    assert services["participants"][0] == {
        "cluster": "perf", "service": "mod-03", "cpu_before_percent": 1.0, "cpu_percent": 40.0, "took_part": True,
    }  # fmt: skip
    assert services["databases"] == [
        {
            "name": "folio-db", "from_s": 0, "period_s": 60,
            "waits": [{"wait": "IO:DataFileRead", "average_sessions": 3.5, "sessions": [2.0, 3.0, 4.0, 5.0]}],
            "sql": [
                {"id": "2F3A", "text": SLOW_SQL, "average_sessions": 2.5, "calls_per_s": 4.0, "ms_per_call": 625.0}
            ],
        }
    ]  # fmt: skip
    schema = json.loads((ROOT / "harness" / "report" / "schema" / "summary.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(directory.summary_json.read_text()))
    written = directory.summary_json.read_bytes(), directory.report.read_bytes()
    assert main(["report", str(directory.path)]) == 0
    assert (directory.summary_json.read_bytes(), directory.report.read_bytes()) == written


@pytest.mark.usefixtures("planted")
def test_in_the_ten_minutes_after_another_run_of_the_plan_no_service_is_called_idle(tmp_path):
    earlier = datetime.fromtimestamp(BEGAN_S - 300, UTC).isoformat()
    run_folder(tmp_path, "tiny/run-01_1", ended_at=earlier)
    (run_folder(tmp_path, "tiny/run-01_2").run_json).write_text("{")  # a damaged one is not this run's problem
    directory = add_recent_run(tmp_path, "tiny/run-01_3", cloudwatch=SPEC)
    assert metrics(directory.path) == 0
    assert [one["took_part"] for one in services_of(directory)["participants"]] == [True] * 2 + [None] * 10


def test_without_a_right_the_rest_is_gathered_and_a_later_fetch_adds_it(tmp_path, planted, capsys):
    planted.refused["DescribeDimensionKeys"] = "NotAuthorizedException"
    directory = add_recent_run(tmp_path, cloudwatch=SPEC)
    assert metrics(directory.path) == 0
    needed = "these credentials need pi:DescribeDimensionKeys: see lth help cloudwatch"
    line = f"Performance Insights: folio-db: permission denied; {needed}"
    assert line in capsys.readouterr().out
    assert f"- {line}" in directory.report.read_text()
    assert (directory.path / "cloudwatch.csv").is_file()
    assert SLOW_SQL not in directory.report.read_text()
    planted.refused.clear()
    assert metrics(directory.path) == 0
    assert SLOW_SQL in directory.report.read_text()
    assert "pi:DescribeDimensionKeys" not in directory.report.read_text()
    planted.refused["DescribeDimensionKeys"] = planted.refused["GetResourceMetrics"] = "InvalidArgumentException"
    assert metrics(directory.path) == 0
    assert SLOW_SQL in directory.report.read_text()
    assert [one["reason"] for one in services_of(directory)["missing"]] == [
        f"{operation} was refused (InvalidArgumentException): the instance may not keep its load for so long"
        for operation in ("DescribeDimensionKeys", "GetResourceMetrics")
    ]


@pytest.mark.usefixtures("planted")
def test_names_that_aws_does_not_list_are_named(tmp_path):
    spec = parse_cloudwatch({"region": REGION, "ecs": ["other/*"], "msk": ["no-kafka"], "rds": ["folio-db"]}, "x")
    directory = add_recent_run(tmp_path, cloudwatch=spec)
    assert metrics(directory.path) == 0
    found = {(one["source"], one["resource"]): one["reason"] for one in services_of(directory)["missing"]}
    assert found["MSK", "brokers of no-kafka"] == found["MSK", "consumers of no-kafka"] == "AWS lists none"
    assert found["ECS", "services of other"].startswith("ListServices was refused (ClusterNotFoundException)")
    assert SLOW_SQL in directory.report.read_text()
    assert "do not keep up" not in directory.report.read_text()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "AccessDeniedException",
            "permission denied; these credentials need cloudwatch:GetMetricData: see lth help cloudwatch",
        ),
        ("ThrottlingException", "the server refused too many requests (ThrottlingException, 4 attempts)."),
    ],
)
def test_without_any_metric_the_load_of_databases_is_reported(tmp_path, code, reason):
    found = slow(RESOURCE_ID)
    found.refused["GetMetricData"] = code
    with serving(InsightsServer, planted=found) as port:
        table = {"region": REGION, "endpoint_url": f"http://127.0.0.1:{port}", "rds": ["folio-db"]}
        directory = add_recent_run(tmp_path, cloudwatch=parse_cloudwatch(table, "x"))
        assert metrics(directory.path) == 0
    text = directory.report.read_text()
    assert SLOW_SQL in text
    assert f"- CloudWatch: all metrics: {reason}" in text
    assert not (directory.path / "cloudwatch.csv").exists()
    assert found.problems == []
