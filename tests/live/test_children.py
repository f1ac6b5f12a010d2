"""Runs that are child processes: all that a page or metrics need is in their run directories."""

import gzip
import json
from dataclasses import asdict

import pytest

from harness.base.records import to_plain
from harness.live.watchers import ChildFollower
from harness.run.child import ChildRun
from harness.run.directory import RunDirectory
from harness.run.result_file import RunEnd
from tests.support.factories import record, two_users
from tests.support.summaries import summary_of

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,Latency,Connect\n"
)
ROW = "1000000,100,Pay,200,OK,Users 1-1,true,,10,10,1,1,90,1\n"


class View:
    """Stores the calls that it gets."""

    def __init__(self):
        self.shown, self.labels, self.ended, self.calls = [], [], [], []

    def show(self, directory, record, hidden):
        self.calls.append("show")
        self.shown.append((directory.name, record.goal.limits["p90_ms"], record.load.users, record.once_labels, hidden))

    def add(self, samples, _passed_s, _active_users):
        self.labels += [sample.label for sample in samples]

    def finish(self):
        self.calls.append("finish")

    def end(self, summary, report):
        self.calls.append("end")
        self.ended.append((summary.verdict.state, report))

    def announce(self, heading):
        pass


@pytest.fixture
def view():
    return View()


@pytest.fixture
def follower(view, monkeypatch):
    monkeypatch.setattr("harness.live.watchers._PERIOD_S", 0.0)
    return ChildFollower([view], ("hush-12345",))


@pytest.fixture
def child(tmp_path):
    return ChildRun("tiny", (), {"reports": tmp_path / "reports"}, tmp_path / "1.log")


@pytest.fixture
def directory(tmp_path):
    found = RunDirectory(tmp_path / "reports" / "tiny" / "run-01_1")
    found.path.mkdir(parents=True)
    return found


def begun(child, directory):
    """Write what scripts/run writes when a load starts."""
    child.result.write_text(json.dumps(asdict(RunEnd(run="tiny/run-01_1"))))
    directory.write_run(record(state="running"))
    directory.samples.write_text(HEADER + ROW)


def test_a_run_is_shown_when_its_load_starts_with_every_sample_and_its_verdict(view, follower, child, directory):
    follower.poll(child)  # the system starts
    assert view.shown == []
    begun(child, directory)
    follower.poll(child)
    follower.poll(child)
    assert view.shown == [("run-01_1", 1000, 2, ("Create",), ("hush-12345",))]
    assert view.labels == ["Pay"]
    with directory.samples.open("a") as out:
        out.write(ROW.replace("Pay", "Refund"))
    directory.summary_json.write_text(json.dumps(to_plain(summary_of(two_users(), record()))))
    follower.ended(child)
    assert view.labels == ["Pay", "Refund"]
    assert [state for state, _ in view.ended] == [summary_of(two_users(), record()).verdict.state]
    assert view.calls == ["show", "finish", "end"]


def test_a_run_without_a_report_has_no_end_and_the_next_one_is_shown(view, follower, child, directory):
    begun(child, directory)
    follower.poll(child)
    follower.ended(child)
    assert view.ended == []
    follower.announce("run 2")
    follower.poll(child)
    assert [name for name, *_ in view.shown] == ["run-01_1", "run-01_1"]


@pytest.mark.parametrize("how", ["masked", "packed"])
def test_the_last_rows_are_read_from_the_file_that_replaced_the_samples(view, follower, child, directory, how):
    begun(child, directory)
    follower.poll(child)
    rows = (HEADER + ROW + ROW.replace("Pay", "Refund") + ROW.replace("Pay", "Log in •••")).encode()
    if how == "masked":
        draft = directory.path / "draft"
        draft.write_bytes(rows)
        draft.replace(directory.samples)
    else:  # as after an hour
        directory.samples.unlink()
        parts = [gzip.compress(part) for part in (rows[:100], rows[100:])]
        (directory.path / "samples.jtl.gz").write_bytes(b"".join(parts))
    follower.poll(child)
    assert view.labels == ["Pay"]  # the child may still write the other file
    follower.ended(child)
    assert view.labels == ["Pay", "Refund", "Log in •••"]


def test_a_packed_file_that_is_torn_ends_no_series(view, follower, child, directory):
    begun(child, directory)
    follower.poll(child)
    directory.samples.unlink()
    (directory.path / "samples.jtl.gz").write_bytes(gzip.compress(HEADER.encode() * 100)[:-20])
    follower.ended(child)
    assert view.calls == ["show", "finish"]


@pytest.mark.parametrize("text", ["not JSON", '{"format_version": 99}'])
def test_files_that_cannot_be_read_end_no_series(view, follower, child, directory, text):
    begun(child, directory)
    directory.run_json.write_text(text)
    follower.poll(child)
    child.result.write_text(text)
    follower.ended(child)
    assert view.shown == []
