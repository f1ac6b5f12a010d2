"""A server that answers each path with scripted bytes, tears, delays and resets, and stores what it was sent."""

from __future__ import annotations

import gzip
import os
import re
import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

# What a server does with a connection: bytes are sent, a number is a pause in seconds, a text is the last action.
Script = Sequence[bytes | float | str]
CLOSE, RESET, KEEP = "close", "reset", "keep"
# Over TLS: the end is announced (close_notify), and a record is cut. Without TLS both are a close.
NOTIFY, CUT_RECORD = "notify", "cut record"
_SIMPLE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
_CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
_PACKED = gzip.compress(b"a packed body " * 40, mtime=0)
# /wait/700/text: after so many milliseconds the text is the body.
_WAIT = re.compile(r"/wait/(\d+)/(\w+)")
_LENGTH = re.compile(rb"(?im)^content-length: *(\d+)")
_END = b"\r\n\r\n"


def _sized(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    typed = [] if any(header.startswith(b"Content-Type") for header in headers) else [b"Content-Type: text/plain"]
    lines = [b"HTTP/1.1 " + status, *typed, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join(lines) + _END + body


def _torn(data: bytes) -> list[bytes | float | str]:
    return [data[at : at + 1] for at in range(len(data))]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/Event-Stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
_EVENT_LINES = _chunk(b"data: one\n\n: none\n\nretry: 5\n\ndata\r\rdata:\r\n\r\ndatum: x\n\n") + b"0\r\n\r\n"

_CASES: dict[str, Script] = {
    "simple": [_SIMPLE],
    "torn": _torn(_SIMPLE),
    "slow head": [_SIMPLE[:20], 0.2, _SIMPLE[20:]],
    "slow body": [_SIMPLE[:-5], 0.2, b"hel", 0.4, b"lo"],
    "too slow": [_SIMPLE[:-2], 1.5, b"lo", CLOSE],
    "too slow in the status line": [_SIMPLE[:9], 1.5, _SIMPLE[9:], CLOSE],
    "too slow in a header": [_SIMPLE[:40], 1.5, _SIMPLE[40:], CLOSE],
    "too slow after the headers": [_SIMPLE[:-5], 1.5, b"hello", CLOSE],
    "too slow in a chunk's size": [_CHUNKED + b"1", 1.5, b"0\r\n", CLOSE],
    "too slow in a chunk": [_CHUNKED + b"5\r\nhel", 1.5, b"lo\r\n0\r\n\r\n", CLOSE],
    "too slow in gzip": [_sized(_PACKED, b"Content-Encoding: gzip")[:-9], 1.5, CLOSE],
    "too slow after a 1xx": [b"HTTP/1.1 100 Continue\r\n\r\n", 1.5, _SIMPLE, CLOSE],
    "slow in each part": [_SIMPLE[:9], 0.45, _SIMPLE[9:-2], 0.45, b"lo"],
    "never": [5.0, CLOSE],
    "no response": [CLOSE],
    "no body": [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
    "no length, closed": [b"HTTP/1.1 200 OK\r\n\r\nuntil the end", CLOSE],
    "HTTP/1.0": [b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", CLOSE],
    "HTTP/1.0 kept": [b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"],
    "connection close": [_sized(b"hello", b"Connection: close"), CLOSE],
    "says close, stays open": [_sized(b"hello", b"Connection: close")],
    "keep-alive timeout": [_sized(b"hello", b"Keep-Alive: timeout=1, max=5")],
    "closed after the response": [_SIMPLE, CLOSE],
    "after the close": [_SIMPLE],
    "too short": [b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", CLOSE],
    "more than announced": [_SIMPLE + b" and more"],
    "two responses": [_SIMPLE + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"],
    "large": [_sized(b"0123456789" * 30_000)],
    "just 8 KB": [_sized(b"x" * 8192)],
    "over 8 KB": [_sized(b"x" * 8193)],
    "chunked": [_CHUNKED + b"5\r\nhello\r\n6;note=1\r\n world\r\n0\r\n\r\n"],
    "chunked, torn": _torn(_CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"),
    "chunked with a trailer": [_CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n"],
    "chunked, empty": [_CHUNKED + b"0\r\n\r\n"],
    # Four events: at 0.1, twice at 0.4 and at 0.6 s; comments, an id and a part of an event are none.
    "event stream": [
        _EVENTS + _chunk(b": hello\n\n"), 0.1, _chunk(b"event: x\ndata: one\n\n"), 0.3,
        _chunk(b"data: two\r\n\r\ndata: three\r\r"), 0.1, _chunk(b": still there\n\n"), 0.1,
        _chunk(b"data\n\nid: 7\n\ndata: torn") + b"0\r\n\r\n",
    ],
    "event stream, torn": _torn(_EVENTS + _EVENT_LINES),
    "event stream, gzip": [
        _sized(gzip.compress(b"data: 1\n\ndata: 2\n\n", mtime=0), b"Content-Type: text/event-stream",
               b"Content-Encoding: gzip")
    ],
    "event stream, small": [_sized(b"data: 1\n\n", b"Content-Type: text/event-stream")],
    "event stream, cut": [_EVENTS + _chunk(b"data: one\n\n"), CLOSE],
    "no event stream": [_sized(b"data: 1\n\n", b"Content-Type: text/event-streams")],
    # Three lines: at 0.1, 0.3 and 0.3 s; an empty one is none, and the last one has no end.
    "json lines": [
        _EVENTS.replace(b"text/Event-Stream", b"application/x-ndjson"), 0.1, _chunk(b'{"a":1}\n'), 0.2,
        _chunk(b'{"a":2}\n\n'), _chunk(b'{"a":') + _chunk(b"3}") + b"0\r\n\r\n",
    ],
    "json lines, small": [_sized(b"1\n2", b"Content-Type: Application/JSONL ; charset=utf-8")],
    "chunk of no size": [_CHUNKED + b"five\r\nhello\r\n0\r\n\r\n", CLOSE],
    "chunk without its end": [_CHUNKED + b"5\r\nhelloworld\r\n0\r\n\r\n", CLOSE],
    "chunk cut": [_CHUNKED + b"9\r\nhello", CLOSE],
    "no last chunk": [_CHUNKED + b"5\r\nhello\r\n", CLOSE],
    "chunked and a length": [
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    ],
    "unknown transfer encoding": [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", CLOSE],
    "two lengths": [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", CLOSE],
    "lengths that differ": [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello", CLOSE],
    "negative length": [b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", CLOSE],
    "length of letters": [b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello", CLOSE],
    "continue first": [b"HTTP/1.1 100 Continue\r\n\r\n" + _SIMPLE],
    "continue 5000 times": [b"HTTP/1.1 100 Continue\r\nX-Number: 1\r\n\r\n" * 5000, _SIMPLE],
    "continue, then the end": [b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, CLOSE],
    "continue, then nothing": [b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, 1.5, CLOSE],
    "headers, then nothing": [b"HTTP/1.1 200 OK\r\n" + b"X-More: 1\r\n" * 5000, 1.5, CLOSE],
    "header of 1 MB": [_sized(b"hello", b"X-Huge: " + b"h" * 1_000_000)],
    "status line of 1 MB": [b"HTTP/1.1 200 " + b"O" * 1_000_000 + b"\r\nContent-Length: 5\r\n\r\nhello"],
    "trailers": [_CHUNKED + b"5\r\nhello\r\n0\r\n" + b"X-More: 1\r\n" * 5000 + b"\r\n"],
    "trailers, then the end": [_CHUNKED + b"5\r\nhello\r\n0\r\n" + b"X-More: 1\r\n" * 5000, CLOSE],
    "trailers, then nothing": [_CHUNKED + b"5\r\nhello\r\n0\r\n" + b"X-More: 1\r\n" * 5000, 1.5, CLOSE],
    "a chunk's note of 1 MB": [_CHUNKED + b"5;" + b"n" * 1_000_000 + b"\r\nhello\r\n0\r\n\r\n"],
    "a chunk's size of 1 MB": [_CHUNKED + b"0" * 1_000_000 + b"5\r\nhello\r\n0\r\n\r\n", CLOSE],
    "a body of 8 MB": [_sized(b"0123456789" * 800_000)],
    "a length of a GB": [b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\nhello", CLOSE],
    "hints first": [b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", 0.05, _SIMPLE],
    "status 204": [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "status 204 with a body": [_sized(b"hello", status=b"204 No Content"), CLOSE],
    "status 304": [b"HTTP/1.1 304 Not Modified\r\nETag: 1\r\n\r\n"],
    "status 304 with a length": [b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"],
    "status 205": [b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"],
    "status 404": [_sized(b"none", status=b"404 Not Found")],
    "status 401": [_sized(b"who?", b'WWW-Authenticate: Basic realm="a"', status=b"401 Unauthorized")],
    "status 401 without a challenge": [_sized(b"who?", status=b"401 Unauthorized")],
    "status 401, two challenges": [
        _sized(b"who?", b'WWW-Authenticate: Digest realm="a", nonce="n"', b"WWW-Authenticate: basic", status=b"401 No")
    ],
    "status 401, Digest": [
        _sized(b"who?", b'WWW-Authenticate: Digest realm="a", nonce="n"', status=b"401 Unauthorized")
    ],
    "status 407": [_sized(b"who?", b'Proxy-Authenticate: Basic realm="a"', status=b"407 Proxy")],
    "status 500": [_sized(b"oops", status=b"500 Internal Server Error")],
    "status 99": [b"HTTP/1.1 99 Odd\r\n\r\n", CLOSE],
    "status 999": [_sized(b"odd", status=b"999 Odd")],
    "no reason": [b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"],
    "redirect": [_sized(b"", b"Location: /simple", status=b"302 Found")],
    "redirect without a location": [_sized(b"", status=b"302 Found")],
    "redirect 307": [_sized(b"", b"Location: ../simple", status=b"307 Temporary Redirect")],
    "redirect loop": [_sized(b"", b"Location: /redirect%20loop", status=b"301 Moved")],
    "redirect to a bad URL": [_sized(b"", b"Location: http://[bad", status=b"301 Moved")],
    "garbage": [b"\x00\xff\xfe garbage", CLOSE],
    "garbage before": [b"garbage\r\nmore garbage\r\n" + _SIMPLE],
    "not HTTP": [b"220 mail.example.com ESMTP\r\n", CLOSE],
    "HTTP/9.9": [b"HTTP/9.9 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
    "line feeds only": [b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"],
    "folded header": [_sized(b"hello", b"X-Long: one\r\n two\r\n\tthree")],
    "header without a colon": [_sized(b"hello", b"NoColon"), CLOSE],
    "header without a value": [_sized(b"hello", b"X-Empty:")],
    "blanks around": [b"HTTP/1.1 200 OK\r\nContent-Length :  5  \r\nX-Blank \t: \tx \t\r\n\r\nhello", CLOSE],
    "the same header twice": [_sized(b"hello", b"X-Twice: 1", b"X-Twice: 2")],
    "huge header": [_sized(b"hello", b"X-Huge: " + b"h" * 70_000)],
    "long header, torn": _torn(_sized(b"hello", b"X-Long: " + b"l" * 600)),
    "many headers": [_sized(b"hello", *(b"X-%d: %d" % (number, number) for number in range(300)))],
    "latin header": [_sized(b"hello", b"X-Name: M\xfcller")],
    "cookies": [_sized(b"hello", b"Set-Cookie: a=1; Path=/", b"Set-Cookie: b=2; Max-Age=600", b"Set-Cookie: c=3")],
    "cookie of another host": [_sized(b"hello", b"Set-Cookie: d=4; Domain=example.com")],
    "gzip": [_sized(_PACKED, b"Content-Encoding: gzip", b"Content-Type: text/plain; charset=utf-8")],
    "gzip, chunked": [
        _CHUNKED.replace(_END, b"\r\nContent-Encoding: x-gzip" + _END),
        b"%x\r\n" % len(_PACKED) + _PACKED + b"\r\n0\r\n\r\n",
    ],
    "gzip of two parts": [_sized(_PACKED + gzip.compress(b"and more " * 9000, mtime=0), b"Content-Encoding: gzip")],
    "gzip broken within": [_sized(_PACKED[:20] + b"\xff\xff" + _PACKED[22:], b"Content-Encoding: gzip")],
    "gzip after a broken one": [_sized(_PACKED, b"Content-Encoding: gzip")],
    "gzip cut": [_sized(_PACKED[:-9], b"Content-Encoding: gzip")],
    "gzip with more behind": [_sized(_PACKED + b"more", b"Content-Encoding: gzip")],
    "gzip that is none": [_sized(b"plain", b"Content-Encoding: gzip")],
    "gzip, empty": [_sized(b"", b"Content-Encoding: gzip")],
    "deflate": [_sized(zlib.compress(b"deflated " * 9), b"Content-Encoding: deflate")],
    "unknown encoding": [_sized(b"hello", b"Content-Encoding: zap")],
    "identity encoding": [_sized(b"hello", b"Content-Encoding: identity")],
    "html": [_sized(b'<meta http-equiv="content-type" content="text/html; charset=x">', b"Content-Type: text/html")],
    "closed with a notice": [b"HTTP/1.1 200 OK\r\n\r\nuntil the end", NOTIFY],
    "cut record": [_SIMPLE[:-3], CUT_RECORD],
    "cut record, no length": [b"HTTP/1.1 200 OK\r\n\r\nuntil the end", CUT_RECORD],
    "cut record in the head": [_SIMPLE[:20], CUT_RECORD],
    "binary": [_sized(bytes(range(256)), b"Content-Type: image/png")],
    "bad type": [_sized(b"hello", b"Content-Type: ;;charset=none")],
}  # fmt: skip
for _at in range(len(_SIMPLE)):
    _CASES[f"closed after {_at} bytes"] = [_SIMPLE[:_at], CLOSE]
    _CASES[f"reset after {_at} bytes"] = [_SIMPLE[:_at], 0.01, RESET]
CASES: Mapping[str, Script] = _CASES


class HostileServer:
    """What the server was sent: for each request the number of its connection, from 1, and its bytes."""

    def __init__(self, listener: socket.socket) -> None:
        self.address: tuple[str, int] = listener.getsockname()
        self.requests: list[tuple[int, bytes]] = []
        self._listener = listener
        self._count = 0

    def serve(self) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                accepted = self._listener.accept()[0]
                self._count += 1
                threading.Thread(target=self._answer, args=(accepted, self._count), daemon=True).start()

    def _answer(self, connection: socket.socket, number: int) -> None:
        with suppress(OSError), connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while request := _read(connection):
                self.requests.append((number, request))
                path = request.split(b" ", 2)[1].decode().partition("?")[0]
                script = CASES.get(path.strip("/").replace("%20", " ").replace("%2C", ","), [_SIMPLE])
                if wait := _WAIT.fullmatch(path):
                    script = [int(wait[1]) / 1000, _sized(wait[2].encode())]
                if not _play(connection, script):
                    return


def _play(connection: socket.socket, script: Script) -> bool:
    """Return whether the connection stays open."""
    for step in script:
        if isinstance(step, bytes):
            connection.sendall(step)
        elif isinstance(step, float):
            time.sleep(step)
        else:
            is_tls = isinstance(connection, ssl.SSLSocket)
            if step == NOTIFY and is_tls:
                connection.settimeout(2)
                with suppress(OSError):
                    connection.unwrap()
            elif step == CUT_RECORD and is_tls:
                with socket.socket(fileno=os.dup(connection.fileno())) as plain:
                    plain.sendall(b"\x17\x03\x03\x10\x00half of a record")
            elif step == RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return step == KEEP
    return True


def _read(connection: socket.socket) -> bytes:
    """Return the next request with its body; nothing at the end."""
    data = b""
    while _END not in data:
        part = connection.recv(65536)
        if not part:
            return b""
        data += part
    length = _LENGTH.search(data)
    wanted = data.index(_END) + len(_END) + (int(length[1]) if length else 0)
    while len(data) < wanted:
        data += connection.recv(65536)
    return data


@contextmanager
def hostile_server(certificate: Path | None = None) -> Iterator[HostileServer]:
    """Serve at a free port of the loopback interface while the block lasts; with a certificate, and its key, by TLS."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as plain:
        listener: socket.socket = plain
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            listener = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        server = HostileServer(listener)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            # Closing alone leaves the thread in its call. After a SIGSTOP and SIGCONT the kernel restarts it with the
            # number of the file: it takes and answers the connections of a later server that has this number.
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            assert not thread.is_alive(), "a server of a test did not end"
            listener.close()
