"""The OpenTelemetry Collector: it gets what a run sends, and sends it on."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base.ports import free_port
from harness.base.project import BUILD
from tests.support.processes import wait_for
from tests.support.programs import program

VERSION = "v0.165.0"
_PROGRAM = BUILD / "counterparts" / f"collector-{VERSION}"
_CORE = "go.opentelemetry.io/collector"
# YAML has JSON in it. The providers have a version of their own.
_PARTS = {
    "dist": {"name": "collector", "output_path": "."},
    "receivers": [{"gomod": f"{_CORE}/receiver/otlpreceiver {VERSION}"}],
    "exporters": [{"gomod": f"{_CORE}/exporter/otlphttpexporter {VERSION}"}],
    "conf_resolver": {"default_uri_scheme": "file"},
    "providers": [{"gomod": f"{_CORE}/confmap/provider/fileprovider v1.71.0"}],
}


def _built() -> Path:
    """Return the program, which is built once (minutes); skip the test where it cannot be built."""
    if not _PROGRAM.exists():
        go = program("go", package="golang")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "parts.yaml").write_text(json.dumps(_PARTS))
            command = [go, "run", f"{_CORE}/cmd/builder@{VERSION}", "--config", "parts.yaml"]
            done = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                pytest.skip(f"NOT CHECKED: the OpenTelemetry Collector cannot be built: {done.stderr[-300:]}")
            _PROGRAM.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(Path(folder) / "collector", _PROGRAM)
    return _PROGRAM


@contextmanager
def collecting(receiver_url: str) -> Iterator[str]:
    """Yield the address of a collector; at the end it has sent all to the receiver."""
    port = free_port()
    config = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"otlphttp": {"endpoint": receiver_url}},
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {kind: {"receivers": ["otlp"], "exporters": ["otlphttp"]} for kind in ("metrics", "traces")},
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "config.yaml", Path(folder) / "log"
        file.write_text(json.dumps(config))
        with log.open("w") as out, subprocess.Popen([_built(), f"--config={file}"], stderr=out) as process:
            try:
                wait_for(lambda: process.poll() is not None or "Everything is ready" in log.read_text(), 60)
                assert process.poll() is None, log.read_text()
                yield f"http://127.0.0.1:{port}"
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
        assert "error" not in log.read_text(), log.read_text()
