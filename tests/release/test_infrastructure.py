"""The infrastructure on a release page: read from moto's server once, and stored with the sweep."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest

from harness.cloudwatch.queries import parse_cloudwatch
from tests.release.test_release import recommended_on, release, section
from tests.support.moto_server import ENVIRONMENT, moto_server
from tests.support.releases import save_release

pytestmark = pytest.mark.real

REGION = "eu-central-1"
KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
SECRET = "jdbc-password-of-somebody"
NO_SERVER = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def moto() -> Iterator[tuple[str, str]]:
    """Yield the address of a server with a service, a database and a machine, and the machine's id."""
    with moto_server() as url:
        yield url, put(url)


def client(service: str, url: str) -> Any:
    return boto3.client(service, REGION, endpoint_url=url, **KEYS)


def put(url: str) -> str:
    ecs = client("ecs", url)
    ecs.create_cluster(clusterName="perf")
    container = {
        "name": "mod-circulation",
        "image": "registry.example.org/folioorg/mod-circulation:23.1.0",
        "cpu": 128,
        "memory": 1814,
        "memoryReservation": 1684,
        "environment": [
            {"name": "JAVA_OPTIONS", "value": f"-Xmx1440m -XX:MaxMetaspaceSize=128m -Ddb={SECRET}"},
            {"name": "DB_PASSWORD", "value": SECRET},
        ],
    }
    ecs.register_task_definition(family="mod-circulation", containerDefinitions=[container])
    ecs.create_service(
        cluster="perf", serviceName="mod-circulation", taskDefinition="mod-circulation:1", desiredCount=2
    )
    client("rds", url).create_db_instance(
        DBInstanceIdentifier="folio-db", DBInstanceClass="db.r6g.xlarge", Engine="postgres", EngineVersion="16.1",
        AllocatedStorage=200, MasterUsername="folio", MasterUserPassword="irrelevant-here",
    )  # fmt: skip
    (machine,) = client("ec2", url).run_instances(
        ImageId="ami-12c6146b", InstanceType="m5.xlarge", MinCount=1, MaxCount=1
    )["Instances"]
    return machine["InstanceId"]


def two_sweeps(reports, url: str, started_at: str = "2026-02-01T00:00:00Z", **resources: Any):
    spec = parse_cloudwatch({"region": REGION, "endpoint_url": url, **resources}, "env/x.toml [cloudwatch]")
    save_release(reports, "01", levels=(2,))
    save_release(reports, "02", levels=(2,), started_at=started_at, cloudwatch=spec)


def test_services_databases_and_machines_are_in_the_appendix_and_stored_with_the_sweep(tmp_path, moto):
    url, machine = moto
    reports = tmp_path / "reports"
    two_sweeps(reports, url, ecs=["perf/mod-circulation"], rds=["folio-db"], ec2=[machine])
    _, folder = release(reports)
    stored = folder / "sweep-02" / "infrastructure.json"
    facts = {(one["kind"], name): value for one in json.loads(stored.read_text())["resources"]
             for name, value in one["facts"]}  # fmt: skip
    assert facts["ecs", "task definition"] == "mod-circulation:1"
    assert facts["ecs", "tasks"].endswith("of 2 running")
    assert facts["ecs", "image"] == "mod-circulation:23.1.0"
    assert (facts["ecs", "CPU units"], facts["ecs", "memory limit MB"]) == ("128", "1814")
    assert facts["ecs", "memory reservation MB"] == "1684"
    assert facts["ecs", "Java sizes"] == "-Xmx1440m -XX:MaxMetaspaceSize=128m"
    assert facts["rds", "instance class"] == "db.r6g.xlarge"
    assert facts["ec2", "instance type"] == "m5.xlarge"
    page = folder / "release-sweep-01-sweep-02.md"
    rows = section(page.read_text(), "Infrastructure")
    assert "| ECS perf/mod-circulation | memory limit MB | 1814 |  |" in rows
    assert "| RDS folio-db | instance class | db.r6g.xlarge |  |" in rows
    assert SECRET not in page.read_text() + stored.read_text()
    # The next page has what was stored, also when AWS has changed or is away; a later release shows what differs.
    text = stored.read_text()
    (folder / "sweep-01").mkdir()
    (folder / "sweep-01" / "infrastructure.json").write_text(text.replace("1814", "1024"))
    release(reports)
    assert stored.read_text() == text
    page_text = page.read_text()
    assert "| ECS perf/mod-circulation | memory limit MB | 1814 | 1024 |" in section(page_text, "Infrastructure")
    recommended = recommended_on(page_text)
    assert "The infrastructure differs: ECS perf/mod-circulation memory limit MB: 1024 → 1814." in recommended


def test_a_server_that_is_down_is_one_line_and_the_page_reports_that_nothing_is_known(tmp_path, capsys):
    reports = tmp_path / "reports"
    two_sweeps(reports, NO_SERVER, rds=["folio-db"])
    code, folder = release(reports)
    assert code == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith("lth: the set-up of RDS resources is not known: RDS: the server does not")
    assert lines[3].startswith("lth: the minutes before the sweep are not known: CloudWatch: the server does")
    assert len(lines) == 4
    assert not (folder / "sweep-02" / "infrastructure.json").exists()
    text = (folder / "release-sweep-01-sweep-02.md").read_text()
    assert "Not known: the profile lists no resources in AWS" in section(text, "Infrastructure")


def publish(url: str, minutes: range, percent: float) -> None:
    """Publish the memory of the service in these minutes since 1970."""
    dimensions = [{"Name": "ClusterName", "Value": "perf"}, {"Name": "ServiceName", "Value": "mod-circulation"}]
    readings = [
        {
            "MetricName": "MemoryUtilization",
            "Dimensions": dimensions,
            "Timestamp": datetime.fromtimestamp(60 * minute, UTC),
            "Value": percent,
        }
        for minute in minutes
    ]
    client("cloudwatch", url).put_metric_data(Namespace="AWS/ECS", MetricData=readings)


def test_metrics_before_and_after_the_sweep_are_fetched_once_and_memory_that_stays_is_named(tmp_path, moto):
    url, _ = moto
    reports = tmp_path / "reports"
    began_min = int(time.time()) // 60 - 60
    two_sweeps(
        reports,
        url,
        started_at=datetime.fromtimestamp(60 * began_min, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        ecs=["perf/mod-circulation"],
    )
    publish(url, range(began_min - 20, began_min), 50.0)
    publish(url, range(began_min, began_min + 20), 60.0)
    _, folder = release(reports)
    page = folder / "release-sweep-01-sweep-02.md"
    text = page.read_text()
    assert "| ECS perf/mod-circulation | 50.0 | 60.0 |" in section(text, "Before and after the sweeps")
    recommended = recommended_on(text)
    assert "Memory did not return to its size before the sweep: ECS perf/mod-circulation 50.0 → 60.0 %." in recommended
    publish(url, range(began_min - 20, began_min + 20), 10.0)
    release(reports)
    assert page.read_text() == text
