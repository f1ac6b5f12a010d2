"""A server that checks each request against an OpenAPI file, by a library that the harness does not use."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlsplit

from openapi_core import OpenAPI
from openapi_core.testing import MockRequest


class Checking(BaseHTTPRequestHandler):
    """Stores method, address and headers in `got`, and what is wrong in `wrong`; answers what `answer` returns.

    `api` is the file, `origin` the address of its server in the file.
    """

    protocol_version = "HTTP/1.1"
    api: OpenAPI
    origin: str
    got: list[tuple[str, str, dict[str, str], str]]
    wrong: list[str]
    answer: Callable[[str, str], tuple[int, object]]

    def check(self) -> None:
        """Check a request, and answer it."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.got.append((self.command, self.path, headers, body.decode()))
        kind = headers.get("content-type", "application/octet-stream")
        cookies = {name: one.value for name, one in SimpleCookie(headers.get("cookie", "")).items()}
        request = MockRequest(
            self.origin, self.command.lower(), parts.path, args=parse_qsl(parts.query), headers=dict(self.headers),
            cookies=cookies, data=body or None, content_type=kind,
        )  # fmt: skip
        try:
            self.api.validate_request(request)
        except Exception as error:  # noqa: BLE001 - each kind of error is a failure of the test
            self.wrong.append(f"{self.command} {self.path} {body.decode()!r}: {error!r}: {error.__cause__!r}")
        code, value = type(self).answer(self.command, parts.path)
        answer = b"" if self.command == "HEAD" or code == 204 else json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = check  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Print nothing."""
