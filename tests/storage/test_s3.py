"""Runs in S3, against moto's server over HTTP, with a proxy between that makes faults."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import zstandard

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_USAGE, HarnessError, ServiceError, UsageError
from harness.cli import main
from harness.report.files import write_report
from harness.run.directory import RunDirectory
from harness.run.record import RUNNING
from harness.storage.after_run import push_after_run, push_command
from harness.storage.s3 import DifferentError, Storage, check_writable, open_storage, pull, push, runs_there
from tests.support.fault_proxy import CORRUPT, CUT, CUT_ANSWER, FORBIDDEN, HOLD, SERVER_ERROR, Proxy
from tests.support.moto_server import ENVIRONMENT, moto_server
from tests.support.paths import ROOT
from tests.support.report_folder import add_run, run_folder
from tests.support.tiny import Start

pytestmark = pytest.mark.real

RUN_ID = "run-07_1-1a2b3c4d"
FOLDER = f"load/runs/plan=tiny/env=local/date=2026-01-01/run={RUN_ID}"
# Does not get smaller by packing: two parts of 8 MB and some more.
LARGE = random.Random(1).randbytes(17 * 1024 * 1024)
PART_COUNT = 3


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture
def proxy(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before a server with the empty bucket `kept`; tests and what they start know no other."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=server, region_name="us-east-1")
    client.create_bucket(Bucket="kept")
    proxy = Proxy(server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    yield proxy
    proxy.close()
    for found in client.list_objects_v2(Bucket="kept").get("Contents", ()):
        client.delete_object(Bucket="kept", Key=found["Key"])
    for found in client.list_multipart_uploads(Bucket="kept").get("Uploads", ()):
        client.abort_multipart_upload(Bucket="kept", Key=found["Key"], UploadId=found["UploadId"])
    client.delete_bucket(Bucket="kept")


@pytest.fixture
def storage(proxy: Proxy) -> Storage:
    return open_storage("s3://kept/load", proxy.address)


def a_run(reports: Path, run_id: str = RUN_ID, **changes: object) -> RunDirectory:
    """Write a run with everything that goes along and some that does not, and its report."""
    values = {"properties": {"run_id": run_id}, "exception_logs": ("web.log",), **changes}
    directory = add_run(reports, f"tiny/{run_id.rpartition('-')[0]}", **values)
    directory.system_logs.mkdir()
    (directory.system_logs / "web.log").write_text("java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n")
    (directory.path / "jmeter.log").write_text("not kept")
    write_report(directory)
    return directory


def large_run(reports: Path) -> RunDirectory:
    """Write a run whose samples go up in parts; its report was made of others, which no push looks at."""
    directory = a_run(reports)
    directory.samples.write_bytes(LARGE)
    return directory


def contents(reports: Path) -> dict[str, bytes]:
    return {path.relative_to(reports).as_posix(): path.read_bytes() for path in reports.rglob("*") if path.is_file()}


def said(text: str) -> None:
    print(text)


def test_a_downloaded_run_is_identical_and_renders_the_same_report(storage, tmp_path):
    run = a_run(tmp_path / "here")
    pushed = push(run, storage, said)
    assert pushed.url == f"s3://kept/{FOLDER}"
    assert {"run.json", "summary.json", "report.md", "samples.jtl", "system/web.log"} < set(pushed.uploaded)
    stored = boto3.client("s3").list_objects_v2(Bucket="kept")["Contents"]
    five = {
        f"{FOLDER}/{name}" for name in ("run.json", "summary.json", "report.md", "samples.jtl.zst", "manifest.json")
    }
    assert five < {found["Key"] for found in stored}
    pulled = pull(storage, tmp_path / "there", said, figures_only=False)
    assert pulled.runs == ("tiny/run-07_1",)
    before = contents(tmp_path / "here")
    assert before.pop("tiny/run-07_1/jmeter.log") == b"not kept"
    assert contents(tmp_path / "there") == before
    write_report(RunDirectory(tmp_path / "there" / "tiny" / "run-07_1"))
    assert contents(tmp_path / "there") == before


def test_existing_files_are_not_transferred_again(storage, proxy, tmp_path):
    run = a_run(tmp_path)
    push(run, storage, said)
    puts = proxy.puts()
    assert push(run, storage, said).uploaded == ()
    assert proxy.puts() == puts
    assert pull(storage, tmp_path, said).there == ("tiny/run-07_1",)
    assert pull(storage, tmp_path, said, figures_only=False).there == ("tiny/run-07_1",)


def test_metrics_alone_are_downloaded_and_later_the_rest(storage, proxy, tmp_path):
    push(a_run(tmp_path / "here"), storage, said)
    pull(storage, tmp_path / "there", said, plan="tiny", since="2026-01-01")
    assert sorted(contents(tmp_path / "there")) == [
        "tiny/run-07_1.json", "tiny/run-07_1.md", "tiny/run-07_1/run.json",
    ]  # fmt: skip
    assert not any("samples" in path for method, path in proxy.seen if method == "GET")
    (tmp_path / "there" / "tiny" / "run-07_1.md").write_text("with notes of mine")
    pull(storage, tmp_path / "there", said, figures_only=False)
    after = contents(tmp_path / "there")
    assert "tiny/run-07_1/samples.jtl" in after
    assert after["tiny/run-07_1.md"] == b"with notes of mine"
    assert pull(storage, tmp_path / "there", said, since="2026-01-02").there == ()


@pytest.mark.parametrize("what", [SERVER_ERROR, CUT], ids=["503", "cut"])
def test_a_part_that_fails_once_is_sent_again(storage, proxy, tmp_path, what):
    proxy.add("PUT", "partNumber=2", what)
    push(large_run(tmp_path / "here"), storage, said)
    pull(storage, tmp_path / "there", said, figures_only=False)
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").read_bytes() == LARGE


def test_a_corrupted_part_is_an_error_and_only_it_is_sent_again(storage, proxy, tmp_path):
    run = large_run(tmp_path)
    proxy.add("PUT", "partNumber=2", CORRUPT)
    with pytest.raises(ServiceError, match=r"samples.jtl.zst: the server has other contents .*repeat the command"):
        push(run, storage, said)
    assert [found.is_whole for found in runs_there(storage)] == [False]
    assert pull(storage, tmp_path / "there", said).incomplete == ("tiny/run-07_1",)
    before = proxy.puts("partNumber")
    push(run, storage, said)
    assert proxy.puts("partNumber") == before + 1
    assert [found.is_whole for found in runs_there(storage)] == [True]


def test_a_corrupted_small_file_is_an_error_and_is_sent_again(storage, proxy, tmp_path):
    run = a_run(tmp_path / "here")
    proxy.add("PUT", "run.json", CORRUPT)
    with pytest.raises(ServiceError, match=r"run.json: the server has other contents"):
        push(run, storage, said)
    push(run, storage, said)
    pull(storage, tmp_path / "there", said)
    assert contents(tmp_path / "there")["tiny/run-07_1/run.json"] == run.run_json.read_bytes()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, EXIT_INTERRUPTED)], ids=["kill", "Ctrl-C"]
)
def test_an_interrupted_push_resumes_with_the_missing_files(storage, proxy, tmp_path, number, code):
    run = large_run(tmp_path)
    held = proxy.add("PUT", "partNumber=3", HOLD)
    command = [sys.executable, str(ROOT / "aggregate.py"), "push", str(run.path), "s3://kept/load"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert held.reached.wait(30)
        while sum("partNumber" in path for _, path in proxy.answered) < PART_COUNT - 1:
            assert process.poll() is None
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait(30)
        held.released.set()
        _, error = process.communicate(timeout=30)
    assert process.returncode == code
    for line in ("waiting for the parts in transit", "repeat the command to resume"):
        assert (line in error) == (number == signal.SIGINT)
    assert [found.is_whole for found in runs_there(storage)] in ([], [False])
    before = proxy.puts("partNumber")
    push(run, storage, said)
    assert proxy.puts("partNumber") - before <= 1
    assert [found.is_whole for found in runs_there(storage)] == [True]


def test_other_measurements_under_the_same_id_are_an_error_and_remain(storage, proxy, tmp_path):
    run = a_run(tmp_path)
    push(run, storage, said)
    run.samples.write_text(run.samples.read_text().replace("Pay", "Buy"))
    puts = proxy.puts()
    for replace in (False, True):
        with pytest.raises(DifferentError, match=r"has another samples.jtl than the local run; .*never replaced"):
            push(run, storage, said, replace=replace)
    assert proxy.puts() == puts


def test_a_regenerated_report_replaces_the_old_one_only_on_request(storage, tmp_path):
    run = a_run(tmp_path / "here")
    push(run, storage, said)
    run.report.write_text("with notes")
    with pytest.raises(DifferentError, match=r"differs in report.md; --replace"):
        push(run, storage, said)
    assert push(run, storage, said, replace=True).uploaded == ("report.md",)
    pull(storage, tmp_path / "there", said)
    assert contents(tmp_path / "there")["tiny/run-07_1.md"] == b"with notes"


def test_a_pull_verifies_files_and_continues_with_the_other_runs(storage, tmp_path):
    push(a_run(tmp_path / "here"), storage, said)
    push(a_run(tmp_path / "here", "run-07_2-1a2b3c4d"), storage, said)
    client = boto3.client("s3")
    for name in ("samples.jtl.zst", "report.md"):
        target = {"Bucket": "kept", "Key": f"{FOLDER}/{name}"}
        right = client.get_object(**target)["Body"].read()
        client.put_object(**target, Body=b"something else")
        pulled = pull(storage, tmp_path / "there", said, figures_only=False)
        assert [reason.partition("; ")[0] for reason in pulled.damaged] == [
            f"s3://kept/{FOLDER}/{name}: differs from what was pushed (wrong checksum)"
        ]
        assert "tiny/run-07_2" in pulled.runs + pulled.there
        assert not (tmp_path / "there" / "tiny" / "run-07_1").exists()
        assert not (tmp_path / "there" / "tiny" / "run-07_1.md").exists()
        assert list((tmp_path / "there" / "tiny").glob(".*")) == []
        client.put_object(**target, Body=right)
    pull(storage, tmp_path / "there", said, figures_only=False)
    names = sorted(path.name for path in (tmp_path / "there" / "tiny").iterdir())
    assert [name for name in names if "run-07_2" not in name] == ["run-07_1", "run-07_1.json", "run-07_1.md"]


@pytest.mark.parametrize(
    "manifest",
    ["", "{", "[" * 100_000, '{"files": 1e999}', "files: []", "names that lead out", "a size that is a text"],
    ids=range(7),
)
def test_one_bad_manifest_is_named_and_the_other_runs_are_pulled(storage, tmp_path, capsys, manifest):
    push(a_run(tmp_path / "here"), storage, said)
    push(a_run(tmp_path / "here", "run-07_2-1a2b3c4d"), storage, said)
    client, target = boto3.client("s3"), {"Bucket": "kept", "Key": f"{FOLDER}/manifest.json"}
    good = json.loads(client.get_object(**target)["Body"].read())
    first, *others = good["files"]
    changed = {
        "files: []": {**good, "files": []},
        "names that lead out": {**good, "files": [*good["files"], {**first, "name": "../../x"}]},
        "a size that is a text": {**good, "files": [*others, {**first, "sha256": 5}]},
    }
    client.put_object(**target, Body=json.dumps(changed[manifest]) if manifest in changed else manifest)
    capsys.readouterr()
    code = main(
        ["pull", storage.location.url, "--endpoint-url", storage.endpoint_url, "--reports", str(tmp_path / "there")]
    )
    out, err = capsys.readouterr()
    assert code == EXIT_INVALID
    assert f"s3://kept/{FOLDER}: not the manifest of that run" in err.replace("/manifest.json", "")
    assert len(err.strip().splitlines()) == 1
    assert "1 run pulled, 0 already present" in out
    assert (tmp_path / "there" / "tiny" / "run-07_2.md").is_file()
    assert not (tmp_path / "there" / "tiny" / "run-07_1").exists()


def test_samples_removed_by_a_lifecycle_rule_are_reported_and_the_metrics_can_be_pulled(storage, tmp_path, capsys):
    push(a_run(tmp_path / "here"), storage, said)
    boto3.client("s3").delete_object(Bucket="kept", Key=f"{FOLDER}/samples.jtl.zst")
    there = ["--reports", str(tmp_path / "there")]
    assert main(["pull", "s3://kept/load", *there]) == EXIT_INVALID
    assert f"{FOLDER}/samples.jtl.zst: no longer exists; --figures-only" in capsys.readouterr().err
    assert main(["pull", "s3://kept/load", *there, "--figures-only"]) == 0
    assert (tmp_path / "there" / "tiny" / "run-07_1.md").is_file()


def test_an_incomplete_run_is_an_error_if_named_and_else_omitted(storage, proxy, tmp_path, capsys):
    proxy.add("PUT", "report.md", FORBIDDEN)
    with pytest.raises(UsageError):
        push(a_run(tmp_path / "here"), storage, said)
    command = ["pull", "s3://kept/load", "--reports", str(tmp_path / "there")]
    for names, code in (((), 0), (("run-07_1",), EXIT_USAGE)):
        assert main([*command, *names]) == code
        assert "tiny/run-07_1: left out: its push was interrupted" in capsys.readouterr().err


def test_an_interrupted_download_continues_where_it_stopped(storage, proxy, tmp_path):
    push(large_run(tmp_path / "here"), storage, said)
    fault = proxy.add("GET", "samples.jtl.zst", CUT_ANSWER)
    pull(storage, tmp_path / "there", said, figures_only=False)
    assert fault.times == 0
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").read_bytes() == LARGE
    assert [path.name for path in (tmp_path / "there" / "tiny").iterdir() if path.name.startswith(".")] == []


def test_another_run_of_that_name_is_never_changed_and_the_others_are_pulled(storage, tmp_path, capsys):
    push(a_run(tmp_path / "one"), storage, said)
    push(a_run(tmp_path / "one", "run-07_2-1a2b3c4d"), storage, said)
    mine = a_run(tmp_path / "two", "run-07_1-ffffffff", note="mine")
    before = mine.report.read_bytes()
    assert main(["pull", "s3://kept/load", "--reports", str(tmp_path / "two")]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert f"s3://kept/{FOLDER} is not the local run ({mine.path} is run-07_1-ffffffff)" in printed.err
    assert "--reports other" in printed.err
    assert "tiny/run-07_2: pulled" in printed.out
    assert mine.report.read_bytes() == before
    assert len(runs_there(storage)) == 2
    push(mine, storage, said)
    assert [found.key.run_id for found in runs_there(storage)] == [RUN_ID, "run-07_1-ffffffff", "run-07_2-1a2b3c4d"]


@pytest.mark.usefixtures("proxy")
def test_the_commands_push_list_and_pull(tmp_path, capsys):
    a_run(tmp_path / "here")
    run_folder(tmp_path / "here", "tiny/run-07_2", state=RUNNING)
    add_run(tmp_path / "here", "other/run-01_1", properties={})
    assert main(["push", "all", "s3://kept/load", "--reports", str(tmp_path / "here")]) == 0
    left_out = capsys.readouterr().err
    assert "tiny/run-07_2: left out: still running, or killed" in left_out
    assert "other/run-01_1: left out: its run.json lacks its identity" in left_out
    asked = "--plan tiny --env local --since 2026-01-01 --last 5"
    assert main(["ls", "s3://kept/load", *asked.split()]) == 0
    assert f"| tiny/run-07_1 | local | 2026-01-01 | {RUN_ID} | complete |" in capsys.readouterr().out
    profile = tmp_path / "home" / "env" / "local.toml"
    profile.parent.mkdir(parents=True)
    profile.write_text('format_version = 1\n[storage]\ns3 = "s3://kept/load"\n')
    places = ["--env", "local", "--home", str(profile.parent.parent), "--reports", str(tmp_path / "there")]
    assert main(["pull", *places, "run-07_1"]) == 0
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").is_file()
    assert "run-07_1" in (tmp_path / "there" / "SUMMARY.md").read_text()


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
        ("ls s3://kept", {"AWS_ACCESS_KEY_ID": ""}, EXIT_USAGE, "no AWS credentials found; set AWS_PROFILE"),
        ("ls s3://kept", {"AWS_PROFILE": "nobody"}, EXIT_USAGE, "(nobody) could not be found"),
        ("ls s3://kept --endpoint-url http://127.0.0.1:{closed}", {}, EXIT_INVALID, "does not answer"),
        ("table s3://kept/none.jtl", {}, EXIT_USAGE, "there is no such object"),
        ("table s3://kept", {}, EXIT_USAGE, "a bucket, not an object"),
        ("compare s3://kept/load/runs/plan=tiny/x run-01_1", {}, EXIT_USAGE, "aggregate.py pull s3://kept/load"),
        ("report s3://kept/load/runs/plan=tiny/x", {}, EXIT_USAGE, "aggregate.py pull s3://kept/load"),
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
        push(run, storage, said)
    assert ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_checking_a_location_leaves_nothing_there(storage, proxy):
    check_writable(storage)
    client = boto3.client("s3")
    assert "Contents" not in client.list_objects_v2(Bucket="kept")
    assert "Uploads" not in client.list_multipart_uploads(Bucket="kept")
    proxy.add("POST", "uploads", FORBIDDEN)
    with pytest.raises(UsageError, match="s3:PutObject"):
        check_writable(storage)


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
    command = next(line for line in out.splitlines() if "./aggregate.py push" in line).partition("./aggregate.py ")[2]
    assert (tmp_path / "reports" / "tiny" / "run-01_1.md").is_file()
    assert [found.is_whole for found in runs_there(storage)] in ([], [False])
    assert main(command.split()) == 0
    assert [found.is_whole for found in runs_there(storage)] == [True]


@pytest.mark.parametrize("code", [1, EXIT_INVALID])
def test_a_failed_push_keeps_a_runs_nonzero_exit_code(storage, proxy, tmp_path, code):
    proxy.add("PUT", "run.json", FORBIDDEN)
    assert push_after_run(a_run(tmp_path), storage, code, said).exit_code == code


def test_the_printed_command_is_quoted_for_a_shell(storage, tmp_path, monkeypatch):
    run = a_run(tmp_path / "my reports")
    monkeypatch.chdir(tmp_path)
    assert push_command(run, storage).endswith(" --reports 'my reports'")


def test_a_run_without_samples_is_pushed_with_a_message(storage, tmp_path, capsys):
    run = a_run(tmp_path)
    run.samples.unlink()
    push(run, storage, said)
    assert "its samples are not on this machine" in capsys.readouterr().out


def test_an_interrupted_run_is_not_pushed_and_the_command_is_printed(storage, tmp_path, capsys):
    assert push_after_run(a_run(tmp_path), storage, EXIT_INTERRUPTED, said).exit_code == EXIT_INTERRUPTED
    assert runs_there(storage) == ()
    assert (
        "./aggregate.py push tiny/run-07_1 s3://kept/load --endpoint-url http://127.0.0.1:" in capsys.readouterr().out
    )


def test_a_location_without_write_access_ends_the_command_before_anything_is_measured(
    proxy, start_run: Start, tmp_path
):
    proxy.add("POST", "uploads", FORBIDDEN)
    process = start_run("--users", "2", "--s3", "s3://kept/load")
    _, error = process.communicate(timeout=60)
    assert process.returncode == EXIT_USAGE
    assert "s3:PutObject" in error
    assert not list((tmp_path / "reports").glob("tiny/*"))
