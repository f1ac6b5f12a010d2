"""Advice on elements that do in JMeter 5.6.3 what their names do not say; each was seen in a real run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from harness.plan.checks.checked import SET_COOKIE, Advice, Checked
from harness.plan.jmx.csv_data import KIND, KINDS, blank_line, is_head_data
from harness.plan.jmx.steps import includes_timers, may_be_cached
from harness.plan.jmx.tree import CODE, SAMPLER, SIDE_GROUPS, Node, has_http

# The GUI classes of the elements that an HTTP sampler takes its settings from: HTTPSamplerBase knows them by these.
_SEEN_BY_HTTP = frozenset((
    "AuthPanel", "CacheManagerGui", "CookiePanel", "DNSCachePanel", "HeaderPanel", "HttpDefaultsGui", "LoginConfigGui",
    "SimpleConfigGui", "TestBeanGUI",
))  # fmt: skip
_FOR_HTTP = ("AuthManager", "CacheManager", "CookieManager", "DNSCacheManager", "HeaderManager")
# Assertions that read the body, which a parent transaction does not have.
_READ_THE_BODY = (
    "HTMLAssertion", "JMESPathAssertion", "JSONPathAssertion", "MD5HexAssertion", "XMLAssertion", "XPath2Assertion",
    "XPathAssertion",
)  # fmt: skip
_CODE, _NOT, _PATTERNS = "Assertion.response_code", 4, "Asserion.test_strings"  # JMeter's own spelling
_HEADER = re.compile(r"(?im)^(etag|last-modified|expires|cache-control):[ \t]*(\S.*?)\s*$")
_NOT_KEPT = re.compile(r"(?i)no-cache|no-store|max-age\s*=\s*0\b")
_MAX_AGE = re.compile(r"(?i)max-age\s*=\s*[1-9]")
# A cookie with a value that a response deletes; one without a value JMeter deletes too.
_DELETED = re.compile(r"(?im)^set-cookie:\s*[^=;\s]+=[^;\s\"].*;\s*(?:max-age=0\b|expires=\w+, 01.jan.1970 00:00:00\b)")
_COUNTING = re.compile(r"\$\{__(?:counter|StringFromFile)\(|\$\{__CSVRead\([^()]*next")
_TRANSACTION = "TransactionController"
_PER_USER = "boolProp[@name='ThroughputController.perThread']"
_PARALLEL = "com.blazemeter.jmeter.controller.ParallelSampler"
_WEIGHTED = "com.blazemeter.jmeter.control.WeightedSwitchController"


def _blank_rows(checked: Checked) -> Iterator[str]:
    for node in checked.nodes:
        file = checked.values.csv_file(node) if node.kind == KIND else None
        if file and (line := blank_line(node, file)):
            yield f"{node.name} ({file.name}, line {line})"


def _heads_as_data(checked: Checked) -> Iterator[str]:
    for node in checked.nodes:
        file = checked.values.csv_file(node) if node.kind in KINDS else None
        if file and is_head_data(node, file):
            yield f"{node.name} ({file.name})"


def _cached_labels(checked: Checked) -> Iterator[str]:
    """Yield the requests of a pass that a Cache Manager answers from their second time on."""
    kept = {label for label, headers in checked.answers if _is_kept(headers)}
    for node in checked.samplers if checked.load.loops != 1 else ():
        if node.name in kept and may_be_cached(node):
            yield node.name


def _is_kept(headers: str) -> bool:
    """Return whether JMeter's cache keeps a response, for a year if it has nothing but an ETag."""
    values = {name.lower(): value for name, value in _HEADER.findall(headers)}
    control = values.get("cache-control", "")
    if _NOT_KEPT.search(control) or values.get("expires", "").strip() in ("0", "-1"):
        return False
    return bool(_MAX_AGE.search(control) or "etag" in values or "last-modified" in values)


def _untimed_transactions(checked: Checked) -> Iterator[str]:
    return (node.name for node in _transactions(checked) if is_untimed(node))


