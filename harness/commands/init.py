"""`lth init`: make a plan of a JMX, or a small new plan, and offer the fixes that a run needs."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from harness.base.errors import EXIT_OK, UsageError
from harness.base.install.python_packages import ensure_openapi
from harness.base.log import log
from harness.base.paths import shown
from harness.base.project import FILE_NAME, own_folder, read_project
from harness.cli.options import take, take_argument
from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.contents import known_plugins
from harness.plan.adopt.curl import OneRequest
from harness.plan.adopt.draft import Draft, Fix
from harness.plan.adopt.draft_diff import Hunk, hunks, unified
from harness.plan.adopt.files import add_secrets_key, store_secrets, write_adopted, write_data, write_plan
from harness.plan.adopt.groups import needs_tables
from harness.plan.adopt.one_request import read_request, target_of, write_requests
from harness.plan.adopt.project_files import (
    copy_of_clone,
    name_of_address,
    new_home,
    plan_name_of,
    show_jmx_as_text,
    write_project,
)
from harness.plan.adopt.toml_text import data_lines, plan_toml, samplers_text, size_text
from harness.plan.allowed_targets import is_loopback
from harness.plan.checks.check import refusals
from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.lint import lint
from harness.plan.har.kept import kept_lines
from harness.plan.jmx.headers import merged, parse_headers
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import is_address, load_plan
from harness.plan.spec import Target
from harness.run.consent import trust_made
from harness.run.preflight import run_files
from harness.run.replay.recorded import make_har_plan

_EPILOG = """\
examples:
  lth init                                  a project in this folder: loadtest.toml, .gitignore, a plan with one request
  lth init ~/tests/shop.jmx --fix           copy a JMX, describe it, and apply the fixes that a run needs
  lth init ~/tests/shop.jmx                 the same, but only show the fixes as a diff
  lth init --plan shop --fix                apply the fixes to plans/shop.jmx
  lth init https://127.0.0.1:8080/items     a plan with one request to this address, which becomes a target
  lth init shop --har buy.har --har buy2.har  a plan of recordings; a replay on the recorded host proves its extractors
  lth init items --curl "curl -X POST …"     one request, as a browser copies it; secrets go to secrets.toml
  lth init shop --openapi openapi.yaml       its GET and HEAD requests; --only 'POST /pets' chooses others
  lth init --from-clone ../load-test-harness  a project of the plans, profiles, systems and reports in a clone
  lth init --git                            git diff shows the JMX files of this folder as text (each clone needs it)

Nothing is overwritten without --force. exit codes: 0 success; 2 wrong use or an unreadable JMX.
"""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_WARNINGS_SHOWN = 10
# No plan has this port by chance.
_ANY_TARGET = Target("http", "127.0.0.1", 61_234, "")
_EXAMPLE_LINES, _WIDTH = 4, 150
_LEFT_SHOWN, _LABELS_SHOWN, _NAMES_SHOWN = 20, 10, 5
_LOCAL = "http://127.0.0.1:8080/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth init`."""
    parser.description = "Make a project here, or in a project a plan of a JMX or of an address."
    parser.epilog = _EPILOG
    take_argument(parser, "what", "*")
    take(
        parser,
        "plan/new header curl openapi only/operations jmx har target static replay no-replay max/check fix force "
        "from-clone git yes home build",
    )


