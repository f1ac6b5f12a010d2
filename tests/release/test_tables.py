"""The tables of a release page: expected values are published ones, or worked out by hand."""

from __future__ import annotations

from harness.base import units
from harness.cloudwatch.points import read_cloudwatch
from harness.cloudwatch.queries import ECS, RDS
from harness.judge.goals import GoalResult
from harness.judge.verdict import VALID, Verdict
from harness.metrics.figures import ErrorKind
from harness.metrics.metric import AVERAGE, P75
from harness.metrics.window import Window
from harness.release.cells import ReleaseCell
from harness.release.changes import label_tables, one_sided, reasons, total_tables
from harness.release.resources import Overcommitted, cloud_tables, overcommitted, process_table, statement_table
from harness.release.tables import error_table, goal_table, missed_goals, new_errors
from harness.run.telemetry.table import Usage
from harness.system.statements import DatabaseUse
from tests.support.releases import release_of_results
from tests.support.results import label_result, run_result

# The new release comes first.
NAMES = ("GR", "FF")
# FOLIO's check-in: average and p75 (ms) of Fameflower and Goldenrod, and the published differences in %.
PUBLISHED = {
    1: ((414, 459, "+10.87"), (461, 549, "+19.09")),
    5: ((435, 460, "+5.75"), (458, 483, "+5.46")),
    8: ((505, 502, "-0.59"), (531, 529, "-0.38")),
    20: ((851, 975, "+14.57"), (914, 1093, "+19.58")),
}


def rows_of(table: str) -> list[list[str]]:
    lines = table.splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in [lines[0], *lines[2:]]]


def side(name: str, at: int, *labels, **changes):
    """Return a run per published level, of the release with this index."""
    return {
        users: [
            run_result(
                f"{name}-{users}",
                *labels,
                total=label_result("TOTAL", average[at], percentiles_ms={"75": quartile[at]}),
                **changes,
            )
        ]
        for users, (average, quartile) in PUBLISHED.items()
    }


def cells(side):
    """Return a side of a page with one workload: its runs by cell instead of users."""
    return {ReleaseCell("", users): runs for users, runs in side.items()}


def test_the_published_differences_of_two_releases_are_those_of_the_page_which_cannot_judge_them():
    release = release_of_results(side("ff", 0), side("gr", 1))
    tables = {one.title: rows_of(one.table) for one in total_tables(release)}
    assert list(tables) == ["Average", "P75", "Share of errors", "Throughput"]
    assert tables["Average"][0] == ["users", "GR average ms", "FF average ms", "change %", "95 % interval", "verdict"]
    assert tables["Share of errors"][0][3] == "change"
    for title, at, metric in (("Average", 0, AVERAGE), ("P75", 1, P75)):
        expected = [[str(users), str(new), str(base), "", "", "CANNOT TELL"] for users, found in PUBLISHED.items()
                    for base, new, _ in [found[at]]]  # fmt: skip
        assert tables[title][1:] == expected
        totals = [one.total.of(metric) for one in release.levels[0].values()]
        changes = [units.signed_percent(one.delta_ratio) for one in totals]
        assert changes == [found[at][2] for found in PUBLISHED.values()]


def test_published_figures_without_samples_cannot_be_judged_and_the_reason_is_given_once():
    release = release_of_results(side("ff", 0), side("gr", 1))
    assert {row[5] for one in total_tables(release) for row in rows_of(one.table)[1:]} == {"CANNOT TELL"}
    (line,) = reasons(release.levels[0])
    assert line.startswith("CANNOT TELL, baseline: a report has only totals, not the variation within the run")
    assert "average at 1, 5, 8 and 20 users" in line


def test_labels_of_one_release_only_are_named_and_not_in_the_table():
    base = {5: [run_result("a", label_result("Login"), label_result("Old"))]}
    new = {5: [run_result("b", label_result("Login"), label_result("New"))]}
    release = release_of_results(base, new)
    assert [row[0] for row in rows_of(label_tables(release)[0].table)[1:]] == ["Login"]
    assert one_sided(release.levels[0], "FF", "GR") == ["Only FF has Old.", "Only GR has New."]


def test_label_names_cannot_break_the_table():
    runs = ({5: [run_result(name, label_result("a | b <i>"))]} for name in "ab")
    (row,) = rows_of(label_tables(release_of_results(*runs))[0].table.replace("\\|", "/"))[1:]
    assert row[:2] == ["a / b \\<i\\>", "5"]


def usage(process: str, cores: float, megabytes: int) -> Usage:
    size = megabytes * 1024 * 1024
    return Usage(process, 60, cores, cores, cores, size, size, size, 10)


def test_cpu_and_memory_are_medians_of_repeats_without_the_load_generator():
    base = {5: [run_result(str(at), usages=(usage("okapi", cores, 200),)) for at, cores in enumerate((0.4, 0.5, 0.9))]}
    new = {5: [run_result("n", usages=(usage("okapi", 0.6, 250), usage("jmeter", 0.3, 400)))]}
    (row,) = rows_of(process_table([cells(new), cells(base)], NAMES))[1:]
    assert row == ["okapi", "5", "60.0", "50.0", "+20.00", "250", "200", "+25.00"]


