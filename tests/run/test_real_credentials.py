"""Which credentials a real JMeter sends where a redirect or a page leads, with each sampler and client."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from itertools import product
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from harness.base.install import toolchain
from harness.run.jmeter.connections import credentials_option, sampler_option
from tests.support.agent_runs import Agent, group, tree
from tests.support.local_server import serving
from tests.support.off_host import element, flag, host, jmx, request, text
from tests.support.shop_runs import shop_run

pytestmark = pytest.mark.real

SECRET = {"authorization": "Bearer a", "COOKIE": "b=1", "Proxy-Authorization": "Basic c", "X-Api-Key": "d"}
PLAIN = {"X-Plain": "e", "Accept": "*/*"}
GIVEN = {"Authorization": "Bearer $SHOP_TOKEN", "X-Shop": "$SHOP_TOKEN", "X-Page": "1"}
CLIENTS = ("HttpClient4", "Java")
REDIRECTS = {"follow": "HTTPSampler.follow_redirects", "auto": "HTTPSampler.auto_redirects"}


class Origin(BaseHTTPRequestHandler):
    """Redirects to the first address of `to`, with the others; without any it answers, or with a page of its images."""

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        self.seen[url.path].append((self.at, {name.lower(): value for name, value in self.headers.items()}))
        first, *more = query.get("to", [""])
        images = query.get("image", [])
        body = "".join(f"<img src='{address}'>" for address in images).encode()
        self.send_response(int(query["code"][0]) if first else 200)
        if first:
            rest = "&".join(f"to={quote(one)}" for one in more)
            self.send_header("Location", f"{first}{url.path}?code={query['code'][0]}&{rest}")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def headers():
    pairs = (text("Header.name", name) + text("Header.value", value) for name, value in {**SECRET, **PLAIN}.items())
    rows = "".join(f'<elementProp name="" elementType="Header">{pair}</elementProp>' for pair in pairs)
    listed = f'<collectionProp name="HeaderManager.headers">{rows}</collectionProp>'
    return element("HeaderManager", "Headers", listed).replace("TestBeanGUI", "HeaderPanel")


def sent(seen, path):
    """For each request to a path: the server, the secret headers that came, and whether all others did."""
    found = []
    for at, got in seen[path]:
        secrets = sorted(name.lower() for name in SECRET if got.get(name.lower()) == SECRET[name])
        assert all(got[name.lower()] == value for name, value in PLAIN.items())
        found.append((at, secrets))
    return found


ALL = sorted(name.lower() for name in SECRET)


def run(folder, java):
    """Send all requests with these options; return what both servers saw, by path."""
    seen = defaultdict(list)
    with serving(Origin, seen=seen, at="own") as own, serving(Origin, seen=seen, at="other") as other:
        away, home = f"http://127.0.0.1:{other}", f"http://127.0.0.1:{own}"
        samplers = []

        def add(path, client, *props, **query):
            words = "&".join(f"{key}={quote(value)}" for key, each in query.items() for value in each)
            more = (host("127.0.0.1"), text("HTTPSampler.port", str(own)), text("HTTPSampler.implementation", client))
            samplers.append(request(*more, *props, name=path, path=f"{path}?{words}"))

        for (how, key), client in product(REDIRECTS.items(), CLIENTS):
            for code in ("301", "302", "303", "307", "308"):
                add(f"/{how}/{client}/{code}", client, flag(key), code=[code], to=["", away, away, home, away])
            add(f"/{how}/{client}/name", client, flag(key), code=["302"], to=[f"http://localhost:{own}"])
        for parallel, client in product((False, True), CLIENTS):
            props = [flag("HTTPSampler.image_parser"), *([flag("HTTPSampler.concurrentDwn")] if parallel else [])]
            path = f"/page/{client}/{parallel}"
            add(path, client, *props, image=[f"{path}/own.png", f"{away}{path}/other.png"])
        Agent(folder, tree(group("user", headers() + "".join(samplers))), java=java).ended()
    return seen


def options(*, is_lean, goes_across=False):
    sampler = sampler_option(toolchain.ensure_sampler(toolchain.ensure_jmeter()), is_lean=is_lean)
    return f"{sampler} {credentials_option(('x-api-KEY',), goes_across=goes_across)}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What the servers saw of JMeter's own sampler, of the lean one, and of the lean one that may send them on."""
    sides = {"own": options(is_lean=False), "lean": options(is_lean=True)}
    sides["across"] = options(is_lean=True, goes_across=True)
    with ThreadPoolExecutor() as pool:
        begun = {name: pool.submit(run, tmp_path_factory.mktemp(name) / "run", java) for name, java in sides.items()}
        return {name: one.result() for name, one in begun.items()}


@pytest.mark.parametrize("sampler", ["own", "lean"])
def test_credentials_do_not_leave_their_origin_and_return_to_it(runs, sampler):
    seen = runs[sampler]
    hops = [("own", ALL), ("other", []), ("other", []), ("own", ALL), ("other", [])]
    followed = [path for path in seen if path.startswith(("/follow/", "/auto/HttpClient4/"))]
    assert len(followed) == 3 * 6
    for path in followed:
        assert sent(seen, path) == (hops if not path.endswith("name") else [("own", ALL), ("own", [])]), path
    for path in (path for path in seen if path.startswith("/page/")):
        assert sent(seen, path) == [("other", []) if path.endswith("other.png") else ("own", ALL)], path
    assert len([path for path in seen if path.endswith(".png")]) == 8


@pytest.mark.parametrize("sampler", ["own", "lean"])
def test_javas_client_that_follows_by_itself_keeps_authorization_and_cookie_alone(runs, sampler):
    """So a plan with other credentials is refused: tests/plan/test_guard.py."""
    gone = set()
    for path in (path for path in runs[sampler] if path.startswith("/auto/Java/")):
        (first, *others) = sent(runs[sampler], path)
        assert first == ("own", ALL)
        gone |= {name for at, names in others for name in names if at == "other"}
    assert gone == {"proxy-authorization", "x-api-key"}


def test_a_plan_that_allows_it_sends_its_credentials_everywhere_as_jmeter_does(runs):
    for path in (path for path in runs["across"] if not path.startswith("/auto/Java/")):
        assert {tuple(names) for _, names in sent(runs["across"], path)} == {tuple(ALL)}, path


def test_a_run_keeps_the_headers_of_its_command_line_at_the_target(tmp_path):
    seen = defaultdict(list)
    with serving(Origin, seen=seen, at="other") as other:
        path = f"/moved?code=302&to=http://127.0.0.1:{other}"
        plan = jmx(request(flag("HTTPSampler.follow_redirects"), path=path))
        given = [f"--header={name}: {value}" for name, value in GIVEN.items()]
        _, _, summary = shop_run(tmp_path, Origin, plan, "--users", "1", "--loops", "2", *given, seen=seen, at="own")
    got = [(at, {name: headers.get(name.lower()) for name in GIVEN}) for at, headers in seen["/moved"]]
    token = "tk-4711-of-the-day"
    sent = {"Authorization": f"Bearer {token}", "X-Shop": token, "X-Page": "1"}
    assert got == [("own", sent), ("other", {"Authorization": None, "X-Shop": None, "X-Page": "1"})] * 2
    # Its time is in the row of the request that it redirects: beside it, TOTAL would count it twice.
    assert {one["label"] for one in summary["codes"]} == {"Buy"}
