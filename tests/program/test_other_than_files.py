"""A pipe, a device, a socket, a folder or an endless file in place of a file: one line at once, and nothing waits."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.processes import interrupted_after
from tests.support.report_folder import add_run
from tests.support.tiny import tiny_home

pytestmark = pytest.mark.real
HERE = ("--home={home}", "--reports={reports}")
# What to replace, and the command that reads it.
REFUSED = {
    "test plan": ("{home}/plans/tiny.jmx", ["check", "tiny", *HERE[:1]]),
    "manifest": ("{home}/systems/tiny/system.toml", ["run", "tiny", *HERE]),
    "profile": ("{home}/env/other.toml", ["run", "tiny", "--env=other", *HERE]),
    "suite": ("{home}/env/other.toml", ["nightly", "--suite={file}", *HERE]),
    "JMX": ("{home}/x.jmx", ["init", "{file}", *HERE[:1]]),
    "HAR": ("{home}/x.har", ["init", "shop", "--har={file}", *HERE[:1]]),
    "OpenAPI": ("{home}/x.yaml", ["init", "shop", "--openapi={file}", *HERE[:1]]),
    "data of curl": ("{home}/x.txt", ["run", "--curl=curl -d @{file} http://127.0.0.1:9/", *HERE]),
    "old plan": ("{home}/x.jmx", ["diff", "{file}", "{home}/plans/tiny.jmx"]),
    "plan as text": ("{home}/x.jmx", ["diff", "--text", "{file}"]),
    "JSON": ("{home}/x.json", ["compare", "{file}", "{reports}/tiny/run-01_1"]),
    "Markdown": ("{home}/x.md", ["compare", "{file}", "{reports}/tiny/run-01_1"]),
    "samples": ("{home}/x.csv", ["compare", "{file}", "{reports}/tiny/run-01_1"]),
    "page": ("{reports}/SUMMARY.md", ["summary", "{reports}"]),
    "report": ("{reports}/tiny/run-01_1.md", ["report", "{reports}/tiny/run-01_1"]),
}
KINDS = ("pipe", "device", "socket", "folder", "endless")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    tiny_home(folder)
    add_run(folder / "reports", "tiny/run-01_1")
    return folder


def put(kind: str, path: Path) -> None:
    """Replace a file by something else."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(path))
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(1 << 42)


@pytest.mark.parametrize("what", REFUSED)
def test_other_than_a_file_is_refused_in_one_line_at_once(folder, tmp_path, monkeypatch, what):
    place, arguments = REFUSED[what]
    # The samples of a command are read as a stream, of any length.
    for kind in KINDS[: -1 if what in ("HAR", "samples") else None]:
        whole = tmp_path / kind
        shutil.copytree(folder, whole)
        monkeypatch.chdir(whole)
        names = {"home": whole / "home", "reports": whole / "reports"}
        names["file"] = Path(place.format(**names))
        put(kind, names["file"])
        with interrupted_after(20):
            done = command("lth", *(text.format(**names) for text in arguments))
        assert done.returncode == 2, (kind, done.stderr)
        assert len(done.stderr.splitlines()) == 1, (kind, done.stderr)
        assert names["file"].stem in done.stderr
