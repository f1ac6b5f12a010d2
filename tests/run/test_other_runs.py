"""Runs whose loads are on at the same time on one machine notice each other."""

import fcntl
import json
import os
import subprocess
import sys

import pytest

from harness.base.errors import UsageError
from harness.judge.verdict import DOUBTFUL
from harness.report.charts.run_charts import run_charts
from harness.report.files import summary_of_run, write_report
from harness.report.markdown import report
from harness.report.stored_results import read_stored
from harness.run.context import warn_of
from harness.run.directory import RunDirectory
from harness.run.other_runs import OtherRun, OtherRuns, registered
from harness.run.record import RUNNING
from tests.support.factories import record, two_users
from tests.support.paths import ROOT
from tests.support.processes import output_until
from tests.support.report_folder import add_samples
from tests.support.summaries import summary_of, warnings_of
from tests.support.tiny import run_json, samples_under_way


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_each_of_two_runs_sees_the_other_and_not_itself():
    with registered("shop/run-01_1") as first:
        assert first.new() == []
        with registered("lb/run-02_1") as second:
            assert [other.name for other in second.new()] == ["shop/run-01_1"]
            assert [other.name for other in first.new()] == ["lb/run-02_1"]
            assert first.new() == []
            assert str(first.seen[0]).startswith(f"lb/run-02_1, pid {os.getpid()} of ")


def test_a_run_that_goes_on_was_not_killed_and_has_no_report_yet(tmp_path):
    directory = add_samples(tmp_path, "shop/run-01_1", state=RUNNING)
    with directory.held():
        for read in (write_report, summary_of_run):
            with pytest.raises(UsageError, match="shop/run-01_1: it is running; wait"):
                read(directory)
        assert read_stored(directory).problem.startswith("it is running; wait")
    assert not directory.report.exists()
    assert read_stored(directory).problem == "still running, or killed; if killed: lth report shop/run-01_1"
    with RunDirectory(directory.path.parent).held():  # another folder
        assert "the harness was killed before this run ended" in write_report(directory).verdict.reasons


def test_a_run_whose_load_is_over_does_not_count():
    with registered("shop/run-01_1"):
        pass
    assert OtherRuns().new() == []


def test_a_killed_run_does_not_count_and_its_file_is_removed(folder):
    program = "import time; from harness.run.other_runs import registered\n"
    program += "with registered('shop/run-01_1'): print('on', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"on\n"
    assert [other.pid for other in OtherRuns().new()] == [process.pid]
    process.kill()
    process.communicate(timeout=60)
    assert OtherRuns().new() == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"name": "x"}', b"\xff\xfe", b'{"name": 1, "pid": "x", "user": 2}'])
def test_other_files_in_the_folder_are_ignored(folder, content):
    folder.mkdir()
    path = folder / "odd.run"
    path.write_bytes(content)
    with path.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert OtherRuns().new() == []


def test_pipes_and_links_in_the_folder_do_not_block_a_run(folder, tmp_path):
    folder.mkdir()
    os.mkfifo(folder / "pipe.run")
    (folder / "link.run").symlink_to(tmp_path / "nowhere")
    assert OtherRuns().new() == []


def test_text_of_another_user_cannot_control_the_terminal(folder):
    folder.mkdir()
    path = folder / "odd.run"
    path.write_text(json.dumps({"name": "\x1b[31m" + "x" * 500, "pid": 1, "user": "a\nb"}))
    with path.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        (other,) = OtherRuns().new()
    assert other.user == "a\ufffdb"
    assert len(other.name) == 120
    assert "\x1b" not in other.name


def test_an_unwritable_folder_does_not_prevent_a_run(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HARNESS_RUNS", str(tmp_path / "file" / "runs"))
    with registered("shop/run-01_1") as others:
        assert others.new() == []


def test_the_folder_is_for_all_users_of_the_machine(folder):
    with registered("shop/run-01_1"):
        assert folder.stat().st_mode & 0o7777 == 0o1777
        (file,) = folder.iterdir()
        assert file.stat().st_mode & 0o044 == 0o044


def test_a_concurrent_run_is_named_in_a_warning():
    text = warnings_of(two_users(), record(other_runs=("lb/run-02_1, pid 7 of ann",)))["other-run"]
    assert text.startswith("Another load test ran on this machine at the same time. ")
    assert "other-run" not in warnings_of(two_users(), record())
    verdict = summary_of(two_users(), record(other_runs=("lb/run-02_1, pid 7 of ann",))).verdict
    assert verdict.state == DOUBTFUL
    assert "Another load test ran on this machine at the same time" in verdict.reasons


@pytest.mark.real
def test_two_runs_at_once_warn_of_each_other_and_the_first_notices_the_second(start_run, run, target, tmp_path):
    first = start_run("--target", target, "--duration", "30")
    samples_under_way(tmp_path)
    second = run("--target", target, "--duration", "2")
    assert f"warning: another run is in progress on this machine: tiny/run-01_1, pid {first.pid} of " in second.stdout
    output_until(first, "warning: another run is in progress on this machine: tiny/run-01_2, pid ")
    first.terminate()
    first.communicate(timeout=60)
    for name, other in (("run-01_1", "run-01_2"), ("run-01_2", "run-01_1")):
        (text,) = run_json(tmp_path / "reports", name)["other_runs"]
        assert text.startswith(f"tiny/{other}, pid ")
        page = (tmp_path / "reports" / "tiny" / f"{name}.md").read_text()
        assert "Another load test ran on this machine at the same time" in page
        assert f"It shares its cores and memory: tiny/{other}" in page


def test_many_other_runs_are_one_short_line_and_listed_in_the_set_up():
    others = tuple(f"shop-{number}/run-02_1, pid {number} of ann" for number in range(37))
    summary = summary_of(two_users(), record(other_runs=others))
    page = report(summary, run_charts(summary), "", "run-01_1")
    short = "shop-0/run-02_1, pid 0 of ann; shop-1/run-02_1, pid 1 of ann; 35 more. Run one after the other."
    assert "37 other load tests ran on this machine at the same time" in page
    assert short in page
    screen, _, rest = page.partition("<details>")
    assert "shop-2/" not in screen
    assert f"- other load tests: {'; '.join(others)}" in rest
    lines = []
    warn_of([OtherRun(f"shop-{number}/run-02_1", number, "ann") for number in range(37)], lines.append)
    assert lines == [
        "warning: 37 other runs are in progress on this machine: shop-0/run-02_1, pid 0 of ann; "
        "shop-1/run-02_1, pid 1 of ann; 35 more; the results of all are unreliable"
    ]
