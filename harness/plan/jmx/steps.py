"""Finds the steps of a test plan: the labels that the results of a run must have, and those that logic may skip."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.plan.jmx.conditions import ConditionVariables
from harness.plan.jmx.data_files import file_names_of
from harness.plan.jmx.elements import Effect, class_of, effect_of
from harness.plan.jmx.modules import with_modules
from harness.plan.jmx.think_time import is_pause
from harness.plan.jmx.tree import (
    CODE,
    LOAD_GROUP,
    SAMPLER,
    Node,
    enabled_nodes,
    has_http,
    is_own_enabled,
    load_groups,
    plan_tree,
)
from harness.plan.jmx.values import Values

# Controllers that run each of their steps in the first iteration of a user.
_RUN_ALL = tuple(
    f"{name}Controller"
    for name in (
        "Generic", "Recording", "Transaction", "OnceOnly", "Loop", "CriticalSection", "RandomOrder", "Module",
        "TestFragment",
    )
)  # fmt: skip
_LOOPS = "LoopController.loops"
# What code does that changes labels, or leaves steps and rows out.
_RENAMES = re.compile("SampleLabel|setName")
_SKIPS = re.compile("setIgnore|NextThreadLoop|NextIteration|LogicalAction|BreakCurrentLoop")
_LEADS_ON = ("HTTPSampler.follow_redirects", "HTTPSampler.image_parser")
# What adds parts to a sample: methods of a SampleResult, and an element of jmeter-plugins.
_ADDS_PARTS, _ADDER = re.compile("subresult", re.IGNORECASE), "DummySubPostProcessor"
# The next iteration of the user or of its loop, and the end of the loop: org.apache.jmeter.sampler.TestAction.
_SKIPPING = ("3", "4", "5")
_CODE_5XX, _SERVER_ERRORS = re.compile(r"(?<![\d.])5(?:\d\d|xx)(?!\d)", re.IGNORECASE), 500
_ON_CODE = re.compile(r"responseCode", re.IGNORECASE)
# A pattern of these is one of any code.
_ANY = {200, 404, 500, 503}
_NOT = 4
# Their client may give a row any label.
_OWN_LABELS = ("JavaSampler", "JUnitSampler", "AccessLogSampler")


@dataclass(frozen=True)
class PlanStep:
    """A label that the rows of a sampler or a Transaction Controller have.

    With `may_be_skipped` the plan's logic decides whether it is sent. With `may_end` a loop elsewhere may keep users.
    With `may_be_cached` a Cache Manager may answer it. With `expects_5xx` the plan names a code such as 503 for it, and
    with `checks_code` an assertion or a script decides on its code. The times of a transaction may include the pauses
    of its users. A controller above it reads the variable `unset`, a pause the variable `unset_pause`, the share of a
    Throughput Controller `unset_share`, which nothing in the plan sets. A ForEach Controller reads `lists`.
    """

    label: str
    may_be_skipped: bool
    may_end: bool = False
    may_be_cached: bool = False
    expects_5xx: bool = False
    checks_code: bool = False
    includes_pauses: bool = False
    unset: str = ""
    unset_pause: str = ""
    unset_share: str = ""
    lists: tuple[str, ...] = ()

    def with_another(self, other: PlanStep) -> PlanStep:
        """Return what is true of the rows of two elements that have the same label."""
        return PlanStep(
            self.label,
            may_be_skipped=self.may_be_skipped and other.may_be_skipped,
            may_end=self.may_end and other.may_end,
            may_be_cached=self.may_be_cached and other.may_be_cached,
            expects_5xx=self.expects_5xx or other.expects_5xx,
            checks_code=self.checks_code or other.checks_code,
            includes_pauses=self.includes_pauses or other.includes_pauses,
            unset=self.unset and other.unset,
            unset_pause=self.unset_pause or other.unset_pause,
            unset_share=self.unset_share or other.unset_share,
            lists=tuple(dict.fromkeys((*self.lists, *other.lists))),
        )


def plan_steps(jmx: Path, properties: Mapping[str, str], groups: Collection[str] = ()) -> tuple[PlanStep, ...]:
    """Return the steps of the load in file order; `groups` are its thread groups, without any the one named Users.

    A step whose label only the run knows is left out, and so is what a parent transaction hides. Nothing is known of a
    plan in which code may change labels.
    """
    tree = plan_tree(jmx)
    nodes = enabled_nodes(tree)
    if any(CODE.search(node.kind) and (_RENAMES.search(_code(node)) or node.value("filename")) for node in nodes):
        return ()
    own = [group for group in load_groups(nodes) if group.name in (groups or (LOAD_GROUP,))]
    values = Values.of(nodes, {name: value for name, value in properties.items() if value}, jmx.parent)
    conditions = ConditionVariables.of(tree, values, jmx.parent)
    steps: dict[str, PlanStep] = {}
    for group in (with_modules(one, tree) for one in own or load_groups(nodes)):
        leaves_out = any(_skips(node) for node in group.walk())
        endless = [node for node in group.walk() if _is_endless(node, values)]
        for node, is_certain in _steps_in(group, values):
            if label := values.known(node.name):
                above, in_scope = list(node.and_above()), list(node.in_scope())
                step = PlanStep(
                    label,
                    may_be_skipped=leaves_out or not is_certain,
                    may_end=any(loop not in above for loop in endless),
                    may_be_cached=may_be_cached(node),
                    expects_5xx=any(map(_names_5xx, in_scope)),
                    checks_code=any(map(_checks_code, in_scope)),
                    includes_pauses=_includes_pauses(node),
                    unset=conditions.unset_above(node),
                    unset_pause=conditions.unset_pause(node),
                    unset_share=conditions.unset_share(node),
                    lists=tuple(dict.fromkeys(_lists_above(node, values))),
                )
                steps[label] = steps[label].with_another(step) if label in steps else step
    return tuple(steps.values())


def _names_5xx(node: Node) -> bool:
    """Return whether an assertion on the response code, or a script, names an error of the server, or may do so."""
    if node.kind == "ResponseAssertion":
        patterns = () if _is_negated(node) else _code_patterns(node)
        return any("${" in pattern or any(code >= _SERVER_ERRORS for code in _codes(pattern)) for pattern in patterns)
    return bool(CODE.search(node.kind)) and bool(_CODE_5XX.search(_code(node)))


def _checks_code(node: Node) -> bool:
    """Return whether an assertion or a script decides on the code of the response."""
    if node.kind == "ResponseAssertion":
        return any("${" in pattern or _codes(pattern) for pattern in _code_patterns(node))
    return bool(CODE.search(node.kind)) and bool(_ON_CODE.search(_code(node)))


def _is_negated(assertion: Node) -> bool:
    """Return whether an assertion says what must not be: org.apache.jmeter.assertions.ResponseAssertion.NOT is 4."""
    kind = assertion.element.findtext("*[@name='Assertion.test_type']") or "0"
    return kind.strip().isdecimal() and bool(int(kind) & _NOT)


def _code_patterns(assertion: Node) -> list[str]:
    """Return the patterns of an assertion on the response code; none of another one."""
    if assertion.value("Assertion.test_field") != "Assertion.response_code":
        return []
    return [prop.text or "" for prop in assertion.element.iterfind("collectionProp/stringProp")]


def _codes(pattern: str) -> set[int]:
    """Return the codes that a pattern matches, all of them if it is no pattern of Python; none of one for any code."""
    try:
        codes = {code for code in range(200, 600) if re.search(pattern, str(code))}
    except re.error:
        return {*_ANY}
    return codes if not codes >= _ANY else set()


def includes_its_parts(tree: Node) -> bool:
    """Return whether rows include others that JMeter writes: of redirects and embedded resources, and of nothing else.

    The parts of a parent transaction are its requests, and scripts and plugins add parts of their own.
    """
    nodes = enabled_nodes(tree)
    return any(map(_has_pages, nodes)) and not any(map(_has_parts, nodes))


def _has_pages(node: Node) -> bool:
    """Return whether a request may lead to others."""
    is_request = effect_of(node) is Effect.HTTP
    return is_request and any(node.value(name) not in ("", "false") for name in _LEADS_ON)


def _has_parts(node: Node) -> bool:
    """Return whether an element may give samples parts other than redirects and embedded resources."""
    if CODE.match(node.kind):
        return bool(_ADDS_PARTS.search(_code(node))) or any(True for _ in file_names_of(node))
    known = class_of(node.kind)
    adds_none = effect_of(node) in (Effect.HARMLESS, Effect.HTTP) and not (known and known.plugin)
    is_parent = node.value("TransactionController.parent") not in ("", "false")
    return is_parent or node.kind.endswith(_ADDER) or not adds_none


def includes_timers(transaction: Node) -> bool:
    """Return whether a Transaction Controller measures pauses, too: so does one of an old plan, which does not say."""
    return transaction.value("TransactionController.includeTimers") != "false"


def _includes_pauses(node: Node) -> bool:
    """Return whether a sampler is a Transaction Controller whose times include pauses of its users."""
    if node.kind != "TransactionController" or not includes_timers(node):
        return False
    return any(map(is_pause, node.walk())) or any(one.kind.endswith("Timer") for one in node.in_scope())


def may_be_cached(node: Node) -> bool:
    """Return whether a Cache Manager may answer a request from a user's second iteration on."""
    if node.value("HTTPSampler.method") not in ("", "GET") or not has_http(node):
        return False
    caches = (one for one in node.in_scope() if one.kind == "CacheManager")
    cache = next((one for one in caches if one.value("useExpires") == "true"), None)
    return cache is not None and cache.value("clearEachIteration") != "true" and _keeps_users(node, cache)


