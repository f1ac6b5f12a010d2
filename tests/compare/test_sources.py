"""Names become results: paths and runs, from JSON, samples or Markdown of any age."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.compare.sides import Found, short_names
from harness.compare.sources import read_result
from harness.judge.summarise import summarise
from harness.judge.summary import FORMAT_VERSION
from harness.run.directory import RunDirectory, json_text
from harness.run.names import find_paths, in_plan
from harness.run.record import RUNNING
from tests.support.factories import record, tally_of, two_users
from tests.support.report_folder import add_run

CLASSIC = """|  | #count | average | median | 90% | min | max | errors | bandwidth |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| TOTAL | 107255 | 6708 | 6689 | 0 | 18 | 13315 | 0.00000% | 6.33/s |
"""
HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,sentBytes,allThreads\n"


def find_results(names, reports):
    return [read_result(path) for path in find_paths(names, reports)]


def summary(name="run-07_1", plan="tiny", elapsed_ms=1000):
    run = record(name=name, plan=plan)
    return summarise(tally_of(two_users(elapsed_ms=elapsed_ms)), run.id, run)


def save(reports: Path, plan: str, name: str, elapsed_ms=1000) -> Path:
    """Write the JSON of a run, as git keeps it, and return the path of its folder."""
    path = reports / plan / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{name}.json").write_text(json_text(summary(name, plan, elapsed_ms)))
    return path


def jtl(elapsed_ms=100) -> str:
    """Return a JTL of one user who gets ten answers a second, for a minute."""
    rows = [f"{1_000_000 + number * 100},{elapsed_ms},Pay,200,OK,Users 1-1,true,300,100,1\n" for number in range(600)]
    return HEAD + "".join(rows)


def started(reports: Path, state: str = RUNNING) -> Path:
    """Make the folder of a run that has begun and return it."""
    path = reports / "tiny" / "run-01_1"
    path.mkdir(parents=True)
    (path / "run.json").write_text(json_text(replace(record(), state=state)))
    (path / "samples.jtl").write_text(jtl())
    return path


@pytest.fixture
def reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports"


@pytest.mark.parametrize(
    "name", ["tiny/run-07_1", "run-07_1", "run-07_1.json", "reports/tiny/run-07_1", "reports/tiny/run-07_1.json"]
)
def test_a_run_is_found_by_its_name_with_or_without_its_plan(reports, name):
    save(reports, "tiny", "run-07_1")
    [result] = find_results([name], reports)
    assert (result.name, result.kind, result.run.plan) == ("tiny/run-07_1", "run", "tiny")
    assert (result.total.sample_count, result.total.average_ms) == (100, 1000)


def test_names_are_found_from_another_folder_too(reports, tmp_path, monkeypatch):
    save(reports, "tiny", "run-07_1")
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    found = [find_paths([name], reports)[0].resolve() for name in ("run-07_1", "reports/tiny/run-07_1")]
    assert found == [reports / "tiny" / "run-07_1"] * 2


def test_a_name_in_two_plans_is_refused_with_both(reports):
    save(reports, "tiny", "run-07_1")
    save(reports, "large", "run-07_1")
    with pytest.raises(UsageError, match="2 plans have it; choose one: large/run-07_1, tiny/run-07_1"):
        find_paths(["run-07_1"], reports)
    with pytest.raises(UsageError, match=r"2 plans have it; choose one: large/run-\*, tiny/run-\*"):
        find_paths(["run-*"], reports)


@pytest.mark.parametrize("pattern", ["run-07_*", "tiny/run-07_*", "reports/tiny/run-07_*", "t?ny/run-07_[0-9]*"])
def test_a_pattern_names_each_run_once_by_rising_number(reports, pattern):
    for name in ("run-07_10", "run-07_2", "run-07_1", "run-08_1"):
        (save(reports, "tiny", name)).mkdir()
        (reports / "tiny" / f"{name}.md").write_text(CLASSIC)
    assert [path.name for path in find_paths([pattern], reports)] == ["run-07_1", "run-07_2", "run-07_10"]


def test_a_pattern_finds_runs_of_which_only_the_json_exists(reports):
    for name in ("run-07_1", "run-07_2", "run-07_3"):
        save(reports, "tiny", name)
    assert [path.name for path in find_paths(["run-07_[12]"], reports)] == ["run-07_1", "run-07_2"]


def test_an_unknown_run_is_an_error_with_the_nearest_name(reports):
    save(reports, "tiny", "run-07_1")
    save(reports, "tiny", "run-11_3")
    with pytest.raises(UsageError, match=r"run-07_11: neither .* did you mean run-07_1\? there are: tiny/run-07_1, "):
        find_paths(["run-07_11"], reports)
    with pytest.raises(UsageError, match=r"did you mean tiny/run-07_1\?"):
        find_paths(["tny/run-07_1"], reports)
    with pytest.raises(UsageError, match=r"run-99_\*: neither a file nor a run"):
        find_paths(["run-99_*"], reports)


def test_without_any_run_the_error_states_it(reports):
    with pytest.raises(UsageError, match="there are no runs yet"):
        find_paths(["run-01_1"], reports)


def test_a_jtl_is_a_result_packed_or_not(reports, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.jtl").write_text(jtl())
    (tmp_path / "mine" / "b.jtl.gz").write_bytes(gzip.compress(jtl(elapsed_ms=90).encode()))
    plain, packed = find_results(["mine/a.jtl", "mine/b.jtl.gz"], reports)
    assert (plain.name, plain.kind, plain.run) == ("mine/a.jtl", "JTL", None)
    assert (plain.total.average_ms, packed.total.average_ms) == (100, 90)
    assert plain.window.kind == "steady"
    assert len(plain.total.batches.average_ms) == 20


def test_the_json_of_a_run_comes_before_its_markdown(reports):
    save(reports, "tiny", "run-07_1")
    (reports / "tiny" / "run-07_1.md").write_text(CLASSIC)
    assert find_results(["reports/tiny/run-07_1.md"], reports)[0].kind == "run"


def test_a_run_of_which_only_markdown_exists_is_read_from_it(reports):
    (reports / "tiny").mkdir(parents=True)
    (reports / "tiny" / "run-07_1.md").write_text(CLASSIC)
    [result] = find_results(["run-07_1"], reports)
    assert (result.name, result.kind, result.total.average_ms) == ("tiny/run-07_1", "Markdown", 6708)


def test_any_markdown_file_with_a_table_is_a_result(reports, tmp_path):
    (tmp_path / "theirs.md").write_text(CLASSIC)
    (tmp_path / "empty.md").write_text("# nothing\n")
    assert find_results(["theirs.md"], reports)[0].total.sample_count == 107255
    with pytest.raises(UsageError, match=r"empty\.md: a Markdown file without a table"):
        find_results(["empty.md"], reports)


def test_a_run_without_json_is_counted_from_its_samples(reports):
    started(reports, "finished")
    [result] = find_results(["run-01_1"], reports)
    assert (result.kind, result.total.average_ms) == ("run", 100)


def test_a_run_in_progress_is_refused(reports):
    with RunDirectory(started(reports)).held(), pytest.raises(UsageError, match="tiny/run-01_1: it is running; wait"):
        find_results(["run-01_1"], reports)


def test_a_run_whose_harness_was_killed_is_read_and_is_invalid(reports):
    assert read_result(started(reports)).verdict.state == "INVALID"


def test_json_of_a_newer_format_is_refused(reports):
    path = save(reports, "tiny", "run-07_1").with_name("run-07_1.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": FORMAT_VERSION + 1}))
    with pytest.raises(UsageError, match=r"written by a newer version of this harness .*update this checkout"):
        find_results(["run-07_1"], reports)


@pytest.mark.parametrize("text", ["{", "[]", '{"format_version": 1}', '{"format_version": 2}', "\xff"])
def test_json_of_something_else_is_refused(reports, text):
    (reports / "tiny").mkdir(parents=True)
    (reports / "tiny" / "run-07_1.json").write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match="not the JSON of a run"):
        find_results(["run-07_1"], reports)


def test_a_short_name_belongs_to_the_named_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reports = tmp_path / "reports"
    made = {plan: save(reports, plan, "run-01_1") for plan in ("killbill", "thruzero")}
    with pytest.raises(
        UsageError, match="2 plans have it; choose one: killbill/run-01_1, thruzero/run-01_1, or pass --p"
    ):
        find_paths(in_plan(["run-01_1"], None), reports)
    assert find_paths(in_plan(["run-01_1"], "thruzero"), reports) == [made["thruzero"]]
    assert find_paths(in_plan(["run-01_*"], "thruzero"), reports) == [made["thruzero"]]
    assert find_paths(in_plan(["killbill/run-01_1"], "thruzero"), reports) == [made["killbill"]]
    with pytest.raises(UsageError, match="thruzero/run-01_2: neither a file nor a run"):
        find_paths(in_plan(["run-01_2"], "thruzero"), reports)
    here = tmp_path / "samples.jtl"
    here.write_text(jtl())
    assert find_paths(in_plan(["samples.jtl"], "thruzero"), reports) == [Path("samples.jtl")]


def test_report_takes_short_names_as_compare_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for plan in ("killbill", "thruzero"):
        add_run(tmp_path / "reports", f"{plan}/run-01_1")
    report = ["report", "run-01_1", "--reports", "reports"]
    with pytest.raises(UsageError, match="run-01_1: 2 plans have it"):
        main(report)
    assert main([*report, "--plan", "thruzero"]) == 0
    assert capsys.readouterr().out.startswith("reports/thruzero/run-01_1.md: ")
    with pytest.raises(UsageError, match="run-01_3: neither a file nor a run in reports/; did you mean run-01_1"):
        main(["report", "run-01_3", "--reports", "reports"])


def test_the_report_of_many_runs_has_a_name_that_a_disk_accepts(tmp_path):
    def name(count, last="4f2a"):
        runs = [tmp_path / f"run-07_{number}-4f2a" for number in range(1, count)]
        return short_names([Found(path, None) for path in (*runs, tmp_path / f"run-07_{count}-{last}")], tmp_path)

    assert name(3) == "run-07_1-4f2a+2-4f2a+3-4f2a"
    assert len(name(200)) < 40
    assert name(200) != name(200, "9b1c")
