"""Services of a run: who took part, consumers that lag, statements without literals, and what a report says of them."""

from __future__ import annotations

import random

import pytest

from harness.base.errors import UsageError
from harness.cloudwatch.insights import without_literals
from harness.cloudwatch.participants import idle_services, participants_of
from harness.cloudwatch.points import COMPLETE, Answers, CloudMetric, CloudMetrics, read_cloudwatch
from harness.cloudwatch.queries import Listed, PeriodSpan, parse_cloudwatch, queries_of
from harness.cloudwatch.resources import Resource
from harness.cloudwatch.services import DatabaseLoad, Missing, Participant, Services, SessionWait, Sql
from harness.judge.warnings.consumer_lag import lag_values
from harness.metrics.window import STEADY, Window
from harness.report.charts.cloudwatch import cloud_notes, cloud_table
from harness.report.services import services_text
from tests.support.run_charts import drawn, source

ALL_OF_PERF = [Resource("ecs", "perf/*")]
HEAD = "time_s,period_s,kind,resource,metric,statistic,value,status"
RUN_S = 300


def read(*resources: tuple[str, str, str, list[float | None]]) -> CloudMetrics:
    """Return the metrics (kind, resource, name, a value a minute) of a run of five minutes, which began at 6000 s.

    The last five values are those of the run.
    """
    lines = [HEAD]
    for kind, resource, name, values in resources:
        for index, value in enumerate(values):
            at = 6000 + 60 * (index - len(values) + RUN_S // 60)
            shown = "" if value is None else value
            lines += [
                f"{at},60,{kind},{resource},{name},{statistic},{shown},Complete" for statistic in ("average", "maximum")
            ]
    found = read_cloudwatch(lines, 6000, Window(STEADY, 0, RUN_S, RUN_S, RUN_S))
    assert found is not None
    return found


def took_part(before: list[float | None], during: list[float | None]) -> Participant:
    found = read(("ecs", "perf/mod-inventory", "cpu_ratio", [*before, *during]))
    (one,) = participants_of(found, ALL_OF_PERF)
    return one


IDLE = [0.012, 0.011, 0.013, 0.012, 0.012, 0.012, 0.011, 0.012, 0.013, 0.012]


@pytest.mark.parametrize(
    ("before", "during", "expected"),
    [
        (IDLE, [0.3, 0.34, 0.36, 0.35, 0.35], True),
        (IDLE, [0.025] * 5, True),
        (IDLE, [0.02] * 5, False),  # less than a percentage point more
        ([0.4] * 10, [0.4] * 5, False),  # busy, with the same all the time
        ([0.01] * 9 + [0.5], [0.01, 0.5, 0.01, 0.01, 0.01], False),  # the peaks of a timer
        ([0.4] * 10, [0.1] * 5, False),
        ([None] * 10, [0.4] * 5, None),
        (IDLE, [None] * 5, None),
        ([None] * 9 + [0.01], [0.4, None, 0.4, None, None], True),
    ],
)
def test_a_service_took_part_when_its_cpu_is_above_its_highest_minute_before(before, during, expected):
    assert took_part(before, during).took_part is expected


def test_after_another_run_a_service_without_a_rise_is_not_called_idle():
    found = read(
        ("ecs", "perf/mod-a", "cpu_ratio", [0.4] * 15), ("ecs", "perf/mod-b", "cpu_ratio", [0.4] * 10 + [0.6] * 5)
    )
    participants = participants_of(found, ALL_OF_PERF, was_quiet=False)
    assert [(one.service, one.took_part) for one in participants] == [("mod-b", True), ("mod-a", None)]
    assert idle_services(Services(participants=participants)) == frozenset()
    assert "1 of 2 services took part. Of 1 it is not known: " in services_text(Services((), participants), "x")


@pytest.mark.real
@pytest.mark.parametrize("deviation", [0.001, 0.005, 0.01])
def test_noise_makes_no_service_a_participant(deviation):
    chance = random.Random(7)

    def noisy(count: int, mean: float) -> list[float | None]:
        return [max(0.0, chance.gauss(mean, deviation)) for _ in range(count)]

    services = [("ecs", f"perf/mod-{number}", "cpu_ratio", noisy(15, 0.03)) for number in range(300)]
    found = participants_of(read(*services), ALL_OF_PERF)
    assert [one.service for one in found if one.took_part] == []
    busy = [(kind, name, metric, [*values[:10], *noisy(5, 0.09)]) for kind, name, metric, values in services]
    assert sum(one.took_part is True for one in participants_of(read(*busy), ALL_OF_PERF)) > 290


def test_participants_are_in_percent_and_those_that_took_part_come_first():
    found = read(
        ("ecs", "perf/mod-a", "cpu_ratio", [0.01] * 15),
        ("ecs", "perf/mod-b", "cpu_ratio", [0.01] * 10 + [0.2] * 5),
        ("ecs", "perf/mod-c", "cpu_ratio", [0.02] * 10 + [0.4] * 5),
        ("ecs", "other/mod-d", "cpu_ratio", [0.02] * 10 + [0.4] * 5),
        ("ecs", "perf/mod-a", "memory_ratio", [0.5] * 15),
    )
    participants = participants_of(found, ALL_OF_PERF)
    assert participants == (
        Participant("perf", "mod-c", 2.0, 40.0, True),
        Participant("perf", "mod-b", 1.0, 20.0, True),
        Participant("perf", "mod-a", 1.0, 1.0, False),
    )
    assert participants_of(found, [Resource("ecs", "perf/mod-a")]) == ()
    text = services_text(Services(participants=participants), "tiny/run-01_1")
    assert text.startswith("2 of 3 services took part.")
    assert "| perf/mod-c | 2.0 | 40.0 |\n| perf/mod-b | 1.0 | 20.0 |" in text
    idle = idle_services(Services(participants=participants))
    assert idle == {Resource("ecs", "perf/mod-a")}
    table = cloud_table(found, idle)
    assert "ECS perf/mod-b" in table
    assert "ECS perf/mod-a" not in table


def test_the_time_before_the_load_counts_only_as_such():
    found = read(("consumer", "kafka/group/topic", "lag_count", [5.0, 7.0, *[10.0] * 5]))
    (lag,) = found.metrics
    assert (lag.before_mean, lag.before_maximum, lag.mean, lag.period_count) == (6.0, 7.0, 10.0, 5)
    assert (lag.seconds[0], found.from_s) == (30.0, 0)


def lag(before: list[float | None], during: list[float | None], name: str = "kafka/mod-search/inventory.items"):
    return ("consumer", name, "lag_count", [*before, *during])


def named(*lags: tuple[str, str, str, list[float | None]], run_s: int = RUN_S) -> list[str]:
    lines = [HEAD]
    for kind, resource, name, values in lags:
        for index, value in enumerate(values):
            at = 6000 + 60 * (index - len(values) + run_s // 60)
            lines.append(f"{at},60,{kind},{resource},{name},average,{'' if value is None else value},Complete")
    window = Window(STEADY, 0, run_s, run_s, run_s)
    return [values["consumers"] for values in lag_values(read_cloudwatch(lines, 6000, window), window)]


def test_a_lag_that_grows_or_is_far_above_before_is_named():
    growing = [2000.0 + 300 * minute for minute in range(12)]
    assert named(lag([2000.0] * 10, growing), run_s=720) == [
        "mod-search at topic inventory.items of kafka, lag from 2,450 to 4,850 messages within the window"
    ]
    assert named(lag([3.0, 9.0] * 5, [52_000.0, 48_000.0, 50_000.0, 51_000.0, 49_000.0])) == [
        "mod-search at topic inventory.items of kafka, lag 50,000 messages, before the run at most 9"
    ]
    many = [lag([0.0] * 10, [9000.0 + number] * 5, f"kafka/group-{number}/t") for number in range(6)]
    (text,) = named(*many)
    assert text.startswith("group-5 at topic t")
    assert text.endswith("; and 2 more")


@pytest.mark.parametrize(
    ("before", "during"),
    [
        ([0.0] * 10, [0.0] * 12),
        ([5000.0] * 10, [5000.0] * 12),  # it lagged before, and no more now
        ([5000.0, 7000.0] * 5, [6000.0, 7500.0, 5000.0] * 4),
        ([0.0] * 10, [900.0] * 12),  # a second of a busy topic
        ([0.0] * 10, [0.0, 900.0, 0.0, 20.0] * 3),
        ([9000.0] * 10, [9000.0 - 700 * minute for minute in range(12)]),
        ([0.0] * 10, [None] * 12),
        ([None] * 10, [8000.0] * 12),  # whether it grew is not known
    ],
)
def test_a_lag_that_is_flat_noisy_small_falling_or_unknown_is_not_named(before, during):
    assert named(lag(before, during), run_s=720) == []


def test_a_run_without_consumers_names_none():
    assert list(lag_values(None, Window.whole(60))) == []
    assert named(("ecs", "perf/a", "cpu_ratio", [0.0] * 10 + [5000.0] * 5)) == []


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT  *\n FROM item WHERE id = $1", "SELECT * FROM item WHERE id = $1"),
        ("ALTER USER folio PASSWORD 'open ''sesame'''", "ALTER USER folio PASSWORD ?"),
        ("SELECT 1 FROM t2 WHERE a=12.5 AND b='open ses", "SELECT ? FROM t2 WHERE a=? AND b=?"),
        ("/* user=sesame */ SELECT a -- sesame\nFROM t", "SELECT a FROM t"),
        ("SELECT '-- it' , 'sesame'", "SELECT ? , ?"),
        (r"SELECT 'a\' , 'sesame'", "SELECT ?"),
        ("DO $x$ sesame $x$", "DO ?"),
        ("SELECT \"it's\" FROM t WHERE a = 'sesame'", 'SELECT "it\'s" FROM t WHERE a = ?'),
        ("SELECT " + "a, " * 100, ("SELECT " + "a, " * 100)[:199] + "…"),
    ],
)
def test_a_statement_has_no_literals_and_is_short(sql, text):
    assert without_literals(sql) == text


