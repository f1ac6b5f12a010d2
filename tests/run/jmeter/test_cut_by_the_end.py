"""What the end of the load cuts or closes, counted by the agent in a real JMeter; and where redirects end."""

import time
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.agent_runs import Agent, arrivals, constant, ended_after, group, parent, tree, whole
from tests.support.local_server import serving
from tests.support.off_host import collection, element, flag, host, request, text

pytestmark = pytest.mark.real

MOVED = {
    "/one": "/between",
    "/between": "/login",
    "/two": "/login",
    "/slash": "/slash/",
    "/three": "/login",
    "/post": "/cart",
}


class Slow(BaseHTTPRequestHandler):
    """Answers /slow after a minute."""

    def do_GET(self):
        if self.path == "/slow":
            time.sleep(60)
        self.send_response(302 if self.path in MOVED else 200)
        self.send_header("Location", MOVED.get(self.path, ""))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


def row_of(agent: Agent, label: str) -> list[list[str]]:
    return [row.split(",") for row in agent.rows if row.split(",")[2] == label]


def test_what_the_end_of_the_load_cuts_or_closes_is_counted_by_label(tmp_path):
    with serving(Slow) as port:
        local = (host("127.0.0.1"), text("HTTPSampler.port", str(port)))
        fast, slow = request(*local, name="fast", path="/"), request(*local, name="slow", path="/slow")
        long = constant(60_000)
        plan = tree(
            ended_after("begun", 2, parent("some", fast + request(*local, name="then", path="/", below=long))),
            ended_after("none done", 2, parent("none", request(*local, name="first", path="/", below=long)), users=2),
            ended_after("whole", 2, parent("whole", fast + request(*local, name="next", path="/", below=constant(20)))),
            ended_after("plain", 2, element("TransactionController", "beside", below=fast + constant(20))),
            ended_after("deep", 2, parent("outer", parent("inner", fast + long))),
            arrivals("open", slow, "rate(5/sec) even_arrivals(1 sec) pause(1 sec)"),
            arrivals("in a whole", parent("both", fast + slow), "rate(2/sec) even_arrivals(1 sec) pause(1 sec)"),
            arrivals("fails", request(*local, name="missing", path="/", below=element(
                "ResponseAssertion", "a", collection("Asserion.test_strings", "x"),
                whole("Assertion.test_type", 2), text("Assertion.test_field", "Assertion.response_data"))),
                "rate(5/sec) even_arrivals(1 sec) pause(1 sec)"),
            # By JMeter, in two steps, and by HttpClient; to the same page; not followed.
            group("moved", "".join(request(*local, flag("HTTPSampler.follow_redirects"), name=name, path=f"/{name}")
                                   for name in ("one", "two", "slash"))
                  + request(*local, flag("HTTPSampler.auto_redirects"), name="three", path="/three")
                  + request(*local, name="unfollowed", path="/one")
                  + request(*local, flag("HTTPSampler.follow_redirects"), name="post", path="/post")
                  .replace(">GET<", ">POST<"), loops=2),
        )  # fmt: skip
        agent = Agent(tmp_path / "run", plan).ended()
    groups = {one.name: one for one in agent.noted.groups}
    ends = {(one.label, one.asked, one.page): one.count for one in groups["moved"].redirects}
    assert ends == {
        ("one", "/one", "/login"): 2,
        ("two", "/two", "/login"): 2,
        ("three", "/three", "/login"): 2,
        ("unfollowed", "/one", "/between"): 2,
        ("post", "/post", "/cart"): 2,
    }
    assert not any(one.redirects for name, one in groups.items() if name != "moved")
    cut = {name: {one.label: one.count for one in counts.cut} for name, counts in groups.items() if counts.cut}
    closed = {name: {one.label: one.count for one in counts.closed} for name, counts in groups.items() if counts.closed}
    whole_cut = cut.pop("whole", {})
    assert cut == {
        "begun": {"some": 1},
        "none done": {"none": 2},
        "deep": {"outer": 1, "inner": 1},
        "in a whole": {"both": 2},
    }
    assert closed == {"open": {"slow": 5}, "in a whole": {"slow": 2}}
    # Each cut transaction is a row without a message, and no other row is.
    messages = {
        label: [row[4] for row in row_of(agent, label)] for label in ("some", "none", "whole", "both", "beside")
    }
    assert (messages["some"].count(""), messages["none"].count("")) == (1, 2)
    assert messages["whole"].count("") == sum(whole_cut.values())
    assert messages["beside"].count("") == 0 < len(messages["beside"])
