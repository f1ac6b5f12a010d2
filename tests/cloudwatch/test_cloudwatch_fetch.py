"""Fetching from CloudWatch: from moto's server."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import jsonschema
import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from tests.support.cloudwatch_runs import BEGAN_S, NO_SERVER, REGION, add_recent_run, metrics, spec
from tests.support.markdown_rows import cells_of, row_of
from tests.support.moto_server import moto_server
from tests.support.paths import FAKE_JMETER, ROOT

pytestmark = pytest.mark.real

DIMENSIONS = {
    "ECS": [{"Name": "ClusterName", "Value": "perf"}, {"Name": "ServiceName", "Value": "okapi"}],
    "RDS": [{"Name": "DBInstanceIdentifier", "Value": "folio-db"}],
    # A machine with credits, which `spec` requests only where a test names it.
    "EC2": [{"Name": "InstanceId", "Value": "i-0bbbbbbbbbbbbbbbb"}],
}


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as url:
        put(url)
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        boto3.client("rds", REGION, endpoint_url=url, **keys).describe_db_instances()  # the first call takes seconds
        yield url


def put(url: str) -> None:
    """Publish five minutes from the one before the run on; the service's third minute is missing."""
    client = client_of(url)
    for minute in range(-1, 4):
        at = datetime.fromtimestamp(BEGAN_S, UTC) + timedelta(minutes=minute)
        if minute != 2:
            publish(client, "ECS", "CPUUtilization", at, 40.0 + 10 * minute, 60.0 + 10 * minute)
        publish(client, "RDS", "CPUUtilization", at, 8.0)
        publish(client, "RDS", "FreeableMemory", at, 5 * 1024.0**3)


def client_of(url: str) -> Any:
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    return boto3.client("cloudwatch", REGION, endpoint_url=url, **keys)


def publish(client: Any, service: str, name: str, at: datetime, *values: float) -> None:
    named = {"MetricName": name, "Dimensions": DIMENSIONS[service]}
    times = [at + timedelta(seconds=20 * place) for place in range(len(values))]
    readings = [{**named, "Timestamp": time, "Value": value} for time, value in zip(times, values, strict=True)]
    client.put_metric_data(Namespace=f"AWS/{service}", MetricData=readings)


