"""Checks that a plan does what a run requests: its target, its users and its duration."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.plan.checks.allowances import Allowances
from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.jmeter_advice import is_untimed
from harness.plan.checks.reach import Reach
from harness.plan.goal import Goal, GoalRule
from harness.plan.guard import guard_findings, is_read_by_jmeter
from harness.plan.jmx.addresses import address_of
from harness.plan.jmx.csv_data import KIND as CSV
from harness.plan.jmx.csv_data import RANDOM_KIND as RANDOM_CSV
from harness.plan.jmx.trace import HTTP_SAMPLER
from harness.plan.jmx.tree import CODE, LOAD_GROUP, Node, enabled_nodes, load_groups, plan_tree, texts_of
from harness.plan.jmx.values import UnknownValueError, Values, functions_in
from harness.plan.load.model import ClosedLoad, Load
from harness.plan.plan import Plan, effective_jmx
from harness.plan.properties import load_properties, target_properties
from harness.plan.spec import HTTP, Target, plain_host

_USERS = ("ThreadGroup.num_threads", "TargetLevel")
_RAMPS = ("ThreadGroup.ramp_time", "RampUp")
_DURATIONS = ("ThreadGroup.duration", "Hold")
_LOOPS, _FOREVER = "LoopController.loops", "LoopController.continue_forever"
_SCHEDULER = "ThreadGroup.scheduler"
_PLAN = "the plan"
_SAVER = "FileSaver.filename"
_WRITERS = re.compile(r"(Collector|Writer)$|\.vizualizers\.")
_TODO = "disable it, or give it a name of its own, such as answers/order"
_NAMED_MOST = 10
# Elements without samples of their own; a Transaction Controller writes one, and unknown elements may.
_WITHOUT_SAMPLES = re.compile(
    r"(ThreadGroup|TestPlan|(?<!Transaction)Controller|Timer|Assertion|Extractor|Manager|Arguments|Config|"
    r"PostProcessor|PreProcessor|Collector|ResultSaver|Summariser|Listener|CSVDataSet|ConfigTestElement|"
    r"CounterConfig|UserParameters|Modifier|TestAction|ResultAction|SampleTimeout|Processor)$"
)
_META = re.compile(r"[.^$*+?{}()\[\]\\|]")
# JMeter adds it to the parts of a sample: redirects and embedded resources.
_PART = "-0"


def check_plan(
    plan: Plan, target: Target, load: Load, properties: Mapping[str, str], run_files: Collection[str]
) -> None:
    """Raise a UsageError with all findings unless the plan does what the run requests.

    `properties` are the plan's own; those of target and load override them. `run_files` are the names of the files that
    the run writes.
    """
    where = f"{plan.jmx_path.parent.name}/{plan.jmx_path.name}"
    findings = refusals(plan, target, load, properties, run_files)
    if len(findings) == 1:
        raise UsageError(findings[0].text_in(where), findings[0].todo)
    if findings:
        lines = [f"  {finding.text_in(where)}; {finding.todo}" for finding in findings]
        raise UsageError(f"{where}: {len(findings)} problems prevent this run", "correct them:", "\n".join(lines))


def refuse_scripts(jmx: Path, source: str) -> None:
    """Raise a UsageError for a plan of a foreign `source` that has a script: nothing from outside may be one."""
    nodes = enabled_nodes(plan_tree(jmx))
    reach = Reach(Values.of(nodes, {}, jmx.parent), Target("http", "127.0.0.1", 8080, ""), Allowances())
    found = next((finding for finding in reach.findings(nodes) if finding.rule is Rule.SCRIPT), None)
    if found:
        where = found.text_in(f"{jmx.parent.name}/{jmx.name}")
        raise UsageError(f"{source}: the plan of it would have a script: {where}", "nothing was written or sent")


def refusals(
    plan: Plan, target: Target, load: Load, properties: Mapping[str, str], run_files: Collection[str]
) -> tuple[Finding, ...]:
    """Return why the plan does not do what the run requests, as `check_plan` does; empty if it does."""
    nodes = enabled_nodes(plan_tree(plan.jmx_path))
    run = {**properties, **target_properties(target), **load_properties(load)}
    # JMeter removes a property with an empty value: then the plan's default applies.
    values = Values.of(nodes, {name: value for name, value in run.items() if value}, plan.jmx_path.parent)
    requests = [node for node in nodes if HTTP_SAMPLER.search(node.kind)]
    if target.scheme not in HTTP and requests:
        what, todo = f"sends HTTP, and --target is {target.origin}", "give --target=http://… or https://…"
        return (Finding.at(requests[0], Rule.FIXED_HOST, what, todo),)
    findings = [*Reach(values, target, plan.allow).findings(nodes), *guard_findings(plan, nodes, values, properties)]
    findings += _data(nodes, values)
    read = {name for node in nodes for text in texts_of(node.element) for name in values.properties_in(text)}
    if not requests:
        findings += _elsewhere(nodes, values, target, plan.allow.hosts)
    needs_path = requests or (target.scheme not in HTTP and not _has_path(nodes, values, target))
    if needs_path and target.base_path and "base_path" not in read:
        findings.append(_ignores("base_path", f"the path {target.base_path} of --target"))
    outputs = ((writer, output) for writer in nodes for output in _outputs(writer))
    for node, output in outputs:
        if what := _problem(output, values, run_files):
            findings.append(Finding.at(node, Rule.FILE_OF_RUN, what, _TODO, output.attribute))
    for goal in (plan.goal, *plan.load_goals.values()):
        findings += impossible_labels(goal, nodes, values, [job.name for job in plan.jobs])
    if plan.load.think_time_s and "think_time_ms" not in read:
        findings.append(_ignores("think_time_ms", "the think time"))
    if isinstance(load, ClosedLoad):
        findings += _load(nodes, values, load)
    else:
        effective_jmx(plan.jmx_path, load)  # RATE needs exactly one group to replace
    return tuple(dict.fromkeys(findings))


def _elsewhere(nodes: Sequence[Node], values: Values, target: Target, hosts: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for a plan without HTTP all of whose addresses are known and none is the target's."""
    found = [(node, address) for node in nodes if (address := address_of(node, values.known))]
    known = [(node, values.known(one.host), values.known(one.port)) for node, one in found]
    wanted = (target.host, str(target.port))
    if not known or hosts or any(None in one or (plain_host(one[1] or ""), one[2]) == wanted for one in known):
        return
    node, host, port = known[0]
    what = f"goes to {host}:{port}, and --target is {target.origin}"
    todo = f"write ${{__P(host,{host})}} and ${{__P(port,{port})}} there, as lth init does, or give that --target"
    yield Finding.at(node, Rule.FIXED_HOST, what, todo)


