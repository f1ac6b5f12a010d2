"""Requests that HttpClient sends again after a failed connection: no row has the failure, so they are counted."""

from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.agent_runs import Agent, group, tree
from tests.support.local_server import serving
from tests.support.off_host import host, request, text

pytestmark = pytest.mark.real


class Hangs(BaseHTTPRequestHandler):
    """A server that closes every second connection without an answer."""

    count = 0

    def do_GET(self):
        type(self).count += 1
        self.close_connection = True
        if type(self).count % 2 == 0:
            self.send_response(204)
            self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("retries", [pytest.param(0, marks=pytest.mark.counterpart), 1])
def test_requests_that_the_client_sends_again_are_counted_by_label_and_their_rows_are_successes(tmp_path, retries):
    Hangs.count = 0
    with serving(Hangs) as port:
        pay = request(host("127.0.0.1"), text("HTTPSampler.port", str(port)), name="Pay")
        plan = tree(group("repeats", pay, loops=4))
        agent = Agent(tmp_path / "run", plan, f"-Jhttpclient4.retrycount={retries}").ended()
    (counts,) = agent.noted.groups
    assert [(one.label, one.count) for one in counts.repeated] == ([("Pay", 4)] if retries else [])
    assert [row[3] for row in [row.split(",") for row in agent.rows]].count("204") == (4 if retries else 2)
