"""Runs of independent generators as one run: the same figures as of one distributed run, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.records import build, to_plain
from harness.plan.goal import Goal
from harness.report.files import summary_of_run, write_report
from harness.report.merge import MergedPart, check_parts, merged_record
from harness.report.merge_files import merge
from harness.run.directory import RunDirectory
from harness.run.jmeter.exchanges import exchanges_text, parse_exchanges
from harness.run.record import RUNNING, GeneratorRecord, HostRecord, RunRecord
from harness.storage.stored_runs import stored_names
from tests.support.commands import command
from tests.support.exchanges import ONE
from tests.support.factories import closed_load, record
from tests.support.full_run import jtl_row
from tests.support.merges import START_MS, figures, run_folder

FIRST, SECOND = "10.0.0.7:1099", "10.0.0.8:1099"


def row(address, second, user, users, *, group="Users", **changes):
    code = "500" if changes.get("failure") else "201"
    return jtl_row(second, user, users=users, thread=f"{address}-{group}", code=code, **changes)


def distributed_rows():
    """Two users on the first generator, three slower ones on the second, one sample each a second; users ramp up."""
    rows = []
    for address in (FIRST, SECOND):
        rows.append(row(address, -3, 1, 1, label="Tenant", group="setUp"))
        rows += [row(address, 0, 1, 1, label="Create")]
    for second in range(100):
        for address, count in ((FIRST, 2), (SECOND, 3)):
            active = min(count, 1 + second // 4)
            for user in range(1, active + 1):
                failure = "no card 4711" if second == 40 + user else ""
                elapsed_ms = 900 if address == FIRST else 950
                label = "Pay" if second % 2 else "Search"
                rows.append(row(address, second, user, active, elapsed_ms=elapsed_ms, label=label, failure=failure))
    return rows


def run_of(users, **changes):
    values = {"load": closed_load(users=users, ramp_s=8.0), "target": "http://shop:80", "once_labels": ("Create",)}
    values["properties"] = {"users": str(users), "run_id": f"run-01_1-{users}", "items": "7"}
    values |= {"took_s": 106.0, "ended_at": "2026-01-01T00:01:46Z"}  # setUp begins 5 s before the load
    return record(**{**values, **changes})


def telemetry(jmeter_cores):
    rows = ["time_ms,process,cpu_cores,rss_bytes,thread_count"]
    for second in range(100):
        time_ms = START_MS + 1000 * second
        rows += [f"{time_ms},host,{jmeter_cores + 0.01},900000000,", f"{time_ms},jmeter,{jmeter_cores},200000000,40"]
    return "\n".join(rows) + "\n"


@pytest.fixture
def two_runs(tmp_path):
    """The run of each of two generators, as two machines have them."""
    rows = distributed_rows()
    for folder, address, users, cores in (("gen1", FIRST, 2, 0.2), ("gen2", SECOND, 3, 1.9)):
        own = [*(line for line in rows if f",{address}-" in line), "torn,row"]
        run_folder(tmp_path / folder / "run-01_1", run_of(users), own, telemetry(cores))
    return [str(tmp_path / folder / "run-01_1") for folder in ("gen1", "gen2")]


@pytest.mark.real
def test_two_merged_runs_have_the_metrics_of_one_distributed_run(tmp_path, two_runs):
    folder = run_folder(tmp_path / "tiny" / "run-01_1", run_of(5), distributed_rows())
    whole = summary_of_run(RunDirectory(folder))
    directory, merged = merge(two_runs, tmp_path / "reports", None)
    assert directory.path == tmp_path / "reports" / "tiny" / "run-01_1"
    without = ("separate-clocks", "offered-read", "generator-cpu", "host-cpu")
    assert whole.verdict.state == "VALID"
    assert merged.verdict == replace(
        whole.verdict, state="DOUBTFUL", reasons=("The load generator used 95 % of the 2 cores of gen2",)
    )
    assert figures(replace(merged, verdict=whole.verdict, result=None), without) == figures(whole, without)
    # By hand: users of both add up, 2 + 3; each of them has one sample a second from its first on, besides Create.
    assert max(merged.timeline.active_users) == 5
    assert merged.whole.total.sample_count == 100 + 96 + 100 + 96 + 92
    assert [one.most_users for one in merged.generators] == [2, 3]
    assert [one.name for one in merged.generators] == ["gen1", "gen2"]
    assert [one.name for one in whole.generators] == [FIRST, SECOND]
    assert sum(one.sample_count for one in merged.generators) == merged.group("load").total.sample_count
    assert [round(one.average_ms) for one in merged.generators] == [900, 950]
    assert merged.dropped_count == 2


@pytest.mark.real
def test_runs_of_the_same_time_have_no_clock_that_was_set(tmp_path):
    folders = [tmp_path / name / "run-01_1" for name in ("gen1", "gen2")]
    for users, folder in enumerate(folders, 2):  # as a JMeter of its own names threads: without an address
        rows = [jtl_row(second, user, users=users) for second in range(100) for user in range(1, users + 1)]
        run_folder(folder, run_of(users), rows, telemetry(0.2))
    _, merged = merge([str(folder) for folder in folders], tmp_path / "reports", None)
    assert not {"clock-step", "offered-read"} & {warning.code for warning in merged.warnings}
    assert merged.whole.total.sample_count == 500


@pytest.mark.real
def test_a_merged_run_has_the_first_failed_requests_of_all_its_runs(tmp_path, two_runs):
    failure = replace(ONE, label="Pay", failure="no card 4711")
    for number, folder in enumerate(two_runs):
        many = [replace(failure, start_ms=10 * round_number + number) for round_number in (1, 2, 3)]
        RunDirectory(Path(folder)).failures.write_text(exchanges_text(many))
    directory, merged = merge(two_runs, tmp_path / "reports", None)
    stored = parse_exchanges(directory.failures.read_text())
    assert [(one.start_ms, one.thread) for one in stored] == [
        (10, "gen1 Users 1-1"), (11, "gen2 Users 1-1"), (20, "gen1 Users 1-1"),
    ]  # fmt: skip
    assert [(one.label, one.cause, one.count) for one in merged.stored_failures] == [("Pay", "no card …", 3)]
    assert "[3](run-01_1/failures.html#error-" in directory.report.read_text()
    assert directory.failures_page.is_file()


@pytest.mark.real
def test_runs_without_failed_requests_merge_without_a_file_of_them(tmp_path, two_runs):
    directory, merged = merge(two_runs, tmp_path / "reports", None)
    assert (directory.failures.exists(), merged.stored_failures) == (False, ())


@pytest.mark.real
def test_the_record_of_a_merged_run_has_the_load_of_all_and_the_machine_of_each(tmp_path, two_runs):
    directory, merged = merge(two_runs, tmp_path / "reports", None)
    run = merged.run
    assert run.load.users == 5
    assert [(one.name, one.users, one.host.cpu_count, one.clock_ahead_ms) for one in run.generators] == [
        ("gen1", 2, 2, None),
        ("gen2", 3, 2, None),
    ]
    assert run.properties.keys() == {"run_id", "items"}
    assert run.properties["run_id"].startswith("run-01_1-")
    assert run.is_merged
    text = directory.report.read_text()
    assert "- generator: 2 generators: gen1 with 2 users, gen2 with 3 users; JMeter 5.6.3, Java 17.0.15\n" in text
    assert "- host of gen2: Test CPU, 2 cores, 8192 MB memory, Linux 6\n" in text
    assert "- host: " not in text
    assert build(RunRecord, json.loads(directory.run_json.read_text())) == run


@pytest.mark.real
def test_a_bottleneck_on_one_generators_machine_is_reported_with_its_name(tmp_path, two_runs):
    directory, merged = merge(two_runs, tmp_path / "reports", None)
    assert [use.process for use in merged.observed.usages] == [
        "host gen1",
        "generator gen1",
        "host gen2",
        "generator gen2",
    ]
    texts = [warning.text for warning in merged.warnings if warning.code == "generator-cpu"]
    assert len(texts) == 1
    assert texts[0].startswith("The load generator used 95 % of the 2 cores of gen2. ")
    assert "generator gen2 [^" in directory.report.read_text()


@pytest.mark.real
def test_a_merged_run_is_rendered_again_from_its_samples_or_its_json_with_the_same_bytes(tmp_path, two_runs):
    directory = merge(two_runs, tmp_path / "reports", None).directory
    first = directory.summary_json.read_bytes(), directory.report.read_bytes()
    write_report(directory)
    assert (directory.summary_json.read_bytes(), directory.report.read_bytes()) == first
    for path in directory.all_samples:
        path.unlink()
    write_report(directory)
    assert (directory.summary_json.read_bytes(), directory.report.read_bytes()) == first


@pytest.mark.real
def test_samples_are_the_files_themselves_and_go_to_s3_with_the_run(tmp_path, two_runs):
    directory = merge(two_runs, tmp_path / "reports", None).directory
    assert [path.name for path in directory.all_samples] == ["samples.jtl", "samples-2.jtl"]
    assert directory.all_samples[1].samefile(f"{two_runs[1]}/samples.jtl")
    there = [path.name for path in directory.path.iterdir()]
    assert {"samples.jtl", "samples-2.jtl", "telemetry.csv", "run.json"} <= set(stored_names(there, ()))


@pytest.mark.real
def test_incomplete_samples_are_not_accepted_as_the_run(tmp_path, two_runs):
    directory = merge(two_runs, tmp_path / "reports", None).directory
    directory.all_samples[1].unlink()
    with pytest.raises(UsageError, match="the samples of only 1 of 2 generators exist"):
        summary_of_run(directory)


@pytest.mark.real
def test_the_table_of_a_merged_runs_folder_has_the_samples_of_all(tmp_path, two_runs):
    directory, merged = merge(two_runs, tmp_path / "reports", None)
    table = command("aggregate.py", "table", directory.path, "--format", "json")
    (load,) = [group for group in json.loads(table.stdout)["groups"] if group["name"] == "load"]
    assert load["total"]["sample_count"] == merged.whole.total.sample_count


@pytest.mark.real
def test_named_jtls_become_a_report(tmp_path, two_runs):
    given = [f"left={two_runs[0]}/samples.jtl", f"right={two_runs[1]}/samples.jtl"]
    with pytest.raises(UsageError, match="JTL files have no plan"):
        merge(given, tmp_path / "reports", None)
    directory, summary = merge(given, tmp_path / "reports", tmp_path / "reports" / "shop" / "run-03_1")
    assert [one.name for one in summary.generators] == ["left", "right"]
    assert "# shop/run-03_1\n" in directory.report.read_text()
    assert "| left | " in directory.report.read_text()
    assert to_plain(summary_of_run(directory)) == to_plain(summary)


def test_generators_that_hardly_overlapped_are_reported(tmp_path):
    for folder, first in (("gen1", 0), ("gen2", 60)):
        rows = [row("h:1", second, 1, 1) for second in range(first, first + 70)]
        run_folder(tmp_path / folder / "run-01_1", run_of(1, properties={"run_id": folder}), rows)
    merged = merge([str(tmp_path / f"gen{n}" / "run-01_1") for n in (1, 2)], tmp_path / "reports", None).summary
    texts = {warning.code: warning.text for warning in merged.warnings}
    assert "By these clocks all drove together for 10 of 130 s" in texts["separate-clocks"]
    assert "began late (gen2 60 s) or ended early (gen1 70 s)" in texts["asked-offered"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": "other"}, "plan is tiny and other"),
        ({"target": "http://shop:81"}, "target is http://shop:80 and http://shop:81"),
        ({"target": None}, "started and drove its own system"),
        ({"load": closed_load(users=3, ramp_s=9.0)}, r"ramp-up \(s\) of the load is 8 and 9"),
        ({"goal": Goal(p90_ms=500, error_ratio=0.01)}, "p90_ms of the goal is 1000 and 500"),
        ({"versions": {"java": "17.0.15", "jmeter": "5.5"}}, "version of jmeter is 5.6.3 and 5.5"),
        ({"git_commit": "f" * 16}, "commit of the harness is 0123456789abcdef and ffffffffffffffff"),
        ({"properties": {"users": "3", "items": "8"}}, "property items is 7 and 8"),
        ({"properties": {"run_id": "run-01_1-2", "items": "7"}}, "gen1 and gen2 are the same run"),
        ({"state": RUNNING}, "not finished, or was killed"),
        ({"started_at": "2026-01-01T00:01:46Z", "ended_at": "2026-01-01T00:03:32Z"}, "they never ran at the same time"),
        ({"generators": (GeneratorRecord("h:1", 3, None, "5.6.3", "17", 0, True),)}, "already has several generators"),
    ],
)
def test_parts_of_different_loads_are_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        check_parts([MergedPart("gen1", run_of(2)), MergedPart("gen2", run_of(3, **changes))])


def test_the_end_reason_of_a_part_is_in_the_merged_run_with_its_generator():
    broken = run_of(3, stop_reasons=("JMeter ended with code 1",), exit_codes={"jmeter": 1})
    slow = replace(
        run_of(2), host=HostRecord("Old CPU", 1, 1024**3, "Linux 5", "3.11.7"), ended_at="2026-01-01T00:01:50Z"
    )
    run = merged_record([MergedPart("a", broken), MergedPart("b", slow)], "run-02_1", "lth merge", "run-02_1-0")
    assert run.stop_reasons == ("a: JMeter ended with code 1",)
    assert run.exit_codes == {"generator a": 1, "generator b": 0}
    assert (run.started_at, run.ended_at, run.took_s) == ("2026-01-01T00:00:00Z", "2026-01-01T00:01:50Z", 110.0)
    assert run.generators[1].host.cpu_model == "Old CPU"


@pytest.mark.real
def test_a_refused_merge_leaves_no_files_and_ends_with_2(tmp_path, two_runs):
    jtl = f"{two_runs[0]}/samples.jtl"
    for arguments, message in (
        ([two_runs[0]], "--merge needs at least two runs"),
        ([*two_runs, "gone"], "gone: neither a file nor a run in reports/"),
        ([two_runs[0], two_runs[0]], "the same run"),
        ([two_runs[0], jtl], "run folders and JTL files cannot be merged together"),
        ([*two_runs, "--into", str(tmp_path / "x")], "not the name of a run"),
    ):
        done = command("aggregate.py", "report", "--merge", *arguments, "--reports", tmp_path / "reports")
        assert done.returncode == 2, done
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "reports").exists()


def test_merged_runs_are_not_concurrent_runs_of_each_other():
    first = run_of(3, name="run-01_1", other_runs=("tiny/run-01_2, pid 7 of ann", "lb/run-01_1, pid 9 of bob"))
    second = run_of(3, name="run-01_2", other_runs=("tiny/run-01_1, pid 5 of ann",))
    merged = merged_record([MergedPart("a", first), MergedPart("b", second)], "run-02_1", "", "id")
    assert merged.other_runs == ("lb/run-01_1, pid 9 of bob",)
