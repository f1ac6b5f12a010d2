"""What a sweep has beside its runs: its name and record, one harness at a time, the logs of one run, open files."""

import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli import verbs as cli
from harness.experiment.files import ExperimentFiles, Experiments, last_unfinished
from harness.experiment.record import FINISHED, RunTime, time_left_s
from harness.experiment.warm_runner import copy_new_lines, log_ends
from harness.run import kinds
from harness.run.arguments import changed
from harness.run.directory import RunDirectory, reserve
from harness.sweep.files import sweeps_with
from harness.sweep.record import SweepRecord
from harness.system.heap import read_heaps
from harness.system.jcmd import dump_recordings
from harness.system.jfr import write_heap
from tests.support.garbage import garbage_command
from tests.support.paths import ROOT
from tests.support.processes import wait_for
from tests.support.sweeps import NEW_SWEEP

OPTIONS = cli.parser_of("sweep").parse_args([])


def sweeps(reports: Path) -> Experiments[SweepRecord]:
    return Experiments(SweepRecord, reports)


def begun(reports: Path, **changes: object) -> ExperimentFiles:
    """Return a sweep of the plan `tiny` that has a record."""
    files = sweeps(reports).reserve("tiny")
    files.write(replace(NEW_SWEEP, name=files.name, **changes))
    return files


def test_a_sweep_gets_an_unused_series(tmp_path):
    assert sweeps(tmp_path).reserve("tiny").name == "sweep-01"
    reserve(tmp_path, "tiny", "07")
    assert sweeps(tmp_path).reserve("tiny").name == "sweep-08"
    assert sweeps(tmp_path).reserve("tiny").name == "sweep-09"


@pytest.mark.parametrize(
    ("runs", "said"),
    [((), ""), (("01",), "tiny/sweep-02: its runs are run-02_1 and following, so it has their number\n")],
    ids=["first", "after a run"],
)
def test_a_sweep_whose_number_is_not_the_next_one_says_why(runs, said, tmp_path, capsys):
    for series in runs:
        reserve(tmp_path, "tiny", series)
    with ExitStack() as stack:
        files, record = sweeps(tmp_path).begun(NEW_SWEEP, changed(OPTIONS, new=True), stack)
        assert record.series == f"{len(runs) + 1:02d}"  # `lth sweeps 'tiny/run-02_*'` and --resume 02 need it
        files.write(record)
    assert capsys.readouterr().out == said
    assert sweeps(tmp_path).find(record.series).name == files.name


def test_a_run_without_a_series_never_joins_a_sweep(tmp_path):
    begun(tmp_path)
    reserve(tmp_path, "tiny", "01")
    assert reserve(tmp_path, "tiny", None).name == "run-02_1"
    begun(tmp_path)
    reserve(tmp_path, "tiny", "03")
    assert reserve(tmp_path, "tiny", None).name == "run-02_2"


def test_a_sweep_that_measured_nothing_leaves_nothing(tmp_path):
    sweeps(tmp_path).reserve("tiny").discard()
    assert list(tmp_path.iterdir()) == []


def test_the_last_unfinished_sweep_of_the_same_settings_is_found(tmp_path):
    longer = f"{NEW_SWEEP.command} --duration=5"
    first, second, _, _ = (
        begun(tmp_path), begun(tmp_path), begun(tmp_path, command=longer), begun(tmp_path, state=FINISHED)
    )  # fmt: skip
    assert sweeps(tmp_path).unfinished(NEW_SWEEP, OPTIONS) == second
    second.write(replace(sweeps(tmp_path).read(second), state=FINISHED))
    assert sweeps(tmp_path).unfinished(NEW_SWEEP, OPTIONS) == first
    assert sweeps(tmp_path).unfinished(replace(NEW_SWEEP, note="after the fix"), OPTIONS) == first
    changed = replace(NEW_SWEEP, command=f"{NEW_SWEEP.command} '--header=A: b'")
    assert sweeps(tmp_path).unfinished(changed, OPTIONS) is None
    assert sweeps(tmp_path).unfinished(replace(NEW_SWEEP, plan="tinny"), OPTIONS) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"format_version": 1}'], ids=range(5))
def test_a_broken_record_is_an_error_only_for_the_last_sweep(tmp_path, text):
    first, second = begun(tmp_path), begun(tmp_path)
    whole = second.record.read_text()
    second.record.write_text(text)
    with pytest.raises(UsageError, match=rf"{second.name}\.json: .*--new"):
        sweeps(tmp_path).unfinished(NEW_SWEEP, OPTIONS)
    second.record.write_text(whole)
    first.record.write_text(text)
    assert sweeps(tmp_path).unfinished(NEW_SWEEP, OPTIONS) == second


def test_a_record_of_another_version_is_not_resumed(tmp_path):
    files = begun(tmp_path)
    files.record.write_text(files.record.read_text().replace('"format_version": 1', '"format_version": 99'))
    assert sweeps(tmp_path).unfinished(NEW_SWEEP, OPTIONS) is None
    with pytest.raises(UsageError, match="not a file of format version 1"):
        sweeps(tmp_path).read(files)


@pytest.mark.parametrize("text", ["sweep-01", "01", "1", "tiny/sweep-01", " 1 "])
def test_a_sweep_is_named_in_several_ways(tmp_path, text):
    files = begun(tmp_path)
    assert sweeps(tmp_path).find(text, "tiny") == files