def _keeps_users(node: Node, cache: Node) -> bool:
    """Return whether a user of the next iteration has the cache of the one before."""
    group = node.thread_group
    is_same = group is not None and group.value("ThreadGroup.same_user_on_next_iteration") == "true"
    return is_same or cache.value("CacheManager.controlledByThread") != "true"


def _steps_in(parent: Node, values: Values, is_certain: bool = True) -> Iterator[tuple[Node, bool]]:
    """Yield each enabled element below that has rows, and whether every user sends it."""
    for node in parent.children:
        if not is_own_enabled(node.element):
            continue
        kind = node.kind.rpartition(".")[2]
        if kind == "TransactionController":
            inside = list(_steps_in(node, values, is_certain))
            yield node, any(one_is_certain for _, one_is_certain in inside)
            yield from () if node.value("TransactionController.parent") == "true" else inside
        elif kind.endswith(("Controller", "Control", "RunTime")):
            yield from _steps_in(node, values, is_certain and kind in _RUN_ALL and _loops(node, values))
        elif SAMPLER.search(kind) and kind not in _OWN_LABELS:
            known = class_of(node.kind)
            if known and not known.plugin and effect_of(node) is not Effect.UNKNOWN:
                yield node, is_certain


def _lists_above(node: Node, values: Values) -> list[str]:
    """Return the names of the lists that ForEach Controllers above an element read; none of one that is computed."""
    controllers = [one for one in node.and_above() if one.kind == "ForeachController"]
    names = [values.known(one.value("ForeachController.inputVal")) for one in controllers]
    return [name.strip() for name in names if name and name.strip()]


def _loops(node: Node, values: Values) -> bool:
    """Return whether a controller runs at least once."""
    loops = values.known(node.value(_LOOPS)) if node.value(_LOOPS) else ""
    return loops is not None and loops.strip() != "0"


def _is_endless(node: Node, values: Values) -> bool:
    """Return whether a controller may keep its user as long as it likes."""
    kind = node.kind.rpartition(".")[2]
    if kind == "LoopController":
        return (values.known(node.value(_LOOPS)) or "-1").strip() == "-1"
    return kind in ("WhileController", "RunTime")


def _skips(node: Node) -> bool:
    """Return whether an element may leave out the rest of an iteration, or hide a row, although no request failed."""
    if node.kind.rpartition(".")[2] == "TestAction":
        return node.value("ActionProcessor.action") in _SKIPPING
    return bool(CODE.search(node.kind) and _SKIPS.search(_code(node)))


def _code(node: Node) -> str:
    return " ".join(prop.text or "" for prop in node.element.iter())