def test_cloudwatch_metrics_are_in_csv_json_and_report_and_missing_ones_are_na(tmp_path, moto):
    directory = add_recent_run(tmp_path, cloudwatch=spec(moto))
    assert "No metrics were fetched. `lth metrics tiny/run-01_1` fetches them." in directory.report.read_text()
    command = [str(ROOT / "aggregate.py"), "metrics", "tiny/run-01_1", "--reports", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # On a busy machine moto takes seconds for its first answer of a service, which is said.
    said = [line for line in done.stderr.splitlines() if not line.endswith("still waiting")]
    assert (done.returncode, said) == (0, [])
    assert done.stdout.splitlines()[:2] == [
        "tiny/run-01_1: 3 resources in CloudWatch, periods from 60 to 180 s are counted",
        "n/a: CloudWatch had no values (ECS perf/okapi memory %, RDS folio-db connections, EC2 i-0123456789abcdef0).",
    ]
    rows = (directory.path / "cloudwatch.csv").read_text().splitlines()
    assert rows[:5] == [
        "time_s,period_s,kind,resource,metric,statistic,value,status",
        f"{BEGAN_S},60,ecs,perf/okapi,cpu_ratio,average,0.5,Complete",
        f"{BEGAN_S + 60},60,ecs,perf/okapi,cpu_ratio,average,0.6,Complete",
        f"{BEGAN_S + 120},60,ecs,perf/okapi,cpu_ratio,average,,Complete",
        f"{BEGAN_S + 180},60,ecs,perf/okapi,cpu_ratio,average,0.8,Complete",
    ]
    assert len(rows) == 1 + 4 * 3 * (2 + 3 + 2)
    data = json.loads(directory.summary_json.read_text())
    jsonschema.Draft202012Validator(
        json.loads((ROOT / "harness" / "report" / "schema" / "summary.schema.json").read_text())
    ).validate(data)
    cpu = data["observed"]["cloudwatch"]["metrics"][0]
    assert (cpu["mean"], cpu["minimum"], cpu["maximum"]) == (0.6, 0.5, 0.7)
    assert (cpu["period_count"], cpu["point_count"], cpu["missing_last_count"]) == (2, 1, 1)
    report = directory.report.read_text()
    used = [row_of(report, name) for name in ("ECS perf/okapi", "RDS folio-db", "EC2 i-0123456789abcdef0")]
    assert cells_of(used, "CPU %", "CPU %: range", "memory %", "memory %: range", "periods") == [
        ["60.0", "50.0-70.0", "n/a", "n/a", "1 of 2"],
        ["8.0", "8.0-8.0", "", "", "2 of 2"],
        ["n/a", "n/a", "n/a", "n/a", "0 of 2"],
    ]
    assert cells_of(used, "free memory MB", "free memory MB: range", "connections") == [
        ["", "", ""],
        ["5120", "5120-5120", "n/a"],
        ["", "", ""],
    ]
    assert {path.name for path in directory.path.glob("cloudwatch-*")} == {
        "cloudwatch-cpu.svg", "cloudwatch-free-memory.svg",
    }  # fmt: skip
    assert "testing" not in "".join(path.read_text() for path in directory.path.glob("*.*"))


def with_fall(data: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a run with a fall of the throughput and its warning."""
    fall = {"at_s": 100, "began_s": 100, "constant_s": 100, "before_per_s": 5.0, "after_per_s": 1.0, "before_ms": 10.0}
    data["throttle"] = {**fall, "after_ms": 50.0, "after_error_ratio": 0.0, "user_count": 2}
    data["caveats"].append({"code": "throttled", "text": "From 1:40 on …", "subject": ""})
    return data


def test_credits_that_reached_zero_are_named_in_the_warning_about_throttling(tmp_path, moto):
    directory = add_recent_run(tmp_path, cloudwatch=spec(moto, ec2=["i-0bbbbbbbbbbbbbbbb"]))
    data = json.loads(directory.summary_json.read_text())
    directory.summary_json.write_text(json.dumps(with_fall(data)))
    client, at = client_of(moto), datetime.fromtimestamp(BEGAN_S, UTC)
    publish(client, "EC2", "CPUUtilization", at + timedelta(minutes=1), 20.0)
    publish(client, "EC2", "CPUCreditBalance", at + timedelta(minutes=1), 0.0)
    assert metrics(directory.path) == 0
    rows = [line for line in (directory.path / "cloudwatch.csv").read_text().splitlines() if "cpu_credit_count" in line]
    assert {row.split(",")[3] for row in rows} == {"i-0bbbbbbbbbbbbbbbb"}  # not of the database, which has none
    report = " ".join(directory.report.read_text().split())
    assert "In the measurement window the CPU credits of EC2 i-0bbbbbbbbbbbbbbbb reached 0." in report
    assert "CPU credits | range |" in report


def test_the_burst_balance_of_the_volumes_of_an_instance_is_fetched_and_named_when_used_up(tmp_path, moto):
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    ec2 = boto3.client("ec2", REGION, endpoint_url=moto, **keys)
    (machine,) = ec2.run_instances(ImageId="ami-12c6146b", MinCount=1, MaxCount=1)["Instances"]
    instance = machine["InstanceId"]
    filters = [{"Name": "attachment.instance-id", "Values": [instance]}]
    (volume,) = ec2.describe_volumes(Filters=filters)["Volumes"]
    named = {"MetricName": "BurstBalance", "Dimensions": [{"Name": "VolumeId", "Value": volume["VolumeId"]}]}
    at = datetime.fromtimestamp(BEGAN_S, UTC) + timedelta(minutes=1)
    client_of(moto).put_metric_data(Namespace="AWS/EBS", MetricData=[{**named, "Timestamp": at, "Value": 0.0}])
    directory = add_recent_run(tmp_path, cloudwatch=spec(moto, ec2=[instance]))
    data = json.loads(directory.summary_json.read_text())
    directory.summary_json.write_text(json.dumps(with_fall(data)))
    assert metrics(directory.path) == 0
    name = f"{instance}/{volume['VolumeId']}"
    rows = [line for line in (directory.path / "cloudwatch.csv").read_text().splitlines() if ",ebs," in line]
    assert {tuple(row.split(",")[2:5]) for row in rows} == {("ebs", name, "burst_balance_ratio")}
    report = " ".join(directory.report.read_text().split())
    assert f"In the measurement window the burst balance of EBS {name} reached 0." in report


def test_the_report_is_the_same_again_from_samples_from_the_json_alone_and_fetched_again(tmp_path, moto):
    directory = add_recent_run(tmp_path, cloudwatch=spec(moto))
    metrics(directory.path)
    json_text, report = directory.summary_json.read_bytes(), directory.report.read_bytes()
    for verb in ("report", "metrics"):
        assert main([verb, str(directory.path)]) == 0
        assert (directory.summary_json.read_bytes(), directory.report.read_bytes()) == (json_text, report)
    for path in directory.path.iterdir():
        path.unlink()
    directory.path.rmdir()
    assert metrics(directory.path) == 0  # of a run that came as JSON alone
    assert (directory.summary_json.read_bytes(), directory.report.read_bytes()) == (json_text, report)


def test_another_profile_may_be_given_and_a_run_without_cloudwatch_is_reported(tmp_path, moto, capsys, monkeypatch):
    directory = add_recent_run(tmp_path)
    other = add_recent_run(tmp_path, "tiny/run-01_2", cloudwatch=spec(moto))
    assert metrics("tiny/run-01_*", "--reports", tmp_path) == 2
    assert capsys.readouterr().err == (
        "lth: tiny/run-01_1: its profile requests nothing from CloudWatch; give --env with a profile that does\n"
    )
    assert (other.path / "cloudwatch.csv").is_file()
    (tmp_path / "home" / "env").mkdir(parents=True)
    profile = tmp_path / "home" / "env" / "aws.toml"
    profile.write_text(f"format_version = 1\n[cloudwatch]\nrds = ['folio-db']\nendpoint_url = '{moto}'\n")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    assert metrics(directory.path, "--env", "aws", "--home", tmp_path / "home") == 0
    used = row_of(directory.report.read_text(), "RDS folio-db")
    assert cells_of([used], "CPU %", "CPU %: range", "free memory MB") == [["8.0", "8.0-8.0", "5120"]]
    assert json.loads(directory.run_json.read_text())["cloudwatch"]["resources"] == [
        {"kind": "rds", "name": "folio-db"}
    ]


def test_stored_metrics_remain_when_cloudwatch_has_deleted_them(tmp_path, moto, capsys):
    directory = add_recent_run(tmp_path, cloudwatch=spec(moto, region="eu-west-1"))
    metrics(directory.path)
    assert (directory.path / "cloudwatch.csv").read_text().count(",,Complete") == 84
    kept = (directory.path / "cloudwatch.csv").read_text().replace(",average,,", ",average,0.5,")
    (directory.path / "cloudwatch.csv").write_text(kept)
    metrics(directory.path)
    assert "cloudwatch.csv, with periods of 60 s, is not replaced: CloudWatch now has less" in capsys.readouterr().out
    assert (directory.path / "cloudwatch.csv").read_text() == kept


@pytest.mark.parametrize(
    ("missing", "changes", "message"),
    [
        ("AWS_ACCESS_KEY_ID", {}, "CloudWatch: no credentials found; set AWS_PROFILE"),
        ("AWS_REGION", {"region": None}, "cloudwatch: no region is set; set AWS_DEFAULT_REGION"),
    ],
    ids=["no credentials", "no region"],
)
def test_without_credentials_or_region_one_line_names_what_to_set(
    tmp_path, moto, monkeypatch, missing, changes, message
):
    monkeypatch.delenv(missing, raising=False)
    directory = add_recent_run(tmp_path, cloudwatch=replace(spec(moto), **changes))
    with pytest.raises(UsageError) as refused:
        metrics(directory.path)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert not (directory.path / "cloudwatch.csv").exists()


def watch(home: Path, url: str) -> None:
    """Let the profile ask for a database, which has values for some minutes from now on."""
    profile = home / "env" / "local.toml"
    table = f'[cloudwatch]\nregion = "{REGION}"\nendpoint_url = "{url}"\nrds = ["folio-db"]\n'
    profile.write_text(f"{profile.read_text()}{table}")
    if url != NO_SERVER:
        client = client_of(url)
        for minute in range(-1, 4):
            at = datetime.fromtimestamp(int(time.time()) // 60 * 60, UTC) + timedelta(minutes=minute)
            publish(client, "RDS", "CPUUtilization", at, 9.0)


@pytest.mark.counterpart
def test_a_sweep_fetches_at_its_end_and_lists_its_loads_side_by_side(home, tmp_path, moto):
    watch(home, moto)
    arguments = ["--plan", "tiny", "--home", home, "--reports", tmp_path / "reports", "--build", tmp_path / "build"]
    command = [ROOT / "scripts" / "sweep", *arguments, "--users", "1,2", "--duration", "2", "--warmup", "0"]
    environment = {**os.environ, "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "works"}
    swept = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert swept.returncode == 0, swept.stderr
    table = "**CPU %**\n\n| resource | 1 user | range | 2 users | range |\n| --- | ---: | ---: | ---: | ---: |\n"
    row = "| RDS folio-db | 9.0 | 9.0-9.0 | 9.0 | 9.0-9.0 |"
    report_path = tmp_path / "reports" / "tiny" / "sweep-01.md"
    text = report_path.read_text()
    assert f"{table}{row}\n" in text
    report = report_path.with_name("run-01_2.md").read_text()
    assert "No period of 60 s is entirely within the measurement window" in report
    for fetched in report_path.parent.glob("run-01_*/cloudwatch.csv"):
        fetched.unlink()
    report_path.unlink()
    assert metrics("tiny/sweep-01", "--reports", tmp_path / "reports") == 0
    assert report_path.read_text() == text


def test_a_failed_fetch_does_not_change_the_run_and_prints_how_to_repeat_it(run, home, tmp_path):
    watch(home, NO_SERVER)
    done = run("--users", "2")
    assert done.returncode == 0, done.stderr
    assert "CloudWatch metrics are missing: CloudWatch: the server does not answer" in done.stdout
    assert "everything else is complete; to fetch them: lth metrics tiny/run-01_1" in done.stdout
    report = (tmp_path / "reports" / "tiny" / "run-01_1.md").read_text()
    assert "No metrics were fetched. `lth metrics tiny/run-01_1` fetches them." in report
