"""Names of variables that are sent in place of values, scripts and conditions that fail: these alone are counted."""

from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.agent_runs import Agent, answers, decides, group, tree
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


_BESIDE = ("PreProcessor", "PostProcessor", "Timer", "Listener")
_FAILING_FUNCTIONS = {
    "jexl3": "${__jexl3(1 +* 2)}",
    "jexl3, undefined": "${__jexl3(paid == 1)}",
    "jexl2": "${__jexl2(1 +* 2)}",
    "groovy": "${__groovy(nothing.x())}",
    "BeanShell": "${__BeanShell(nothing.x())}",
    "javaScript": "${__javaScript(nothing.x())}",
}
# Conditions by kind, and whether JMeter cannot read them.
_CONDITIONS = {
    "If": {
        "${__jexl3(1 == 1)}": 0, "${__jexl3(1 == 2)}": 0, "${later}": 0, "${__P(debug)}": 0, "${__P(debug,)}": 0,
        "${__P(debug,no)}": 0, "TRUE": 0, "NOT_FOUND": 0,
        "${__jexl3(1 =* 2)}": 1, "${__jexl3(paid == 1)}": 1, "${__groovy(nothing.x())}": 1, "${__jexel3(1 == 1)}": 1,
        '"${later}" == "1"': 1, "1 == 1": 1, "${__P(debug,yes)}": 1,
    },
    "While": {
        "": 0, "LAST": 0, "${later}": 0, '${__jexl3("${later}" != "3")}': 0,
        "${__jexl3(1 =* 2)}": 1, "${__jexel3(1 == 1)}": 1, '"${later}" != "3"': 1,
    },
    "Switch": {"": 0, "1": 0, "second": 0, "another": 0,
               "${__groovy(nothing.x())}": 1, "${__jexel3(1)}": 1, "${which}": 1},
}  # fmt: skip
_CODE = {"1 == 1": 0, "1 == 2": 0, '"${later}" == "1"': 0, "paid == 1": 1, "${later} == 1": 1, "1": 1}


def test_scripts_functions_and_conditions_of_all_kinds_are_counted_that_fail_and_no_others(tmp_path):
    kinds = [f"{language}{what}" for language in ("JSR223", "BeanShell") for what in _BESIDE]
    scripts = "".join(answers("ok", kind, below=script(kind, kind, "nothing.x();")) for kind in kinds)
    scripts += "".join(answers("ok", "fine", below=script(kind, kind, "return 0;")) for kind in kinds)
    assertions = ("JSR223Assertion", "BeanShellAssertion")
    scripts += "".join(answers("ok", kind, below=script(kind, kind, "nothing.x();")) for kind in assertions)
    functions = "".join(answers("ok", name, sent=text) for name, text in _FAILING_FUNCTIONS.items())
    functions += answers("ok", "fine", sent="${__jexl3(vars.remove('x'))}${__groovy(1 + 1)}")
    stops = script("JSR223PostProcessor", "stops", "prev.setStopThread(true)")
    groups = [group("beside", scripts + functions, loops=2)]
    expected = {}
    each = [
        (kind, condition, is_bad, False) for kind, all_ in _CONDITIONS.items() for condition, is_bad in all_.items()
    ]
    each += [("If", condition, is_bad, True) for condition, is_bad in _CODE.items()]
    for at, (kind, condition, is_bad, is_code) in enumerate(each):
        steps = answers("x", "first", below=stops) + answers("x", "second")
        groups.append(group(f"{at}", decides(kind, kind, condition, steps, is_code=is_code)))
        expected[f"{at}"] = bool(is_bad)
    agent = Agent(tmp_path / "run", tree(*groups)).ended()
    counted = {one.name: one for one in agent.noted.groups}
    failed = {one.label: one.count for one in counted["beside"].script_failed}
    assert failed == dict.fromkeys([*kinds, *_FAILING_FUNCTIONS], 2)
    rows = [row.split(",") for row in agent.rows]
    assert {row[2] for row in rows if row[6] == "false"} == set(assertions)
    assert {name: bool(counted[name].bad_conditions) for name in expected} == expected
    assert all(counted[name].conditions for name in expected)
