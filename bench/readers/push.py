"""`scripts/bench push`: compares the push of a JTL file to S3 with a plain copy to the same server."""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.readers import file as bench_file
from bench.results import Aim
from bench.tables import print_aims, seconds_text
from harness.base.aws import aws_errors
from harness.base.errors import ServiceError, StartError, UsageError
from harness.base.log import stderr_log
from harness.base.ports import LOOPBACK, free_port
from harness.base.project import BUILD
from harness.base.units import mb_text, parse_whole_number
from harness.jtl.sample import SAMPLES_NAME
from harness.report.tables import table
from harness.storage.bucket import Storage, open_storage
from harness.storage.download import download
from harness.storage.s3 import stored_file
from harness.storage.upload import upload

_log = stderr_log("bench: ")

_SEED = 1
_ROWS = "10000000"
_AIM_RATIO = 0.6
_START_S = 30.0
_BUCKET = "bench"
# moto accepts any keys; without these, boto3 would use those of the machine.
_KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_EC2_METADATA_DISABLED": "true"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--rows", default=_ROWS, metavar="N", help=f"rows of the JTL ({_ROWS}: 1.3 GB)")
    parser.add_argument("--repeat", default="3", metavar="N", help="pushes and copies (3)")
    parser.add_argument("--s3", metavar="s3://…", help="an S3 address to use instead of a local moto server")
    parser.add_argument("--endpoint-url", metavar="URL", help="the S3 server of that address, unless it is AWS")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when the aim is missed."""
    repeat = parse_whole_number(options.repeat, "--repeat", 1, 100)
    row_count = parse_whole_number(options.rows, "--rows", 1, 100_000_000)
    file = bench_file.ensure(BUILD / "bench", _SEED, row_count, _log)
    if options.s3:
        timings = _measure(open_storage(options.s3, options.endpoint_url), file.path, repeat)
    else:
        with _moto() as address:
            timings = _measure(open_storage(f"s3://{_BUCKET}", address), file.path, repeat)
    rows = [
        [what, seconds_text(values_s), mb_text(file.size_bytes / statistics.median(values_s)), mb_text(sent_bytes)]
        for what, values_s, sent_bytes in (
            ("plain copy: upload_file of boto3", timings.copies_s, file.size_bytes),
            ("push: summed, packed, checked", timings.pushes_s, timings.sent_bytes),
        )
    ]
    columns = (f"a JTL of {mb_text(file.size_bytes)} MB", "seconds, median (range)", "MB/s of the JTL", "MB sent")
    print(table(columns, rows) + "\n")
    ratio = statistics.median(timings.copies_s) / statistics.median(timings.pushes_s)
    aim = Aim("rate of a push ÷ that of a plain copy", f"{ratio:.2f}", f"≥ {_AIM_RATIO}", ratio >= _AIM_RATIO)
    return print_aims([aim], "storage")


@dataclass
class _Timings:
    """The seconds of copies and pushes, and the bytes that a push sends."""

    copies_s: list[float] = field(default_factory=list)
    pushes_s: list[float] = field(default_factory=list)
    sent_bytes: int = 0


def _measure(storage: Storage, path: Path, repeat: int) -> _Timings:
    """Return the timings of alternating copies and pushes; the first push is verified."""
    from boto3.exceptions import S3UploadFailedError

    timings = _Timings()
    copied, pushed = storage.target("bench/copy"), storage.target(f"bench/{SAMPLES_NAME}.zst")
    with aws_errors(storage.location.url), tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for number in range(repeat):
            _log(f"{path.name}: round {number + 1} of {repeat}")

            def copy() -> None:
                try:
                    storage.client.upload_file(str(path), copied["Bucket"], copied["Key"])
                except S3UploadFailedError as error:
                    raise ServiceError(str(error), "measure on an idle machine") from None

            def push() -> None:
                timings.sent_bytes = upload(
                    storage.client, pushed, path, stored_file(path, SAMPLES_NAME), lambda _: None
                )

            for act in (copy, push) if number % 2 == 0 else (push, copy):
                (timings.copies_s if act is copy else timings.pushes_s).append(_timed(act))
            if number == 0:
                again = Path(folder) / SAMPLES_NAME
                url = storage.url(f"bench/{SAMPLES_NAME}.zst")
                download(storage.client, url, stored_file(path, SAMPLES_NAME), again, lambda _: None)
                again.unlink()
            for target in (copied, pushed):
                storage.client.delete_object(**target)
    return timings


def _timed(act: Callable[[], None]) -> float:
    start_s = time.monotonic()
    act()
    return time.monotonic() - start_s


@contextmanager
def _moto() -> Iterator[str]:
    """Yield the address of a local moto server with an empty bucket; it is stopped at the end."""
    if importlib.util.find_spec("moto") is None:
        raise UsageError(
            "moto, the S3 server of this benchmark, is not in .venv", "scripts/setup --tests, or give --s3 s3://…"
        )
    os.environ.update(_KEYS)
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://{LOOPBACK}:{port}"
            _make_bucket(open_storage(f"s3://{_BUCKET}", address).client, process)
            yield address
        finally:
            process.kill()


def _make_bucket(client: Any, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline_s:
        try:
            with aws_errors("moto"):
                client.create_bucket(Bucket=_BUCKET)
            return
        except ServiceError:
            time.sleep(0.2)
    raise StartError("moto's server did not start", "try python -m moto.server")
