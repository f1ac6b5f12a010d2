"""Web applications made from a seed, which check the values that they gave; and a client that records a visit as a HAR.

Each part of an application has its own paths, and says which of its values a client must send anew.
"""

from __future__ import annotations

import base64
import html
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from tests.support.web_client import Asked, Client, Reply

TYPED = "ann-typed-this"
PASSWORD = "correct horse battery"


def page(title: str, body: str) -> Reply:
    return Reply(f"<!doctype html><html><head><title>{title}</title></head><body>\n{body}\n</body></html>")


@dataclass
class Part:
    """A part of an application: what it serves below its prefix, what its client does, and the truth about it.

    `needed` are the fields (where, name) that must have a new value; `script_made` those whose value a script makes.
    """

    serve: Callable[[Asked], Reply]
    visit: Callable[[Client], None]
    needed: set[tuple[str, str]] = field(default_factory=set)
    script_made: set[tuple[str, str]] = field(default_factory=set)


class WebApp:
    """The application of a seed; `parts` are by their prefix."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.made = Random()  # values of a session: unlike in each run
        self.sessions: dict[str, dict[str, str]] = {}
        kinds = list(PARTS.values())
        chosen = [*self.random.sample(kinds, 6), hidden_field]
        self.parts: dict[str, Part] = {}
        for number, kind in enumerate(chosen):
            prefix = f"/{self.random.choice(WORDS)}{'-' * (number % 2)}part"
            while prefix in self.parts:
                prefix += "x"
            self.parts[prefix] = kind(self, prefix)

    def value(self) -> Callable[[], str]:
        """Return a maker of values of one kind: how this application writes its tokens."""
        return self.random.choice([
            lambda: self.made.randbytes(16).hex(),
            lambda: base64.urlsafe_b64encode(self.made.randbytes(24)).decode(),
            lambda: str(uuid.UUID(bytes=self.made.randbytes(16))),
            lambda: str(self.made.randrange(10**7, 10**8)),
            lambda: base64.b64encode(self.made.randbytes(20)).decode(),
        ])  # fmt: skip

    def answer(self, asked: Asked) -> Reply:
        for prefix, part in self.parts.items():
            if asked.path == prefix or asked.path.startswith(f"{prefix}/"):
                return part.serve(asked)
        return page("Start", "Welcome") if asked.path == "/" else Reply("nothing here", 404)

    def visit(self, client: Client) -> None:
        client.get("/")
        for part in self.parts.values():
            client.pause(3)
            part.visit(client)


WORDS = ("cart", "orders", "profile", "search", "stock", "billing", "notes", "mail", "calendar", "wiki")


def refused(app: WebApp) -> Callable[[], Reply]:
    """Return how this part of an application refuses a wrong value: some answer 200."""
    return app.random.choice([
        lambda: Reply("forbidden", 403),
        lambda: page("Error", "The request is not valid"),
        lambda: Reply("", 302, {"Location": "/"}),
        lambda: Reply('{"ok": false, "error": "stale"}', 400, kind="application/json"),
    ])  # fmt: skip


def keep(asked: Asked, name: str, value: str) -> str:
    asked.session[name] = value
    return value


def hidden_field(app: WebApp, prefix: str) -> Part:
    make, refuse, name = app.value(), refused(app), app.random.choice(["csrf", "_token", "state", "nonce"])

    def serve(asked: Asked) -> Reply:
        if asked.method == "GET":
            token = html.escape(keep(asked, prefix, make()))
            return page("Edit", f'<form method="post" action="{prefix}/save"><input type="hidden" name="{name}" '
                        f'value="{token}"><input name="title"><button>Save</button></form>')  # fmt: skip
        return page("Saved", "Your text is saved") if asked.form.get(name) == asked.session.get(prefix) else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        token = html.unescape(client.found(rf'name="{name}" value="([^"]*)"'))
        client.post(f"{prefix}/save", {name: token, "title": TYPED})

    return Part(serve, visit, {("field", name)})


def meta_tag(app: WebApp, prefix: str) -> Part:
    make, refuse = app.value(), refused(app)

    def serve(asked: Asked) -> Reply:
        if asked.method == "GET":
            token = html.escape(keep(asked, prefix, make()))
            return Reply(f'<html><head><title>Board</title><meta name="csrf-token" content="{token}"></head></html>')
        good = asked.headers.get("X-CSRF-Token") == asked.session.get(prefix)
        return Reply('{"ok": true, "moved": 1}', kind="application/json") if good else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        token = html.unescape(client.found(r'content="([^"]*)"'))
        client.post(f"{prefix}/move", json_body={"to": 3}, headers={"X-CSRF-Token": token})

    return Part(serve, visit, {("header", "X-CSRF-Token")})


def response_header(app: WebApp, prefix: str) -> Part:
    make, refuse = app.value(), refused(app)

    def serve(asked: Asked) -> Reply:
        if asked.path == prefix:
            return Reply('{"ready": true}', headers={"X-Ticket": keep(asked, prefix, make())}, kind="application/json")
        good = asked.query.get("ticket") == asked.session.get(prefix)
        return Reply('{"rows": ["one", "two"]}', kind="application/json") if good else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        client.get(f"{prefix}/rows?" + urlencode({"ticket": client.headers["X-Ticket"]}))

    return Part(serve, visit, {("query", "ticket")})


def json_path(app: WebApp, prefix: str) -> Part:
    make, refuse = app.value(), refused(app)
    is_bearer = app.random.random() < 0.5

    def serve(asked: Asked) -> Reply:
        if asked.method == "GET":
            data = {"items": [{"name": "first"}, {"name": "second", "key": keep(asked, prefix, make())}], "count": 2}
            return Reply(json.dumps(data), kind="application/json")
        sent = (
            asked.headers.get("Authorization", "").removeprefix("Bearer ")
            if is_bearer
            else json.loads(asked.body)["key"]
        )
        return Reply('{"done": true}', kind="application/json") if sent == asked.session.get(prefix) else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        key = json.loads(client.body)["items"][1]["key"]
        headers = {"Authorization": f"Bearer {key}"} if is_bearer else {}
        client.post(
            f"{prefix}/do", json_body={"what": "ship"} if is_bearer else {"key": key, "what": "ship"}, headers=headers
        )

    return Part(serve, visit, {("header", "Authorization") if is_bearer else ("body", "")})


def path_segment(app: WebApp, prefix: str) -> Part:
    refuse = refused(app)
    make, short = app.value(), app.random.random() < 0.5

    def new() -> str:
        return str(app.made.randrange(1000, 9999)) if short else make()

    def serve(asked: Asked) -> Reply:
        if asked.method == "POST":
            return Reply("", 303, {"Location": f"{prefix}/{quote(keep(asked, prefix, new()), safe='')}"})
        if asked.path == prefix:
            return page(
                "New", f'<form method="post" action="{prefix}/new"><input name="title"><button>Add</button></form>'
            )
        good = asked.path.split("/")[2:3] == [quote(asked.session.get(prefix, ""), safe="")]
        return page("Item", f'Thing <a href="{asked.path}/pay">Pay</a>') if good else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        client.post(f"{prefix}/new", {"title": TYPED})
        client.get(client.found(r'href="([^"]*/pay)"'))

    return Part(serve, visit, {("path", "1")})


def redirect_parameter(app: WebApp, prefix: str) -> Part:
    make, refuse = app.value(), refused(app)

    def serve(asked: Asked) -> Reply:
        if asked.path == prefix:
            query = urlencode({"code": keep(asked, prefix, make()), "lang": "en"})
            return Reply("", 302, {"Location": f"{prefix}/back?{query}"})
        if asked.method == "GET":
            return page("Back", "Welcome back")
        good = asked.form.get("code") == asked.session.get(prefix)
        return page("In", "You are in") if good else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        client.post(f"{prefix}/enter", {"code": parse_qs(urlsplit(client.url).query)["code"][0]})

    return Part(serve, visit, {("field", "code")})


def script_literal(app: WebApp, prefix: str) -> Part:
    make, refuse = app.value(), refused(app)

    def serve(asked: Asked) -> Reply:
        if asked.path == prefix:
            value = keep(asked, prefix, make())
            return page(
                "App",
                f'<div id="app"></div>\n<script>var config = {{api: "v2", key: "{value}", debug: false}};</script>',
            )
        good = asked.query.get("key") == asked.session.get(prefix)
        return Reply('{"list": ["apple", "pear"]}', kind="application/json") if good else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        client.get(f"{prefix}/list?" + urlencode({"key": client.found(r'key: "([^"]*)"')}))

    return Part(serve, visit, {("query", "key")})


def encoded_link(app: WebApp, prefix: str) -> Part:
    refuse = refused(app)

    def serve(asked: Asked) -> Reply:
        if asked.path == prefix:
            value = keep(asked, prefix, f"a&b/{base64.b64encode(app.made.randbytes(12)).decode()}+=")
            ref = quote(value, safe="")
            return page("Links", f'<ul>\n<li><a href="{prefix}/other?x=1">Other</a></li>\n'
                        f'<li><a href="{prefix}/open?ref={ref}&amp;x=2">Open</a></li>\n</ul>')  # fmt: skip
        good = asked.query.get("ref") == asked.session.get(prefix)
        return page("Opened", "The document is open") if good else refuse()

    def visit(client: Client) -> None:
        client.get(prefix)
        client.get(html.unescape(client.found(r'href="([^"]*/open[^"]*)"')))

    return Part(serve, visit, {("query", "ref")})


def made_by_script(app: WebApp, prefix: str) -> Part:
    is_time = app.random.random() < 0.5

    def serve(asked: Asked) -> Reply:
        return Reply('{"pong": true}', kind="application/json") if asked.path != prefix else page("Ping", "ping")

    def visit(client: Client) -> None:
        client.get(prefix)
        value = str(int(client.now.timestamp() * 1000)) if is_time else str(uuid.uuid4())
        client.get(f"{prefix}/ping?" + urlencode({"stamp": value}))

    return Part(serve, visit, script_made={("query", "stamp")})


def constant_decoy(app: WebApp, prefix: str) -> Part:
    build = Random(app.random.random()).randbytes(16).hex()

    def serve(asked: Asked) -> Reply:
        if asked.method == "GET":
            return page("Vote", f'<form method="post" action="{prefix}/vote"><input type="hidden" name="build" '
                        f'value="{build}"><button name="go" value="yes">Vote</button></form>')  # fmt: skip
        return page("Voted", "Thank you") if asked.form.get("build") == build else Reply("old build", 409)

    def visit(client: Client) -> None:
        client.get(prefix)
        client.post(f"{prefix}/vote", {"build": client.found(r'value="([0-9a-f]{32})"'), "go": "yes"})

    return Part(serve, visit)


def ignored_decoy(app: WebApp, prefix: str) -> Part:
    make = app.value()

    def serve(asked: Asked) -> Reply:
        if asked.method == "GET":
            return page("Rate", f'<form method="post" action="{prefix}/rate"><input type="hidden" name="trace" '
                        f'value="{html.escape(make())}"><button>Rate</button></form>')  # fmt: skip
        return page("Rated", "Thank you for the stars")

    def visit(client: Client) -> None:
        client.get(prefix)
        client.post(f"{prefix}/rate", {"trace": html.unescape(client.found(r'name="trace" value="([^"]*)"'))})

    return Part(serve, visit)


def log_in(app: WebApp, prefix: str) -> Part:
    make = app.value()

    def serve(asked: Asked) -> Reply:
        form = asked.form
        if asked.method == "POST":
            good = form.get("_csrf") == asked.session.get(prefix) and form.get("password") == PASSWORD
            return Reply("", 302, {"Location": f"{prefix}/home" if good else prefix})
        if asked.path.endswith("/home"):
            return page("Home", "Good morning")
        return page("Sign in", f'<form method="post" action="{prefix}/in"><input type="hidden" name="_csrf" '
                    f'value="{html.escape(keep(asked, prefix, make()))}"><input name="user"><input type="password" '
                    'name="password"><input type="submit" value="Sign in"></form>')  # fmt: skip

    def visit(client: Client) -> None:
        client.get(prefix)
        token = html.unescape(client.found(r'name="_csrf" value="([^"]*)"'))
        client.post(f"{prefix}/in", {"_csrf": token, "user": "ann", "password": PASSWORD})

    return Part(serve, visit, {("field", "_csrf")})


PARTS = {
    kind.__name__: kind
    for kind in (
        hidden_field, meta_tag, response_header, json_path, path_segment, redirect_parameter, script_literal,
        encoded_link, made_by_script, constant_decoy, ignored_decoy, log_in,
    )
}  # fmt: skip
