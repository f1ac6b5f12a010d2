"""The commands that use S3, and their errors."""

from __future__ import annotations

import json
import os
import socket

import pytest
import zstandard

from harness.base.errors import EXIT_INVALID, EXIT_USAGE, HarnessError, ServiceError, UsageError
from harness.cli.verbs import main
from harness.run.record import RUNNING
from harness.storage.bucket import check_writable, open_storage
from harness.storage.s3 import pull, push, runs_there
from tests.support.fault_proxy import CUT_ANSWER, FORBIDDEN, HOLD, SERVER_ERROR
from tests.support.late import Late
from tests.support.moto_server import READER
from tests.support.report_folder import add_run, run_folder
from tests.support.stored_runs import RUN_ID, a_run, large_run, print_text

boto3 = Late("boto3")

pytestmark = pytest.mark.real


@pytest.mark.usefixtures("proxy")
def test_the_commands_push_list_and_pull(tmp_path, capsys):
    a_run(tmp_path / "here")
    run_folder(tmp_path / "here", "tiny/run-07_2", state=RUNNING)
    add_run(tmp_path / "here", "other/run-01_1", properties={})
    assert main(["push", "all", "s3://kept/load", "--reports", str(tmp_path / "here")]) == 0
    left_out = capsys.readouterr().err
    assert "tiny/run-07_2: left out: still running, or killed" in left_out
    assert "other/run-01_1: left out: its run.json is incomplete" in left_out
    options = "--plan tiny --env local --since 2026-01-01 --last 5"
    assert main(["ls", "s3://kept/load", *options.split()]) == 0
    assert f"| tiny/run-07_1 | local | 2026-01-01 | {RUN_ID} | complete |" in capsys.readouterr().out
    profile = tmp_path / "home" / "env" / "local.toml"
    profile.parent.mkdir(parents=True)
    profile.write_text('format_version = 1\n[storage]\ns3 = "s3://kept/load"\n')
    folders = ["--env", "local", "--home", str(profile.parent.parent), "--reports", str(tmp_path / "there")]
    assert main(["pull", *folders, "run-07_1"]) == 0
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").is_file()


def test_a_table_is_read_from_s3_although_the_connection_breaks(proxy, tmp_path, capsys):
    rows = (f"{1_700_000_000_000 + storage},{storage % 977},Pay,200,OK,Users 1-1,true" for storage in range(20_000))
    file = tmp_path / "samples.jtl"
    file.write_text("\n".join(("timeStamp,elapsed,label,responseCode,responseMessage,threadName,success", *rows)))
    stored = zstandard.ZstdCompressor().compress(file.read_bytes())
    boto3.client("s3").put_object(Bucket="kept", Key="gen1/samples.jtl.zst", Body=stored)
    fault = proxy.add("GET", "samples.jtl.zst", CUT_ANSWER)
    tables = []
    for name in (str(file), "s3://kept/gen1/samples.jtl.zst"):
        assert main(["table", name, "--window", "1..10"]) == 0
        tables.append(capsys.readouterr().out)
    assert fault.times == 0
    assert "| Pay | 9000 |" in tables[0]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "message"),
    [
        ("ls s3://nothing-there", {}, EXIT_USAGE, "the bucket does not exist"),
        ("ls s3://kept", {"AWS_ACCESS_KEY_ID": ""}, EXIT_USAGE, "no credentials found; set AWS_PROFILE"),
        ("ls s3://kept", {"AWS_PROFILE": "nobody"}, EXIT_USAGE, "(nobody) could not be found"),
        ("ls s3://kept --endpoint-url http://127.0.0.1:{closed}", {}, EXIT_INVALID, "does not answer"),
        ("table s3://kept/none.jtl", {}, EXIT_USAGE, "there is no such object"),
        ("table s3://kept", {}, EXIT_USAGE, "a bucket, not an object"),
        ("compare s3://kept/load/runs/plan=tiny/x run-01_1", {}, EXIT_USAGE, "lth pull s3://kept/load"),
        ("report s3://kept/load/runs/plan=tiny/x", {}, EXIT_USAGE, "lth pull s3://kept/load"),
        ("push s3://kept", {}, EXIT_USAGE, "no run is named"),
        ("ls", {}, EXIT_USAGE, "give s3://bucket/prefix"),
        ("ls s3://kept s3://other", {}, EXIT_USAGE, "two addresses"),
        ("ls s3://kept --last 0", {}, EXIT_USAGE, "--last=0: not a whole number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.usefixtures("proxy")
def test_every_error_is_one_line_with_what_to_do(arguments, environment, code, message, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = str(closed.getsockname()[1])
        with pytest.raises(HarnessError) as caught:
            main(arguments.replace("{closed}", port).split())
    assert caught.value.exit_code == code
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "part", "right"),
    [
        ("GET", "manifest.json", "s3:GetObject"),
        ("PUT", "run.json", "s3:PutObject"),
        ("POST", "uploads", "s3:PutObject"),
        ("GET", "uploads", "s3:ListBucketMultipartUploads"),
    ],
)
def test_a_missing_permission_is_named_without_any_key(storage, proxy, tmp_path, method, part, right):
    proxy.add(method, part, FORBIDDEN)
    run = large_run(tmp_path) if part == "uploads" else a_run(tmp_path)
    with pytest.raises(UsageError, match=right) as caught:
        push(run, storage, print_text)
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("server", [pytest.param("ceph", marks=pytest.mark.counterpart)], indirect=True)
def test_a_read_only_key_lists_and_pulls_and_is_refused_a_push(server, beside, storage, tmp_path, monkeypatch):
    run = a_run(tmp_path / "here")
    push(run, storage, print_text)
    may_read = {
        "Effect": "Allow", "Principal": {"AWS": [f"arn:aws:iam:::user/{READER}"]},
        "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::kept", "arn:aws:s3:::kept/*"],
    }  # fmt: skip
    beside.put_bucket_policy(Bucket="kept", Policy=json.dumps({"Version": "2012-10-17", "Statement": [may_read]}))
    for name, value in server.clients[READER].items():
        monkeypatch.setenv(name, value)
    reading = open_storage("s3://kept/load", storage.endpoint_url)
    assert [found.is_whole for found in runs_there(reading)] == [True]
    assert pull(reading, tmp_path / "there", print_text, figures_only=False).runs == ("tiny/run-07_1",)
    other = a_run(tmp_path / "other", "run-07_2-1a2b3c4d")
    for write, right in (
        (lambda: push(other, reading, print_text), "s3:PutObject"),
        (lambda: check_writable(reading, print_text), "s3:ListBucketMultipartUploads"),
    ):
        with pytest.raises(UsageError, match=right) as caught:
            write()
        assert "\n" not in str(caught.value)
    assert len(runs_there(storage)) == 1


