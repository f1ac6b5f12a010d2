"""What a profile requests from CloudWatch, what is made of its answers, and how a report shows it."""

from datetime import UTC, datetime

import pytest

from harness.base.errors import UsageError
from harness.cloudwatch.points import Answers, CloudMetric, CloudMetrics, read_cloudwatch
from harness.cloudwatch.queries import (
    CloudWatchSpec,
    PeriodSpan,
    Query,
    WatchedMetric,
    available_period_s,
    calls_of,
    parse_cloudwatch,
    queries_of,
    whole_periods,
)
from harness.cloudwatch.resources import Resource
from harness.judge.warnings.throttled import throttle_values
from harness.metrics.throttle import Throttle
from harness.metrics.window import STEADY, Window
from harness.report.charts.cloudwatch import cloud_notes, cloud_table, cloud_warnings
from harness.sweep.levels import Figures, LevelRun, levels_of
from harness.sweep.processes import cloud_level_tables
from tests.support.run_charts import drawn, source

OKAPI = Resource("ecs", "perf/okapi")
DAY_S = 86_400


def parse(**table):
    return parse_cloudwatch(table, "env/folio.toml [cloudwatch]")


def test_services_are_named_with_their_cluster_or_listed_below_it():
    spec = parse(
        region="eu-central-1",
        ecs=[{"cluster": "perf", "services": ["okapi", "mod-circulation"]}, "perf/mod-inventory"],
        rds=["folio-db"],
        ec2=["i-0123456789abcdef0"],
    )
    assert spec == CloudWatchSpec(
        "eu-central-1",
        None,
        60,
        (
            Resource("ecs", "perf/okapi"),
            Resource("ecs", "perf/mod-circulation"),
            Resource("ecs", "perf/mod-inventory"),
            Resource("rds", "folio-db"),
            Resource("ec2", "i-0123456789abcdef0"),
        ),
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "nothing to watch; list resources in ecs, rds, ec2, msk, opensearch or elb"),
        ({"esc": []}, "unknown key esc; did you mean ecs?"),
        ({"ecs": ["okapi"]}, "ecs 'okapi' is not a valid name; give cluster/service"),
        ({"ecs": [{"cluster": "perf"}]}, "ecs: services is missing; give { cluster = "),
        ({"ecs": [{"cluster": "perf", "service": ["okapi"]}]}, "unknown key service; did you mean services?"),
        ({"ecs": [7]}, "ecs: 7; give texts"),
        ({"ecs": ["perf/okapi", {"cluster": "perf", "services": ["okapi"]}]}, "perf/okapi occurs twice"),
        ({"rds": ["folio db"]}, "rds 'folio db' is not a valid name; give the identifier of a database instance"),
        ({"ec2": ["web-1"]}, "ec2 'web-1' is not a valid name; give the id of an instance"),
        ({"rds": ["db"], "period_s": 90}, "period_s = 90; give a multiple of 60 up to 3600; .* 1, 5, 10, 30"),
        ({"rds": ["db"], "period_s": 0}, "period_s = 0; give a multiple"),
        ({"rds": ["db"], "region": "Frankfurt"}, "region = 'Frankfurt'; give one such as eu-central-1"),
        ({"rds": ["db"], "endpoint_url": "localhost:4566"}, "endpoint_url is not an address"),
        ({"rds": ["db"], "endpoint_url": "http://host:port"}, "endpoint_url is not an address"),
    ],
)
def test_invalid_cloudwatch_settings_are_refused_with_what_to_write(table, message):
    with pytest.raises(UsageError, match=message):
        parse(**table)


def test_an_address_with_a_password_is_refused_and_not_repeated():
    with pytest.raises(UsageError) as refused:
        parse(rds=["db"], endpoint_url="http://me:open-sesame@host")
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("requested_s", "age_s", "period_s"),
    [
        (10, 3600, 10),
        (10, 4 * 3600, 60),
        (60, 14 * DAY_S, 60),
        (60, 16 * DAY_S, 300),
        (420, 16 * DAY_S, 600),
        (300, 62 * DAY_S, 300),
        (300, 64 * DAY_S, 3600),
    ],
)
def test_old_data_are_requested_with_the_shortest_period_that_cloudwatch_still_has(requested_s, age_s, period_s):
    assert available_period_s(requested_s, age_s) == period_s


