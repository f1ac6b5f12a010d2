"""Real servers and samplers of other protocols, from the Java sources in tests/support/other_protocols."""

from __future__ import annotations

import base64
import hashlib
import socket
import socketserver
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.base.install.plugin_list import PluginList
from harness.base.install.plugins import ensure_plugins
from harness.base.ports import free_port
from tests.support.paths import jmeter_home
from tests.support.processes import wait_for

_SOURCES = Path(__file__).parent / "other_protocols"
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def jars_of(folder: Path, *coordinates: str) -> Path:
    """Return the folder with these jars and what they need, from Maven."""
    jars = ensure_plugins(PluginList(coordinates, folder / "jars.toml"), jmeter_home())
    assert jars is not None
    return jars


def class_path(*folders: Path) -> str:
    return ":".join(f"{folder}/*" for folder in (*folders, jmeter_home() / "lib" / "ext", jmeter_home() / "lib"))


def sampler_jar(file: Path, source: str, *jars: Path) -> None:
    """Compile a sampler, and pack it as a jar of a project."""
    classes = file.with_suffix(".classes")
    command = ["javac", *(f"-J{one}" for one in _QUICK), "-d", classes, "-cp", class_path(*jars)]
    subprocess.run([*command, _SOURCES / f"{source}.java"], check=True, capture_output=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))


@dataclass
class Serving:
    """A server on a port of this machine, which knows what it got."""

    port: int
    _process: subprocess.Popen[str]

    def count(self) -> int:
        """End the server, and return how many requests it got."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        return int(self._process.stdout.read().split()[-1])


@contextmanager
def serving_java(source: str, folder: Path, *jars: Path, more: Sequence[str] = ()) -> Iterator[Serving]:
    """Run a server, whose first line of output is its port."""
    classes = folder / f"{source}.classes"
    given = class_path(*jars)
    command = ["javac", *(f"-J{one}" for one in _QUICK), "-d", classes, "-cp", given, _SOURCES / f"{source}.java"]
    subprocess.run(command, check=True, capture_output=True)
    command = ["java", *_QUICK, *more, "-cp", f"{classes}:{given}", source]
    with (
        (folder / f"{source}.log").open("w") as log,
        subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield Serving(_port(process), process)
        finally:
            process.kill()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    for line in process.stdout:  # a library may print lines of its own before
        if line.strip().isdigit():
            return int(line)
    raise AssertionError("the server ended")


class EchoServer:
    """A WebSocket server that sends back each text, closes at `leave`, and counts its connections and messages."""

    def __init__(self) -> None:
        self.opened = self.messages = 0
        owner = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                owner._handle(self.rfile, self.wfile)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> EchoServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, read: BinaryIO, write: BinaryIO) -> None:
        key = ""
        while line := read.readline().strip():
            name, _, value = line.decode().partition(": ")
            key = value if name.lower() == "sec-websocket-key" else key
        if not key:
            return  # the probe of a run connects, and sends nothing
        accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
        head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        write.write(f"{head}Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        self.opened += 1
        while len(begin := read.read(2)) == 2:
            size, mask = begin[1] & 127, read.read(4)  # texts of a test are short
            data = bytes(one ^ mask[at % 4] for at, one in enumerate(read.read(size)))
            is_refused = data == b"leave"
            write.write(b"\x88\x02\x03\xf0" if is_refused else begin[:1] + bytes([size]) + data)
            if is_refused or begin[0] & 15 == 8:  # the end
                return
            self.messages += 1


@contextmanager
def serving_nginx(folder: Path, tls: str = "ssl") -> Iterator[int]:
    """Serve HTTP/2 by nginx, with TLS unless `tls` is empty; access.log has the protocol of each request."""
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    port = free_port()
    (folder / "nginx.conf").write_text(
        f"""daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{ log_format short '$server_protocol'; access_log {folder}/access.log short; server {{
listen 127.0.0.1:{port} {tls} http2; ssl_certificate cert.pem; ssl_certificate_key key.pem;
keepalive_requests 100000;
location / {{ return 200 'sold'; }} }} }}
"""
    )
    process = subprocess.Popen(["nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"])
    try:
        wait_for(lambda: is_open(port))
        yield port
    finally:
        process.terminate()
        process.wait(10)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