def _has_path(nodes: Sequence[Node], values: Values, target: Target) -> bool:
    """Return whether an address of another protocol than HTTP has the target's path itself, such as a database."""
    found = (address_of(node, values.known) for node in nodes)
    return any((values.known(one.end) or "").startswith(target.base_path) for one in found if one)


def _ignores(name: str, what: str) -> Finding:
    text = f"ignores {what}: no element uses the property {name}"
    return Finding(Rule.UNREAD_PROPERTY, _PLAN, text, f"use ${{__P({name},…)}} in it")


def _data(nodes: Sequence[Node], values: Values) -> Iterator[Finding]:
    for node in nodes:
        reads_file = node.kind == CSV or (node.kind == RANDOM_CSV and node.value("filename"))
        file = values.csv_file(node) if reads_file else None
        if file and not file.is_file():
            what = f"the file {node.value('filename')} is missing"
            yield Finding.at(node, Rule.MISSING_FILE, what, "create it, or correct the name", "filename")


def _load(nodes: Sequence[Node], values: Values, load: ClosedLoad) -> Iterator[Finding]:
    groups = load_groups(nodes)
    if not groups:
        yield Finding(Rule.LOAD_GROUPS, _PLAN, "has no enabled thread group", f"add one, and name it {LOAD_GROUP}")
    started = 0.0
    for group in groups:
        users = _known(group.value(_named(group, _USERS)), values)
        started += load.users if users is None else users
        yield from _number(group, _USERS, "users", load.users, values, is_exact=len(groups) == 1)
        yield from _number(group, _RAMPS, "ramp_s", load.ramp_s, values)
        yield from _length(group, values, load)
    if len(groups) > 1 and started != load.users:
        names = ", ".join(group.name for group in groups)
        what = f"its thread groups ({names}) start {started:g} users; the run has {load.users}"
        todo = f"use one thread group, {LOAD_GROUP}, that reads users, or divide the users among the groups"
        yield Finding(Rule.LOAD_GROUPS, _PLAN, what, todo)