def run(options: argparse.Namespace) -> int:
    """Make the project or the plan; print what was found, fixed and left; return the exit code."""
    if options.from_clone:
        return _of_clone(options.from_clone, Path.cwd())
    if options.git:
        for line in show_jmx_as_text(Path.cwd()):
            log(line)
        return EXIT_OK
    given = _given(options)
    options.home = new_home(options.home, Path.cwd())
    is_new = not (options.home / FILE_NAME).is_file()
    if not is_new and not options.plan and not given and not options.jmx:
        todo = "lth init shop.jmx adds a plan to it, as does lth init http://127.0.0.1:8080/"
        raise UsageError(f"{shown(options.home / FILE_NAME)} exists: this is a project", todo)
    source = options.jmx.stem if options.jmx else Path.cwd().name
    target = target_of(given.requests[0]) if given and given.is_target_known else None
    name = options.plan or (_free_name(given, options) if given else plan_name_of(source))
    targets = {"local" if is_loopback(target.host) else name: target.origin} if target else {}
    is_of_jmx = not given and not options.har
    plan = options.home / "plans" / f"{name}.jmx"
    was_there, is_made = plan.exists(), False
    try:
        code = _make_plan(options, name, given)
        is_made = True
        return code
    finally:  # a plan whose replay failed is kept, and needs its project; one that was there before is not trusted
        if is_made or (plan.is_file() and not was_there):
            for written in write_project(options.home, name, targets) if is_new else ():
                log(f"{written}: written")
            trust_made(options.home, name, is_new_project=is_new, is_of_jmx=is_of_jmx)


def _free_name(given: _Given, options: argparse.Namespace) -> str:
    """Return the name for the plan of an address; another request of the same host is named after its path."""
    if options.force or not (options.home / "plans" / f"{given.name}.jmx").exists():
        return given.name
    path = urlsplit(given.requests[0].url).path.strip("/")
    return plan_name_of(f"{given.name}-{path}") if path else given.name


@dataclass(frozen=True)
class _Given:
    """The requests of a plan, its name unless another is given, what they are made of, and lines about them."""

    requests: tuple[OneRequest, ...]
    name: str
    source: str = "one request"
    lines: tuple[str, ...] = ()
    is_target_known: bool = True


def _given(options: argparse.Namespace) -> _Given | None:
    """Return the requests that are given, None without any; set the plan or the JMX of the words."""
    address = next((word for word in options.what if is_address(word)), "")
    words = [word for word in options.what if word != address]
    has_requests = address or options.curl or options.openapi
    if options.har:
        if has_requests or options.jmx or len(words) + bool(options.plan) > 1:
            raise UsageError("--har excludes a JMX, an address and a second name", "give one")
        options.plan = options.plan or (words[0] if words else plan_name_of(options.har[0].stem))
        return None
    if len(words) > 1 or (words and (options.plan if has_requests else options.jmx)):
        raise UsageError(f"{' '.join(words)}: one word too many", "give one name of the plan, or one JMX")
    if options.only and not options.openapi:
        raise UsageError("--only is for the operations of --openapi", "give both")
    if not has_requests:
        if options.header:
            raise UsageError("--header is for the plan of an address", "write [headers] into the plan's TOML")
        options.jmx = Path(words[0]) if words else options.jmx
        return None
    if options.jmx:
        raise UsageError("--jmx and an address cannot be used together", "give one")
    options.plan = words[0] if words else options.plan
    given = _of_openapi(options, address) if options.openapi else _of_request(read_request(address, options.curl))
    headers = parse_headers(options.header)
    requests = tuple(replace(one, headers=merged(one.headers, headers)) for one in given.requests)
    return replace(given, requests=requests)


def _of_request(request: OneRequest) -> _Given:
    target_of(request)  # refuses a wrong address
    return _Given((request,), name_of_address(request.url))


def _of_openapi(options: argparse.Namespace, address: str) -> _Given:
    if options.curl:
        raise UsageError("--curl and --openapi cannot be used together", "give one")
    address = address or _LOCAL
    target_of(OneRequest(address))  # refuses a wrong one
    ensure_openapi()
    from harness.plan.adopt.openapi.requests import plan_of_openapi  # deferred: it needs optional packages

    plan = plan_of_openapi(options.openapi, options.only, address, options.plan or "")
    return _Given(plan.requests, plan.name, options.openapi.name, plan.lines, address != _LOCAL)


def _of_clone(clone: Path, folder: Path) -> int:
    copied = copy_of_clone(clone, folder)
    for path in (*copied, *write_project(folder, "", {})):
        log(path)
    for path in copied:
        if Path(path).parent.name == "plans" and Path(path).suffix == ".toml":
            trust_made(folder, Path(path).stem, is_new_project=True, is_of_jmx=True)
    log("\nnext: set the default plan in loadtest.toml, then lth check")
    return EXIT_OK