def is_untimed(node: Node) -> bool:
    """Return whether a transaction is within a parent sample, does not include pauses, and is not the last one in it.

    JMeter writes 0 ms for it.
    """
    if node.kind != _TRANSACTION or _is_parent_sample(node):
        return False
    outer = next((one for one in node.and_above() if one is not node and _is_parent_sample(one)), None)
    return outer is not None and not includes_timers(node) and _is_followed(node, outer)


def _is_followed(node: Node, outer: Node) -> bool:
    """Return whether a request of `outer` comes after an element."""
    inside = list(outer.walk())
    after = inside[inside.index(node) + 1 :]
    return any(SAMPLER.search(one.kind) and node not in one.and_above() for one in after)


def _failing_transactions(checked: Checked) -> Iterator[str]:
    for node in _transactions(checked):
        failing = next(filter(_reads_the_body, node.in_scope()), None)
        if failing and _is_parent_sample(node):
            yield f"{node.name} (by {failing.name})"


def _transactions(checked: Checked) -> list[Node]:
    return [node for node in checked.in_groups if node.kind == _TRANSACTION]


def _is_parent_sample(node: Node) -> bool:
    is_parent = node.value("TransactionController.parent") == "true"
    return node.kind == _TRANSACTION and node.is_enabled and is_parent


def _reads_the_body(node: Node) -> bool:
    """Return whether an assertion fails every sample without a body."""
    if node.kind != "ResponseAssertion":
        return node.kind in _READ_THE_BODY
    is_not = int(node.value("Assertion.test_type") or 0) & _NOT
    of_variable = node.value("Assertion.scope") == "variable"
    return not (is_not or of_variable or node.value("Assertion.test_field") == _CODE) and bool(_patterns(node))


def _patterns(node: Node) -> list[str]:
    found = node.element.find(f"collectionProp[@name='{_PATTERNS}']")
    return [] if found is None else [one.text or "" for one in found]


def _empty_assertions(checked: Checked) -> Iterator[str]:
    yield from (node.name for node in checked.nodes if node.kind == "ResponseAssertion" and not _patterns(node))


def _loops_once(checked: Checked) -> Iterator[str]:
    for node in _in_load(checked, "LoopController"):
        is_forever = node.element.findtext("boolProp[@name='LoopController.continue_forever']")
        if is_forever == "false" and checked.values.known(node.value("LoopController.loops")) != "1":
            yield node.name


def _repeated_once(checked: Checked) -> Iterator[str]:
    for node in _in_load(checked, "OnceOnlyController"):
        if any(one.kind == "LoopController" for one in node.and_above()):
            yield node.name


def _in_load(checked: Checked, kind: str) -> list[Node]:
    """Return the controllers of a kind in thread groups whose users begin again; those of setUp and tearDown do not."""
    return [node for node in checked.in_groups if node.kind == kind] if checked.load.loops != 1 else []


def _waits_for_ever(checked: Checked) -> Iterator[str]:
    for node in checked.nodes:
        group = node.thread_group
        if node.kind != "SyncTimer" or (group and group.kind in SIDE_GROUPS):
            continue
        size, limit_ms = (checked.values.known(node.value(name)) or "" for name in ("groupSize", "timeoutInMs"))
        load = checked.load_of(group) or checked.load
        users = math.inf if load.users is None else load.users
        if size.isdecimal() and int(size) > users and limit_ms in ("", "0"):
            yield f"{node.name} ({size} of {users} users)"


def _unseen_settings(checked: Checked) -> Iterator[str]:
    for node in checked.nodes:
        is_http = node.kind == "ConfigTestElement" and has_http(node)
        gui = node.element.get("guiclass", "").rpartition(".")[2]
        # A configuration element with another GUI was once that of another sampler.
        if (is_http and not gui) or (node.kind in _FOR_HTTP and gui not in _SEEN_BY_HTTP):
            yield node.name


def _catches_up(checked: Checked) -> Iterator[str]:
    """Yield the timers that send at once what their rate would have sent before their group began."""
    plan = next((node for node in checked.nodes if node.kind == "TestPlan"), None)
    is_serial = plan is not None and plan.value("TestPlan.serialize_threadgroups") == "true"
    has_setup = any(node.kind == "SetupThreadGroup" for node in checked.nodes)
    for node in checked.nodes:
        group = node.thread_group
        if node.kind == "PreciseThroughputTimer" and group in checked.groups:
            delay_s = checked.values.known(group.value("ThreadGroup.delay")) or "0"
            if has_setup or delay_s.strip() != "0" or (is_serial and group is not checked.groups[0]):
                yield node.name


