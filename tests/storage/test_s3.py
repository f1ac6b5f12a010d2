"""Runs in S3, against moto's server over HTTP, with a proxy between that makes faults."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys

import pytest

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_USAGE, ServiceError, UsageError
from harness.base.spellings import Spellings
from harness.cli.verbs import main
from harness.report.files import write_report
from harness.run.directory import RunDirectory
from harness.run.packing import pack
from harness.storage.bucket import open_storage
from harness.storage.s3 import DifferentError, broken_files, pull, push, runs_there
from tests.support.fault_proxy import CORRUPT, CUT, CUT_ANSWER, FORBIDDEN, HOLD, SERVER_ERROR
from tests.support.late import Late
from tests.support.paths import ROOT
from tests.support.stored_runs import FOLDER, LARGE, RUN_ID, a_run, contents, large_run, print_text

boto3, httpsession = Late("boto3"), Late("botocore.httpsession")

pytestmark = pytest.mark.real


PART_COUNT = 3


def test_a_downloaded_run_is_identical_and_renders_the_same_report(storage, tmp_path):
    run = a_run(tmp_path / "here")
    said = []
    pushed = push(run, storage, said.append)
    assert f"pushed to s3://kept/{FOLDER} (" in said[-1]
    assert {"run.json", "summary.json", "report.md", "samples.jtl", "system/web.log"} < set(pushed)
    stored = boto3.client("s3").list_objects_v2(Bucket="kept")["Contents"]
    five = {
        f"{FOLDER}/{name}" for name in ("run.json", "summary.json", "report.md", "samples.jtl.zst", "manifest.json")
    }
    assert five < {found["Key"] for found in stored}
    pulled = pull(storage, tmp_path / "there", print_text, figures_only=False)
    assert pulled.runs == ("tiny/run-07_1",)
    before = contents(tmp_path / "here")
    assert before.pop("tiny/run-07_1/jmeter.log") == b"not kept"
    assert contents(tmp_path / "there") == before
    write_report(RunDirectory(tmp_path / "there" / "tiny" / "run-07_1"))
    assert contents(tmp_path / "there") == before


def test_existing_files_are_not_transferred_again(storage, proxy, tmp_path):
    run = a_run(tmp_path)
    push(run, storage, print_text)
    puts = proxy.puts()
    assert push(run, storage, print_text) == ()
    assert proxy.puts() == puts
    assert pull(storage, tmp_path, print_text).there == ("tiny/run-07_1",)
    assert pull(storage, tmp_path, print_text, figures_only=False).there == ("tiny/run-07_1",)


def test_metrics_alone_are_downloaded_and_later_the_rest(storage, proxy, tmp_path):
    push(a_run(tmp_path / "here"), storage, print_text)
    pull(storage, tmp_path / "there", print_text, plan="tiny", since="2026-01-01")
    assert sorted(contents(tmp_path / "there")) == [
        "tiny/run-07_1.json", "tiny/run-07_1.md", "tiny/run-07_1/run.json",
    ]  # fmt: skip
    assert not any("samples" in path for method, path in proxy.seen if method == "GET")
    (tmp_path / "there" / "tiny" / "run-07_1.md").write_text("with notes of mine")
    pull(storage, tmp_path / "there", print_text, figures_only=False)
    after = contents(tmp_path / "there")
    assert "tiny/run-07_1/samples.jtl" in after
    assert after["tiny/run-07_1.md"] == b"with notes of mine"
    assert pull(storage, tmp_path / "there", print_text, since="2026-01-02").there == ()


@pytest.mark.parametrize("what", [SERVER_ERROR, CUT], ids=["503", "cut"])
def test_a_part_that_fails_once_is_sent_again(storage, proxy, tmp_path, what):
    proxy.add("PUT", "partNumber=2", what)
    push(large_run(tmp_path / "here"), storage, print_text)
    pull(storage, tmp_path / "there", print_text, figures_only=False)
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").read_bytes() == LARGE


def test_a_corrupted_part_is_an_error_and_only_it_is_sent_again(storage, proxy, tmp_path):
    run = large_run(tmp_path)
    proxy.add("PUT", "partNumber=2", CORRUPT)
    with pytest.raises(ServiceError, match=r"samples.jtl.zst: the server got different contents .*repeat the command"):
        push(run, storage, print_text)
    assert [found.is_whole for found in runs_there(storage)] == [False]
    assert pull(storage, tmp_path / "there", print_text).incomplete == ("tiny/run-07_1",)
    before = proxy.puts("partNumber")
    push(run, storage, print_text)
    assert proxy.puts("partNumber") == before + 1
    assert [found.is_whole for found in runs_there(storage)] == [True]


def test_nothing_is_sent_in_frames_that_older_servers_store(proxy, tmp_path):
    """boto3 frames what it sends to https, unless it gets a checksum; here the server behind it speaks http."""
    storage = open_storage("s3://kept/load", proxy.address.replace("http:", "https:"))
    sent = []

    def send(request, **_):
        sent.append((request.method, request.url, dict(request.headers)))
        request.url = request.url.replace("https:", "http:")
        return httpsession.URLLib3Session().send(request)

    for client in (storage.client, storage.sender):
        client.meta.events.register("before-send.s3", send)
    push(large_run(tmp_path), storage, print_text)
    puts = [(url, headers) for method, url, headers in sent if method == "PUT"]
    assert {"manifest.json", "run.json"} < {url.rpartition("/")[2] for url, _ in puts}
    assert sum("partNumber" in url for url, _ in puts) == PART_COUNT
    assert [url for url, headers in puts if "Content-Encoding" in headers or "X-Amz-Trailer" in headers] == []


def test_a_corrupted_manifest_is_an_error_of_its_push(storage, proxy, tmp_path):
    proxy.add("PUT", "manifest.json", CORRUPT)
    with pytest.raises(ServiceError, match=r"manifest.json: the server got different contents"):
        push(a_run(tmp_path), storage, print_text)


def test_a_corrupted_small_file_is_an_error_and_is_sent_again(storage, proxy, tmp_path):
    run = a_run(tmp_path / "here")
    proxy.add("PUT", "run.json", CORRUPT)
    with pytest.raises(ServiceError, match=r"run.json: the server got different contents"):
        push(run, storage, print_text)
    push(run, storage, print_text)
    pull(storage, tmp_path / "there", print_text)
    assert contents(tmp_path / "there")["tiny/run-07_1/run.json"] == run.run_json.read_bytes()


@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.counterpart), (signal.SIGINT, EXIT_INTERRUPTED)],
    ids=["kill", "Ctrl-C"],
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
        _, error = process.communicate(timeout=60)
    assert process.returncode == code
    for line in ("waiting for the parts in transit", "repeat the command to resume"):
        assert (line in error) == (number == signal.SIGINT)
    assert [found.is_whole for found in runs_there(storage)] in ([], [False])
    before = proxy.puts("partNumber")
    push(run, storage, print_text)
    assert proxy.puts("partNumber") - before <= 1
    assert [found.is_whole for found in runs_there(storage)] == [True]


def test_other_measurements_under_the_same_id_are_an_error_and_remain(storage, proxy, tmp_path):
    run = a_run(tmp_path)
    push(run, storage, print_text)
    run.samples.write_text(run.samples.read_text().replace("Pay", "Buy"))
    puts = proxy.puts()
    for replace in (False, True):
        with pytest.raises(DifferentError, match=r"has another samples.jtl than the local run; .*never replaced"):
            push(run, storage, print_text, replace=replace)
    assert proxy.puts() == puts


def test_a_regenerated_report_replaces_the_old_one_only_on_request(storage, tmp_path):
    run = a_run(tmp_path / "here")
    push(run, storage, print_text)
    run.report.write_text("with notes")
    with pytest.raises(DifferentError, match=r"differs in report.md; --replace"):
        push(run, storage, print_text)
    assert push(run, storage, print_text, replace=True) == ("report.md",)
    pull(storage, tmp_path / "there", print_text)
    assert contents(tmp_path / "there")["tiny/run-07_1.md"] == b"with notes"


def test_a_pull_verifies_files_and_continues_with_the_other_runs(storage, tmp_path):
    push(a_run(tmp_path / "here"), storage, print_text)
    push(a_run(tmp_path / "here", "run-07_2-1a2b3c4d"), storage, print_text)
    client = boto3.client("s3")
    for name in ("samples.jtl.zst", "report.md"):
        target = {"Bucket": "kept", "Key": f"{FOLDER}/{name}"}
        right = client.get_object(**target)["Body"].read()
        client.put_object(**target, Body=b"something else")
        pulled = pull(storage, tmp_path / "there", print_text, figures_only=False)
        assert [reason.partition("; ")[0] for reason in pulled.damaged] == [
            f"s3://kept/{FOLDER}/{name}: differs from what was pushed (wrong checksum)"
        ]
        assert "tiny/run-07_2" in pulled.runs + pulled.there
        assert not (tmp_path / "there" / "tiny" / "run-07_1").exists()
        assert not (tmp_path / "there" / "tiny" / "run-07_1.md").exists()
        assert list((tmp_path / "there" / "tiny").glob(".*")) == []
        client.put_object(**target, Body=right)
    pull(storage, tmp_path / "there", print_text, figures_only=False)
    names = sorted(path.name for path in (tmp_path / "there" / "tiny").iterdir())
    assert [name for name in names if "run-07_2" not in name] == ["run-07_1", "run-07_1.json", "run-07_1.md"]


def bad_manifests(good: dict) -> dict[str, str]:
    """Return the texts of manifests that are none, by what is wrong with them; `good` is the right one."""
    first, *others = good["files"]
    return {
        "empty": "",
        "cut": "{",
        "deep": "[" * 100_000,
        "no number": '{"files": 1e999}',
        "no files": json.dumps({**good, "files": []}),
        "names that lead out": json.dumps({**good, "files": [*good["files"], {**first, "name": "../../x"}]}),
        "a name with a line end": json.dumps({**good, "files": [*good["files"], {**first, "name": "x\ny"}]}),
        "an absolute name": json.dumps({**good, "files": [*good["files"], {**first, "name": "/tmp/x"}]}),
        "a long name": json.dumps({**good, "files": [*good["files"], {**first, "name": "x" * 300}]}),
        "a name twice": json.dumps({**good, "files": [*good["files"], first]}),
        "a file that is a folder": json.dumps({**good, "files": [*good["files"], {**first, "name": "system"}]}),
        "20,000 files": json.dumps(
            {**good, "files": [*good["files"], *({**first, "name": f"{number}.svg"} for number in range(20_000))]}
        ),
        "20 MB": json.dumps({**good, "more": "x" * 20_000_000}),
        "a size that is a text": json.dumps({**good, "files": [*others, {**first, "sha256": 5}]}),
    }


@pytest.mark.counterpart
def test_one_bad_manifest_is_named_and_the_other_runs_are_pulled(storage, tmp_path, capsys):
    push(a_run(tmp_path / "here"), storage, print_text)
    push(a_run(tmp_path / "here", "run-07_2-1a2b3c4d"), storage, print_text)
    client, target = boto3.client("s3"), {"Bucket": "kept", "Key": f"{FOLDER}/manifest.json"}
    good = json.loads(client.get_object(**target)["Body"].read())
    for what, manifest in bad_manifests(good).items():
        client.put_object(**target, Body=manifest)
        capsys.readouterr()
        there = tmp_path / what
        code = main(
            ["pull", storage.location.url, "--endpoint-url", storage.endpoint_url, "--reports", str(there)],
        )
        out, err = capsys.readouterr()
        assert code == EXIT_INVALID, what
        assert f"s3://kept/{FOLDER}: not the manifest of that run" in err.replace("/manifest.json", ""), what
        assert len(err.strip().splitlines()) == 1
        assert "1 run pulled, 0 already present" in out
        assert (there / "tiny" / "run-07_2.md").is_file()
        assert not (there / "tiny" / "run-07_1").exists()


def test_a_run_that_is_larger_than_the_disk_is_refused_before_its_download(storage, tmp_path, capsys):
    push(a_run(tmp_path / "here"), storage, print_text)
    push(a_run(tmp_path / "here", "run-07_2-1a2b3c4d"), storage, print_text)
    client, target = boto3.client("s3"), {"Bucket": "kept", "Key": f"{FOLDER}/manifest.json"}
    good = json.loads(client.get_object(**target)["Body"].read())
    files = [{**file, "size_bytes": 10**15} if file["name"] == "samples.jtl" else file for file in good["files"]]
    client.put_object(**target, Body=json.dumps({**good, "files": files}))
    there = tmp_path / "there"
    assert main(["pull", storage.location.url, "--reports", str(there)]) == EXIT_INVALID
    out, err = capsys.readouterr()
    (line,) = err.strip().splitlines()
    assert f"s3://kept/{FOLDER}: its files have 953674316 MB, and " in line
    assert "1 run pulled, 0 already present" in out
    assert not (there / "tiny" / "run-07_1").exists()
    assert main(["pull", storage.location.url, "--reports", str(there), "--figures-only"]) == 0


def test_samples_removed_by_a_lifecycle_rule_are_reported_and_the_metrics_can_be_pulled(storage, tmp_path, capsys):
    push(a_run(tmp_path / "here"), storage, print_text)
    boto3.client("s3").delete_object(Bucket="kept", Key=f"{FOLDER}/samples.jtl.zst")
    there = ["--reports", str(tmp_path / "there")]
    assert main(["pull", "s3://kept/load", *there]) == EXIT_INVALID
    assert f"{FOLDER}/samples.jtl.zst: no longer exists; --figures-only" in capsys.readouterr().err
    assert main(["pull", "s3://kept/load", *there, "--figures-only"]) == 0
    assert (tmp_path / "there" / "tiny" / "run-07_1.md").is_file()


def test_an_incomplete_run_is_an_error_if_named_and_else_omitted(storage, proxy, tmp_path, capsys):
    proxy.add("PUT", "report.md", FORBIDDEN)
    with pytest.raises(UsageError):
        push(a_run(tmp_path / "here"), storage, print_text)
    command = ["pull", "s3://kept/load", "--reports", str(tmp_path / "there")]
    for names, code in (((), 0), (("run-07_1",), EXIT_USAGE)):
        assert main([*command, *names]) == code
        assert "tiny/run-07_1: left out: its push was interrupted" in capsys.readouterr().err


def test_an_interrupted_download_continues_where_it_stopped(storage, proxy, tmp_path):
    push(large_run(tmp_path / "here"), storage, print_text)
    fault = proxy.add("GET", "samples.jtl.zst", CUT_ANSWER)
    pull(storage, tmp_path / "there", print_text, figures_only=False)
    assert fault.times == 0
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").read_bytes() == LARGE
    assert [path.name for path in (tmp_path / "there" / "tiny").iterdir() if path.name.startswith(".")] == []


def test_another_run_of_that_name_is_never_changed_and_the_others_are_pulled(storage, tmp_path, capsys):
    push(a_run(tmp_path / "one"), storage, print_text)
    push(a_run(tmp_path / "one", "run-07_2-1a2b3c4d"), storage, print_text)
    mine = a_run(tmp_path / "two", "run-07_1-ffffffff", note="mine")
    before = mine.report.read_bytes()
    assert main(["pull", "s3://kept/load", "--reports", str(tmp_path / "two")]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert f"s3://kept/{FOLDER} is not the local run ({mine.path} is run-07_1-ffffffff)" in printed.err
    assert "--reports other" in printed.err
    assert "tiny/run-07_2: pulled" in printed.out
    assert mine.report.read_bytes() == before
    assert len(runs_there(storage)) == 2
    push(mine, storage, print_text)
    assert [found.key.run_id for found in runs_there(storage)] == [RUN_ID, "run-07_1-ffffffff", "run-07_2-1a2b3c4d"]


def test_samples_that_were_packed_in_a_long_run_are_stored_as_they_are(storage, tmp_path):
    run = a_run(tmp_path / "here")
    text = run.samples.read_bytes()
    pack(run.samples, None, text.index(b"\n", len(text) // 2) + 1, Spellings(()))  # a full disk kept it from its end
    before = contents(tmp_path / "here")["tiny/run-07_1.json"]
    uploaded = push(run, storage, print_text)
    assert "samples.jtl.gz" in uploaded
    assert not {"samples.jtl", "samples.jtl.packed"} & set(uploaded)
    pull(storage, tmp_path / "there", print_text, figures_only=False)
    pulled = RunDirectory(tmp_path / "there" / "tiny" / "run-07_1")
    assert gzip.decompress(pulled.samples.read_bytes()) == text
    write_report(pulled)
    assert contents(tmp_path / "there")["tiny/run-07_1.json"] == before


@pytest.mark.counterpart
@pytest.mark.parametrize("replace", [False, True])
def test_objects_that_are_missing_or_changed_in_the_bucket_are_sent_again(storage, proxy, beside, tmp_path, replace):
    run = large_run(tmp_path / "here")
    push(run, storage, print_text)
    samples, log = f"{FOLDER}/samples.jtl.zst", f"{FOLDER}/system/web.log.zst"
    metadata = beside.head_object(Bucket="kept", Key=samples)["Metadata"]
    beside.put_object(Bucket="kept", Key=samples, Body=b"half of it", Metadata=metadata)
    same_size = bytes(reversed(beside.get_object(Bucket="kept", Key=f"{FOLDER}/report.md")["Body"].read()))
    beside.put_object(Bucket="kept", Key=f"{FOLDER}/report.md", Body=same_size)
    beside.delete_object(Bucket="kept", Key=log)
    said = []
    pushed = push(run, storage, said.append, replace)
    assert set(pushed) == {"samples.jtl", "report.md", "system/web.log"}
    broken = "changed samples.jtl.zst, missing system/web.log.zst, changed report.md; sent again"
    assert said[0] == f"tiny/run-07_1: not as pushed: {broken}: s3://kept/{FOLDER}"
    pull(storage, tmp_path / "there", print_text, figures_only=False)
    assert (tmp_path / "there" / "tiny" / "run-07_1" / "samples.jtl").read_bytes() == LARGE
    puts = proxy.puts()
    assert push(run, storage, said.append, replace) == ()
    assert proxy.puts() == puts
    assert said[-1].startswith("tiny/run-07_1: already stored")


def test_ls_verify_compares_each_object_with_the_manifest(storage, beside, tmp_path, capsys):
    push(a_run(tmp_path / "here"), storage, print_text)
    assert main(["ls", "s3://kept/load", "--verify"]) == 0
    assert "| complete |" in capsys.readouterr().out
    beside.delete_object(Bucket="kept", Key=f"{FOLDER}/samples.jtl.zst")
    assert main(["ls", "s3://kept/load"]) == 0
    capsys.readouterr()
    assert main(["ls", "s3://kept/load", "--verify"]) == EXIT_INVALID
    shown = capsys.readouterr()
    assert "| missing samples.jtl.zst |" in shown.out
    assert shown.err == "lth: 1 run not as pushed; push again from the machine that has the files\n"
    (tmp_path / "here" / "tiny" / "run-07_1" / "samples.jtl").unlink()
    said = []
    assert push(RunDirectory(tmp_path / "here" / "tiny" / "run-07_1"), storage, said.append) == ()
    assert "missing samples.jtl.zst; not on this machine: push from the one that has it" in said[0]


def test_a_manifest_of_an_earlier_version_is_verified_by_sizes(storage, beside, tmp_path):
    push(a_run(tmp_path / "here"), storage, print_text)
    manifest = f"{FOLDER}/manifest.json"
    data = json.loads(beside.get_object(Bucket="kept", Key=manifest)["Body"].read())
    del data["objects"]
    beside.put_object(Bucket="kept", Key=manifest, Body=json.dumps(data).encode())
    (run,) = runs_there(storage)
    assert broken_files(storage, run) == ()
    beside.put_object(Bucket="kept", Key=f"{FOLDER}/report.md", Body=b"short")
    (run,) = runs_there(storage)
    assert broken_files(storage, run) == ("changed report.md",)