def test_the_ends_of_a_run_are_moved_outward_to_whole_periods():
    assert whole_periods(125, 241, 60) == PeriodSpan(120, 300, 60)
    assert list(whole_periods(120, 240, 60).starts_s) == [120, 180]


def test_a_query_names_the_metric_as_cloudwatch_does():
    query = queries_of(parse(ecs=["perf/okapi"]))[1]
    assert query.to_request(60) == {
        "Id": "q1",
        "MetricStat": {
            "Metric": {
                "Namespace": "AWS/ECS",
                "MetricName": "CPUUtilization",
                "Dimensions": [
                    {"Name": "ClusterName", "Value": "perf"},
                    {"Name": "ServiceName", "Value": "okapi"},
                ],
            },
            "Period": 60,
            "Stat": "Minimum",
        },
    }


@pytest.mark.parametrize(
    ("period_count", "sizes"),
    [
        (30, [500, 100]),  # 500 queries a call
        (480, [210, 210, 180]),  # 210 · 480 is 100,800 data points
        (200_000, [1] * 600),  # more than a call may return: such a one is answered in pages
    ],
)
def test_a_call_keeps_to_the_limits_of_queries_and_of_data_points(period_count, sizes):
    spec = parse(ecs=[{"cluster": "perf", "services": [f"module-{place}" for place in range(100)]}])
    assert [len(call) for call in calls_of(queries_of(spec), period_count)] == sizes


CPU = WatchedMetric("cpu_ratio", "AWS/ECS", "CPUUtilization", 0.01)
SIZE = WatchedMetric("free_memory_bytes", "AWS/RDS", "FreeableMemory")


def page(identity, points, status="Complete", **more):
    times = [datetime.fromtimestamp(second, UTC) for second in points]
    result = {"Id": identity, "Timestamps": times, "Values": list(points.values()), "StatusCode": status}
    return {"MetricDataResults": [result], **more}


def test_pages_become_rows_in_our_units_and_missing_values_are_empty():
    answers = Answers()
    answers.add(page("q0", {120: 45.3}, "PartialData", Messages=[{"Code": "Slow", "Value": "The answer is not whole"}]))
    answers.add(page("q0", {240: 150.0}))
    answers.add(page("q1", {120: 5 * 1024**3}, "InternalError"))
    queries = (
        Query("q0", OKAPI, CPU, "average"),
        Query("q1", Resource("rds", "db"), SIZE, "maximum"),
        Query("q2", OKAPI, CPU, "minimum"),
    )
    assert answers.to_csv(queries, PeriodSpan(120, 300, 60)).splitlines() == [
        "time_s,period_s,kind,resource,metric,statistic,value,status",
        "120,60,ecs,perf/okapi,cpu_ratio,average,0.453,Complete",
        "180,60,ecs,perf/okapi,cpu_ratio,average,,Complete",
        "240,60,ecs,perf/okapi,cpu_ratio,average,1.5,Complete",
        "120,60,rds,db,free_memory_bytes,maximum,5368709120,InternalError",
        "180,60,rds,db,free_memory_bytes,maximum,,InternalError",
        "240,60,rds,db,free_memory_bytes,maximum,,InternalError",
        "120,60,ecs,perf/okapi,cpu_ratio,minimum,,",
        "180,60,ecs,perf/okapi,cpu_ratio,minimum,,",
        "240,60,ecs,perf/okapi,cpu_ratio,minimum,,",
    ]
    assert answers.messages == ["The answer is not whole"]


def rows(statistic, values, status="Complete", metric="cpu_ratio"):
    """Rows of minutes from 6000 on; a text for each value."""
    return [
        f"{6000 + 60 * place},60,ecs,perf/okapi,{metric},{statistic},{value},{status}"
        for place, value in enumerate(values)
    ]


def window(from_s, to_s, run_s):
    return Window(STEADY, from_s, to_s, to_s - from_s, run_s)


HEAD = "time_s,period_s,kind,resource,metric,statistic,value,status"


