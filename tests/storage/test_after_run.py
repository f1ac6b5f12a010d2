"""A run that is pushed to S3 at its end."""

from __future__ import annotations

import pytest

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_USAGE, UsageError
from harness.cli.verbs import main
from harness.storage.after_run import push_after_run, push_command
from harness.storage.bucket import check_writable
from harness.storage.s3 import push, runs_there
from tests.support.fault_proxy import FORBIDDEN
from tests.support.late import Late
from tests.support.stored_runs import a_run, print_text
from tests.support.tiny import Start

boto3 = Late("boto3")

pytestmark = pytest.mark.real


def test_checking_a_location_leaves_nothing_there(storage, proxy):
    check_writable(storage, print_text)
    client = boto3.client("s3")
    assert "Contents" not in client.list_objects_v2(Bucket="kept")
    assert "Uploads" not in client.list_multipart_uploads(Bucket="kept")
    proxy.add("POST", "uploads", FORBIDDEN)
    with pytest.raises(UsageError, match="s3:PutObject"):
        check_writable(storage, print_text)


@pytest.mark.counterpart
def test_a_run_is_pushed_at_its_end(storage, start_run: Start):
    process = start_run("--users", "2", "--s3", "s3://kept/load")
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert "tiny/run-01_1: pushed to s3://kept/load/runs/plan=tiny/env=local/date=" in out
    assert [(found.key.id, found.is_whole) for found in runs_there(storage)] == [("tiny/run-01_1", True)]


def test_a_failed_push_loses_nothing_and_prints_the_command_that_repeats_it(storage, proxy, start_run: Start, tmp_path):
    proxy.add("PUT", "samples.jtl", FORBIDDEN)
    process = start_run("--users", "2", "--s3", "s3://kept/load")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == EXIT_INVALID
    assert "INVALID" not in out
    assert "not pushed: s3://kept/load" in out
    command = next(line for line in out.splitlines() if "lth push" in line).partition("lth ")[2]
    assert (tmp_path / "reports" / "tiny" / "run-01_1.md").is_file()
    assert [found.is_whole for found in runs_there(storage)] in ([], [False])
    assert main(command.split()) == 0
    assert [found.is_whole for found in runs_there(storage)] == [True]


@pytest.mark.parametrize("code", [1, EXIT_INVALID])
def test_a_failed_push_keeps_a_runs_nonzero_exit_code(storage, proxy, tmp_path, code):
    proxy.add("PUT", "run.json", FORBIDDEN)
    assert push_after_run(a_run(tmp_path), storage, code, print_text).exit_code == code


def test_the_printed_command_is_quoted_for_a_shell(storage, tmp_path, monkeypatch):
    run = a_run(tmp_path / "my reports")
    monkeypatch.chdir(tmp_path)
    assert push_command(run, storage).endswith(" --reports 'my reports'")


def test_a_run_without_samples_is_pushed_with_a_message(storage, tmp_path, capsys):
    run = a_run(tmp_path)
    run.samples.unlink()
    push(run, storage, print_text)
    assert "its samples are not on this machine" in capsys.readouterr().out


def test_an_interrupted_run_is_not_pushed_and_the_command_is_printed(storage, tmp_path, capsys):
    assert push_after_run(a_run(tmp_path), storage, EXIT_INTERRUPTED, print_text).exit_code == EXIT_INTERRUPTED
    assert runs_there(storage) == ()
    assert "lth push tiny/run-07_1 s3://kept/load --endpoint-url http://127.0.0.1:" in capsys.readouterr().out


def test_a_location_without_write_access_ends_the_command_before_anything_is_measured(
    proxy, start_run: Start, tmp_path
):
    proxy.add("POST", "uploads", FORBIDDEN)
    process = start_run("--users", "2", "--s3", "s3://kept/load")
    _, error = process.communicate(timeout=60)
    assert process.returncode == EXIT_USAGE
    assert "s3:PutObject" in error
    assert not list((tmp_path / "reports").glob("tiny/*"))