def _make_plan(options: argparse.Namespace, name: str, given: _Given | None) -> int:
    """Make the plan of a request or a JMX; without either one of a request to this machine."""
    plans = options.home / "plans"
    if not _NAME.fullmatch(name) or Path(name).suffix in (".jmx", ".toml"):
        raise UsageError(f"--plan={name}: not a name of a plan", "use letters, digits, _ and -, such as --plan=shop")
    own = plans / f"{name}.jmx"
    there = [path.name for path in (own, own.with_suffix(".toml")) if path.exists()]
    is_fixing_own = options.fix and not options.jmx and own.is_file()
    if there and not options.force and not is_fixing_own:
        more = "" if options.jmx else ", --fix applies the fixes to it"
        raise UsageError(f"plans/{there[0]} exists", f"give another --plan; --force replaces it{more}")
    if options.har:
        return make_har_plan(options, name)
    if not options.jmx and not is_fixing_own:
        return _new(options.home, name, given or _of_request(OneRequest(_LOCAL)))
    source = options.jmx or own
    adoption = adopt(source, name, plans)
    if is_fixing_own and own.with_suffix(".toml").is_file():
        write_data(plans, adoption.data)
        write_plan(plans, name, adoption.draft.text(), "")
        add_secrets_key(plans, name, adoption.secrets)
    elif options.fix:
        write_adopted(plans, name, adoption, source.name)
    else:
        write_plan(plans, name, source.read_bytes(), plan_toml(adoption.contents, name, source.name))
    if options.fix:
        store_secrets(options.home, adoption.secrets)
    _print(
        adoption,
        name,
        plans,
        _write_diff(adoption, name, own_folder(options.home, options.build)),
        is_fixed=options.fix,
    )
    return EXIT_OK


def _new(home: Path, name: str, given: _Given) -> int:
    made = write_requests(given.requests, home / "plans", name, name, given.source)
    store_secrets(home, made.secrets)
    count = f"{len(made.labels)} requests" if made.labels[1:] else "one request"
    more = f" and {len(made.labels) - _LABELS_SHOWN} more" if len(made.labels) > _LABELS_SHOWN else ""
    log(f"plans/{name}.jmx, plans/{name}.toml: a plan with {count}, {', '.join(made.labels[:_LABELS_SHOWN])}{more}")
    for line in given.lines:
        log(line)
    if made.secrets:
        log(f"secrets.toml, which git ignores, has the values of: {', '.join(made.secrets)}")
    for line in left_lines(made.left, f"plans/{name}.jmx"):
        log(line)
    for line in kept_lines(home / "plans", [f"{name}.jmx", f"{name}.toml"]):
        log(line)
    log(f"next: lth check --plan={name} --target={made.target.origin}; lth gui --plan={name} changes it")
    return EXIT_OK


def _write_diff(adoption: Adoption, name: str, build: Path) -> Path:
    """Write the fixes as a diff and return its path."""
    path = build / "init" / f"{name}.diff"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(unified(adoption.draft, f"a/plans/{name}.jmx", f"b/plans/{name}.jmx"), encoding="utf-8")
    return path