def test_periods_completely_within_the_window_are_counted():
    # The load began at 6030: its minutes begin at -30, 30, 90, 150, 210. Of 30 to 200 s two whole ones are in it.
    lines = [
        HEAD,
        *rows("average", ("0.9", "0.1", "0.3", "0.8", "0.7")),
        *rows("minimum", ("0", "0.05", "0.25", "0", "0")),
        *rows("maximum", ("9", "0.2", "0.6", "9", "9")),
    ]
    found = read_cloudwatch(lines, 6030, window(30, 200, 210))
    assert (found.period_s, found.from_s, found.to_s, found.fit) == (60, 30, 150, "within")
    metric = found.metrics[0]
    assert (metric.mean, metric.minimum, metric.maximum) == (0.2, 0.05, 0.6)
    assert (metric.period_count, metric.point_count, metric.missing_last_count) == (2, 2, 0)
    # The middles of the minutes that are within the 210 s of the run.
    assert list(zip(metric.seconds, metric.averages, strict=True)) == [
        (0.0, 0.9), (60.0, 0.1), (120.0, 0.3), (180.0, 0.8),
    ]  # fmt: skip


def test_without_a_whole_period_in_the_window_those_that_overlap_it_are_counted():
    found = read_cloudwatch([HEAD, *rows("average", ("0.2", "0.4", "0.9"))], 6000, window(30, 100, 150))
    assert (found.from_s, found.to_s, found.fit) == (0, 120, "around")
    assert (found.metrics[0].mean, found.metrics[0].minimum) == (pytest.approx(0.3), None)
    assert "No period of 60 s is entirely within the measurement window" in cloud_notes(found, "x")[0]


def test_missing_values_are_none_and_those_at_the_end_are_counted():
    lines = [HEAD, *rows("average", ("", "0.4", "", "")), *rows("average", ("", "", "", ""), metric="memory_ratio")]
    cpu, memory = read_cloudwatch(lines, 6000, window(0, 240, 240)).metrics
    assert (cpu.period_count, cpu.point_count, cpu.missing_last_count, cpu.mean) == (4, 1, 2, 0.4)
    assert cpu.averages == (None, 0.4, None, None)
    assert (memory.point_count, memory.missing_last_count, memory.mean, memory.maximum) == (0, 4, None, None)


def test_an_incomplete_answer_of_cloudwatch_is_reported():
    lines = [HEAD, *rows("average", ("0.4",)), *rows("maximum", ("0.4",), "PartialData")]
    found = read_cloudwatch(lines, 6000, window(0, 60, 60))
    assert cloud_warnings(found, "x") == ["CloudWatch did not report a complete answer for ECS perf/okapi."]


def test_torn_rows_count_as_missing_and_an_empty_file_gives_nothing():
    lines = [HEAD, *rows("average", ("0.4", "0.6")), "6120,60,ecs,perf/ok"]
    assert read_cloudwatch(lines, 6000, window(0, 180, 180)).metrics[0].mean == 0.5
    assert read_cloudwatch([HEAD], 6000, window(0, 180, 180)) is None
    assert read_cloudwatch([], 6000, window(0, 180, 180)) is None


def test_a_time_series_of_a_week_is_stored_as_600_points_at_most():
    # 10,080 minutes; 17 at a time are 593 points.
    lines = [HEAD, *rows("average", ["0.5"] * 10_080)]
    metric = read_cloudwatch(lines, 6000, window(0, 604_800, 604_800)).metrics[0]
    assert len(metric.seconds) == len(metric.averages) == 593
    assert (metric.seconds[0], metric.point_count) == (510.0, 10_080)


def metric(resource=OKAPI, name="cpu_ratio", figures=(0.47, 0.45, 0.48), points=4, missing_last=0, averages=(0.47,)):
    mean, least, most = figures
    return CloudMetric(
        resource.kind, resource.name, name, 4, points, missing_last, True, mean, least, most, (30.0,) * len(averages),
        averages,
    )  # fmt: skip


NOTHING = {"figures": (None, None, None), "points": 0, "missing_last": 4, "averages": (None,)}
DATABASE, MACHINE = Resource("rds", "folio-db"), Resource("ec2", "i-0123456789abcdef0")


def metrics(*found):
    return CloudMetrics(60, 60, 300, "within", found)