def test_double_quotes_are_around_texts_in_mysql():
    assert (
        without_literals('SELECT a FROM t WHERE b = "sesame"', are_quoted_names=False) == "SELECT a FROM t WHERE b = ?"
    )


def test_unknown_values_are_na_and_each_missing_source_has_a_line_with_its_right():
    sql = (Sql("1", "SELECT a FROM t", 0.8, 12.0, 3.1), Sql("2", "", 0.1, None, None))
    waits = (SessionWait("CPU", 1.2, (1.0, None, 1.4)), SessionWait("IO:DataFileRead", None, (None,) * 3))
    missing = (
        Missing("Performance Insights", "other-db", "permission denied", "pi:DescribeDimensionKeys"),
        Missing("MSK", "brokers of kafka", "AWS lists none"),
    )
    database = DatabaseLoad("folio-db", 0, 30, waits, sql)
    text = services_text(Services(missing, (), (database,)), "tiny/run-01_1")
    assert "| CPU | 1.20 |\n| IO:DataFileRead | n/a |" in text
    assert "| SELECT a FROM t | 0.80 | 12.00 | 3.10 |\n| 2 | 0.10 | n/a | n/a |" in text
    assert text.endswith(
        "Missing; `lth metrics tiny/run-01_1` fetches again:\n\n"
        "- Performance Insights: other-db: permission denied; these credentials need pi:DescribeDimensionKeys: "
        "see lth help cloudwatch.\n- MSK: brokers of kafka: AWS lists none."
    )
    assert services_text(Services(), "x") == services_text(None, "x") == ""
    charts = drawn(source(services=Services(databases=(database,))))
    assert list(charts) == ["database-load"]
    assert "CPU: least 1, most 1.4, last 1.4; 1 of 3 points without a value." in charts["database-load"]


