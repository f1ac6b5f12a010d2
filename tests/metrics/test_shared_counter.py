"""Several readings within `shared_counter`: one process counts all of them, and none is left behind."""

import pytest

from harness.metrics import counter_process, files
from harness.metrics.counter import CsvFile, count_file
from harness.metrics.counter_process import CounterError, CounterProcess, shared_counter
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from tests.support.commands import command
from tests.support.counting import HEAD, lines_of, plain, same


@pytest.fixture
def started(monkeypatch):
    """The processes that are started during a test."""
    found = []

    class Noted(CounterProcess):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(counter_process, "CounterProcess", Noted)
    return found


def counted(path, data, program, scope):
    path.write_bytes(data)
    return count_file(CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=50_000)


@pytest.mark.real
def test_one_process_counts_all_files_and_windows(tmp_path, program, started):
    files = (HEAD + lines_of(4000), HEAD + lines_of(3000, "Buy"))
    window = Scope(window_ms=IntervalMs(100, 2900), batch_count=20, with_timeline=False)
    scopes = (Scope(), window, Scope(thread_groups=("T",)))
    work = []
    with shared_counter(meanwhile=lambda: work.append([one.is_running for one in started])):
        for data in files:
            for scope in scopes:
                with shared_counter():
                    tally = counted(tmp_path / "Größe 1.jtl", data, program, scope)
                expected = plain(data, scope)
                assert (tally.labels, tally.batches, tally.codes) == (expected.labels, expected.batches, expected.codes)
                assert tally.requests.seconds == expected.requests.seconds
        assert len(started) == 1
        assert started[0].is_running
        assert work == [[True]]  # once, while it counted the first file
    assert not started[0].is_running


@pytest.mark.real
def test_a_process_with_large_counts_is_not_used_again(tmp_path, program, started):
    many = HEAD + b"".join(lines_of(9, f"label {number}") for number in range(300))
    long = HEAD + b"".join(b"%d000,7,Pay,200,T 1-1,true,10,3,1,0\n" % second for second in range(60_000))
    with shared_counter():
        counted(tmp_path / "long.jtl", long, program, Scope(with_timeline=False))
        assert not started[0].is_running
        same(counted(tmp_path / "many.jtl", many, program, Scope()), plain(many, Scope()))
        assert not started[1].is_running
        few = HEAD + lines_of(3000)
        same(counted(tmp_path / "few.jtl", few, program, Scope()), plain(few, Scope()))
    assert [one.is_running for one in started] == [False, False, False]


@pytest.mark.real
def test_after_a_failure_the_next_file_has_a_new_process(tmp_path, program, started):
    data = HEAD + lines_of(3000)
    path = tmp_path / "x.jtl"
    with shared_counter():
        path.write_bytes(data)
        with pytest.raises(CounterError, match="the file has changed"):
            count_file(CsvFile(path, len(data) + 1_000_000, "x.jtl"), program, Scope(), None, lambda *_: None)
        same(counted(path, data, program, Scope()), plain(data, Scope()))
    assert [one.is_running for one in started] == [False, False]


@pytest.mark.real
def test_without_sharing_each_file_has_its_own(tmp_path, program, started):
    for _ in range(2):
        counted(tmp_path / "x.jtl", HEAD + lines_of(3000), program, Scope())
    assert [one.is_running for one in started] == [False, False]


@pytest.mark.real
@pytest.mark.parametrize("options", [[], ["--window", "0s..30s"]], ids=["whole", "window"])
def test_a_table_of_a_large_file_is_counted_by_the_process_that_was_started_first(
    tmp_path, started, monkeypatch, options
):
    monkeypatch.setattr(counter_process, "LARGE_BYTES", 1000)
    monkeypatch.setattr(files, "LARGE_BYTES", 1000)
    path = tmp_path / "a.jtl"
    path.write_bytes(HEAD + lines_of(2000))
    done = command("aggregate.py", "table", path, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("| label | count |")
    assert [process.is_running for process in started] == [False]


def test_a_process_that_was_started_for_a_wrong_command_is_ended(tmp_path, started, monkeypatch):
    monkeypatch.setattr(counter_process, "LARGE_BYTES", 1000)
    path = tmp_path / "a.jtl"
    path.write_bytes(HEAD + lines_of(2000))
    assert command("aggregate.py", "table", path, "--sort", "beauty").returncode == 2
    assert [process.is_running for process in started] == [False]
    assert command("aggregate.py", "tally", path, "--wrong").returncode == 2
    assert len(started) == 1
