"""Addresses, keys, manifests and the choice of runs in S3."""

import json

import pytest

from harness.base.errors import UsageError
from harness.base.records import to_plain
from harness.base.s3_address import Location, parse_endpoint_url, parse_location
from harness.run.record import RUNNING
from harness.storage.stored_runs import (
    FIGURES,
    Manifest,
    RunKey,
    StoredFile,
    StoredObject,
    Wanted,
    parse_folder,
    stored_names,
    stored_runs,
)
from tests.support.factories import record

KEY = RunKey("tiny", "local", "2026-01-01", "run-07_1-1a2b3c4d")
FOLDER = "runs/plan=tiny/env=local/date=2026-01-01/run=run-07_1-1a2b3c4d"


def file(name: str, sha256: str = "aa", size_bytes: int = 3) -> StoredFile:
    return StoredFile(name, size_bytes, sha256)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("s3://bucket", Location("bucket", "")),
        ("s3://bucket/", Location("bucket", "")),
        ("s3://bucket/a/b/", Location("bucket", "a/b")),
        ("s3://my.bucket-1/x=1", Location("my.bucket-1", "x=1")),
    ],
)
def test_an_address_is_a_bucket_and_a_prefix(text, location):
    assert parse_location(text) == location


@pytest.mark.parametrize(
    "text", ["bucket/x", "http://bucket/x", "s3://", "s3://UP/x", "s3://b/x", "s3://buc_ket", "s3://bucket/a?b"]
)
def test_an_invalid_s3_address_is_refused_with_what_to_give(text):
    with pytest.raises(UsageError, match="give s3://bucket/prefix"):
        parse_location(text)


@pytest.mark.parametrize("parse", [parse_location, parse_endpoint_url])
def test_credentials_in_an_address_are_refused_and_not_repeated(parse):
    text = "s3://AKIAX:hushhush@bucket/x" if parse is parse_location else "http://AKIAX:hushhush@host:9000"
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert "hush" not in str(caught.value)
    assert "AKIAX" not in str(caught.value)


@pytest.mark.parametrize("text", ["host:9000", "ftp://host", "http://", "http://host:port"])
def test_an_endpoint_is_an_http_address(text):
    with pytest.raises(UsageError, match="give http://host:9000"):
        parse_endpoint_url(text)


def test_a_run_is_stored_by_plan_profile_date_and_a_unique_id():
    run = record(name="run-07_1", properties={"run_id": "run-07_1-1a2b3c4d"})
    assert RunKey.of(run) == KEY
    assert KEY.folder == FOLDER
    assert parse_folder(FOLDER) == KEY
    assert KEY.id == "tiny/run-07_1"
    assert Location("bucket", "a").key(FOLDER) == f"a/{FOLDER}"
    assert Location("bucket", "").key(FOLDER) == FOLDER


@pytest.mark.parametrize(
    "changes",
    [{"properties": {}}, {"state": RUNNING}, {"properties": {"run_id": "run-07_1/../x"}}],
    ids=["no id", "not at its end", "an id that leads elsewhere"],
)
def test_a_run_without_identity_or_still_in_progress_is_not_pushed(changes):
    with pytest.raises(UsageError):
        RunKey.of(record(**{"properties": {"run_id": "run-07_1-1a2b3c4d"}, **changes}))


def test_only_the_sources_of_the_report_are_uploaded():
    there = [
        "run.json", "samples.jtl", "telemetry.csv", "heap.csv", "cloudwatch.csv", "services.json", "compared.json",
        "throughput.svg",
        "failures.jsonl", "failures.html", "jmeter.log", "effective.jmx",
        "system/killbill.log", "system/other.log", "system/statements-mariadb.tsv", "system/waits-mariadb.tsv",
        "system/own-metrics-killbill.jsonl", "system/profile-killbill.jfr", "data/cards.csv", "data/x.svg",
        "system/snapshots-mariadb.jsonl", "profile-killbill-cpu.html", "notes.html",
    ]  # fmt: skip
    assert stored_names(there, ("killbill.log",)) == (
        "cloudwatch.csv", "compared.json", "failures.html", "failures.jsonl", "heap.csv",
        "profile-killbill-cpu.html", "run.json", "samples.jtl", "services.json", "system/killbill.log",
        "system/own-metrics-killbill.jsonl", "system/snapshots-mariadb.jsonl", "system/statements-mariadb.tsv",
        "system/waits-mariadb.tsv", "telemetry.csv", "throughput.svg",
    )  # fmt: skip