def _length(group: Node, values: Values, load: ClosedLoad) -> Iterator[Finding]:
    loops = group.value(_LOOPS)
    if load.duration_s is None:
        yield from _number(group, (_LOOPS,), "loops", load.loops or 0, values)
        if loops and group.value(_FOREVER) != "false":
            todo = f"set {_FOREVER} to false, as JMeter's editor does"
            yield Finding.at(group, Rule.FIXED_LOAD, "loops forever and ignores --loops", todo, _FOREVER)
        if _is(group.value(_SCHEDULER), True, values):
            todo = "write ${__jexl3(${__P(duration_s,0)} > 0)} for the scheduler"
            what = "its scheduler is on, but this run has no duration: JMeter refuses that"
            yield Finding.at(group, Rule.FIXED_LOAD, what, todo, _SCHEDULER)
        return
    yield from _number(group, _DURATIONS, "duration_s", load.duration_s, values)
    if group.value("ThreadGroup.duration") and _is(group.value(_SCHEDULER), False, values):
        what, todo = "has a duration, but its scheduler is off", "tick “Specify Thread lifetime”"
        yield Finding.at(group, Rule.FIXED_LOAD, what, todo, _SCHEDULER)
    if loops and (count := _known(loops, values)) is not None and count > 0:
        what = f"ends after {loops} loops, even before the duration is over"
        yield Finding.at(group, Rule.FIXED_LOAD, what, "write ${__P(loops,-1)} instead", _LOOPS)


def _named(group: Node, names: Sequence[str]) -> str:
    """Return the first of the JMX properties `names` that a thread group has, else the first one."""
    return next((name for name in names if group.value(name)), names[0])


def _number(
    group: Node, names: Sequence[str], wanted: str, requested: float, values: Values, *, is_exact: bool = True
) -> Iterator[Finding]:
    """Yield a finding unless a thread group has the requested number in the first of the JMX properties `names`.

    `wanted` is the property of the run that it must read. A value that only the run computes is accepted if it is
    computed from that property.
    """
    attribute = _named(group, names)
    raw = group.value(attribute)
    number = _known(raw, values)
    if wanted in values.properties_in(raw) or (number is not None and (number == requested or not is_exact)):
        return
    what = f"has {raw}; the run has {requested:g} ({wanted})"
    what = what if raw else f"ignores {wanted} of the run, {requested:g}"
    yield Finding.at(group, Rule.FIXED_LOAD, what, f"write ${{__P({wanted},1)}} instead", attribute)


def _known(raw: str, values: Values) -> float | None:
    try:
        return float(values.text(raw))
    except (UnknownValueError, ValueError):
        return None


def _is(raw: str, wanted: bool, values: Values) -> bool:
    """Return whether a flag certainly has the expected value; a missing flag is False."""
    known = values.known(raw)
    return known is not None and (known.strip().lower() == "true") is wanted


class _Output(NamedTuple):
    """The name of a file that an element writes, as in the JMX; JMeter adds a number and an ending to a prefix."""

    raw: str
    attribute: str
    is_prefix: bool