def cloud(cpu_percent: float, memory_percent: float):
    head = "time_s,period_s,kind,resource,metric,statistic,value,status"
    values = {"average": 1.0, "minimum": 0.8, "maximum": 1.25}
    rows = [
        f"0,60,{kind},{resource},{metric},{statistic},{percent * factor / 100},Complete"
        for kind, resource, metric, percent in (
            ("ecs", "perf/okapi", "cpu_ratio", cpu_percent),
            ("ecs", "perf/okapi", "memory_ratio", memory_percent),
            ("rds", "folio-db", "cpu_ratio", cpu_percent / 2),
        )
        for statistic, factor in values.items()
    ]
    return read_cloudwatch([head, *rows], 0, Window.whole(60))


def test_services_and_databases_have_average_and_range_of_both_releases_per_level():
    base, new = {5: [run_result("a", cloudwatch=cloud(40, 60))]}, {5: [run_result("b", cloudwatch=cloud(60, 100))]}
    results = [cells(new), cells(base)]
    cpu, memory = cloud_tables(results, NAMES, {ECS})
    assert (cpu.title, memory.title) == ("CPU %", "memory %")
    assert rows_of(cpu.table)[1:] == [["ECS perf/okapi", "5", "60.0", "48.0-75.0", "40.0", "32.0-50.0"]]
    (database,) = cloud_tables(results, NAMES, {RDS})[:1]
    assert rows_of(database.table)[1:] == [["RDS folio-db", "5", "30.0", "24.0-37.5", "20.0", "16.0-25.0"]]
    assert overcommitted(cells(base)) == []
    assert overcommitted(cells(new)) == [Overcommitted("ECS perf/okapi", 1.25, (ReleaseCell("", 5),))]


def test_statements_and_their_time_are_per_request():
    total = label_result("TOTAL", sample_count=100)
    base = {5: [run_result("a", total=total, databases=(DatabaseUse("mariadb", 400, 200.0, ()),))]}
    new = {5: [run_result("b", total=total, databases=(DatabaseUse("mariadb", 500, 300.0, ()),))]}
    (row,) = rows_of(statement_table([cells(new), cells(base)], NAMES))[1:]
    assert row == ["mariadb", "5", "5.00", "4.00", "+25.00", "3.00", "2.00", "+50.00"]


def judged(p90_ms: float) -> Verdict:
    goal = GoalResult(None, "p90_ms", 500, None, p90_ms, None, 0, 0, p90_ms <= 500, "")
    return Verdict(VALID, (), (), (), (goal,))


def test_the_duration_of_a_job_has_a_verdict_and_is_no_row_of_the_labels():
    def runs(name: str, seconds: float):
        return {5: [run_result(f"{name}-{at}", label_result("import", 1000 * seconds + at, sample_count=1, is_job=True),
                               total=label_result("TOTAL")) for at in range(5)]}  # fmt: skip

    release = release_of_results(runs("ff", 60), runs("gr", 90))
    (label,) = release.all_levels[0][ReleaseCell("", 5)].labels
    assert (label.label, label.verdict) == ("import", "REGRESSED")
    # It has its own table, not one of the labels.
    assert label_tables(release) == []
    assert release.levels[0][ReleaseCell("", 5)].verdict == "REGRESSED"


def test_of_repeats_the_number_of_runs_that_meet_a_goal_is_given():
    base = {5: [run_result("a", verdict=judged(400))]}
    new = {5: [run_result(str(ms), verdict=judged(ms)) for ms in (450, 550)], 8: [run_result("c", verdict=judged(700))]}
    rows = rows_of(goal_table([cells(new), cells(base)], NAMES))
    assert rows[1:] == [
        ["p90 ≤ 500 ms", "5", "450 ms, 550 ms", "1 of 2 runs", "400 ms", "met"],
        ["p90 ≤ 500 ms", "8", "700 ms", "missed", "", ""],
    ]
    assert missed_goals(cells(new)) == {"p90 ≤ 500 ms": [ReleaseCell("", 5), ReleaseCell("", 8)]}
    assert missed_goals(cells(base)) == {}


def error(cause: str, count: int) -> ErrorKind:
    return ErrorKind("Check-in", "422", cause, count, 0.0, 1.0, cause)


def test_failures_add_up_over_levels_and_those_of_the_new_release_alone_are_found():
    base = {5: [run_result("a", errors=(error("no item", 3),))], 8: [run_result("b", errors=(error("no item", 4),))]}
    new = {5: [run_result("c", errors=(error("no item", 1), error("time-out", 2)))], 8: [run_result("d")]}
    assert rows_of(error_table([cells(new), cells(base)], NAMES))[1:] == [
        ["Check-in", "422", "time-out", "2", "0", "5 users"],
        ["Check-in", "422", "no item", "1", "7", "5 users"],
    ]
    assert new_errors(cells(base), cells(new)) == [("Check-in: 422 time-out", "5 users")]
    assert error_table([cells({5: [run_result("a")]}), cells({5: [run_result("b")]})], NAMES) == ""