def test_samples_and_logs_are_packed():
    assert file("samples.jtl").stored_as == "samples.jtl.zst"
    assert file("system/killbill.log").stored_as == "system/killbill.log.zst"
    assert file("telemetry.csv").stored_as == "telemetry.csv"


def test_a_manifest_is_read_as_it_was_written():
    figures = tuple(map(file, FIGURES))
    manifest = Manifest(KEY, (*figures, file("system/a.log", "bb")))
    text = json.dumps(to_plain(manifest)).encode()
    assert Manifest.from_text(text, KEY, "s3://x") == manifest


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["files"][0].update(name="../../.bashrc"),
        lambda data: data["files"][0].update(name="/etc/passwd"),
        lambda data: data["files"][0].update(name="system/../../x"),
        lambda data: data["files"][0].update(name=".hidden"),
        lambda data: data["files"][0].update(mode="0777"),
        lambda data: data.update(run_id="run-07_1-ffffffff"),
        lambda data: data.update(format_version=2),
        lambda data: data.update(files=None),
    ],
)
def test_a_manifest_of_another_run_or_with_outside_paths_is_refused(change):
    data = to_plain(Manifest(KEY, (file("run.json"),)))
    change(data)
    with pytest.raises(UsageError, match="not the manifest of that run"):
        Manifest.from_text(json.dumps(data).encode(), KEY, "s3://x")


def test_a_changed_measurement_contradicts_and_a_rendered_report_only_differs():
    stored = Manifest(KEY, (file("samples.jtl"), file("report.md"), file("heap.csv"), file("run.json")))
    # run.json also contains the request to CloudWatch, which may be another one later.
    again = Manifest(KEY, (file("samples.jtl"), file("report.md", "bb"), file("errors.svg"), file("run.json", "bb")))
    other = Manifest(KEY, (file("samples.jtl", "bb"), file("report.md")))
    assert stored.contradicted(again) == ()
    assert [one.name for one in stored.lacking(again)] == ["report.md", "errors.svg", "run.json"]
    assert stored.contradicted(other) == ("samples.jtl",)
    assert [(one.name, one.sha256) for one in stored.with_files(again.files, {}).files] == [
        ("samples.jtl", "aa"), ("report.md", "bb"), ("heap.csv", "aa"), ("run.json", "bb"), ("errors.svg", "aa"),
    ]  # fmt: skip


def folder(plan: str, profile: str, date: str, run_id: str) -> str:
    return RunKey(plan, profile, date, run_id).folder


SIZES = {
    f"{folder('b', 'local', '2026-01-02', 'run-10_1-aa')}/manifest.json": 1,
    f"{folder('b', 'local', '2026-01-02', 'run-10_1-aa')}/system/x.log.zst": 5,
    f"{folder('b', 'local', '2026-01-02', 'run-02_1-aa')}/manifest.json": 1,
    f"{folder('a', 'lab', '2026-01-03', 'run-02_1-bb')}/run.json": 7,
    "runs/plan=a/notes.txt": 9,
    "other/file": 9,
}
OBJECTS = {path: StoredObject(size_bytes, "etag") for path, size_bytes in SIZES.items()}


def test_a_listing_has_runs_oldest_first_and_marks_incomplete_ones():
    runs = stored_runs(OBJECTS)
    assert [(run.key.id, run.is_whole, run.file_count, run.size_bytes) for run in runs] == [
        ("b/run-02_1", True, 0, 1),
        ("b/run-10_1", True, 1, 6),
        ("a/run-02_1", False, 1, 7),
    ]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(), ["b/run-02_1", "b/run-10_1", "a/run-02_1"]),
        (Wanted(plan="b"), ["b/run-02_1", "b/run-10_1"]),
        (Wanted(profile="lab"), ["a/run-02_1"]),
        (Wanted(since="2026-01-03"), ["a/run-02_1"]),
        (Wanted(last=2), ["b/run-10_1", "a/run-02_1"]),
        (Wanted(names=("run-02_1",)), ["b/run-02_1", "a/run-02_1"]),
        (Wanted(names=("b/run-02_1",)), ["b/run-02_1"]),
        (Wanted(names=("run-02_1-bb",)), ["a/run-02_1"]),
    ],
)
def test_runs_are_chosen_by_name_plan_profile_date_and_number(wanted, ids):
    assert [run.key.id for run in wanted.of(stored_runs(OBJECTS))] == ids


def test_an_unknown_run_is_answered_with_a_similar_name():
    with pytest.raises(UsageError, match=r"b/run-11_1: no such run is stored; did you mean b/run-10_1\?"):
        Wanted(names=("b/run-11_1",)).of(stored_runs(OBJECTS))