@pytest.mark.parametrize("text", ["sweep-02", "2", "x", "other/sweep-01", "../tiny/sweep-01"])
def test_an_unknown_sweep_is_answered_with_the_existing_ones(tmp_path, text):
    begun(tmp_path)
    with pytest.raises(UsageError, match=r"no such sweep of tiny; .*there are: tiny/sweep-01"):
        sweeps(tmp_path).find(text, "tiny")


def test_without_any_sweep_there_is_nothing_to_resume(tmp_path):
    with pytest.raises(UsageError, match="07: no such sweep of tiny; there are: none"):
        sweeps(tmp_path).find("07", "tiny")
    with pytest.raises(UsageError, match="there is no sweep of tiny yet; leave it out"):
        last_unfinished(kinds.SWEEP, tmp_path, "tiny")


def test_a_sweep_is_locked_until_the_first_harness_ends(tmp_path):
    files = begun(tmp_path)
    first, second = (lambda: sweeps(tmp_path).locked(files) for _ in range(2))
    with first(), pytest.raises(UsageError, match="sweep-01 is running in another process"), second():
        pass
    with first():
        assert sweeps(tmp_path).read(files).name == "sweep-01"


def test_the_logs_of_a_run_contain_only_its_own_time(tmp_path):
    logs, run = tmp_path / "logs", tmp_path / "run"
    logs.mkdir()
    for name, text in (("web.log", "started\n"), ("rotated.log", "a long line of yesterday\n"), ("quiet.log", "up\n")):
        (logs / name).write_text(text)
    ends = log_ends(logs)
    with (logs / "web.log").open("a") as log:
        log.write("during the run\n")
    (logs / "rotated.log").write_text("begun anew\n")
    (logs / "late.log").write_text("first line\n")
    (logs / "web.jfr").write_bytes(b"FLR")
    copy_new_lines(logs, ends, run, [logs / "web.jfr"])
    assert {path.name: path.read_text() for path in run.iterdir()} == {
        "web.log": "during the run\n",
        "rotated.log": "begun anew\n",
        "quiet.log": "",
        "late.log": "first line\n",
    }


def test_the_time_left_includes_the_overhead_of_runs():
    assert time_left_s([100.0, 200.0], [], first_guess_s=10.0) == 320.0
    # 6 and 8 s beyond the load: 7 on average.
    assert time_left_s([100.0, 200.0], [RunTime(50.0, 56.0), RunTime(50.0, 58.0)], first_guess_s=10.0) == 314.0


def test_the_time_left_of_loops_is_known_after_the_first_run():
    assert time_left_s([None, None], [], first_guess_s=10.0) is None
    assert time_left_s([None, None], [RunTime(None, 30.0), RunTime(None, 40.0)], first_guess_s=10.0) == 70.0


def open_files_allowed(users: int, soft: int, hard: int) -> str:
    """Return the soft limit after it was raised for so many users, or the error, in a process of its own."""
    code = (
        "import resource\nfrom harness.base.errors import UsageError\n"
        "from harness.base.open_files import allow_open_files\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        f"try:\n    allow_open_files({users})\n    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
        "except UsageError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()


def test_the_soft_limit_of_open_files_is_raised_up_to_the_hard_limit():
    assert open_files_allowed(10, 1024, 2048) == "1024"
    assert open_files_allowed(500, 1024, 2048) == "1500"
    assert open_files_allowed(2000, 1024, 2048) == (
        "2000 users need 3000 open files, but the limit is 2048; "
        "raise it for this shell: sudo prlimit --pid $$ --nofile=3000:3000"
    )


def test_a_recording_that_cannot_be_written_is_reported(tmp_path, monkeypatch):
    recordings = {"shop": tmp_path / "shop.jfr"}
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert dump_recordings({"shop": 1}, recordings, {}) == (
        ("shop", "not known: this Java has no jcmd, which writes the recording of a running JVM"),
    )
    assert list(tmp_path.iterdir()) == []


def test_the_sweeps_of_runs_are_found(reports):
    runs = [RunDirectory(reports / "tiny" / name) for name in ("run-07_2", "run-07_3", "run-99_1")]
    assert [files.name for files in sweeps_with(runs)] == ["sweep-07"]
    assert sweeps_with(runs[2:]) == []


@pytest.mark.counterpart
def test_a_running_jvm_writes_its_heap_so_far(tmp_path):
    command, own = garbage_command(tmp_path, "Serial", None)
    folder = tmp_path / "run with a blank"
    folder.mkdir()
    copy = folder / "shop.jfr"

    def point_count() -> int:
        assert dump_recordings({"shop": jvm.pid}, {"shop": copy}, {}) == ()
        if write_heap(folder / "heap.csv", {"shop": copy}, {}):
            return 0  # it has not collected any garbage yet
        with (folder / "heap.csv").open() as lines:
            return len(read_heaps(lines)["shop"])

    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as jvm:
        try:
            wait_for(own.exists)
            first = wait_for(point_count)
            assert point_count() > first
        finally:
            jvm.kill()
    assert sorted(path.name for path in folder.iterdir()) == ["heap.csv", "shop.jfr"]
    copy.unlink()
    assert dump_recordings({"shop": jvm.pid}, {"shop": copy}, {}) == (
        ("shop", "not known: the JVM did not write shop.jfr (jcmd ended with code 1)"),
    )
