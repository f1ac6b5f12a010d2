"""Performance Insights: from a server of ours that speaks both of its protocols, checked against botocore's model."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.model import ServiceModel

from harness.cloudwatch.insights import read_insights
from harness.cloudwatch.queries import parse_cloudwatch
from harness.cloudwatch.services import DatabaseLoad, Missing, Services, SessionWait, Sql
from harness.metrics.window import STEADY, Window
from harness.report.services import services_text
from tests.support.insights_server import RESOURCE_ID, InsightsServer, Planted
from tests.support.local_server import serving
from tests.support.moto_server import ENVIRONMENT
from tests.support.programs import packages

pytestmark = pytest.mark.real

# A full minute. The load began in the middle of it, and lasted five minutes, of which 60 to 240 s are counted.
MINUTE_S = 1_700_000_040
BEGAN_S, RUN_S = MINUTE_S + 30, 270
CPU, READ = ("CPU", "CPU"), ("IO", "DataFileRead")
SLOW = {
    "id": "2F3A", "statement": "SELECT * FROM item WHERE name LIKE $1", "load": 2.5,
    "db.sql_tokenized.stats.calls_per_sec.avg": 4.0, "db.sql_tokenized.stats.avg_latency_per_call.avg": 625.0,
}  # fmt: skip
QUICK = {"id": "1B", "statement": "UPDATE item SET a = 'sesame'", "load": 0.2}


def planted(**changes: Any) -> Planted:
    minutes = [MINUTE_S + 60 * minute for minute in range(5)]
    waits = {
        CPU: dict(zip(minutes, (0.5, 1.0, 2.0, 3.0, 1.0), strict=True)),
        READ: dict(zip(minutes[1:4], (0.5, 0.6, 0.7), strict=True)),
    }
    return Planted(**{"waits": waits, "statements": [QUICK, SLOW], **changes})


@contextmanager
def insights(found: Planted) -> Iterator[str]:
    with serving(InsightsServer, planted=found) as port:
        yield f"http://127.0.0.1:{port}"
    assert found.problems == []


def read(found: Planted, *names: str) -> Services:
    with insights(found) as url:
        table = {"region": "eu-central-1", "endpoint_url": url, "rds": list(names or ("folio-db",))}
        window = Window(STEADY, 60, 240, 180, RUN_S)
        return read_insights(parse_cloudwatch(table, "x"), BEGAN_S, window)


@pytest.mark.parametrize(
    ("protocol", "page_size"), [("smithy-rpc-v2-cbor", 25), ("smithy-rpc-v2-cbor", 1), ("json", 25)]
)
def test_waits_and_statements_of_the_window_are_read_from_all_pages(protocol, page_size, monkeypatch):
    of_service = property(lambda model: protocol if model.service_name == "pi" else model.metadata["protocol"])
    monkeypatch.setattr(ServiceModel, "resolved_protocol", of_service)
    found = planted(page_size=page_size)
    services = read(found)
    assert services.missing == ()
    (database,) = services.databases
    # The minutes from 90 to 210 s after the load began are within the window.
    assert (database.name, database.from_s, database.period_s) == ("folio-db", -30, 60)
    assert database.waits == (
        SessionWait("CPU", 2.5, (0.5, 1.0, 2.0, 3.0, 1.0)),
        SessionWait("IO:DataFileRead", 0.65, (None, 0.5, 0.6, 0.7, None)),
    )
    assert database.sql == (
        Sql("2F3A", "SELECT * FROM item WHERE name LIKE $1", 2.5, 4.0, 625.0),
        Sql("1B", "UPDATE item SET a = ?", 0.2, None, None),
    )
    assert {name for name, _ in found.requests} == {
        "DescribeDBInstances",
        "DescribeDimensionKeys",
        "GetResourceMetrics",
    }


@pytest.mark.parametrize(
    ("refused", "right", "waits", "statements"),
    [
        ({"DescribeDimensionKeys": "NotAuthorizedException"}, "pi:DescribeDimensionKeys", 2, 0),
        ({"GetResourceMetrics": "AccessDeniedException"}, "pi:GetResourceMetrics", 2, 2),
        ({"DescribeDBInstances": "AccessDenied"}, "rds:DescribeDBInstances", 0, 0),
    ],
)
def test_a_right_that_is_missing_is_named_once_and_the_rest_is_read(refused, right, waits, statements):
    services = read(planted(refused=refused))
    assert services.missing == (Missing("Performance Insights", "folio-db", "permission denied", right),)
    found = services.databases[0] if services.databases else None
    assert (len(found.waits) if found else 0, len(found.sql) if found else 0) == (waits, statements)
    if right == "pi:DescribeDimensionKeys":  # the series is known, their average in the window is not
        assert found.waits[0] == SessionWait("CPU", None, (0.5, 1.0, 2.0, 3.0, 1.0))


def test_throttled_calls_are_repeated():
    throttled = ["ThrottlingException"] * 3
    found = planted(refused={"GetResourceMetrics": throttled, "DescribeDimensionKeys": ["ThrottlingException"]})
    services = read(found)
    assert services.missing == ()
    assert len(services.databases[0].sql) == 2
    assert [name for name, _ in found.requests].count("GetResourceMetrics") == 4


def test_calls_that_stay_throttled_are_named_after_four_attempts():
    found = planted(refused={"DescribeDimensionKeys": "ThrottlingException"})
    services = read(found)
    reason = "the server refused too many requests (ThrottlingException, 4 attempts)"
    assert services.missing == (Missing("Performance Insights", "folio-db", reason),)
    assert services.databases[0].sql == ()
    assert [name for name, _ in found.requests].count("DescribeDimensionKeys") == 8  # waits and statements


def test_late_minutes_are_unknown_and_named():
    found = planted(waits={CPU: {MINUTE_S: 0.5, MINUTE_S + 60: 1.0, MINUTE_S + 120: 2.0}})
    services = read(found)
    assert services.databases[0].waits == (SessionWait("CPU", 2.0, (0.5, 1.0, 2.0, None, None)),)
    reason = "no value yet for the last 1 of 2 periods of 60 s"
    assert services.missing == (Missing("Performance Insights", "folio-db", reason),)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"is_on": False}, "it is off: switch it on in the settings of the instance"),
        ({"known_metrics": ()}, "calls and time per call of statements: DescribeDimensionKeys was refused "),
        ({"engine": "oracle-ee"}, "calls and time per call of statements: not known of the engine oracle-ee"),
    ],
)
def test_what_an_instance_does_not_have_is_named(changes, reason):
    services = read(planted(**changes))
    (missing,) = services.missing
    assert missing.reason.startswith(reason)
    assert missing.right is None
    assert [one.calls_per_s for found in services.databases for one in found.sql] == (
        [] if "is_on" in changes else [None, None]
    )


def test_statistics_have_the_names_of_the_engine():
    names = (
        "db.sql_tokenized.stats.count_star_per_sec.avg",
        "db.sql_tokenized.stats.sum_timer_wait_per_call.avg",
    )
    slow = {**QUICK, "statement": 'SELECT "sesame"', names[0]: 5.0, names[1]: 40.0}
    services = read(planted(engine="aurora-mysql", known_metrics=names, statements=[slow]))
    assert services.missing == ()
    assert services.databases[0].sql == (Sql("1B", "SELECT ?", 0.2, 5.0, 40.0),)


def test_a_sleeping_database_has_no_waits_and_nothing_is_missing():
    asleep = {CPU: {MINUTE_S + 60 * minute: 0.0 for minute in range(5)}}
    services = read(planted(waits=asleep, statements=()))
    assert services.missing == ()
    assert services.databases == (DatabaseLoad("folio-db", -30, 60, (), ()),)
    assert "It lists no waits and no statements." in services_text(services, "x")
    assert read(planted(waits={}, statements=())).databases == ()  # not known yet


def test_an_unknown_instance_is_named_beside_the_known_one():
    services = read(planted(), "folio-db", "other-db")
    assert services.missing == (Missing("Performance Insights", "other-db", "RDS has no instance of this name"),)
    assert [one.name for one in services.databases] == ["folio-db"]


@pytest.mark.counterpart
def test_the_aws_cli_reads_the_same_from_the_server():
    """The CLI brings its own botocore, which only speaks JSON: it, too, accepts what the server answers."""
    aws = packages("awscli==1.36.40").with_name("aws")
    found = planted()
    group = json.dumps({"Group": "db.sql_tokenized", "Limit": 10})
    command = [
        aws, "pi", "describe-dimension-keys", "--service-type", "RDS", "--identifier", RESOURCE_ID, "--metric",
        "db.load.avg", "--group-by", group, "--start-time", str(MINUTE_S + 60), "--end-time", str(MINUTE_S + 180),
        "--period-in-seconds", "60", "--region", "eu-central-1", "--output", "json",
    ]  # fmt: skip
    with insights(found) as url:
        done = subprocess.run(
            [*command, "--endpoint-url", url],
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    keys = json.loads(done.stdout)["Keys"]
    (database,) = read(planted()).databases
    assert [(key["Dimensions"]["db.sql_tokenized.id"], key["Total"]) for key in keys] == [
        (one.id, one.average_sessions) for one in database.sql
    ]
