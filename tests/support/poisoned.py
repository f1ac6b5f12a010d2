"""Puts a text into every text of a source, and a server that gives the answers of a recording."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

Poison = Callable[[str], str]
# What a HAR must have as it is to be one.
_KEPT = frozenset(("startedDateTime", "version", "encoding", "method", "httpVersion"))


def bombs(marker: str, secret: str) -> dict[str, str]:
    """Return texts that a careless writer has evaluated, by what they try; `marker` and `secret` are files.

    None has a blank: in a path JMeter's __urlencode writes one as a plus sign.
    """
    return {
        "a script": f"${{__groovy(['touch'].plus('{marker}').execute().waitFor())}}",
        "a file": f"${{__FileToString({secret})}}",
        "a property": "${__P(user.home,gone)}",
        "a variable of the environment": "$FOREIGN_VALUE|${FOREIGN_VALUE}|${__env(FOREIGN_VALUE)}|$$FOREIGN_VALUE",
        "escapes": "\\${__P(a)}|\\\\|\\,|\\$|\\",
        "an open reference": "${${${__P(",
        "a hidden sign": "$\u200b{__P(a)}|$\u00ad{__P(a)}|$\x01{__P(a)}",
        "control characters": "\x01\x1b]0;title\x07\x1b[31m\x7f",
        "signs of XML": "]]><!--&\"'>",
        "dollars": "$$|$",
    }


class Poisoner:
    """Walks the texts of a source; `count` is how many were changed."""

    def __init__(self, bomb: str) -> None:
        self.bomb, self.count = bomb, 0

    def text(self, text: str) -> str:
        """Return a text with the bomb at its end."""
        self.count += 1
        return text + self.bomb

    def json(self, node: Any) -> Any:
        """Return a JSON value with the bomb in each key and each text."""
        if isinstance(node, dict):
            return {self.text(key): self.json(value) for key, value in node.items()}
        if isinstance(node, list):
            return [self.json(one) for one in node]
        return self.text(node) if isinstance(node, str) else node

    def url(self, url: str) -> str:
        """Return a URL with the bomb in each segment, and each name and value of its query."""
        parts = urlsplit(url)
        path = "/".join(quote(self.text(unquote(part)), safe="") if part else "" for part in parts.path.split("/"))
        query = self.pairs(parts.query)
        origin = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
        return f"{origin}{path}{f'?{query}' if query else ''}"

    def pairs(self, text: str) -> str:
        """Return encoded pairs with the bomb in each name and value."""
        found = parse_qsl(text, keep_blank_values=True)
        return "&".join(f"{quote(self.text(key), safe='')}={quote(self.text(value), safe='')}" for key, value in found)

    def page(self, text: str) -> str:
        """Return HTML with the bomb in each attribute's value and each text."""

        def attribute(match: re.Match[str]) -> str:
            is_url = match[1] in ("action", "href")
            is_kept = match[1] in ("type", "method")
            value = match[2] if is_kept else self.url(match[2]) if is_url else self.text(match[2])
            return f'{match[1]}="{html.escape(value)}"'

        text = re.sub(r"(?<=>)([^<>]+)(?=<)", lambda match: html.escape(self.text(match[1])), text)
        return re.sub(r'(?<= )([\w-]+)="([^"]*)"', attribute, text)

    def har(self, node: Any, key: str = "") -> Any:
        """Return what is in a HAR with the bomb in each text that need not have a form of its own."""
        if isinstance(node, list):
            return [self.har(one, key) for one in node]
        if isinstance(node, str):
            return node if key in _KEPT else self.url(node) if key in ("url", "redirectURL") else self.text(node)
        if not isinstance(node, dict):
            return node
        if "mimeType" in node:
            return {**node, **self._content(node)}
        if str(node.get("name", "")).lower() == "location":
            return {**node, "value": self.url(node["value"])}
        if key == "headers":
            value = node["value"]
            is_type = node["name"].lower() == "content-type"
            return {"name": node["name"], "value": value if is_type else header_text(self.text(value))}
        return {name: self.har(value, name) for name, value in node.items()}

    def _content(self, node: dict[str, Any]) -> dict[str, Any]:
        kind, found = node["mimeType"], dict[str, Any]()
        if "params" in node:
            found["params"] = [{name: self.text(value) for name, value in one.items()} for one in node["params"]]
        if "text" in node and "json" in kind:
            found["text"] = json.dumps(self.json(json.loads(node["text"])))
        elif "text" in node and "html" in kind:
            found["text"] = self.page(node["text"])
        elif "text" in node:
            found["text"] = self.pairs(node["text"]) if "urlencoded" in kind else self.text(node["text"])
        return found


def header_text(text: str) -> str:
    """Return a text as a header can have it."""
    return "".join(sign for sign in text if " " <= sign <= "~").strip()


class Replaying(BaseHTTPRequestHandler):
    """Gives the recorded answer to a request with a recorded path; stores each request in `got`."""

    protocol_version = "HTTP/1.1"
    entries: list[dict[str, Any]]
    got: list[tuple[str, str, dict[str, str], bytes]]

    def log_message(self, *_: object) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.got.append((self.command, self.path, {key.lower(): one for key, one in self.headers.items()}, body))
        response = next((one["response"] for one in self.entries if self._is(one["request"])), None)
        text = (response or {}).get("content", {}).get("text", "").encode()
        self.send_response_only(response["status"] if response else 404)
        for one in (response or {}).get("headers", ()):
            self.send_header(one["name"], one["value"])
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _is(self, request: dict[str, Any]) -> bool:
        path = urlsplit(request["url"]).path
        return self.command == request["method"] and unquote(self.path.partition("?")[0]) == unquote(path)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names of http.server


def strings_of(node: Any) -> Iterator[str]:
    """Yield each key and text of a JSON value."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from strings_of(value)
    elif isinstance(node, list):
        for one in node:
            yield from strings_of(one)
    elif isinstance(node, str):
        yield node
