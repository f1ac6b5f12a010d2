"""Finds what makes the load of a plan unlike that of real users: advice, which never refuses a plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name
from harness.plan.checks.checked import SET_COOKIE, Advice, Checked, sending_in
from harness.plan.checks.jmeter_advice import JMETER_ADVICE
from harness.plan.checks.lint import SCRIPT_CHECK
from harness.plan.jmx.csv_data import KINDS, row_count
from harness.plan.jmx.tree import CODE, SIDE_GROUPS, Node, has_http
from harness.plan.jmx.values import Values
from harness.plan.load.groups import GroupLoad

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ID = re.compile(rf"\d{{3,}}|{_UUID}")
_ID_VALUE = re.compile(rf"\d+|{_UUID}")
_ID_NAME = re.compile(r"(?:.*[_.-])?(?:id|uuid)|.*[a-z]I[dD]")
_SENDING = ("POST", "PUT", "PATCH")
_LOGIN = re.compile(r"(?i)passw(or)?d|passwd|pwd")
_DELAYS = re.compile(r"(?i)delay|range|duration|pause")
_SCRIPT_PAUSE = re.compile(r"\bsleep\s*\(")
_NOT_OF_CONTENT = ("Assertion.response_code", "Assertion.response_message")
_PAUSE = "1"
# Pages of Faces, by the usual endings; findings/faces-post-without-state-succeeds.sh shows what their forms need.
_FACES_PAGE = re.compile(r"\.(?:xhtml|jsf|faces)(?=$|[;?])")
_FACES_NAMES, _VIEW_STATE = ("jakarta.faces.", "javax.faces."), "faces.ViewState"
# The property with the default of an extractor that else keeps its variable when it finds nothing, by the kind of the
# extractor. Another one, with the ending _empty_value, chooses an empty default. Other kinds always set theirs.
_DEFAULTS = {
    "RegexExtractor": "RegexExtractor.default",
    "BoundaryExtractor": "BoundaryExtractor.default",
    "HtmlExtractor": "HtmlExtractor.default",
}


class AdviceSource(NamedTuple):
    """An advice that is given, with the places."""

    advice: Advice
    places: tuple[str, ...]


def _without_pause(checked: Checked) -> Iterator[str]:
    for group in checked.groups:
        load = checked.load_of(group) or checked.load
        samplers = sending_in(group)
        is_short = isinstance(load, GroupLoad) and load.is_open and len(samplers) == 1  # a user sends one request
        has_rate = load.think_time_s or load.is_paced or (isinstance(load, GroupLoad) and load.is_shaped)
        scope = [*group.walk(), *(group.parent.children if group.parent else ())]
        is_test = checked.load.users == 1 and checked.load.loops is not None  # it sends each request a few times
        if (
            samplers
            and not is_short
            and not is_test
            and not has_rate
            and not any(_pauses(node, checked.values) for node in scope)
        ):
            yield group.name


def _pauses(node: Node, values: Values) -> bool:
    """Return whether an element pauses its user: a delay that only the run knows counts as one."""
    if CODE.search(node.kind) and any(_SCRIPT_PAUSE.search(text) for text in node.element.itertext()):
        return True
    is_pause = node.kind == "TestAction" and node.value("ActionProcessor.action") == _PAUSE
    if not node.is_enabled or not (is_pause or (node.kind.endswith("Timer") and node.kind != "SyncTimer")):
        return False
    delays = [prop.text or "" for prop in node.element if _DELAYS.search(prop.get("name", ""))]
    return not delays or any((values.known(text) or "1").strip(" 0.") for text in delays if text)


def _at_once(checked: Checked) -> Iterator[str]:
    load = checked.load
    if not load.loads and load.users > 1 and not load.ramp_s(load.users) and not load.is_paced:
        yield f"{load.users} users"
    for one in load.loads:
        if (one.users or 0) > 1 and not (one.ramp_s or one.is_shaped or one.is_paced):
            yield f"{one.group}: {one.users} users"


def _same_data(checked: Checked) -> Iterator[str]:
    """Yield requests that log every user in as the same, and if no request sends anything else, all that send data."""
    sending = [
        node for node in checked.samplers if node.value("HTTPSampler.method") in _SENDING and any(_sent(node).values())
    ]
    parts = {id(node): (node.value("HTTPSampler.path"), *_sent(node).values()) for node in sending}
    same = [node for node in sending if all(checked.is_same_for_all(text) for text in parts[id(node)])]
    if not checked.has_several_users:
        return
    logins = [node for node in same if any(_LOGIN.search(name + text) for name, text in _sent(node).items())]
    yield from (node.name for node in (same if len(same) == len(sending) else logins))


def _sent(node: Node) -> dict[str, str]:
    """Return the parameters of a request by name; a body is the one without a name."""
    values = (prop for prop in node.element.iter("elementProp") if prop.get("elementType") == "HTTPArgument")
    return {
        prop.findtext("stringProp[@name='Argument.name']", ""): prop.findtext("stringProp[@name='Argument.value']", "")
        for prop in values
    }


def _same_ids(checked: Checked) -> Iterator[str]:
    for node in checked.samplers if checked.has_several_users else ():
        raw = node.value("HTTPSampler.path")
        path, _, query = (checked.values.known(raw) or raw).partition("?")
        pairs = [pair.partition("=")[::2] for pair in query.split("&")] + list(_sent(node).items())
        ids = [part for part in path.split("/") if _ID.fullmatch(part)]
        known = ((name, checked.values.known(text) or "") for name, text in pairs if not is_secret_name(name))
        ids += [f"{name}={text}" for name, text in known if _ID_NAME.fullmatch(name) and _ID_VALUE.fullmatch(text)]
        if ids:
            yield f"{node.name} ({ids[0]})"


def _without_cookies(checked: Checked) -> Iterator[str]:
    if not any(node.kind == "CookieManager" for node in checked.nodes):
        yield from dict.fromkeys(label for label, headers in checked.answers if SET_COOKIE.search(headers))


def _without_cache(checked: Checked) -> Iterator[str]:
    if not any(node.kind == "CacheManager" for node in checked.nodes):
        yield from (node.name for node in checked.samplers if node.value("HTTPSampler.image_parser") == "true")


def _unread_answers(checked: Checked) -> Iterator[str]:
    """Yield the HTTP requests of a load in which nothing reads what a response contains."""
    of_load = [node for node in checked.nodes if not (node.thread_group and node.thread_group.kind in SIDE_GROUPS)]
    if not any(_reads_content(node) for node in of_load):
        yield from (node.name for node in checked.samplers if has_http(node))


def _reads_content(node: Node) -> bool:
    if CODE.search(node.kind) and any(SCRIPT_CHECK.search(text) for text in node.element.itertext()):
        return True
    is_about_code = node.kind == "ResponseAssertion" and node.value("Assertion.test_field") in _NOT_OF_CONTENT
    return "Assertion" in node.kind and node.kind != "DurationAssertion" and not is_about_code


def _endless(checked: Checked) -> Iterator[str]:
    """Yield the loops that only an error ends: in setUp, in tearDown, and in a load that no duration ends."""
    is_timed = checked.load.loads or checked.load.duration_s
    for node in checked.nodes:
        group = node.thread_group
        if group is None or (is_timed and group.kind not in SIDE_GROUPS):
            continue
        if group.value("ThreadGroup.scheduler") == "true" and group.value("ThreadGroup.duration"):
            continue
        loops = checked.values.known(node.value("LoopController.loops")) or ""
        is_loop = node.kind == "LoopController" or node.kind in SIDE_GROUPS
        condition = checked.values.known(node.value("WhileController.condition"))
        has_end = any(one.kind == "TestAction" and one.value("ActionProcessor.action") != _PAUSE for one in node.walk())
        is_endless = (is_loop and loops.strip() == "-1") or (node.kind == "WhileController" and condition == "true")
        if is_endless and not has_end:
            yield node.name


def _few_rows(checked: Checked) -> Iterator[str]:
    """Yield the data files whose rows are divided among the users; others each user reads from the beginning."""
    for node in checked.nodes:
        group, load = node.thread_group, checked.load_of(node.thread_group) or checked.load
        is_own = node.value("shareMode") == "shareMode.thread" or node.value("independentListPerThread") == "true"
        if node.kind in KINDS and not is_own and not (group and group.kind in SIDE_GROUPS):
            rows = row_count(node, checked.values.csv_file(node), load.users or 0)
            if rows is not None and rows < (load.users or 0):
                yield f"{node.name} ({rows} for {load.users} users)"


def _stale_extractors(checked: Checked) -> Iterator[str]:
    for node in checked.nodes:
        name = _DEFAULTS.get(node.kind, "")
        if name and not node.value(name).strip() and node.value(f"{name}_empty_value") != "true":
            yield node.name


def _without_view_state(checked: Checked) -> Iterator[str]:
    """Yield the requests that send a form of Faces, with names such as form:name, without the state of its page."""
    for node in checked.samplers:
        names, is_page = list(_sent(node)), _FACES_PAGE.search(node.value("HTTPSampler.path"))
        is_form = any(name.startswith(_FACES_NAMES) or (is_page and ":" in name) for name in names)
        has_state = any(name.endswith(_VIEW_STATE) or "${" in name for name in names)
        if node.value("HTTPSampler.method") == "POST" and is_form and not has_state:
            yield node.name


ADVICE = (
    Advice(
        "no-think-time", "users do not pause between requests", _without_pause,
        "a few users without pauses load a system like many real ones, with fewer sessions and connections",
        "set think_time_s under [load], or add a timer; for a stress test silence this",
    ),
    Advice(
        "no-ramp", "all users start at once", _at_once,
        "the first seconds measure a burst of log-ins and cold caches, which no working day has",
        "set ramp_per_user_s under [load], or ramp_s under [[load]]",
    ),
    Advice(
        "same-data", "every user sends the same data", _same_data,
        "one account or record is cached and locked as those of many users are not",
        "take the values from a CSV Data Set with a row per user",
    ),
    Advice(
        "constant-id", "every user requests the same id", _same_ids,
        "the same record is answered from caches, so a database does less work than in reality",
        "take the id from a CSV Data Set, or extract it from an earlier response",
    ),
    Advice(
        "no-cookies", "responses set cookies, which no user sends back", _without_cookies,
        "each request can begin a new session, which a browser's does not",
        "add an HTTP Cookie Manager",
    ),
    Advice(
        "no-cache", "embedded files are loaded each time", _without_cache,
        "a browser loads most files once, so the load of static files is too high",
        "add an HTTP Cache Manager",
    ),
    Advice(
        "unread-answer", "no assertion reads what a response contains", _unread_answers,
        "an error page or a log-in form with code 200 counts as a fast success",
        "add a Response Assertion on a text that only the right answer has",
    ),
    Advice(
        "endless-loop", "a loop ends only with an error", _endless,
        "the run does not end by itself",
        "give the loop a count, or the load a duration",
    ),
    Advice(
        "few-rows", "a data file has fewer rows than there are users", _few_rows,
        "users share rows, so several work as the same user or with the same record",
        "add rows, or run with fewer users",
    ),
    Advice(
        "stale-extractor", "an extractor without a default keeps the value of an earlier response", _stale_extractors,
        "after a response without the value the next request sends an earlier one, and does not fail",
        "give it a default that no response contains, such as NOT_FOUND, unless the plan relies on the earlier value",
    ),
    Advice(
        "no-view-state", "a form of Faces (JSF) is sent without its ViewState", _without_view_state,
        "the server answers with the page and code 200, and does nothing that the form is for",
        "extract faces.ViewState from the page before, and send it",
    ),
    *JMETER_ADVICE,
)  # fmt: skip
_CODES = tuple(advice.code for advice in ADVICE)


def advice_for(checked: Checked, silenced: Collection[str]) -> tuple[AdviceSource, ...]:
    """Return the advice for a plan, without the silenced codes."""
    given = (AdviceSource(one, tuple(one.found_in(checked))) for one in ADVICE if one.code not in silenced)
    return tuple(one for one in given if one.places)


def parse_silenced(codes: Sequence[str], where: str) -> tuple[str, ...]:
    """Return the codes that a plan silences; UsageError for an unknown one."""
    for code in codes:
        if code not in _CODES:
            raise UsageError(f"{where}: {code}", f"{did_you_mean(code, _CODES)}there are: {', '.join(_CODES)}")
    return tuple(codes)