def _print(adoption: Adoption, name: str, plans: Path, diff: Path, *, is_fixed: bool) -> None:
    content = adoption.contents
    groups = "; ".join(f"{size.name}: {size_text(size)}" for size in content.sizes) or "no thread group of a load"
    log(f"plans/{name}.jmx, plans/{name}.toml: {groups}")
    hosts = ", ".join(content.hosts) or "none"
    log(f"samplers: {samplers_text(content)}; hosts: {hosts}; scripts: {len(content.scripts)}")
    if content.scripts:
        log(f"plans/{name}.toml permits its scripts (scripts = true): read them; the first check asks")
    log("")
    if adoption.draft.changes:
        log("fixes applied:" if is_fixed else f"fixes; lth init --plan={name} --fix applies them:")
        for line in fix_lines(adoption.draft):
            log(line)
        log(f"the complete diff: {shown(diff)}")
    else:
        log("no fix is needed")
    left = (*refused_with_fixes(adoption, name, run_files()), *adoption.left)
    if left:
        log(f"\nnot fixed ({len(left)}); these are yours to decide:")
        for line in left_lines(left, f"plans/{name}.jmx"):
            log(line)
    if not is_fixed:
        return
    if adoption.secrets:
        log(f"\nsecrets.toml, which git ignores, has the values of: {', '.join(adoption.secrets)}")
    if adoption.data:
        log("")
        for line in data_lines(adoption.data):
            log(line)
    reported = {(finding.rule, finding.path) for finding in left}
    warnings = [
        finding
        for finding in lint(
            plans / f"{name}.jmx", has_loads=needs_tables(content.sizes), plugins=known_plugins(content)
        )
        if (finding.rule, finding.path) not in reported
    ]
    for warning in warnings[:_WARNINGS_SHOWN]:
        log(f"warning: {warning.text_in(f'plans/{name}.jmx')}; {warning.todo}")
    # The project's target is used without being named; another plan's port would be a guess.
    target = "" if read_project(plans.parent).target else f" --target={adoption.target or 'http://127.0.0.1:8080'}"
    log(f"\nnext: lth check --plan={name}{target}")


def refused_with_fixes(adoption: Adoption, name: str, run_files: Collection[str]) -> tuple[Finding, ...]:
    """Return the findings for which a run of the fixed plan is refused, without those that `adoption.left` has.

    Their lines are those of the JMX before the fixes. `run_files` are the names of the files that a run writes.
    UsageError when the plan's TOML cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="init-") as folder:
        write_adopted(Path(folder), name, adoption, name)
        plan = load_plan(Path(folder), name)
        load = resolve_load(parse_load(LoadArguments()), plan.load)
        refused = refusals(plan, _ANY_TARGET, load, plan.own_properties(is_embedded=False), run_files)
    lines = {node.path: node.line for node in adoption.draft.plan.walk_all()}
    known = {(finding.rule, finding.path) for finding in adoption.left}
    return tuple(
        replace(finding, line=lines.get(finding.path, finding.line))
        for finding in refused
        if (finding.rule, finding.path) not in known
    )


def fix_lines(draft: Draft) -> Iterator[str]:
    """Yield each kind of fix with the number of changed elements, and its first change as a diff."""
    counts = Counter(draft.changes)
    changed = hunks(draft)
    for fix in Fix:
        if counts[fix]:
            yield f"{counts[fix]:>5}  {fix.value}"
            concerned = sorted((hunk for hunk in changed if fix in hunk.fixes), key=lambda hunk: len(hunk.fixes))
            yield from _example(concerned[0]) if concerned else ()


def left_lines(left: Sequence[Finding], file: str) -> Iterator[str]:
    """Yield what no fix maps, one line for each thing to do, at most 20."""
    by_todo: dict[tuple[Rule, str, str], list[Finding]] = {}
    for one in left:
        by_todo.setdefault((one.rule, one.what.partition(" (")[0], one.todo), []).append(one)
    for first, *others in list(by_todo.values())[:_LEFT_SHOWN]:
        names = ", ".join(dict.fromkeys(one.path.rpartition(" > ")[2] for one in others[:_NAMES_SHOWN]))
        more = f", and {len(others) - _NAMES_SHOWN} more" if len(others) > _NAMES_SHOWN else ""
        yield f"  {first.text_in(file)}{f' (also {names}{more})' if others else ''}; {first.todo}"
    if len(by_todo) > _LEFT_SHOWN:
        yield f"  and {len(by_todo) - _LEFT_SHOWN} more"


def _example(hunk: Hunk) -> Iterator[str]:
    yield f"         line {hunk.start + 1}:"
    for sign, lines in (("-", hunk.old), ("+", hunk.new)):
        for line in lines[:_EXAMPLE_LINES]:
            text = line.strip()
            yield f"         {sign} {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}"
        if len(lines) > _EXAMPLE_LINES:
            yield f"         {sign} …"
