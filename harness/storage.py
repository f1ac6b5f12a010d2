"""How runs lie in S3: the address, the keys, which files of a run are kept, and the manifest that says it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from harness.errors import UsageError
from harness.jtl import SAMPLES_NAME
from harness.record import FINISHED, RunRecord

SCHEME = "s3://"
MANIFEST_NAME = "manifest.json"
RUN_FILE, SUMMARY_FILE, REPORT_FILE = "run.json", "summary.json", "report.md"
# Enough for histories and comparisons; the samples are a thousand times as large.
FIGURES = (RUN_FILE, SUMMARY_FILE, REPORT_FILE)
# What was measured: the same run never has others. The rest is made of it, and may be made again.
EVIDENCE = (RUN_FILE, SAMPLES_NAME, "telemetry.csv", "heap.csv")
PACKED = ".zst"
LOG_FOLDER = "system/"
FORMAT_VERSION = 1

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NAME = r"[A-Za-z0-9][\w.-]*"
_RUN_ID = r"(?P<name>run-\d+_\d+)-[0-9a-f]+"
_FOLDER = re.compile(
    rf"runs/plan=(?P<plan>{_NAME})/env=(?P<profile>{_NAME})/date=(?P<date>\d{{4}}-\d\d-\d\d)/run=(?P<run_id>{_RUN_ID})"
)
_FILE = re.compile(rf"(?:{LOG_FOLDER})?{_NAME}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TODO = "give s3://bucket/prefix"


@dataclass(frozen=True)
class Location:
    """A bucket and what all keys in it begin with; of an object its whole key."""

    bucket: str
    prefix: str

    @property
    def url(self) -> str:
        """The address as people give it."""
        return f"{SCHEME}{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, path: str) -> str:
        """Return the key of what lies at a path below it."""
        return f"{self.prefix}/{path}" if self.prefix else path


def parse_location(text: str) -> Location:
    """Return what s3://bucket/prefix names; UsageError when it is no such address, and no credentials repeated."""
    if not text.startswith(SCHEME):
        raise UsageError(f"{text}: not an address in S3", _TODO)
    bucket, _, prefix = text.removeprefix(SCHEME).partition("/")
    if "@" in bucket or ":" in bucket:
        raise UsageError(
            "an address in S3 has no credentials and no port in it",
            "give s3://bucket/prefix; credentials come from the environment or ~/.aws, a server from --endpoint-url",
        )
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{text}: {bucket or 'nothing'} is no name of a bucket", _TODO)
    if re.search(r"[?#\x00-\x1f]", prefix):
        raise UsageError(f"{text}: a prefix without ?, # and control characters is needed", _TODO)
    return Location(bucket, prefix.strip("/"))


def parse_endpoint_url(text: str) -> str:
    """Return the address of a server that speaks S3; UsageError when it is none, and no credentials repeated."""
    todo = "give http://host:9000"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"--endpoint-url: {error}", todo) from None
    if parts.username or parts.password:
        raise UsageError(
            "--endpoint-url has no credentials in it", "they come from the environment or ~/.aws: docs/storage.md"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint-url {text}: not an http or https address", todo)
    return text


@dataclass(frozen=True)
class RunKey:
    """What tells a pushed run from all others; `run_id` is unique over all machines, `date` that of its start, UTC."""

    plan: str
    profile: str
    date: str
    run_id: str

    @property
    def folder(self) -> str:
        """Where its files lie below the prefix."""
        return f"runs/plan={self.plan}/env={self.profile}/date={self.date}/run={self.run_id}"

    @property
    def name(self) -> str:
        """The run's name, such as run-07_1."""
        return self.run_id.rpartition("-")[0]

    @property
    def id(self) -> str:
        """Plan and run, such as killbill-stripe/run-07_1: two machines may have the same."""
        return f"{self.plan}/{self.name}"

    @property
    def order(self) -> tuple[str, str, int, int, str]:
        """What runs are sorted by: the date, then plan, series and number."""
        series, number = self.name.removeprefix("run-").split("_")
        return self.date, self.plan, int(series), int(number), self.run_id

    @classmethod
    def of(cls, run: RunRecord) -> RunKey:
        """Return the key of a run; UsageError unless it has come to its end and can be told from all others."""
        if run.state != FINISHED:
            raise UsageError(f"{run.id}: still running, or killed", f"in the latter case: ./aggregate.py report {run.id}")
        key = cls(run.plan, run.profile, run.started_at[:10], run.properties.get("run_id", ""))
        if parse_folder(key.folder) != key:
            raise UsageError(
                f"{run.id}: its run.json does not tell it from the runs of other machines (run_id, plan or profile)",
                "only runs that make run has made can be pushed",
            )
        return key


def parse_folder(path: str) -> RunKey | None:
    """Return the key of the run whose folder this is, below the prefix; None when it is no such folder."""
    match = _FOLDER.fullmatch(path)
    return RunKey(match["plan"], match["profile"], match["date"], match["run_id"]) if match else None