def _shared_schedules(checked: Checked) -> Iterator[str]:
    """Yield all but the first Precise Throughput Timer of a thread group."""
    seen = set[str]()
    for node in checked.nodes:
        if node.kind == "PreciseThroughputTimer" and (group := node.thread_group):
            if group.name in seen:
                yield node.name
            seen.add(group.name)


def _parallel_transactions(checked: Checked) -> Iterator[str]:
    for node in _transactions(checked):
        if includes_timers(node) and not _is_parent_sample(node):
            continue
        if any(one.kind == _PARALLEL and one.value("PARENT_SAMPLE") != "true" for one in node.walk()):
            yield node.name


def _all_or_none(checked: Checked) -> Iterator[str]:
    """Yield the controllers that choose by count of a user who comes by once."""
    if checked.load.loops != 1 or not checked.has_several_users:
        return
    for node in checked.in_groups:
        is_percent = node.element.findtext("intProp[@name='ThroughputController.style']") == "1"
        is_share = node.kind == "ThroughputController" and node.element.findtext(_PER_USER) == "true" and is_percent
        is_choice = is_share or (node.kind == _WEIGHTED and node.value("IsRandomChoice") != "true")
        if is_choice and not any(one.kind in ("LoopController", "WhileController") for one in node.and_above()):
            yield node.name


def _lost_cookies(checked: Checked) -> Iterator[str]:
    """Yield the Header Managers whose cookie gives way to those that responses set or a Cookie Manager has."""
    are_set = any(SET_COOKIE.search(headers) for _, headers in checked.answers)
    lost: list[str] = []
    for node in checked.samplers:
        near = list(node.in_scope())
        if any(one.kind == "CookieManager" and (are_set or _has_cookie(one)) for one in near):
            lost += [one.name for one in near if one.kind == "HeaderManager" and _gives_cookie(one)]
    yield from dict.fromkeys(lost)


def _has_cookie(node: Node) -> bool:
    return any(one.get("elementType") == "Cookie" for one in node.element.iter("elementProp"))


def _gives_cookie(node: Node) -> bool:
    names = node.element.iterfind(".//stringProp[@name='Header.name']")
    return any((name.text or "").strip().lower() == "cookie" for name in names)


def _sent_twice(checked: Checked) -> Iterator[str]:
    for node in checked.samplers:
        has_parameters = any(one.get("elementType") == "HTTPArgument" for one in node.element.iter("elementProp"))
        is_body = node.value("HTTPSampler.postBodyRaw") == "true"
        if node.value("HTTPSampler.method") == "DELETE" and has_parameters and not is_body:
            yield node.name


def _counting_conditions(checked: Checked) -> Iterator[str]:
    conditions = ((node, node.value("WhileController.condition")) for node in checked.nodes)
    yield from (node.name for node, text in conditions if _COUNTING.search(text))


def _kept_cookies(checked: Checked) -> Iterator[str]:
    if any(node.kind == "CookieManager" for node in checked.nodes):
        yield from dict.fromkeys(label for label, headers in checked.answers if _DELETED.search(headers))


def _grabs(checked: Checked) -> Iterator[str]:
    yield from (node.name for node in checked.nodes if CODE.match(node.kind) and "@Grab" in node.value("script"))