def test_a_table_has_average_and_range_and_na_for_missing_values():
    found = metrics(
        metric(),
        metric(name="memory_ratio", figures=(1.28, 1.03, 1.4), points=3),
        metric(DATABASE, figures=(0.08, 0.03, 0.655)),
        metric(DATABASE, "free_memory_bytes", (5 * 1024**3, 4 * 1024**3, 6 * 1024**3)),
        metric(DATABASE, "connection_count", (12.5, 10, 15)),
        metric(MACHINE, **NOTHING),
        metric(MACHINE, "memory_ratio", **NOTHING),
    )
    assert cloud_table(found).splitlines() == [
        "| resource | CPU % | range | memory % | range | free memory MB | range | connections | range | periods |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| ECS perf/okapi | 47.0 | 45.0-48.0 | 128.0 | 103.0-140.0 |  |  |  |  | 3 of 4 |",
        "| RDS folio-db | 8.0 | 3.0-65.5 |  |  | 5120 | 4096-6144 | 12.5 | 10.0-15.0 | 4 of 4 |",
        "| EC2 i-0123456789abcdef0 | n/a | n/a | n/a | n/a |  |  |  |  | 0 of 4 |",
    ]
    assert cloud_notes(found, "tiny/run-01_1") == [
        "The table covers the periods of 60 s within the measurement window: 60 to 300 s.",
        "Averages are means of the periods' averages; ranges are of single readings (for a service, of all its tasks).",
        "For a service, 100 % is its reservation.",
        "n/a: CloudWatch had no values (EC2 i-0123456789abcdef0).",
    ]


def test_a_metric_that_only_some_machines_have_is_left_out_without_values():
    spec = parse(ec2=["i-0123456789abcdef0", "i-00000000"])
    queries = queries_of(spec)
    credit = next(query for query in queries if query.metric.name == "cpu_credit_count")
    assert credit.to_request(60)["MetricStat"]["Metric"]["MetricName"] == "CPUCreditBalance"
    answers = Answers()
    answers.add(page(credit.id, {120: 0.0}))
    lines = answers.to_csv(queries, PeriodSpan(120, 240, 60)).splitlines()
    assert [line for line in lines if "cpu_credit" in line] == [
        "120,60,ec2,i-0123456789abcdef0,cpu_credit_count,average,0,Complete",
        "180,60,ec2,i-0123456789abcdef0,cpu_credit_count,average,,Complete",
        "120,60,ec2,i-0123456789abcdef0,cpu_credit_count,minimum,,",
        "180,60,ec2,i-0123456789abcdef0,cpu_credit_count,minimum,,",
        "120,60,ec2,i-0123456789abcdef0,cpu_credit_count,maximum,,",
        "180,60,ec2,i-0123456789abcdef0,cpu_credit_count,maximum,,",
    ]
    assert {line.split(",")[4] for line in lines if "i-00000000," in line} == {"cpu_ratio", "memory_ratio"}


FALL = Throttle(2050, 2050, 2050, 7.4, 1.49, 6720.0, 33_560.0, 0.0, 50)


@pytest.mark.parametrize(
    ("name", "least", "text"),
    [
        ("cpu_credit_count", 0.0, "the CPU credits of RDS folio-db reached 0."),
        ("cpu_credit_count", 12.0, ""),
        ("burst_balance_ratio", 0.0, "the burst balance of RDS folio-db reached 0."),
        ("burst_balance_ratio", 0.6, ""),
        ("free_memory_bytes", 0.0, ""),  # not a balance
        ("cpu_ratio", 0.0, ""),
    ],
)
def test_a_balance_that_reached_zero_is_part_of_the_warning_about_throttling(name, least, text):
    found = metrics(metric(DATABASE, name, (least, least, 90.0)))
    balances = throttle_values(FALL, found)["balances"]
    assert balances == (f" In the measurement window {text}" if text else "")
    assert throttle_values(FALL, None)["balances"] == ""


