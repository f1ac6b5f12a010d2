"""JMeter is warmed before the load, and nothing of that is left: requests, rows, variables, files and counts."""

from __future__ import annotations

import contextlib
import json
import re

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.metrics.amounts import LOOKUPS, WRITTEN, read_amounts
from harness.metrics.interval import IntervalMs
from harness.report.setup import setup_lines
from harness.run.record import WarmUpRecord
from tests.support.factories import record
from tests.support.sampler_plans import (
    SPECIAL,
    Request,
    all_plan,
    assert_alike,
    bad_certificate,
    case_requests,
    element_of,
    group_of,
    lean_option,
    plan_of,
    property_of,
    request_counts,
    sampler_of,
    sides_of,
)

_WARM = "-Dharness.warm=4"
_SCRIPT = """\
def file = new File('calls.txt'); file << "called\\n"
props.put('calls', (props.get('calls') ?: '0').toInteger() + 1 as String)
vars.put('calls', props.get('calls')); log.error('from the script')
"""


def _script(kind: str) -> str:
    return element_of(
        kind,
        "script",
        property_of("scriptLanguage", "groovy")
        + property_of("cacheKey", "true")
        + property_of("script", _SCRIPT + "if (vars.get('calls') == '2') throw new Exception('of the script')"),
    )


def _stateful_plan() -> str:
    """Return a plan with everything that remembers: counters, a seed, a file, a script, cookies, extractors."""
    counter = {"start": "1", "incr": "1", "name": "round", "per_user": "false"}
    seeded = {"variableName": "chance", "minimumValue": "1", "maximumValue": "999999", "randomSeed": "42"}
    rows = {"filename": "rows.csv", "variableNames": "row", "delimiter": ",", "shareMode": "shareMode.all"}
    before = element_of("CounterConfig", "c", "".join(property_of(f"CounterConfig.{k}", v) for k, v in counter.items()))
    before += element_of("RandomVariableConfig", "r", "".join(property_of(*pair) for pair in seeded.items()))
    before += element_of(
        "CSVDataSet",
        "d",
        "".join(property_of(*pair) for pair in rows.items()) + property_of("recycle", "true", "boolProp"),
    )
    extract = {"refname": "found", "regex": "(.{3})", "template": "$1$", "default": "none"}
    after = element_of(
        "RegexExtractor", "e", "".join(property_of(f"RegexExtractor.{k}", v) for k, v in extract.items())
    )
    json_path = {"referenceNames": "path", "jsonPathExprs": "$.a", "match_numbers": "1", "defaultValues": "none"}
    after += element_of(
        "JSONPostProcessor", "j", "".join(property_of(f"JSONPostProcessor.{k}", v) for k, v in json_path.items())
    )
    after += element_of(
        "ResponseAssertion",
        "a",
        '<collectionProp name="Asserion.test_strings"><stringProp name="1">not ${found}</stringProp></collectionProp>'
        + property_of("Assertion.test_field", "Assertion.response_data")
        + property_of("Assertion.test_type", "16", "intProp"),
    )
    texts = "${round} ${chance} ${row} ${found} ${path} ${__counter(FALSE,)} ${__P(calls,none)} ${calls}"
    first = sampler_of(Request("cookies", "/cookies?${__counter(FALSE,)}", headers=[("X-Texts", texts)]))
    body = Request(f"{texts}", "/simple?a=${chance}", "POST", f"body {texts} ${{__setProperty(set,${{round}},)}}")
    second = sampler_of(body).replace("<hashTree></hashTree>", f"<hashTree>{after}</hashTree>", 1)
    transaction = element_of(
        "TransactionController", "both", property_of("TransactionController.parent", "true", "boolProp"), first + second
    )
    loop = element_of("OnceOnlyController", "once", "", _script("JSR223Sampler")) + transaction
    return plan_of(group_of("all", before + _script("JSR223PreProcessor") + loop, loops=6))


@pytest.mark.real
@pytest.mark.counterpart
def test_requests_and_results_are_the_same_with_and_without_a_warm_up(tmp_path):
    plan = all_plan([*case_requests(), *SPECIAL])
    cold, lean = sides_of(
        tmp_path, plan, {"cold": lean_option(), "lean": f"{lean_option()} {_WARM}"}, bad_certificate(tmp_path)
    )
    assert_alike(cold, lean)
    done = json.loads((tmp_path / "lean" / ".warm-up.json").read_text())
    assert done["requests"] > 0
    counts = [json.loads((tmp_path / name / ".http-requests.json").read_text()) for name in ("cold", "lean")]
    assert counts[0] == counts[1] == request_counts(tmp_path)


