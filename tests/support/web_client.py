"""A client that visits a generated application as a browser does, and records the visit as a HAR."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.local_server import serving

if TYPE_CHECKING:
    from tests.support.web_apps import WebApp


@dataclass
class Asked:
    """A request to an application, with the values of its session."""

    method: str
    path: str
    query: dict[str, str]
    headers: Any
    body: str
    session: dict[str, str]

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body, keep_blank_values=True))


@dataclass
class Reply:
    body: str
    code: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"


class Client:
    """A client that keeps cookies, follows redirects, and records each request as an entry of a HAR."""

    def __init__(self, origin: str) -> None:
        self.origin, self.entries = origin, list[dict[str, Any]]()
        self.now, self.cookies = datetime.now(UTC), dict[str, str]()
        self.url, self.body, self.headers = "", "", dict[str, str]()

    def pause(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def found(self, pattern: str) -> str:
        match = re.search(pattern, self.body)
        assert match, (pattern, self.body)
        return match[1]

    def get(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.send("GET", url, "", "", headers or {})

    def post(self, url: str, form: dict[str, str] | None = None, json_body: Any = None, headers: Any = None) -> None:
        if json_body is not None:
            self.send("POST", url, json.dumps(json_body), "application/json", headers or {})
        else:
            self.send("POST", url, urlencode(form or {}), "application/x-www-form-urlencoded", headers or {})

    def send(self, method: str, url: str, body: str, kind: str, headers: dict[str, str]) -> None:
        sent = {"Accept": "*/*", **({"Content-Type": kind} if kind else {}), **headers}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = HTTPConnection(urlsplit(self.origin).netloc, timeout=10)
        connection.request(method, url, body or None, sent)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        for name, value in response.getheaders():
            if name == "Set-Cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        location = response.getheader("Location", "")
        self.entries.append({
            "startedDateTime": self.now.isoformat(), "time": 20,
            "request": {
                "method": method, "url": self.origin + url, "httpVersion": "HTTP/1.1",
                "headers": [{"name": name, "value": value} for name, value in sent.items()],
                **({"postData": {"mimeType": kind, "text": body}} if body else {}),
            },
            "response": {
                "status": response.status, "redirectURL": location,
                "headers": [{"name": name, "value": value} for name, value in response.getheaders()],
                "content": {"mimeType": response.getheader("Content-Type", ""), "text": text},
            },
        })  # fmt: skip
        self.pause(0.05)
        self.url, self.body, self.headers = self.origin + url, text, dict(response.getheaders())
        if location:
            self.send("GET", location, "", "", {})

    def har(self) -> dict[str, Any]:
        return {"log": {"version": "1.2", "creator": {"name": "tests", "version": "1"}, "entries": self.entries}}


@contextmanager
def served(app: WebApp) -> Iterator[str]:
    """Serve an application and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            cookie = re.search(r"sid=(\w+)", self.headers.get("Cookie", ""))
            sid = cookie[1] if cookie and cookie[1] in app.sessions else uuid.uuid4().hex
            session = app.sessions.setdefault(sid, {})
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            reply = app.answer(Asked(self.command, parts.path, query, self.headers, body, session))
            data = reply.body.encode()
            self.send_response(reply.code)
            more = {"Content-Type": reply.kind, "Content-Length": str(len(data)), "Set-Cookie": f"sid={sid}; Path=/"}
            for name, value in {**more, **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


def recorded(app: WebApp, origin: str) -> dict[str, Any]:
    """Return a HAR of a visit to each part."""
    client = Client(origin)
    app.visit(client)
    return client.har()