JMETER_ADVICE = (
    Advice(
        "blank-row", "a data file has a blank line", _blank_rows,
        "JMeter takes it for the end of the file: one iteration gets <EOF> for its values, or the users end there",
        "remove the blank lines, also the last one",
    ),
    Advice(
        "header-row", "a data file begins with the names of its variables", _heads_as_data,
        "JMeter sends them as data, once in each pass through the file",
        "set Ignore first line to true, or leave Variable Names empty",
    ),
    Advice(
        "cached-label", "a Cache Manager answers a request from its second time on", _cached_labels,
        "the request is then neither sent nor counted; an ETag alone is kept for a year",
        "clear the cache in each iteration if each is a new visitor; else expect one request per user",
    ),
    Advice(
        "untimed-transaction", "a transaction without pauses is inside a parent sample", _untimed_transactions,
        "JMeter writes 0 ms for it when more requests follow, so its times and goals say nothing",
        "make it a parent sample too, or the outer one none",
    ),
    Advice(
        "failing-transaction", "an assertion on responses applies to a parent sample, which has none",
        _failing_transactions,
        "JMeter fails every one of these transactions: Response was null",
        "put the assertion below the requests that it is for",
    ),
    Advice(
        "empty-assertion", "a Response Assertion has no pattern", _empty_assertions,
        "it passes whatever the response is",
        "add a pattern, or remove it",
    ),
    Advice(
        "loop-once", "a Loop Controller has continue_forever false", _loops_once,
        "its users run it in their first iteration only; JMeter's editor writes true there",
        "set LoopController.continue_forever to true in the JMX, or save the plan in the editor",
    ),
    Advice(
        "repeated-once", "a Once Only Controller is inside a Loop Controller", _repeated_once,
        "it runs again in every iteration of its users",
        "move it out of the loop, directly into the thread group",
    ),
    Advice(
        "waiting-users", "a Synchronizing Timer waits for more users than there are", _waits_for_ever,
        "without a timeout its users wait until the load ends, and send nothing",
        "wait for fewer, or give it a timeout",
    ),
    Advice(
        "unseen-settings", "HTTP requests do not see an element, because of its guiclass", _unseen_settings,
        "HTTP samplers know such elements by the GUI class that JMeter's editor writes, and ignore others",
        "save the plan in JMeter's editor, or write the guiclass that it writes, such as HeaderPanel",
    ),
    Advice(
        "catching-up", "a Precise Throughput Timer is in a thread group that begins later than the test", _catches_up,
        "its rate counts from the beginning of the test: all requests of the time before are sent at once",
        "use a Constant Throughput Timer, or start the group at once",
    ),
    Advice(
        "shared-schedule", "a thread group has several Precise Throughput Timers", _shared_schedules,
        "they share one schedule, by the rate of the first that runs: together they have its rate, whatever they say",
        "use one timer for all steps, a Constant Throughput Timer, or several thread groups",
    ),
    Advice(
        "parallel-transaction", "a Parallel Controller is inside a transaction", _parallel_transactions,
        "JMeter writes the sum of its requests' times, and 0 ms for a parent sample, not the time that passed",
        "generate a parent sample in the Parallel Controller, and look at its row",
    ),
    Advice(
        "all-or-none", "a controller chooses by shares for each user, and a user runs once", _all_or_none,
        "all users choose the same: 50 % or less is never, more is always; of weights the greatest alone runs",
        "count over all users: Percent Executions without Per User, or a random choice",
    ),
    Advice(
        "lost-cookie", "a Header Manager has a Cookie header, and a Cookie Manager is there too", _lost_cookies,
        "JMeter does not send the header when the Cookie Manager has a cookie for the address",
        "add the cookie to the Cookie Manager, or remove one of the two",
    ),
    Advice(
        "sent-twice", "a DELETE request has parameters", _sent_twice,
        "JMeter sends them twice, in the address and as a body, which browsers and most clients do not",
        "write them into the path",
    ),
    Advice(
        "counting-condition", "the condition of a While Controller counts or reads on", _counting_conditions,
        "JMeter evaluates it twice before the first pass, so one pass fewer runs, or a row is lost",
        "use a Loop Controller or a Counter, and compare its variable",
    ),
    Advice(
        "kept-cookie", "a response deletes a cookie and gives it a value", _kept_cookies,
        "JMeter keeps the cookie and sends that value, because Max-Age=0 or 1 January 1970 is for it no end",
        "clear the cookies in each iteration, or remove it in a JSR223 PostProcessor",
    ),
    Advice(
        "grabbing-script", "a Groovy script has @Grab", _grabs,
        "JMeter has no Ivy, which downloads: the script ends its user at once, without a row",
        "list the coordinate in [jmeter] plugins of the plan, and remove @Grab",
    ),
)  # fmt: skip
