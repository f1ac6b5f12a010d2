"""Ceph's S3 gateway on this machine, for the length of a test session."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.moto_server import ENVIRONMENT, Server
from tests.support.programs import program


@contextmanager
def ceph() -> Iterator[Server]:
    """Yield a gateway with no bucket, and its users OWNER and READER; skip the test where it cannot be started.

    HARNESS_CEPH names the script that starts it. It gets an empty folder, and leaves there ceph.conf with the address
    of the gateway, user.json with the users, and the ids of its processes in run/*.pid and rgw.pid.
    """
    script = os.environ.get("HARNESS_CEPH")
    if not script:
        pytest.skip("NOT CHECKED: HARNESS_CEPH names no script that starts Ceph")
    program("radosgw", package="radosgw ceph-mon ceph-osd ceph-mgr")
    with tempfile.TemporaryDirectory(prefix="ceph-") as name:
        folder = Path(name)
        try:
            with (folder / "out").open("w") as out:
                started = subprocess.run([script, folder], stdout=out, stderr=out, timeout=300, check=False)
            assert started.returncode == 0, (folder / "out").read_text()[-2000:]
            address = re.search(r"endpoint=(\S+)", (folder / "ceph.conf").read_text())
            assert address
            yield Server(f"http://{address[1]}", _keys(folder / "user.json"), _remove_buckets)
        finally:
            _end(int(file.read_text()) for file in (folder / "rgw.pid", *folder.glob("run/*.pid")) if file.exists())


def _end(pids: Iterable[int]) -> None:
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    for process in processes:
        process.terminate()
    for process in psutil.wait_procs(processes, timeout=20)[1]:
        process.kill()


def _keys(file: Path) -> dict[str, dict[str, str]]:
    """Return the environment of a client by user; the file has one JSON object after the other."""
    text, keys = file.read_text(), {}
    while text.strip():
        user, end = json.JSONDecoder().raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        ((key),) = user["keys"]
        keys[user["user_id"]] = {
            **ENVIRONMENT, "AWS_ACCESS_KEY_ID": key["access_key"], "AWS_SECRET_ACCESS_KEY": key["secret_key"]
        }  # fmt: skip
    return keys


def _remove_buckets(client) -> None:
    for bucket in client.list_buckets()["Buckets"]:
        where = {"Bucket": bucket["Name"]}
        for upload in client.list_multipart_uploads(**where).get("Uploads", ()):
            client.abort_multipart_upload(**where, Key=upload["Key"], UploadId=upload["UploadId"])
        for found in client.list_objects_v2(**where).get("Contents", ()):
            client.delete_object(**where, Key=found["Key"])
        client.delete_bucket(**where)