@pytest.mark.real
def test_a_warm_up_leaves_no_counter_seed_file_cookie_property_or_line_of_the_log(tmp_path):
    files = {"rows.csv": "one\ntwo\nthree\n"}
    lean = f"{lean_option()} -Dharness.exchanges=failures -Dharness.scripts=true"
    options = {"cold": lean, "lean": f"{lean} {_WARM}"}
    cold, warm = sides_of(tmp_path, _stateful_plan(), options, files=files)
    assert_alike(cold, warm)
    assert len(cold.requests) == 12
    assert len({data for _, data in cold.requests}) == 12
    assert json.loads((tmp_path / "lean" / ".warm-up.json").read_text())["requests"] > 0
    texts = []
    for name in options:
        folder = tmp_path / name
        log = (folder / "jmeter.log").read_text().splitlines()
        severe = [line.split(" ", 3)[-1] for line in log if re.search(r" (WARN|ERROR|FATAL) ", line)]
        failures = [json.loads(line) for line in (folder / ".exchanges.jsonl").read_text().splitlines()]
        causes = [(one["label"], one["failure"], one["request_body"]) for one in failures]
        # A look-up of a name, and writing a request, is noted where it takes a millisecond or more.
        with contextlib.suppress(FileNotFoundError), (folder / "amounts.csv").open() as lines:
            noted = read_amounts(lines, IntervalMs(0, 2**63))
            assert {one.kind for one in noted} <= {LOOKUPS, WRITTEN}
            assert sum(one.count for one in noted) <= 2 * len(warm.requests)
        left = sorted(path.name for path in folder.iterdir() if path.name not in (".warm-up.json", "amounts.csv"))
        texts.append(((folder / "calls.txt").read_text(), severe, causes, left))
    assert texts[0] == texts[1]


@pytest.mark.counterpart
def test_the_pass_of_a_check_is_not_warmed(tmp_path):
    options = {"lean": f"{lean_option()} {_WARM} -Dharness.exchanges=all"}
    (side,) = sides_of(tmp_path, plan_of(group_of("all", sampler_of(Request("one", "/simple")))), options)
    assert len(side.results) == len(side.requests) == 1
    assert len((tmp_path / "lean" / ".exchanges.jsonl").read_text().splitlines()) == 1
    assert not (tmp_path / "lean" / ".warm-up.json").exists()


@pytest.mark.counterpart
def test_a_plan_of_400_requests_is_warmed_and_sends_each_once(tmp_path):
    requests = [Request(f"{number}", f"/simple?{number}") for number in range(400)]
    options = {"cold": lean_option(), "lean": f"{lean_option()} {_WARM}"}
    cold, warm = sides_of(tmp_path, plan_of(group_of("all", "".join(map(sampler_of, requests)))), options)
    assert_alike(cold, warm)
    assert len(warm.requests) == 400
    assert json.loads((tmp_path / "lean" / ".warm-up.json").read_text())["requests"] > 0


@pytest.mark.counterpart
def test_a_plan_without_http_requests_is_not_warmed(tmp_path):
    options = {"cold": lean_option(), "lean": f"{lean_option()} {_WARM}"}
    cold, warm = sides_of(tmp_path, plan_of(group_of("all", _script("JSR223Sampler"))), options)
    assert len(cold.results) == 1
    assert_alike(cold, warm)
    done = json.loads((tmp_path / "lean" / ".warm-up.json").read_text())
    assert done == {"problem": "the plan has no HTTP requests"}


@pytest.mark.counterpart
def test_a_warm_up_that_cannot_be_made_leaves_jmeter_cold_and_says_so(tmp_path):
    """Its requests would go through the proxy that the whole JVM uses."""
    proxy = "-Dhttp.proxyHost=192.0.2.1 -Dhttp.proxyPort=1"
    cold, warm = sides_of(
        tmp_path,
        plan_of(group_of("all", sampler_of(Request("one", "/simple")))),
        {"cold": f"{lean_option()} {proxy}", "lean": f"{lean_option()} {proxy} {_WARM}"},
    )
    assert_alike(cold, warm)
    done = json.loads((tmp_path / "lean" / ".warm-up.json").read_text())
    assert done == {"problem": "its requests would go through a proxy"}


@pytest.mark.parametrize(
    ("warm_up", "shown"),
    [
        (
            WarmUpRecord(1234, 0.3),
            "1234 requests like the plan's, within JMeter, in 0.3 s before the load",
        ),
        (WarmUpRecord(problem="a reason"), "none, JMeter ran cold: a reason"),
        (None, None),
    ],
)
def test_the_set_up_of_a_report_says_how_jmeter_was_warmed(warm_up, shown):
    assert dict(setup_lines(record(warm_up=warm_up))).get("warm-up") == shown


def test_a_warm_up_of_an_unknown_length_is_refused():
    with pytest.raises(UsageError, match=r"^--warm=long: not a"):
        main(["run", "lb-direct", "--warm", "long"], "lth")
