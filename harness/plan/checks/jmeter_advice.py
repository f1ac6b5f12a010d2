"""Advice on elements that do in JMeter 5.6.3 what their names do not say; each was seen in a real run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice

from harness.plan.checks.checked import Advice, Checked
from harness.plan.jmx.csv_data import KIND
from harness.plan.jmx.tree import SAMPLER, SIDE_GROUPS, Node

_ROWS_READ_MOST = 1_000_000
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


def _blank_rows(checked: Checked) -> Iterator[str]:
    """Yield the data files with a blank line that JMeter takes for their end; with quotes it is a row of nothing."""
    for node in checked.nodes:
        file = checked.values.csv_file(node) if node.kind == KIND and node.value("quotedData") != "true" else None
        if file is None or not file.is_file():
            continue
        with file.open("rb") as lines:
            blank = [not line.strip(b"\r\n") for line in islice(lines, _ROWS_READ_MOST)]
        while blank and blank[-1] and node.value("recycle") != "true":  # the end is where it seems to be
            blank.pop()
        if True in blank:
            yield f"{node.name} ({file.name}, line {blank.index(True) + 1})"


def _cached_labels(checked: Checked) -> Iterator[str]:
    """Yield the requests of a pass that a Cache Manager answers from their second time on."""
    kept = {label for label, headers in checked.answers if _is_kept(headers)}
    for node in checked.samplers if checked.load.loops != 1 else ():
        if node.name in kept and node.value("HTTPSampler.method") in ("", "GET"):
            caches = [one for level in node.and_above() for one in level.children if one.kind == "CacheManager"]
            caches = [one for one in caches if one.is_enabled and one.value("useExpires") == "true"]
            if any(one.value("clearEachIteration") != "true" for one in caches[:1]) and _keeps_users(node, caches[0]):
                yield node.name


def _is_kept(headers: str) -> bool:
    """Return whether JMeter's cache keeps a response, for a year if it has nothing but an ETag."""
    values = {name.lower(): value for name, value in _HEADER.findall(headers)}
    control = values.get("cache-control", "")
    if _NOT_KEPT.search(control) or values.get("expires", "").strip() in ("0", "-1"):
        return False
    return bool(_MAX_AGE.search(control) or "etag" in values or "last-modified" in values)


def _keeps_users(node: Node, cache: Node) -> bool:
    """Return whether a user of the next iteration has the cache of the one before."""
    group = node.thread_group
    is_same = group is not None and group.value("ThreadGroup.same_user_on_next_iteration") == "true"
    return is_same or cache.value("CacheManager.controlledByThread") != "true"


def _untimed_transactions(checked: Checked) -> Iterator[str]:
    """Yield transactions within a parent sample that do not include pauses, and are not the last one in it."""
    for node in _transactions(checked):
        outer = next((one for one in node.and_above() if one is not node and _is_parent_sample(one)), None)
        is_without_pauses = node.value("TransactionController.includeTimers") == "false"
        if outer and is_without_pauses and not _is_parent_sample(node) and _is_followed(node, outer):
            yield node.name


def _is_followed(node: Node, outer: Node) -> bool:
    """Return whether a request of `outer` comes after an element."""
    inside = list(outer.walk())
    after = inside[inside.index(node) + 1 :]
    return any(SAMPLER.search(one.kind) and node not in one.and_above() for one in after)


def _failing_transactions(checked: Checked) -> Iterator[str]:
    for node in _transactions(checked):
        beside = [one for level in node.and_above() for one in level.children if one.is_enabled]
        failing = next((one for one in beside if _reads_the_body(one)), None)
        if failing and _is_parent_sample(node):
            yield f"{node.name} (by {failing.name})"


def _transactions(checked: Checked) -> list[Node]:
    return [node for group in checked.groups for node in group.walk() if node.kind == "TransactionController"]


def _is_parent_sample(node: Node) -> bool:
    is_parent = node.value("TransactionController.parent") == "true"
    return node.kind == "TransactionController" and node.is_enabled and is_parent


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
    groups = checked.groups if checked.load.loops != 1 else []
    return [node for group in groups for node in group.walk() if node.kind == kind]


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
        is_http = node.kind == "ConfigTestElement" and any(
            (prop.get("name") or "").startswith("HTTPSampler.") for prop in node.element
        )
        gui = node.element.get("guiclass", "").rpartition(".")[2]
        # A configuration element with a GUI of its own was once another sampler's.
        if (is_http and not gui) or (node.kind in _FOR_HTTP and gui not in _SEEN_BY_HTTP):
            yield node.name


JMETER_ADVICE = (
    Advice(
        "blank-row", "a data file has a blank line", _blank_rows,
        "JMeter takes it for the end of the file: one iteration gets <EOF> for its values, or the users end there",
        "remove the blank lines, also the last one",
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
)  # fmt: skip