def test_new_kinds_are_listed_in_a_profile_by_their_names():
    spec = parse_cloudwatch(
        {
            "ecs": [{"cluster": "perf", "services": "*"}],
            "msk": ["folio-kafka"],
            "opensearch": ["folio-search"],
            "elb": ["app/folio/50dc6c495c0c9188"],
        },
        "x",
    )
    assert [(one.kind, one.name) for one in spec.resources] == [
        ("ecs", "perf/*"),
        ("msk", "folio-kafka"),
        ("opensearch", "folio-search"),
        ("elb", "app/folio/50dc6c495c0c9188"),
    ]
    assert {query.resource.kind for query in queries_of(spec)} == {"elb"}  # the others are listed first


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"elb": ["folio"]}, "elb 'folio' is not a valid name; give the end of its ARN, such as app/folio/"),
        ({"msk": ["a/b"]}, "msk 'a/b' is not a valid name; give the name of a cluster"),
        ({"opensearch": ["Folio"]}, "opensearch 'Folio' is not a valid name; give the name of a domain"),
        ({"ecs": [{"cluster": "perf", "services": "okapi"}]}, r'give { cluster = "…", services = \["…"\] }, or'),
    ],
)
def test_wrong_names_of_new_kinds_are_refused(table, message):
    with pytest.raises(UsageError, match=message):
        parse_cloudwatch(table, "x")


BROKER, DOMAIN, BALANCER = (
    Resource("msk", "folio-kafka/1"),
    Resource("opensearch", "folio-search"),
    Resource("elb", "app/folio/50dc6c495c0c9188"),
)


def csv_of(values: dict[str, dict[int, float]], *listed: Listed) -> list[str]:
    """Return the rows of cloudwatch.csv of listed resources; `values` by CloudWatch's name and statistic."""
    queries = queries_of(parse_cloudwatch({"elb": [BALANCER.name]}, "x"), listed)
    known = {query.id: values.get(f"{query.metric.metric_name} {query.statistic}", {}) for query in queries}
    text = Answers(known, dict.fromkeys(known, COMPLETE)).to_csv(queries, PeriodSpan(120, 240, 60))
    return [",".join(row.split(",")[i] for i in (0, 4, 5, 6)) for row in text.splitlines()[1:]]


