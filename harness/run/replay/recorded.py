"""Makes a plan of recordings: writes it, proves its extractors by a replay, and prints what was found."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from harness.base.errors import EXIT_OK, EXIT_REGRESSED, UsageError
from harness.base.log import print_text
from harness.base.project import folder_with, read_project
from harness.base.secrecy import masked
from harness.base.toml_text import toml_comment, toml_string
from harness.base.units import number_text, parse_duration_s, plural
from harness.plan.adopt.data import DataFile
from harness.plan.adopt.files import store_secrets, write_data, write_plan
from harness.plan.adopt.toml_text import secrets_lines
from harness.plan.allowed_targets import check_allowed
from harness.plan.checks.check import refuse_scripts
from harness.plan.har.correlate import aligned, correlate
from harness.plan.har.destructive import destructive_of
from harness.plan.har.hidden import add_secrets
from harness.plan.har.jmx import recorded_jmx
from harness.plan.har.read import HarRecording, plain_address, read_har
from harness.plan.har.recorded import Recorded, csv_text
from harness.plan.har.steps import Steps, steps_of
from harness.plan.jmx.tree import LOAD_GROUP
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import SUB_RESULTS
from harness.plan.spec import load_profile, parse_target
from harness.run.consent import trust_made
from harness.run.preflight import check_request
from harness.run.recorded_lines import listed, print_contents, print_kept, print_replay, print_table, say
from harness.run.replay.proof import USERS, has_rows, prove
from harness.run.request import Request, resolve_request

_PROFILE = "local"
_HARS_MOST = 2


def make_har_plan(options: argparse.Namespace, name: str) -> int:
    """Write the plan of the recordings, prove its extractors, print what was found; return the exit code.

    `options` are those of `lth init`.
    """
    if options.replay and options.no_replay:
        raise UsageError("--replay and --no-replay cannot be used together", "give one")
    if len(options.har) > _HARS_MOST:
        raise UsageError(f"{len(options.har)} recordings: two show what varies", "give --har at most twice")
    recordings = [read_har(path) for path in options.har]
    given = parse_target(options.target).origin if options.target else ""
    host = plain_address(given).partition("//")[2].lower()
    all_steps = [steps_of(one, host if any(call.host == host for call in one.calls) else "") for one in recordings]
    target = given or all_steps[0].origin
    if not options.no_replay:
        _check_allowed(target, options.home)
    recorded = _recorded(name, all_steps, with_static=options.static)
    plans = options.home / "plans"
    missing = _write(recorded, plans, options.home, recordings)
    print_contents(recorded, recordings, all_steps, missing)
    if why_not := _why_no_replay(recorded, target, options):
        print_table(recorded, None)
        print_kept(recorded, plans)
        say(recorded, f"\nnothing is proven {why_not} replays the plan")
        return EXIT_OK
    trust_made(options.home, name)
    folders = {"home": options.home, "build": options.build}
    request = resolve_request(argparse.Namespace(verb="init", plan=name, env=_PROFILE, target=target, **folders))
    check_request(request, resolve_load(parse_load(LoadArguments()), request.plan.load))  # as lth check and lth run do
    return _proven(recorded, request, plans, recordings, options)


def _why_no_replay(recorded: Recorded, target: str, options: argparse.Namespace) -> str:
    """Print what a replay sends, and ask before a destructive one; return why there is none, and how to have it."""
    command = f"lth init --har … --target {target} --force"
    if options.no_replay:
        return f"(--no-replay); {command}"
    own_rows = has_rows(recorded, options.home / "plans")
    print_replay(recorded, target, is_varied=bool(recorded.varied) and not own_rows)
    harms = destructive_of(recorded.steps, recorded.labels())
    if not harms or options.replay:
        return ""
    say(recorded, f"the recording removes, changes, pays or sends: {listed(harms)}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return f"(this would repeat it, and there is no terminal to ask); {command} --replay"
    print_text(f"Send it to {target}? [y/N] ", end="", file=sys.stderr, flush=True)
    is_agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    return "" if is_agreed else f"(not sent); {command} --replay"


def _check_allowed(target: str, home: Path) -> None:
    profile = load_profile(folder_with(home, "env", _PROFILE), _PROFILE)
    allowed = (*profile.allowed_targets, *read_project(home).targets.values())
    check_allowed(parse_target(target), replace(profile, allowed_targets=allowed))


def _recorded(name: str, all_steps: Sequence[Steps], *, with_static: bool) -> Recorded:
    recordings = [one.steps for one in all_steps]
    pauses_s = [median(step.pause_s for step in steps) for steps in aligned(recordings)]
    correlation = correlate(recordings)
    hidden = [re.sub(r"[^\w ./&+'-]+", " ", one.value) for one in correlation.typed if one.is_secret]
    steps = [replace(step, title=masked(step.title, hidden)) for step in recordings[0]]
    return Recorded(name, steps, correlation, pauses_s, with_static)


def _write(recorded: Recorded, plans: Path, home: Path, recordings: Sequence[HarRecording]) -> list[str]:
    """Write the plan and its files; return the uploads that have no recorded content."""
    data = [DataFile(file, None, (), text) for file, text in recorded.uploads.items()]
    if recorded.columns:
        rows = csv_text([list(recorded.columns), list(recorded.columns.values())])
        file, head = plans / recorded.data_name, rows.partition("\n")[0]
        is_own = file.is_file() and file.read_text(encoding="utf-8").partition("\n")[0].strip() == head
        data += [] if is_own else [DataFile(recorded.data_name, None, (), rows)]
    jmx = _jmx(recorded)
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        path = Path(folder) / f"{recorded.name}.jmx"
        path.write_bytes(jmx)
        refuse_scripts(path, recordings[0].name)
    write_data(plans, data)
    store_secrets(home, recorded.secrets)
    write_plan(plans, recorded.name, jmx, _toml(recorded, recordings))
    return [file for file, text in recorded.uploads.items() if not text]


def _jmx(recorded: Recorded) -> bytes:
    return recorded_jmx(recorded, {LOAD_GROUP: [one.name for one in recorded.found.variables]})


def _toml(recorded: Recorded, recordings: Sequence[HarRecording]) -> str:
    files = toml_comment(", ".join(one.name for one in recordings))
    lines = [
        f"# Written by lth init from {files}. plans/README.md explains every key.",
        "format_version = 1",
        f"title = {toml_string(recorded.name)}",
        f"shape = {toml_string(f'{recorded.name}.jmx')}",
        *secrets_lines(tuple(recorded.secrets)),
        "",
        "[load]",
        "users = 5",
        "ramp_per_user_s = 1",
        "duration_s = 60",
    ]
    if recorded.think_time_s:
        lines += [
            "# The mean of the recorded pauses; each pause of the plan is a multiple of it.",
            f"think_time_s = {number_text(recorded.think_time_s)}",
            'think_time_per = "transaction"',
        ]
    # A redirect is a part of its request, and has no row of its own.
    lines += ["", "[properties]", f'"{SUB_RESULTS}" = "false"']
    allow = ["embedded_resources = true"] if recorded.with_static else []
    return "\n".join([*lines, *(["", "[allow]", *allow] if allow else [])]) + "\n"


def _proven(
    recorded: Recorded, request: Request, plans: Path, recordings: Sequence[HarRecording], options: argparse.Namespace
) -> int:
    assert request.target  # a recording has one
    target = request.target.origin
    proof = prove(recorded, request, parse_duration_s(options.max, "--limit"))
    if not proof.failures and proof.dropped:
        recorded.found.variables[:] = [one for one in recorded.found.variables if one.name not in proof.dropped]
        add_secrets(recorded.steps, recorded.found)  # no extractor reads them any more
        store_secrets(options.home, recorded.secrets)
        write_plan(plans, recorded.name, _jmx(recorded), _toml(recorded, recordings))
    print_table(recorded, proof)
    print_kept(recorded, plans)
    if proof.failures:
        say(recorded, "\nnot proven: the replay differs from the recording:")
        for line in proof.failures[:5]:
            say(recorded, f"  {line}")
        say(recorded, f"the plan is kept; lth check {recorded.name} -t {target} prints each request")
        return EXIT_REGRESSED
    extractors = plural(len(recorded.found.variables), "extractor")
    more = f" and those that were dropped, and one without these: {', '.join(proof.dropped)}" if proof.dropped else ""
    say(recorded, f"\nproven in {proof.passes} passes: {USERS} users passed with {extractors}{more}")
    say(recorded, f"next: lth run {recorded.name} -t {target}")
    return EXIT_OK
