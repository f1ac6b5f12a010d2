"""Runs of a real JMeter with the agent alone, without the harness around it, and elements for their plans."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.base.install import toolchain
from harness.run.directory import RunDirectory
from harness.run.jmeter.connections import FOREIGN_NAME, agent_option, take_list
from tests.support.off_host import collection, element, flag, script, text

_CONTROLLER = '<elementProp name="ThreadGroup.main_controller" elementType="{0}" testclass="{0}">{1}</elementProp>'
_ENDS = '<boolProp name="LoopController.continue_forever">false</boolProp>'
ENDLESS = _CONTROLLER.format("LoopController", text("LoopController.loops", "-1") + _ENDS)
_CONCURRENCY = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"


def controlled(kind: str, name: str, controller: str, below: str, *props: str) -> str:
    """A thread group with its controller."""
    return element(kind, name, text("ThreadGroup.on_sample_error", "continue"), controller, *props, below=below)


def group(name: str, below: str, kind: str = "ThreadGroup", users: int = 1, loops: int = 1, **more: str) -> str:
    """A thread group of users who loop."""
    loop = _CONTROLLER.format("LoopController", text("LoopController.loops", str(loops)) + _ENDS)
    props = (text(f"ThreadGroup.{key}", value) for key, value in {"num_threads": str(users), **more}.items())
    return controlled(kind, name, loop, below, *props)


def ended_after(name: str, seconds: int, below: str, users: int = 1) -> str:
    """A thread group whose users loop until its time is over."""
    more = (flag("ThreadGroup.scheduler"), text("ThreadGroup.duration", str(seconds)))
    return controlled("ThreadGroup", name, ENDLESS, below, text("ThreadGroup.num_threads", str(users)), *more)


def arrivals(name: str, below: str, schedule: str) -> str:
    """An Open Model Thread Group."""
    controller = _CONTROLLER.format("OpenModelThreadGroupController", "")
    return controlled("OpenModelThreadGroup", name, controller, below, text("OpenModelThreadGroup.schedule", schedule))


def concurrent(name: str, below: str, users: int) -> str:
    """A Concurrency Thread Group, which replaces users that end, for a second."""
    controller = _CONTROLLER.format("com.blazemeter.jmeter.control.VirtualUserController", "")
    props = {"TargetLevel": str(users), "Hold": "1", "Unit": "S", "RampUp": "", "Steps": "", "LogFilename": ""}
    return controlled(_CONCURRENCY, name, controller, below, *(text(*pair) for pair in props.items()))


def does(code: str, name: str = "step") -> str:
    """A script that is a sample."""
    return script("JSR223Sampler", name, code)


def dies(error: str) -> str:
    """A sample that throws."""
    return does(f"throw new {error}")


def parent(name: str, below: str) -> str:
    """A parent transaction."""
    return element("TransactionController", name, flag("TransactionController.parent"), below=below)


def timer(kind: str, *props: str) -> str:
    """A timer that is named by its kind."""
    return element(kind, kind, *props)


def number(name: str, value: float) -> str:
    """A number with a fraction of an element."""
    return f"<doubleProp><name>{name}</name><value>{value}</value><savedValue>0.0</savedValue></doubleProp>"


def whole(name: str, value: int) -> str:
    """An integer of an element."""
    return f'<intProp name="{name}">{value}</intProp>'


def long(name: str, value: int) -> str:
    """A long integer of an element."""
    return f'<longProp name="{name}">{value}</longProp>'


def extractor(kind: str, variable: str, query: str, default: str = "", *props: str, match: int = 1) -> str:
    """An extractor that is named by its variable."""
    name = {"JSONPostProcessor": "JSONPostProcessor", "JMESPathExtractor": "JMESExtractor"}.get(kind, kind)
    name = {"XPath2Extractor": "XPathExtractor2"}.get(name, name)
    in_json = "JSON" in name or "JMES" in name
    variable_of, default_of, match_of = (
        ("referenceName", "defaultValue", "matchNumber") if "JMES" in name
        else ("referenceNames", "defaultValues", "match_numbers") if in_json
        else ("refname", "default", "matchNumber" if "XPath" in name else "match_number")
    )  # fmt: skip
    queries = {
        "RegexExtractor": {"regex": query, "template": "$1$", "useHeaders": "false"},
        "BoundaryExtractor": dict(zip(("lboundary", "rboundary"), query.split("*"), strict=False)),
        "HtmlExtractor": {"expr": query, "attribute": ""},
        "JSONPostProcessor": {"jsonPathExprs": query},
        "JMESPathExtractor": {"jmesPathExpr": query},
    }.get(kind, {"xpathQuery": query})
    values = {variable_of: variable, default_of: default, match_of: str(match), **queries}
    return element(kind, f"get {variable}", *(text(f"{name}.{key}", value) for key, value in values.items()), *props)


def answers(data: str, name: str = "Log in", below: str = "", sent: str = "", status: str = "OK") -> str:
    """A sample that has an answer, and sends a text."""
    values = {"Sleep_Time": "0", "Sleep_Mask": "0", "ResultData": data, "SamplerData": sent, "Status": status}
    rows = "".join(
        f'<elementProp name="{key}" elementType="Argument">{text("Argument.name", key)}'
        f"{text('Argument.value', value)}</elementProp>"
        for key, value in values.items()
    )
    arguments = f'<collectionProp name="Arguments.arguments">{rows}</collectionProp>'
    return element(
        "JavaSampler", name, text("classname", "org.apache.jmeter.protocol.java.test.JavaTest"),
        f'<elementProp name="arguments" elementType="Arguments">{arguments}</elementProp>', below=below,
    )  # fmt: skip


def decides(kind: str, name: str, condition: str, below: str, *, is_code: bool = False) -> str:
    """An If, While or Switch Controller; the condition of an If is a text unless it `is_code`."""
    key = "value" if kind == "Switch" else "condition"
    more = (flag("IfController.useExpression"),) if kind == "If" and not is_code else ()
    return element(f"{kind}Controller", name, text(f"{kind}Controller.{key}", condition), *more, below=below)


def action(kind: int, duration: str = "0") -> str:
    """A Flow Control Action on the current thread: 0 stops, 1 pauses, 2 stops the test."""
    target = 2 if kind == 2 else 0
    return element(
        "TestAction", "Pause", whole("ActionProcessor.action", kind), whole("ActionProcessor.target", target),
        text("ActionProcessor.duration", duration),
    )  # fmt: skip


def table(name: str, *rows: tuple[int, ...]) -> str:
    """A table of an element."""
    lines = "".join(collection(str(at), *map(str, row)) for at, row in enumerate(rows))
    return f'<collectionProp name="{name}">{lines}</collectionProp>'


def constant(ms: object) -> str:
    """A Constant Timer."""
    return timer("ConstantTimer", text("ConstantTimer.delay", str(ms)))


def tree(*groups: str) -> str:
    """A test plan of thread groups."""
    plan = element("TestPlan", "plan", flag("TestPlan.tearDown_on_shutdown"), below="".join(groups))
    return f'<jmeterTestPlan version="1.2"><hashTree>{plan}</hashTree></jmeterTestPlan>'


class Agent:
    """A JMeter with the agent in a folder: what it noted, and the lines of its JTL, when it has ended."""

    def __init__(self, folder: Path, plan: str, *options: str, java: str = "", heap: str = "-Xmx200m") -> None:
        self.folder, self.list = folder, folder / "agent" / FOREIGN_NAME
        self.list.parent.mkdir(parents=True)
        (folder / "plan.jmx").write_text(plan, encoding="utf-8")
        home = toolchain.ensure_jmeter()
        command = [str(home / "bin" / "jmeter"), "-n", "-t", "plan.jmx", "-l", "samples.jtl", "-j", "jmeter.log"]
        settings = home.parent.parent / "jmeter" / "jmeter.properties"
        command += ["-q", str(settings), "-Jjmeterengine.nongui.port=0", *options]
        agent = agent_option(toolchain.ensure_agent(), self.list, ())
        environment = {
            **os.environ,
            "JDK_JAVA_OPTIONS": f"{agent} {java}",
            "HEAP": heap,
            "JVM_ARGS": "-XX:TieredStopAtLevel=1",
        }
        with (folder / "jmeter.out").open("wb") as out:
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)

    def ended(self) -> Agent:
        """Wait for its end."""
        try:
            self.process.wait(timeout=45)
        finally:
            self.process.kill()
        directory = RunDirectory(self.folder / "reports" / "plan" / "run-01_1")
        directory.path.mkdir(parents=True)
        self.noted = take_list(self.list, directory)
        return self

    @property
    def rows(self) -> list[str]:
        """The lines below the header."""
        jtl = self.folder / "samples.jtl"
        return jtl.read_text().splitlines()[1:] if jtl.is_file() else []

    @property
    def deaths(self) -> dict[tuple[str, str], int]:
        """How many died, by what they were and the cause."""
        return {(one.what, one.cause): one.count for one in self.noted.deaths}