def _outputs(node: Node) -> Iterator[_Output]:
    if node.value(_SAVER).strip():
        yield _Output(node.value(_SAVER), _SAVER, is_prefix=True)
    if _WRITERS.search(node.kind) and node.value("filename").strip():
        yield _Output(node.value("filename"), "filename", is_prefix=False)
    for call in functions_in(node):
        if call.name == "__StringToFile":
            yield _Output(call.parameters[0], "", is_prefix=False)


def _problem(output: _Output, values: Values, run_files: Collection[str]) -> str:
    """Return why an element must not write a file: it is one of the run, or outside of its folder; else an empty text.

    `run_files` are the names of the run's files and folders.
    """
    try:
        name, unknown = values.text(output.raw).strip(), ""
    except UnknownValueError as error:
        name, unknown = error.known_start.strip(), f"writes to the file {output.raw}, known only at run time ({error})"
    path = PurePosixPath(name)
    if ".." in path.parts:
        return f"writes to the file {name}, outside of the run's folder"
    if unknown and (name.startswith("/") or name.endswith("/") or not name):
        return unknown
    if is_read_by_jmeter(name):
        return f"writes to {name}, which has the name of a file that JMeter reads itself"
    is_open_ended = output.is_prefix or bool(unknown)
    for part, own in product(path.parts, run_files):
        if _is_same(part, own, is_open_ended and part == path.name):
            return f"writes to {own}, a file of the run"
    return ""


def _is_same(name: str, own: str, is_prefix: bool) -> bool:
    return own == name or (is_prefix and bool(re.fullmatch(rf"{re.escape(name)}\d*(\..*)?", own)))


class _Names(NamedTuple):
    """The labels of a plan, and the known beginnings of those that only the run knows."""

    known: list[str]
    beginnings: list[str]

    def can_have(self, rule: GoalRule) -> bool:
        """Return whether a sample may have a label of a rule."""
        label = rule.label or ""
        is_literal = not _META.search(label) or not rule.is_expression
        is_known = any(rule.matches(name) or rule.matches(name + _PART) for name in self.known)
        return is_known or any(not is_literal or label.startswith(beginning) for beginning in self.beginnings)


def impossible_labels(goal: Goal, nodes: Sequence[Node], values: Values, jobs: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield each label of a goal that no sampler or Transaction Controller of the plan has, and none of its `jobs`.

    A transaction for which JMeter writes no time has none, either.
    Nothing is found where a script may change labels, or where a name depends on the run and may become the label.
    """
    rules = [rule for rule in goal.rules if rule.label is not None]
    if not rules or any(_sets_labels(node) for node in nodes):
        return
    names = _names([node for node in nodes if not is_untimed(node)], values)
    untimed = _names(list(filter(is_untimed, nodes)), values).known
    names.known.extend(jobs)
    for label in dict.fromkeys(rule.label or "" for rule in rules if not names.can_have(rule)):
        if label in untimed:
            what = f"JMeter writes 0 ms for the transaction {label}, which is inside a parent sample"
            yield Finding(Rule.GOAL_LABEL, "the goal", what, "make it a parent sample too, or the outer one none")
            continue
        there = ", ".join(names.known[:_NAMED_MOST]) + (", …" if len(names.known) > _NAMED_MOST else "")
        todo = f"{did_you_mean(label, names.known)}there are: {there or 'none'}"
        yield Finding(Rule.GOAL_LABEL, "the goal", f"no sampler or Transaction Controller has the label {label}", todo)


def _sets_labels(node: Node) -> bool:
    """Return whether an element is a script that may change labels: its text does, or it is in a file."""
    has_call = any("SampleLabel" in (prop.text or "") for prop in node.element.iter())
    return bool(CODE.search(node.kind)) and (has_call or bool(node.value("filename").strip()))


def _names(nodes: Sequence[Node], values: Values) -> _Names:
    names = _Names([], [])
    for node in (node for node in nodes if not _WITHOUT_SAMPLES.search(node.kind)):
        try:
            name = values.text(node.name)
            (names.known if name else names.beginnings).append(name)
        except UnknownValueError as error:
            names.beginnings.append(error.known_start)
    return _Names(list(dict.fromkeys(names.known)), names.beginnings)
