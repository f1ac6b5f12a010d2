"""Makes a plan of recordings: writes it, proves its extractors by a replay, and prints what was found."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from harness.base.errors import EXIT_OK, EXIT_REGRESSED, UsageError
from harness.base.log import log
from harness.base.project import folder_with, read_project
from harness.base.toml_text import toml_comment, toml_string
from harness.base.units import number_text, parse_duration_s, plural
from harness.plan.adopt.data import DataFile
from harness.plan.adopt.files import store_secrets, write_data, write_plan
from harness.plan.adopt.toml_text import secrets_lines
from harness.plan.allowed_targets import check_allowed
from harness.plan.check import refuse_scripts
from harness.plan.har.correlate import aligned, correlate
from harness.plan.har.jmx import recorded_jmx
from harness.plan.har.read import Recording, has_secure_cookie, read_har
from harness.plan.har.recorded import Recorded, csv_text
from harness.plan.har.steps import Steps, steps_of
from harness.plan.jmx import LOAD_GROUP
from harness.plan.load import LoadArguments, parse_load, resolve_load
from harness.plan.plan import SUB_RESULTS
from harness.plan.spec import load_profile, parse_target
from harness.run.consent import trust_made
from harness.run.preflight import check_request
from harness.run.replay import USERS, Proof, prove
from harness.run.request import Request, resolve_request

_SHOWN_MOST = 16
_PROFILE = "local"
_HARS_MOST = 2


def make_har_plan(options: argparse.Namespace, name: str) -> int:
    """Write the plan of the recordings, prove its extractors, print what was found; return the exit code.

    `options` are those of `lth init`.
    """
    if len(options.har) > _HARS_MOST:
        raise UsageError(f"{len(options.har)} recordings: two show what varies", "give --har at most twice")
    recordings = [read_har(path) for path in options.har]
    given = parse_target(options.target).origin if options.target else ""
    host = given.partition("//")[2]
    all_steps = [steps_of(one, host if any(call.host == host for call in one.calls) else "") for one in recordings]
    target = given or all_steps[0].origin
    if not options.no_replay:
        _check_allowed(target, options.home)
    recorded = _recorded(name, all_steps, with_static=options.static)
    plans = options.home / "plans"
    missing = _write(recorded, plans, options.home, recordings)
    _print_contents(recorded, recordings, all_steps, missing)
    if options.no_replay:
        _print_table(recorded, None)
        log(f"\nnothing is proven (--no-replay); lth init --har … --target {target} --force replays the plan")
        return EXIT_OK
    trust_made(options.home, name)
    folders = {"home": options.home, "build": options.build}
    request = resolve_request(argparse.Namespace(verb="init", plan=name, env=_PROFILE, target=target, **folders))
    check_request(request, resolve_load(parse_load(LoadArguments()), request.plan.load))  # as lth check and lth run do
    return _proven(recorded, request, plans, target, options)


def _check_allowed(target: str, home: Path) -> None:
    profile = load_profile(folder_with(home, "env", _PROFILE), _PROFILE)
    allowed = (*profile.allowed_targets, *read_project(home).targets.values())
    check_allowed(parse_target(target), replace(profile, allowed_targets=allowed))


def _recorded(name: str, all_steps: Sequence[Steps], *, with_static: bool) -> Recorded:
    recordings = [one.steps for one in all_steps]
    pauses_s = [median(step.pause_s for step in steps) for steps in aligned(recordings)]
    return Recorded(name, recordings[0], correlate(recordings), pauses_s, with_static)


def _write(recorded: Recorded, plans: Path, home: Path, recordings: Sequence[Recording]) -> list[str]:
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


def _toml(recorded: Recorded, recordings: Sequence[Recording]) -> str:
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


def _print_contents(
    recorded: Recorded, recordings: Sequence[Recording], all_steps: Sequence[Steps], missing: Sequence[str]
) -> None:
    transactions = sum(bool(step.title) for step in recorded.steps)
    what = f"{plural(len(recorded.steps), 'request')} in {plural(transactions, 'transaction')}"
    log(f"plans/{recorded.name}.jmx, plans/{recorded.name}.toml: {what} to {all_steps[0].origin}")
    for recording, steps in zip(recordings, all_steps, strict=True):
        left = [f"{count} to {host}" for host, count in steps.hosts.items()]
        left += [f"{steps.static} of static files"] if steps.static and not recorded.with_static else []
        left += [f"{count} {reason}" for reason, count in recording.left_out.items()]
        if left:
            log(f"{recording.name}: left out: {', '.join(left)}")
    if recorded.columns:
        log(f"plans/{recorded.data_name}: what a user types ({', '.join(recorded.columns)}): add rows")
    if recorded.secrets:
        log(f"secrets.toml, which git ignores, has the values of: {', '.join(recorded.secrets)}")
    for file in missing:
        log(f"plans/{file}: the recording lacks its content: copy the file there")
    labels = recorded.labels()
    for label, step in zip(labels, recorded.steps, strict=True):
        call = step.answers[0]
        if "multipart" in call.body_type and not (call.params or call.body):
            log(f"{label}: the recording lacks the form with a file that it sends: lth record keeps it")
    answers = (answer for step in recorded.steps for answer in step.answers)
    if all_steps[0].origin.startswith("http:") and any(has_secure_cookie(answer) for answer in answers):
        log("the cookies are Secure: JMeter sends them over https only; record the https address of the target")
    if unmatched := recorded.found.unmatched:
        names = ", ".join(labels[number] for number in unmatched[:3])
        log(f"only in the first recording ({len(unmatched)}): {names}{' …' if len(unmatched) > 3 else ''}")


def _proven(recorded: Recorded, request: Request, plans: Path, target: str, options: argparse.Namespace) -> int:
    log(f"\nreplay: {USERS} users, then one without each extractor, on {target}")
    proof = prove(recorded, request, parse_duration_s(options.max, "--limit"))
    if not proof.failures and proof.dropped:
        variables = [one for one in recorded.found.variables if one.name not in proof.dropped]
        recorded.found.variables[:] = variables
        write_plan(plans, recorded.name, _jmx(recorded), "")
    _print_table(recorded, proof)
    if proof.failures:
        log("\nnot proven: the replay differs from the recording:")
        for line in proof.failures[:5]:
            log(f"  {line}")
        log(f"the plan is kept; lth check {recorded.name} -t {target} prints each request")
        return EXIT_REGRESSED
    extractors = plural(len(recorded.found.variables), "extractor")
    log(f"\nproven in {proof.passes} passes: {USERS} users passed with {extractors}")
    log(f"next: lth run {recorded.name} -t {target}")
    return EXIT_OK


def _print_table(recorded: Recorded, proof: Proof | None) -> None:
    """Print the extractors, what was dropped, and what has no source."""
    labels = recorded.labels()
    rows = [("value", "first seen", "used", "extractor", "without it")]
    for one in recorded.found.variables:
        without = "not proven"
        if proof and not proof.failures:
            without = proof.without.get(one.name, "users pass without it, but not without others, too")
        used = dict.fromkeys(f"{labels[use.step]} ({use.key[0]})" for use in one.uses)
        rows.append((one.name, labels[one.source], ", ".join(used), one.extractor.text, without))
    if len(rows) > 1:
        log("")
        for line in _columns(rows):
            log(line)
    if proof and proof.dropped and not proof.failures:
        log(f"\nnot needed, so sent as recorded: {', '.join(proof.dropped)}")
    for unknown in recorded.found.unexplained:
        value = unknown.value if len(unknown.value) <= _SHOWN_MOST else f"{unknown.value[:_SHOWN_MOST]}…"
        log(f"unexplained: {labels[unknown.step]}, {unknown.where}: {value} ({unknown.guess}); {unknown.todo}")


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [min(44, max(len(row[at]) for row in rows)) for at in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [
            cell if len(cell) <= width else f"{cell[: width - 1]}…" for cell, width in zip(row, widths, strict=False)
        ]
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)), row[-1]]).rstrip()
