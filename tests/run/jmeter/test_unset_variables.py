"""Names of variables that are sent in place of values, and scripts that fail: the agent counts these alone."""

from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.agent_runs import Agent, answers, group, tree
from tests.support.local_server import serving
from tests.support.off_host import element, flag, host, request, script, text, variables

pytestmark = pytest.mark.counterpart


class Takes(BaseHTTPRequestHandler):
    """Answers all requests but those of /no with an empty 204."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(400 if self.path.startswith("/no") else 204)
        self.end_headers()

    do_POST = do_GET  # noqa: N815 - the names of http.server

    def log_message(self, *_):
        pass


def body(sent):
    value = text("Argument.value", sent) + '<boolProp name="HTTPArgument.always_encode">false</boolProp>'
    argument = f'<elementProp name="" elementType="HTTPArgument">{value}</elementProp>'
    arguments = f'<collectionProp name="Arguments.arguments">{argument}</collectionProp>'
    return (
        flag("HTTPSampler.postBodyRaw")
        + f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments">{arguments}</elementProp>'
    )


def header(value):
    props = text("Header.name", "X-Id") + text("Header.value", value)
    one = f'<elementProp name="" elementType="Header">{props}</elementProp>'
    return element("HeaderManager", "Headers", f'<collectionProp name="HeaderManager.headers">{one}</collectionProp>')


def test_names_that_are_sent_and_scripts_that_fail_are_counted_by_label_and_no_others(tmp_path):
    def to(name, path="/", *props, below=""):
        return request(
            host("127.0.0.1"), text("HTTPSampler.port", str(port)), *props, name=name, path=path, below=below
        )

    fails = script("JSR223PreProcessor", "Fails", "vars.put('payload', nothing.toString())")
    after = script("JSR223PostProcessor", "After", "prev.nothing()")
    timer = script("JSR223Timer", "Timer", "nothing.toString()")
    reads = script("JSR223PreProcessor", "Reads", "def own = 1; vars.put('path', \"a${own}\")")
    post = body('{"id": "${payload}"}')
    skipped = element("IfController", "If", text("IfController.condition", '"${asked}" == "1"'), below=answers("x"))
    with serving(Takes) as port:
        steps = (
            to("URL", "/?u=${__urlencode(${user})}"),
            to("Body", "/", post, below=fails).replace(">GET<", ">POST<"),
            to("Header", below=header("${token}")),
            answers("ok", "Java", sent="${order}"),
            # Not sent: read by logic, set in time, of a script, or in a failure.
            skipped,
            to("Set", "/${path}", below=reads),
            script("JSR223Sampler", "Code", "def mine = 2; SampleResult.setSamplerData(\"${mine} \" + '$' + '{mine}')"),
            to("Fails", "/no?u=${__urlencode(${user})}", below=after),
            to("After", below=after + timer),
            to("Known", "/?u=${__urlencode(${known})}"),
        )
        plan = tree(variables(known="$[x]"), group("unset", "".join(steps), loops=2))
        agent = Agent(tmp_path / "run", plan).ended()
    (counts,) = agent.noted.groups
    found = {(one.label, one.variable): one for one in counts.extractions}
    assert set(found) == {("URL", "user"), ("Body", "payload"), ("Header", "token"), ("Java", "order")}
    assert {(one.extractor, one.count, one.missed_count, one.sent_unset_count) for one in found.values()} == {
        ("", 2, 2, 2)
    }
    assert all(one.default == f"${{{one.variable}}}" for one in found.values())
    assert {one.label: one.count for one in counts.script_failed} == {"Body": 2, "After": 4}