def test_rejected_credentials_are_not_repeated_in_the_error(storage, proxy):
    refusal = b"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>testing</AWSAccessKeyId></Error>"
    proxy.add("GET", "list-type", (403, refusal))
    with pytest.raises(UsageError, match=r"rejects the credentials \(InvalidAccessKeyId\); set AWS_PROFILE") as caught:
        runs_there(storage)
    assert "testing" not in str(caught.value)


def test_a_server_that_keeps_failing_is_an_error(storage, proxy):
    proxy.add("GET", "list-type", SERVER_ERROR, times=4)
    with pytest.raises(ServiceError, match=r"the server failed \(SlowDown, 4 attempts\); repeat the command later"):
        runs_there(storage)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((403, b"<Error><Code>QuotaExceeded</Code></Error>"), r"the bucket is full \(QuotaExceeded\); free some space"),
        ((507, b"<Error><Code>XMinioStorageFull</Code></Error>"), "the bucket is full"),
        (
            (400, b"<Error><Code>BadDigest</Code></Error>"),
            r"run.json: the server got different contents .*; repeat the",
        ),
        ((404, b"<h1>Not Found</h1>"), "the server does not answer as one of S3 does .*; check its address"),
        ((200, b"<html>Welcome to nginx</html>"), "the server does not answer as one of S3 does"),
    ],
)
def test_a_full_bucket_a_damaged_file_and_a_web_server_are_named(storage, proxy, tmp_path, answer, message):
    proxy.add("PUT", "run.json", answer)
    proxy.add("GET", "list-type", answer, times=4)
    with pytest.raises(HarnessError, match=message) as caught:
        push(a_run(tmp_path), storage, print_text) if b"<Error>" in answer[1] else runs_there(storage)
    assert "AWS" not in str(caught.value)


def test_an_outage_that_boto3_does_not_outlast_is_outlasted_by_a_later_attempt(storage, proxy, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.storage.bucket._LATER_S", 0.1)
    proxy.add("PUT", "run.json", SERVER_ERROR, times=4)
    said = []
    assert push(a_run(tmp_path), storage, said.append)
    assert said[0].endswith("the server failed (SlowDown, 4 attempts); trying again in 0 s")
    assert [run.is_whole for run in runs_there(storage)] == [True]
    proxy.add("GET", "uploads", SERVER_ERROR, times=4)
    check_writable(storage, said.append)
    proxy.add("GET", "uploads", SERVER_ERROR, times=8)
    with pytest.raises(ServiceError, match="the server failed"):
        check_writable(storage, said.append)


def test_a_server_that_hangs_is_named_within_seconds_and_given_up(storage, proxy, monkeypatch, capfd):
    monkeypatch.setattr("harness.base.aws._NAMED_S", 0.3)
    monkeypatch.setattr("harness.base.aws._READ_TIMEOUT_S", 0.6)
    hanging = open_storage("s3://kept/load", proxy.address)
    held = proxy.add("GET", "list-type", HOLD, times=4)
    with pytest.raises(ServiceError, match="takes requests and does not answer; check that it works"):
        runs_there(hanging)
    held.released.set()
    assert capfd.readouterr().err == f"{proxy.address}: no answer for 0 s, still waiting\n"
    runs_there(storage)
    assert capfd.readouterr().err == ""


def test_a_server_that_hangs_within_an_upload_is_given_up_after_a_time_not_after_attempts(proxy, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.base.aws._SENT_TIMEOUT_S", 0.6)
    monkeypatch.setattr("harness.base.aws._SILENT_MOST_S", 0.5)
    hanging = open_storage("s3://kept/load", proxy.address)
    held = proxy.add("PUT", "run.json", HOLD, times=4)
    with pytest.raises(ServiceError, match="takes requests and does not answer; check that it works"):
        push(a_run(tmp_path), hanging, print_text)
    held.released.set()
    assert proxy.puts("run.json") == 1
    assert push(a_run(tmp_path / "again"), hanging, print_text)  # the next request is not given up at once


def test_a_server_that_answers_some_requests_is_not_given_up(proxy, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.base.aws._SENT_TIMEOUT_S", 0.6)
    monkeypatch.setattr("harness.base.aws._SILENT_MOST_S", 1.0)
    slow = open_storage("s3://kept/load", proxy.address)
    proxy.add("PUT", "run.json", HOLD)
    assert push(a_run(tmp_path), slow, print_text)
