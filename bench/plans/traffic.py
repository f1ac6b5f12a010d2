"""Compare what `make check` sends after `make init FIX=1` with what plain JMeter sends for the original plans.

usage: .venv/bin/python -m bench.plans.traffic FOLDER WORK RESULTS.jsonl [--only TEXT] [--again] [--at-once 2] [--table]

FOLDER contains the JMX files, each repository in a folder of its own; nothing of it is stored in the project. Both
sides get the plan with one user and one iteration per thread group, one group after the other, without think time.
Plain JMeter sends through a proxy that records and answers everything (bench.plans.capture), so it sees the plan's
own hosts. Its connections to anything else than this machine are refused. Compared are method, path, query, headers,
cookies, body and order, the host apart. What differs between runs of plain JMeter is left out.

RESULTS.jsonl gets one line per plan; plans that it has are not run again. --table prints the table of the results.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree  # builds XML; harness.plan.jmx reads files safely

from bench.plans.capture import capturing, make_certificate
from bench.plans.plan_answers import Answers
from bench.plans.real_runs import (
    NAME,
    TRUSTED,
    allow_host,
    batch_parser,
    fixed_home,
    properties_option,
    run_batch,
    stored_results,
)
from bench.plans.traffic_difference import HOST, Difference, Request, differences, request_of
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_USAGE, HarnessError
from harness.base.install import toolchain
from harness.base.install.plugins import ensure_plugins
from harness.base.project import SHIPPED
from harness.plan.adopt.adopt import Adoption
from harness.plan.adopt.draft import Fix
from harness.plan.checks.finding import Rule
from harness.plan.jmx.data_files import file_names_of
from harness.plan.jmx.thread_groups import LOOPS, LOOPS_ENDLESS
from harness.plan.jmx.tree import CODE, SIDE_GROUPS, VARIABLE_TABLES, enabled_nodes, parse, plan_tree, tree_of
from harness.plan.jmx.values import UnknownValueError, Values
from harness.plan.plan import load_plan
from harness.run.jmeter.connections import agent_option
from harness.run.prepare import JAVA_OPTIONS
from harness.run.replay.one_pass import one_pass

_LIMIT_S = 90
_STOP_S = 20
# Timers wait; what is sent does not depend on them. Those with scripts stay.
_TIMERS = re.compile(r"(?<!JSR223)(?<!BeanShell)(?<!BSF)Timer$")
_SHOWN_MOST = 20
# A plan that draws lots sends the same as before by chance, but hardly so often.
_PLAIN_MOST = 12
# The findings and fixes of init that account for a difference in a part of a request.
_SHARED = (Rule.SEVERAL_ADDRESSES.code,)
_ACCOUNTS: Mapping[str, tuple[str, ...]] = {
    "request": (Rule.NO_HOST.code, Rule.UNKNOWN_HOST.code, Fix.EMBEDDED, Fix.PATHS),
    "header cookie": (*_SHARED, Rule.OLD_HOST.code),  # a script makes it for the old host
    "header authorization": _SHARED,
    **dict.fromkeys(("path", "query", "body", "header content-length"), (Rule.MISSING_FILE.code,)),
}
# Java would not use the proxy for this machine. The rest shortens the start.
_JVM = "-Dhttp.nonProxyHosts= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
EQUAL, NAMED, NOT_NAMED, NOT_RUN = "equal", "different, named", "different, not named", "not comparable"


@dataclass(frozen=True)
class Outcome:
    """How the traffic of a plan compares: `state`, the numbers of requests, what differs, and what init named."""

    plan: str
    state: str
    plain: int = 0
    ours: int = 0
    why: str = ""
    differences: tuple[tuple[str, str, str], ...] = ()
    named: tuple[str, ...] = ()


def bounded(jmx: Path) -> bytes:
    """Return a plan whose groups run one after the other, without waiting; those that end run once with one user.

    A group that ends may become a setUp group, which a check runs as in the plan.
    """
    tree = parse(jmx)
    for element in tree.getroot().iter():
        if element.tag == "TestPlan":
            _set(element, "TestPlan.serialize_threadgroups", "true")
        elif element.tag in SIDE_GROUPS or (element.tag == "ThreadGroup" and _text(element, LOOPS) != LOOPS_ENDLESS):
            _set(element, "ThreadGroup.num_threads", "1")
            _set(element, LOOPS, "1")
        elif _TIMERS.search(element.tag):
            element.set("enabled", "false")
    written: bytes = ElementTree.tostring(tree.getroot(), encoding="UTF-8", xml_declaration=True)
    return written


def _hosts(jmx: Path) -> dict[str, str]:
    """Return a host for each property whose default is none, such as [hostname]: the user of the plan must give it."""
    nodes = enabled_nodes(plan_tree(jmx))
    values = Values.of(nodes, {}, jmx.parent)
    found: dict[str, str] = {}
    for node in nodes:
        domain = node.value("HTTPSampler.domain")
        try:
            is_host = bool(re.fullmatch(r"\s*[A-Za-z][\w.-]*\s*|\s*[\d.]{7,}\s*", values.text(domain)))
        except UnknownValueError:
            continue
        if domain and not is_host:
            found |= dict.fromkeys(values.properties_in(domain), "original.example.org")
    return found


def _text(element: ElementTree.Element, name: str) -> str:
    return next(((prop.text or "").strip() for prop in element.iter() if prop.get("name") == name), "")


def _set(element: ElementTree.Element, name: str, text: str) -> None:
    for prop in element.iter():
        if prop.get("name") == name:
            prop.text = text


class _Checked(NamedTuple):
    """What `make check` sent, its exit code, and its last line."""

    requests: list[Request]
    exit_code: int
    last_line: str


class Comparison:
    """The comparison of one plan in a folder of its own."""

    def __init__(self, jmx: Path, plan: str, folder: Path, certificate: Path) -> None:
        self.plan = plan
        self.folder = folder
        self.certificate = certificate
        self.source = folder / "source" / jmx.name
        self.fixed = folder / "plans" / f"{NAME}.jmx"
        self.given: Mapping[str, str] = {}
        self.sent: list[Request] = []
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(jmx.parent, folder / "source", ignore=shutil.ignore_patterns("*.jmx"))
        self.source.write_bytes(bounded(jmx))

    def run(self) -> Outcome:
        """Return the outcome."""
        adoption = self.write()
        plain = self._plain()
        if not plain:
            return Outcome(self.plan, NOT_RUN, why=f"plain JMeter sent nothing: {_last(self.folder / 'plain.txt')}")
        self.sent, code, why = self._ours()
        ours = self.sent
        named = tuple(sorted({finding.code for finding in adoption.left} | set(adoption.draft.changes)))
        if code in (EXIT_INVALID, EXIT_INTERRUPTED):  # a loop did not end within the limit
            return Outcome(self.plan, NOT_RUN, len(plain), len(ours), why, (), named)
        if code == EXIT_USAGE:
            return Outcome(self.plan, NAMED, len(plain), 0, why, (), named)
        in_order = "ParallelSampler" not in self.fixed.read_text(encoding="utf-8", errors="replace")
        found = differences(plain, ours, in_order=in_order)
        for _ in range(_PLAIN_MOST):
            if not found:
                break
            changing = {(one.index, one.part) for one in differences(plain, self._plain(), in_order=in_order)}
            found = [one for one in found if (one.index, one.part) not in changing]
        shown = tuple((one.part, one.plain[:300], one.ours[:300]) for one in found[:_SHOWN_MOST])
        state = EQUAL if not found else NAMED if _is_named(found, named) else NOT_NAMED
        return Outcome(self.plan, state, len(plain), len(ours), why, shown, named)

    def write(self) -> Adoption:
        """Write the fixed plan, and the original for one pass, which reads the data files of the fixed plan."""
        adoption, self.given = fixed_home(self.source, self.folder)
        once = self.source.with_name("plain.jmx")
        once.write_bytes(one_pass(self.source).jmx)
        tree = parse(once)
        ours, theirs = (
            [prop for node in tree_of(root, {}).walk_all() for prop in file_names_of(node)]
            for root in (tree.getroot(), parse(self.fixed).getroot())
        )
        for prop, other in zip(ours, theirs, strict=True):
            if (other.text or "").startswith("data/"):
                prop.text = str(self.fixed.parent / (other.text or ""))
        self._share_files(tree.getroot())
        once.write_bytes(ElementTree.tostring(tree.getroot(), encoding="UTF-8", xml_declaration=True))
        return adoption

    def _share_files(self, original: ElementTree.Element) -> None:
        """Let variables and scripts of the original name the data files that those of the fixed plan name."""
        fixed = "\n".join(parse(self.fixed).getroot().itertext())
        for path in re.findall(r"\bdata/[^\"'\n]*/([^\"'/\n]+)", fixed):
            name = re.compile(rf"""(^|["'])[^"'\n]*[/\\]{re.escape(path)}($|["'])""")
            file = next((self.fixed.parent / "data").rglob(path), None)
            for node in tree_of(original, {}).walk_all() if file else ():
                for prop in node.element.iter() if node.kind in VARIABLE_TABLES or CODE.match(node.kind) else ():
                    prop.text = name.sub(rf"\g<1>{file}\g<2>", prop.text or "")

    def _plain(self) -> list[Request]:
        """Return what plain JMeter sends for the original."""
        with capturing(Answers.of(self.fixed, self.given), self.certificate) as capture:
            port = capture.address.rpartition(":")[2]
            home = toolchain.ensure_jmeter()
            command = [str(home / "bin" / "jmeter"), "-n", "-t", "plain.jmx", "-j", str(self.folder / "plain.log")]
            command += ["-l", str(self.folder / "plain.jtl"), "-f", "-H", "127.0.0.1", "-P", port]
            given = {**_hosts(self.source), **self.given}
            command += [f"-J{name}={value}" for name, value in given.items()]
            plugins = ensure_plugins(load_plan(self.fixed.parent, NAME).plugin_list, home)
            command += [f"-Jsearch_paths={plugins}"] if plugins else []
            agent = agent_option(toolchain.ensure_agent(), self.folder / "foreign.txt", [f"127.0.0.1:{port}"])
            run_limited(command, self.folder / "plain.txt", self.source.parent, {JAVA_OPTIONS: f"{agent} {_JVM}"})
            return [request_of(one) for one in capture.received]

    def _ours(self) -> _Checked:
        """Return what `make check` sends for the fixed plan, and how it ended."""
        with capturing(Answers.of(self.fixed, self.given), self.certificate) as capture:
            toml = self.fixed.with_suffix(".toml")
            allow_host(toml, capture.address)
            toml.write_text(
                toml.read_text(encoding="utf-8").replace("# other_protocols = true", "other_protocols = true")
            )
            command = [sys.executable, str(SHIPPED / "scripts" / "check"), "--home", str(self.folder)]
            command += ["--plan", NAME, "--target", capture.address, "--limit", f"{_LIMIT_S}s"]
            command += properties_option(self.given)
            code = run_limited(command, self.folder / "ours.txt", self.folder, TRUSTED)
            why = _last(self.folder / "ours.txt")
            return _Checked([request_of(one) for one in capture.received], code, why)


def _is_named(found: Sequence[Difference], named: Sequence[str]) -> bool:
    """Return whether a finding or fix of init accounts for each difference."""

    def is_named(one: Difference) -> bool:
        if Rule.OLD_HOST.code in named and HOST in one.plain and HOST not in one.ours:
            return True
        return any(code in named for code in _ACCOUNTS.get(one.part, ()))

    return all(map(is_named, found))


def _last(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"\S*/check/pass/", "", lines[-1] if lines else "no output")[:300]


def run_limited(command: list[str], output: Path, folder: Path, more: Mapping[str, str]) -> int:
    """Run a command to its end, or end it after the limit; return its exit code."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, **more},
            start_new_session=True,
        )
        try:
            return process.wait(_LIMIT_S + _STOP_S)
        except subprocess.TimeoutExpired:
            return EXIT_INTERRUPTED
        finally:  # JMeter may outlive its start script, also when the comparison is interrupted
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main(arguments: list[str]) -> None:
    """Compare the plans that have no result yet; print one line for each."""
    parser = batch_parser((__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", action="store_true", help="only print the table of the results")
    options = parser.parse_args(arguments)
    results = {one["plan"]: Outcome(**one) for one in stored_results(options.results)}
    if options.table:
        print(table(results.values()))
        return
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    certificate = make_certificate(work / "certificate.pem")

    def run(jmx: Path, plan: str) -> Outcome:
        try:
            return Comparison(jmx, plan, work / re.sub(r"[^\w.-]+", "-", plan), certificate).run()
        except (HarnessError, OSError, ValueError) as error:
            return Outcome(plan, NOT_RUN, why=f"{type(error).__name__}: {error}"[:300])

    run_batch(options, results, run, lambda one: f"{one.state} {one.plain} {one.ours} {one.plan} {one.why}")


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the numbers of plans by repository and state, as Markdown."""
    states = (EQUAL, NAMED, NOT_NAMED)
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for group in (outcome.plan.partition("/")[0].replace("+", "/"), "all"):
            counts.setdefault(group, Counter())[outcome.state] += 1
    rows = [["repository", "plans", "comparable", *states]]
    for group in sorted(counts, key=lambda name: (name == "all", name)):
        count = counts[group]
        numbers = (count.total(), count.total() - count[NOT_RUN], *(count[state] for state in states))
        rows.append([group, *map(str, numbers)])
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main(sys.argv[1:])
