"""Adds the jobs of a plan to its JMX: each is a thread group with one user, outside of the load.

A job's thread group has this form; all elements are JMeter's own, so that the effective plan opens in its editor.

    Thread Group "[[job]] import"                     begins `at_s` after the load
      While the job before has not ended: pause
      Transaction Controller "import"                 its row in the JTL is the job's duration
        import: start                                 reads the id
        While the state is open, and not too late:
          pause; import: poll                         reads the state; two more times if it has none
        import: state                                 fails unless the job is done, and says why
      Flow Control Action                             lets the jobs after it begin
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree  # builds and writes XML; defusedxml reads it
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from harness.base.units import MS_PER_S, number_text
from harness.jtl.sample import JOB_MARK
from harness.plan.jmx.thread_groups import add_loop
from harness.plan.jmx_writer import (
    Expression,
    add_bool,
    add_int,
    add_string,
    add_variables,
    call,
    child,
    header_manager,
    jmx_bytes,
    joined,
    new_element,
    of_jmx,
    variable,
    xml_element,
)
from harness.plan.job import FAILED, ID, LIMIT, POLL, START, STATE, UNANSWERED, Job
from harness.plan.load.model import DURATION_MAX_S

# A job ends as unanswered after so many polls in a row without a state.
POLLS_MOST = 3
# The variables of a job's thread.
_ID, _STATE, _BEGIN, _TEXT = "job_id", "job_state", "job_begin_ms", "job_text"
# Their values before the first poll, and after an answer that cannot be read.
_OPEN, _UNREADABLE = "(no poll yet)", "(unreadable)"
_WAIT_MS = 200
# A request that hangs must not outlast the limit of its job by much.
_CONNECT_MS, _RESPONSE_MS = "10000", "60000"
# Kinds of a Response Assertion.
_EQUALS, _NOT, _OR = 8, 4, 32


def with_jobs(jmx: bytes, jobs: Sequence[Job]) -> bytes:
    """Return a test plan with a thread group for each job."""
    if not jobs:
        return jmx
    root: ElementTree.Element = fromstring(jmx, forbid_dtd=True)
    plan = root.find("hashTree/hashTree")
    assert plan is not None  # the plan has been checked
    awaited = {job.after for job in jobs}
    for number, job in enumerate(jobs, 1):
        before = next((_ended(at) for at, one in enumerate(jobs, 1) if one.name == job.after), "")
        _add_job(plan, job, before, _ended(number) if job.name in awaited else "")
    ElementTree.indent(root, "  ")
    return jmx_bytes(root)


def _ended(number: int) -> str:
    """Return the name of the property that is set when a job has ended."""
    return f"harness_job_{number}_ended"


def _add_job(plan: Element, job: Job, before: str, ended: str) -> None:
    """Add the thread group of a job that begins when the property `before` is set, and sets `ended`."""
    strings = {"ThreadGroup.num_threads": "1", "ThreadGroup.ramp_time": "0", "ThreadGroup.on_sample_error": "continue"}
    # JMeter reads a delay only beside a duration.
    strings |= {"ThreadGroup.delay": str(round(job.at_s)), "ThreadGroup.duration": str(round(DURATION_MAX_S))}
    group = new_element("ThreadGroup", "ThreadGroupGui", f"{JOB_MARK} {job.name}")
    _set(group, strings, {"ThreadGroup.scheduler": True, "ThreadGroup.same_user_on_next_iteration": True})
    add_loop(group, "1")
    plan.append(group)
    tree = child(plan, "hashTree")
    if job.tenant is not None:
        add_variables(tree, {"tenant": job.tenant})
    if job.headers:
        headers = ((name, of_jmx(value)) for name, value in job.headers.items())
        _append(tree, header_manager("Headers of the job", headers))
    if before:
        waiting = _while(tree, f"Until {job.after} has ended", f'props.get("{before}") == null')
        _pause(waiting, "Wait", str(_WAIT_MS))
    loop = new_element("LoopController", "LoopControlPanel", "Repetitions")
    _set(loop, {"LoopController.loops": str(job.repeat)}, {"LoopController.continue_forever": False})
    transaction = new_element("TransactionController", "TransactionControllerGui", job.name)
    _set(transaction, {}, {"TransactionController.parent": False, "TransactionController.includeTimers": True})
    _add_requests(_append(_append(tree, loop), transaction), job)
    if ended:
        _pause(tree, "The jobs after this one begin", joined("0", call("__setProperty", ended, "true")))


def _add_requests(tree: Element, job: Job) -> None:
    """Add the start, the polls and the final state of a job below its transaction."""
    start = _append(tree, _request(job, START, job.method, job.start_path, job.body))
    add_variables(start, {_STATE: _OPEN, _BEGIN: Expression("${__time(,)}"), _TEXT: ""})
    if job.id_path:
        _extract(start, _ID, job.id_path, _UNREADABLE)
        _check(start, _ID, [_UNREADABLE], _EQUALS | _NOT, _unreadable(job.id_path))
    states = " && ".join(f'vars.get("{_STATE}") != "{state}"' for state in (*job.done, *job.failed, _UNREADABLE))
    has_id = f'vars.get("{_ID}") != "{_UNREADABLE}" && ' if job.id_path else ""
    limit_ms = round(job.limit_s * MS_PER_S)
    in_time = f"${{__time(,)}} - ${{{_BEGIN}}} < {limit_ms}"
    polls = _while(tree, "Until the job has ended", f"{has_id}{states} && {in_time}")
    for number in range(POLLS_MOST):
        has_none = f'vars.get("{_STATE}") == "{_UNREADABLE}"'
        below = _if(polls, "If the answer had no state", has_none) if number else polls
        _pause(below, "Wait for the job", str(round(job.period_s * MS_PER_S)))
        _add_poll(below, job)
    _add_state(tree, job)


def _add_poll(tree: Element, job: Job) -> None:
    poll = _append(tree, _request(job, POLL, "GET", job.poll_path.replace(ID, variable(_ID)), ""))
    _extract(poll, _STATE, job.state_path, _UNREADABLE)
    _check(poll, _STATE, [_UNREADABLE], _EQUALS | _NOT, _unreadable(job.state_path))


def _add_state(tree: Element, job: Job) -> None:
    """Add the sample that says how the job ended: its first failed assertion names the state."""
    sampler = xml_element("DebugSampler", guiclass="TestBeanGUI", testclass="DebugSampler", testname=job.name + STATE)
    _set(sampler, {}, {f"display{what}": False for what in ("JMeterProperties", "JMeterVariables", "SystemProperties")})
    state = _append(tree, sampler)
    if job.id_path:
        _check(
            state, _ID, [_UNREADABLE], _EQUALS | _NOT, joined(f"{UNANSWERED}: its start: ", _unreadable(job.id_path))
        )
    said = joined(f"{UNANSWERED}: {POLLS_MOST} polls in a row: ", _unreadable(job.state_path))
    _check(state, _STATE, [_UNREADABLE], _EQUALS | _NOT, said)
    if job.failed:
        _check(state, _STATE, job.failed, _EQUALS | _NOT, joined(f"{FAILED}: {job.state_path} is ", variable(_STATE)))
    late = f"{LIMIT}: not done within {number_text(job.limit_s)} s: {job.state_path} is "
    said = joined(late, variable(_STATE))
    _check(state, _STATE, job.done, _EQUALS | _OR, said)


def _unreadable(path: str) -> Expression:
    return joined(f"no {path} in the answer, which begins: ", variable(_TEXT))


def _request(job: Job, part: str, method: str, path: str, body: str) -> Element:
    """Return a request to the target, whatever defaults the plan has."""
    sampler = new_element("HTTPSamplerProxy", "HttpTestSampleGui", job.name + part)
    properties = {"protocol": "scheme", "domain": "host", "port": "port"}
    strings: dict[str, str] = {f"HTTPSampler.{name}": call("__P", read) for name, read in properties.items()}
    strings |= {"HTTPSampler.method": method, "HTTPSampler.connect_timeout": _CONNECT_MS}
    strings["HTTPSampler.response_timeout"] = _RESPONSE_MS
    strings |= {
        "HTTPSampler.path": joined(Expression("${__P(base_path,)}"), of_jmx(path)),
        "HTTPSampler.implementation": "HttpClient4",
    }
    is_raw = bool(body)
    flags = {"follow_redirects": False, "auto_redirects": False, "use_keepalive": True, "postBodyRaw": is_raw}
    _set(sampler, strings, {f"HTTPSampler.{name}": flag for name, flag in flags.items()})
    holder = child(sampler, "elementProp", name="HTTPsampler.Arguments", elementType="Arguments")
    arguments = child(holder, "collectionProp", name="Arguments.arguments")
    if is_raw:
        argument = child(arguments, "elementProp", name="", elementType="HTTPArgument")
        _set(
            argument, {"Argument.value": of_jmx(body), "Argument.metadata": "="}, {"HTTPArgument.always_encode": False}
        )
    return sampler


def _extract(tree: Element, variable: str, path: str, default: str) -> None:
    """Read a variable at a JSON path of an answer, and its first characters for messages."""
    reader = new_element("JSONPostProcessor", "JSONPostProcessorGui", variable)
    values = {"referenceNames": variable, "jsonPathExprs": of_jmx(path), "match_numbers": "1", "defaultValues": default}
    _set(reader, {f"JSONPostProcessor.{name}": value for name, value in values.items()}, {})
    _append(tree, reader)
    text = new_element("RegexExtractor", "RegexExtractorGui", _TEXT)
    values = {"useHeaders": "false", "refname": _TEXT, "regex": r"^\s*([^\r\n]{1,80})", "template": "$1$"}
    values |= {"default": "nothing", "match_number": "1"}
    _set(text, {f"RegexExtractor.{name}": value for name, value in values.items()}, {})
    _append(tree, text)


def _check(tree: Element, variable: str, values: Iterable[str], kind: int, message: str) -> None:
    """Add an assertion on a variable of the thread."""
    assertion = new_element("ResponseAssertion", "AssertionGui", message.partition(":")[0])
    tests = child(assertion, "collectionProp", name="Asserion.test_strings")
    for number, value in enumerate(values, 1):
        add_string(tests, str(number), value)
    strings = {"Assertion.custom_message": message, "Assertion.test_field": "Assertion.response_data"}
    strings |= {"Assertion.scope": "variable", "Scope.variable": variable}
    _set(assertion, strings, {"Assertion.assume_success": False})
    add_int(assertion, "Assertion.test_type", kind)
    _append(tree, assertion)


def _pause(tree: Element, name: str, duration: str) -> None:
    pause = new_element("TestAction", "TestActionGui", name)
    for key, value in (("action", 1), ("target", 0)):
        add_int(pause, f"ActionProcessor.{key}", value)
    add_string(pause, "ActionProcessor.duration", duration)
    _append(tree, pause)


def _while(tree: Element, name: str, condition: str) -> Element:
    controller = new_element("WhileController", "WhileControllerGui", name)
    add_string(controller, "WhileController.condition", _jexl(condition))
    return _append(tree, controller)


def _if(tree: Element, name: str, condition: str) -> Element:
    controller = new_element("IfController", "IfControllerPanel", name)
    flags = {"IfController.evaluateAll": False, "IfController.useExpression": True}
    _set(controller, {"IfController.condition": _jexl(condition)}, flags)
    return _append(tree, controller)


def _jexl(condition: str) -> Expression:
    """Return a condition of ours; the states in it have no quotes (`plan/job.py`)."""
    return of_jmx(f"${{__jexl3({condition})}}")


def _append(tree: Element, element: Element) -> Element:
    """Append a test element to a hashTree and return the hashTree of its children."""
    tree.append(element)
    return child(tree, "hashTree")


def _set(element: Element, strings: Mapping[str, str], flags: Mapping[str, bool]) -> None:
    for name, value in strings.items():
        add_string(element, name, value)
    for name, flag in flags.items():
        add_bool(element, name, flag)
