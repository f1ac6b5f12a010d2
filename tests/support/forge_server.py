"""The part of the APIs of GitHub and GitLab that a sticky comment and a status need, on 127.0.0.1."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "ghs_a1B2c3D4e5F6g7H8"
SHA = "0123456789abcdef0123456789abcdef01234567"
BOT, OTHER = "github-actions[bot]", "octocat"
PULLS = "/repos/owner/name/pulls"
# The limit of GitHub: "body is too long (maximum is 65536 characters)".
COMMENT_MOST = 65_536


@dataclass
class Answer:
    """An answer instead of the usual one, to the next request that begins so, as in "GET /repos".

    With `stores` the server does what the request asks for all the same.
    """

    request: str
    code: int
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)
    stores: bool = False


@dataclass
class Forge:
    """What the server stores, and every request that it got: method and path."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    head_sha: str = SHA

    def add(self, login: str, body: str) -> dict[str, Any]:
        """Store a comment of somebody and return it."""
        number = 1000 + len(self.comments)
        url = f"https://github.example/owner/name/pull/12#issuecomment-{number}"
        self.comments.append({"id": number, "body": body, "html_url": url, "user": {"login": login, "type": "User"}})
        return self.comments[-1]

    def bodies_of(self, login: str) -> list[str]:
        """Return the texts of the comments of somebody."""
        return [one["body"] for one in self.comments if one["user"]["login"] == login]


class _Server(BaseHTTPRequestHandler):
    forge: Forge

    def do_GET(self) -> None:
        self._handle("GET")

    def do_POST(self) -> None:
        self._handle("POST")

    def do_PATCH(self) -> None:
        self._handle("PATCH")

    def do_PUT(self) -> None:
        self._handle("PUT")

    def _handle(self, method: str) -> None:
        data = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        self.forge.requests.append(f"{method} {self.path}")
        planned = next((one for one in self.forge.answers if f"{method} {self.path}".startswith(one.request)), None)
        if planned:
            self.forge.answers.remove(planned)
        if planned and not planned.stores:
            self._send(planned.code, planned.body, planned.headers)
            return
        code, found, headers = (
            self._found(method, data) if self._is_known() else (401, {"message": "Bad credentials"}, {})
        )
        if planned:
            code, found, headers = planned.code, json.loads(planned.body), planned.headers
        self._send(code, json.dumps(found), headers)

    def _send(self, code: int, body: str, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def _is_known(self) -> bool:
        raise NotImplementedError

    def _found(self, method: str, data: Any) -> tuple[int, Any, dict[str, str]]:
        raise NotImplementedError

    def _page(self, items: list[Any]) -> tuple[int, Any, dict[str, str]]:
        query = parse_qs(urlsplit(self.path).query)
        size, page = (int(query.get(name, [default])[0]) for name, default in (("per_page", "30"), ("page", "1")))
        is_last = page * size >= len(items)
        link = {} if is_last else {"Link": '<https://elsewhere.example/?page=2>; rel="next"'}
        return 200, items[(page - 1) * size : page * size], link

    def log_message(self, *_: object) -> None:
        pass


class GitHubServer(_Server):
    """Serves pull request 12 of owner/name, from the branch patch-1 of octocat."""

    def _is_known(self) -> bool:
        return self.headers["Authorization"] == f"Bearer {TOKEN}"

    def _found(self, method: str, data: Any) -> tuple[int, Any, dict[str, str]]:
        path = urlsplit(self.path).path
        number = path.rpartition("/")[2]
        if (method, path) == ("POST", "/graphql"):
            return 200, {"data": {"viewer": {"login": BOT}}}, {}
        if (method, path) == ("GET", f"{PULLS}/12"):
            return 200, self._pull(), {}
        if (method, path) == ("GET", PULLS):
            return self._page([self._pull()])  # GitHub ignores a head that it does not understand
        if (method, path) == ("GET", "/repos/owner/name/issues/12/comments"):
            return self._page(self.forge.comments)
        if method in ("POST", "PATCH") and "/comments" in path and len(data["body"]) > COMMENT_MOST:
            return 422, {"message": "Validation Failed", "errors": ["body is too long"]}, {}
        if (method, path) == ("POST", "/repos/owner/name/issues/12/comments"):
            return 201, self.forge.add(BOT, data["body"]), {}
        if method == "PATCH" and path == f"/repos/owner/name/issues/comments/{number}":
            comment = next(one for one in self.forge.comments if one["id"] == int(number))
            comment["body"] = data["body"]
            return 200, comment, {}
        if method == "POST" and path == f"/repos/owner/name/statuses/{number}":
            self.forge.statuses.append({"sha": number, **data})
            return 201, {}, {}
        return 404, {"message": "Not Found"}, {}

    def _pull(self) -> dict[str, Any]:
        head = {"sha": self.forge.head_sha, "label": "octocat:patch-1", "ref": "patch-1"}
        return {"number": 12, "html_url": "https://github.example/owner/name/pull/12", "head": head, "state": "open"}


class GitLabServer(_Server):
    """Serves merge request 12 of group/sub/name below /api/v4; the token's owner has the id 7."""

    def _is_known(self) -> bool:
        return self.headers["PRIVATE-TOKEN"] == TOKEN

    def _found(self, method: str, data: Any) -> tuple[int, Any, dict[str, str]]:
        path = urlsplit(self.path).path.removeprefix("/api/v4")
        number = path.rpartition("/")[2]
        project = "/projects/group%2Fsub%2Fname"
        request = f"{project}/merge_requests/12"
        if (method, path) == ("GET", "/user"):
            return 200, {"id": 7, "username": "gate"}, {}
        if (method, path) == ("GET", request):
            url = "https://gitlab.example/group/sub/name/-/merge_requests/12"
            return 200, {"iid": 12, "sha": self.forge.head_sha, "web_url": url}, {}
        if (method, path) == ("GET", f"{request}/notes"):
            return self._page([self._note(one) for one in self.forge.comments])
        if (method, path) == ("POST", f"{request}/notes"):
            return 201, self._note(self.forge.add(BOT, data["body"])), {}
        if method == "PUT" and path == f"{request}/notes/{number}":
            comment = next(one for one in self.forge.comments if one["id"] == int(number))
            comment["body"] = data["body"]
            return 200, self._note(comment), {}
        if method == "POST" and path == f"{project}/statuses/{number}":
            self.forge.statuses.append({"sha": unquote(number), **data})
            return 201, {}, {}
        return 404, {"message": "404 Not found"}, {}

    def _note(self, comment: dict[str, Any]) -> dict[str, Any]:
        owner = 7 if comment["user"]["login"] == BOT else 8
        return {"id": comment["id"], "body": comment["body"], "author": {"id": owner}, "system": False}