@pytest.mark.parametrize(("borrowed", "is_named"), [(0.0, True), (14.0, False)])
def test_credits_of_an_instance_that_borrows_more_throttle_nothing(borrowed, is_named):
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances-unlimited-mode-concepts.html"""
    used_up = metric(DATABASE, "cpu_credit_count", (0.0, 0.0, 0.0))
    surplus = metric(DATABASE, "surplus_credit_count", (borrowed, 0.0, borrowed), points=1, missing_last=3)
    found = metrics(metric(DATABASE), used_up, surplus)
    assert bool(throttle_values(FALL, found)["balances"]) is is_named
    assert cloud_warnings(found, "x") == []
    of_another = metrics(used_up, metric(MACHINE, "surplus_credit_count", (borrowed, 0.0, borrowed)))
    assert throttle_values(FALL, of_another)["balances"]


def test_balances_come_every_five_minutes_and_are_not_called_late():
    found = metrics(metric(DATABASE), metric(DATABASE, "cpu_credit_count", (3.0, 2.0, 4.0), points=1, missing_last=3))
    assert cloud_warnings(found, "x") == []
    assert cloud_table(found).splitlines()[2].endswith("| 3.0 | 2.0-4.0 | 4 of 4 |")


def test_without_an_agent_the_memory_of_a_machine_is_reported_as_unknown():
    found = metrics(metric(MACHINE), metric(MACHINE, "memory_ratio", **NOTHING))
    assert cloud_warnings(found, "tiny/run-01_1") == [
        "n/a: CloudWatch had no values (EC2 i-0123456789abcdef0 memory %)."
    ]


def test_late_metrics_are_named_with_the_command_that_fetches_them():
    found = metrics(metric(points=2, missing_last=2), metric(DATABASE))
    assert cloud_warnings(found, "tiny/run-01_1") == [
        "Up to 2 periods at the end had no value (ECS perf/okapi): CloudWatch is minutes late, or received no "
        "more values; `lth metrics tiny/run-01_1` fetches again."
    ]


def test_a_period_without_a_value_is_a_gap_in_the_chart_and_never_0():
    found = metrics(metric(averages=(0.4, None, 0.6)), metric(name="memory_ratio", **NOTHING))
    charts = drawn(source(30, 60, cloudwatch=found))
    assert list(charts) == ["cloudwatch-cpu"]  # of memory nothing is known
    svg = charts["cloudwatch-cpu"]
    assert ">CPU in CloudWatch</title>" in svg
    assert "ECS perf/okapi: least 40, most 60, last 60; 1 of 3 points without a value." in svg
    assert svg.count("<circle") == 2  # two points, and no line through the gap
    assert "window: 30 to 60 s" in svg


def level_run(number, *found):
    return LevelRun(f"run-{number}", Figures(rate_per_s=1.0), cloudwatch=metrics(*found))


def test_a_sweep_has_a_table_per_metric_with_average_and_range_at_each_load():
    # CPU of the check-in report on Goldenrod; of the repeats at 5 users the median, and the range of both.
    circulation = Resource("ecs", "perf/mod-circulation")
    levels = levels_of(
        [
            (1, level_run(1, metric(figures=(0.47, 0.45, 0.48)), metric(circulation, figures=(1.46, 1.46, 1.52)))),
            (5, level_run(2, metric(figures=(1.66, 1.56, 1.7)), metric(circulation, figures=(1.55, 1.45, 1.55)))),
            (5, level_run(3, metric(figures=(1.68, 1.6, 1.77)), metric(circulation, **NOTHING))),
            (8, LevelRun("run-4", Figures(rate_per_s=1.0))),
            (20, level_run(5, metric(**NOTHING), metric(name="memory_ratio", figures=(0.67, 0.67, 0.67)))),
        ]
    )
    cpu, memory = cloud_level_tables(levels)
    assert cpu.title == "CPU %"
    assert cpu.table.splitlines() == [
        "| resource | 1 user | range | 5 users | range | 20 users | range |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| ECS perf/okapi | 47.0 | 45.0-48.0 | 167.0 | 156.0-177.0 | n/a | n/a |",
        "| ECS perf/mod-circulation | 146.0 | 146.0-152.0 | 155.0 | 145.0-155.0 | n/a | n/a |",
    ]
    assert memory.table.splitlines()[2] == "| ECS perf/okapi | n/a | n/a | n/a | n/a | 67.0 | 67.0-67.0 |"


def test_a_sweep_without_cloudwatch_has_no_such_table():
    assert cloud_level_tables(levels_of([(1, LevelRun("run-1", Figures(rate_per_s=1.0)))])) == []