def test_user_and_system_cpu_of_a_broker_are_added_where_both_are_known():
    values = {"CpuUser average": {120: 40.0, 180: 30.0}, "CpuSystem average": {120: 15.0}}
    rows = csv_of(values, Listed(BROKER))
    assert [row for row in rows if "cpu_ratio,average" in row] == [
        "120,cpu_ratio,average,0.55",
        "180,cpu_ratio,average,",
    ]


def test_counts_are_rates_and_errors_are_zero_where_requests_are_known():
    values = {"RequestCount sum": {120: 600.0}, "HTTPCode_ELB_5XX_Count sum": {120: 3.0}}
    rows = csv_of(values)
    assert [row for row in rows if "average" in row and "response" not in row] == [
        "120,request_rate_per_s,average,10",
        "180,request_rate_per_s,average,",
        "120,elb_5xx_per_min,average,3",
        "180,elb_5xx_per_min,average,",
        "120,target_5xx_per_min,average,0",  # CloudWatch has no value for none
        "180,target_5xx_per_min,average,",
    ]
    assert not any("5xx" in row for row in csv_of({}))  # nothing is known


def test_a_domain_is_requested_with_its_account_and_a_consumer_from_before_the_run():
    consumer = Resource("consumer", "folio-kafka/group/with/slash/topic")
    listed = (Listed(DOMAIN, 0, (("ClientId", "123456789012"),)), Listed(consumer, 60))
    queries = queries_of(parse_cloudwatch({"elb": [BALANCER.name]}, "x"), listed)
    dimensions = {query.resource: query.to_request(60)["MetricStat"]["Metric"]["Dimensions"] for query in queries}
    assert dimensions[DOMAIN] == [
        {"Name": "DomainName", "Value": "folio-search"}, {"Name": "ClientId", "Value": "123456789012"},
    ]  # fmt: skip
    assert dimensions[consumer] == [
        {"Name": "Cluster Name", "Value": "folio-kafka"},
        {"Name": "Consumer Group", "Value": "group/with/slash"},
        {"Name": "Topic", "Value": "topic"},
    ]
    rows = csv_of({"SumOffsetLag average": {60: 4.0, 180: 5.0}}, *listed)
    assert [row for row in rows if ",lag_count,average" in row] == [
        "60,lag_count,average,4", "120,lag_count,average,", "180,lag_count,average,5",
    ]  # fmt: skip


def test_brokers_search_and_balancers_have_tables_of_their_own():
    def metric(resource: Resource, name: str, value: float) -> CloudMetric:
        return CloudMetric(resource.kind, resource.name, name, 1, 1, 0, True, value, value, value, (30.0,), (value,))

    idle = Resource("consumer", "folio-kafka/mod-users/users")
    found = CloudMetrics(
        60,
        0,
        60,
        "within",
        (
            metric(Resource("rds", "folio-db"), "cpu_ratio", 0.2),
            metric(Resource("rds", "folio-db"), "read_latency_ms", 0.84),
            metric(BROKER, "cpu_ratio", 0.55),
            metric(BROKER, "under_replicated_count", 0.0),
            metric(Resource("consumer", "folio-kafka/mod-search/items"), "lag_count", 7.0),
            metric(idle, "lag_count", 0.0),
            metric(DOMAIN, "jvm_memory_ratio", 0.7),
            metric(BALANCER, "elb_5xx_per_min", 3.0),
        ),
    )
    tables = [part.splitlines() for part in cloud_table(found).split("\n\n")]
    assert [(lines[0], lines[2]) for lines in tables] == [
        ("| resource | CPU % | range | periods |", "| RDS folio-db | 20.0 | 20.0-20.0 | 1 of 1 |"),
        ("| resource | read latency ms | range | periods |", "| RDS folio-db | 0.84 | 0.84-0.84 | 1 of 1 |"),
        (
            "| resource | CPU % | range | under-replicated partitions | range | periods |",
            "| MSK folio-kafka/1 | 55.0 | 55.0-55.0 | 0.0 | 0.0-0.0 | 1 of 1 |",
        ),
        (
            "| resource | lag, messages | range | periods |",
            "| MSK consumer folio-kafka/mod-search/items | 7.0 | 7.0-7.0 | 1 of 1 |",
        ),
        (
            "| resource | JVM memory pressure % | range | periods |",
            "| OpenSearch folio-search | 70.0 | 70.0-70.0 | 1 of 1 |",
        ),
        (
            "| resource | 5xx/min of the balancer | range | periods |",
            "| load balancer app/folio/50dc6c495c0c9188 | 3.00 | 3.00-3.00 | 1 of 1 |",
        ),
    ]
    assert [len(lines) for lines in tables] == [3] * 6
    assert "1 consumer without any lag: not listed." in cloud_notes(found, "x")
