"""Prints what was made of recordings: contents, extractors, what has no source, and what the replay sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.base.credentials import credentials_in, is_credential
from harness.base.log import log
from harness.base.secrecy import masked
from harness.base.spellings import LEAST_LENGTH, MASK
from harness.base.units import plural
from harness.plan.har.destructive import counts_of
from harness.plan.har.kept import kept_lines, line_of, secrets_in_uploads
from harness.plan.har.read import HarRecording, has_secure_cookie
from harness.plan.har.recorded import Recorded
from harness.plan.har.steps import Steps
from harness.run.replay.proof import USERS, Proof, passes_of

_DESTRUCTIVE_SHOWN = 3
# What such a value is needs no secrecy; another one may be a secret.
_SHOWN_GUESSES = ("time in ms", "time in s")


def say(recorded: Recorded, text: str) -> None:
    """Print a line with ••• in place of the secrets of a recording, also of those that an extractor reads."""
    read = [one for one in recorded.found.variables if _is_secret(recorded, one.name)]
    values = [*recorded.secrets.values(), *(value for one in read for value in (*one.values, one.given))]
    log(masked(text, [value for value in values if len(value) >= LEAST_LENGTH]))


def _is_secret(recorded: Recorded, name: str) -> bool:
    one = next(one for one in recorded.found.variables if one.name == name)
    uses = [is_credential(use.key[1], use.text) for use in one.uses]
    return any(uses) or is_credential(one.name, one.values[0]) or any(credentials_in("", one.values[0]))


def print_contents(
    recorded: Recorded, recordings: Sequence[HarRecording], all_steps: Sequence[Steps], missing: Sequence[str]
) -> None:
    """Print what the plan has, and what was left out of it."""
    transactions = sum(bool(step.title) for step in recorded.steps)
    what = f"{plural(len(recorded.steps), 'request')} in {plural(transactions, 'transaction')}"
    say(recorded, f"plans/{recorded.name}.jmx, plans/{recorded.name}.toml: {what} to {all_steps[0].origin}")
    for recording, steps in zip(recordings, all_steps, strict=True):
        left = [f"{count} to {host}" for host, count in steps.hosts.items()]
        left += [f"{steps.static} of static files"] if steps.static and not recorded.with_static else []
        left += [f"{count} {reason}" for reason, count in recording.left_out.items()]
        if left:
            say(recorded, f"{recording.name}: left out: {', '.join(left)}")
    if recorded.columns:
        count = f"{len(recorded.rows)} rows, " if len(recorded.rows) > 1 else ""
        say(recorded, f"plans/{recorded.data_name}: {count}what a user types ({', '.join(recorded.columns)}): add rows")
    if recorded.secrets:
        say(recorded, f"secrets.toml, which git ignores, has the values of: {', '.join(recorded.secrets)}")
    for file in missing:
        say(recorded, f"plans/{file}: the recording lacks its content: copy the file there")
    labels = recorded.labels()
    for label, step in zip(labels, recorded.steps, strict=True):
        call = step.answers[0]
        if "multipart" in call.body_type and not (call.params or call.body):
            say(recorded, f"{label}: the recording lacks the form with a file that it sends: lth record keeps it")
    answers = (answer for step in recorded.steps for answer in step.answers)
    if all_steps[0].origin.startswith("http:") and any(has_secure_cookie(answer) for answer in answers):
        say(
            recorded,
            "the cookies are Secure: JMeter sends them over https only; record the https address of the target",
        )
    if unmatched := recorded.found.unmatched:
        names = ", ".join(labels[number] for number in unmatched[:3])
        say(recorded, f"only in the first recording ({len(unmatched)}): {names}{' …' if len(unmatched) > 3 else ''}")


def print_table(recorded: Recorded, proof: Proof | None) -> None:
    """Print the extractors, what was dropped, and what has no source."""
    labels = recorded.labels()
    rows = [("value", "first seen", "used", "extractor", "without it")]
    for variable in recorded.found.variables:
        without = "not proven"
        if proof and not proof.failures:
            without = proof.without.get(variable.name, "users pass without it, but not without others, too")
        used = dict.fromkeys(f"{labels[use.step]} ({use.key[0]})" for use in variable.uses)
        rows.append((variable.name, labels[variable.source], ", ".join(used), variable.extractor.text, without))
    if len(rows) > 1:
        say(recorded, "")
        for line in _columns(rows):
            say(recorded, line)
    if proof and proof.dropped and not proof.failures:
        say(recorded, f"\nnot needed, so sent as recorded: {', '.join(proof.dropped)}")


def print_kept(recorded: Recorded, plans: Path) -> None:
    """Print what has no source, and what else in the files of the plan looks random, each with file and line."""
    labels, jmx = recorded.labels(), f"plans/{recorded.name}.jmx"
    files = [f"{recorded.name}.jmx", *([recorded.data_name] if recorded.columns else [])]
    written = (plans / f"{recorded.name}.jmx").read_text(encoding="utf-8")
    for unknown in recorded.found.unexplained:
        value = unknown.value if unknown.guess in _SHOWN_GUESSES else MASK
        line = line_of(written, unknown.value)
        what = f"unexplained: {labels[unknown.step]}, {unknown.where}: {value} ({unknown.guess}); {unknown.todo}"
        say(recorded, f"{what} [{jmx}{f':{line}' if line else ''}]")
    for text in kept_lines(plans, files, [one.value for one in recorded.found.unexplained]):
        say(recorded, text)
    for typed in recorded.found.typed:
        if not typed.is_secret and len(typed.value) < LEAST_LENGTH and is_credential(typed.column, "x" * LEAST_LENGTH):
            say(recorded, f"plans/{recorded.data_name}:2: {typed.column} is too short to be masked, so it is no secret")
    for file, line in secrets_in_uploads(recorded.uploads):
        say(
            recorded,
            f"plans/{file}:{line}: the upload has what looks like a secret; replace the file, or keep it out of git",
        )


def print_replay(recorded: Recorded, target: str, *, is_varied: bool) -> None:
    """Print what the replay sends: how many requests of each method, and why so many."""
    least, most = passes_of(recorded, is_varied=is_varied)
    counts = counts_of(recorded.steps)
    sent = _joined(Counter({method: count * most for method, count in counts.items()}))
    more = "; the static files of the pages are not counted" if recorded.with_static else ""
    passes = f"{least} passes" if least == most else f"{least} to {most} passes"
    say(
        recorded,
        f"\nThe replay sends {'' if least == most else 'at most '}{sent} to {target} ({USERS} users, {passes})",
    )
    some = ", then one without several of them at a time, whose effects are told apart"
    users = f"{USERS} users with all extractors{some}" if recorded.found.variables else f"{USERS} users"
    say(recorded, f"each pass is the whole recording ({_joined(counts)}): {users}{more}")


def _joined(counts: Counter[str]) -> str:
    parts = [
        f"{count:,} {method}" for method, count in sorted(counts.items(), key=lambda pair: (pair[0] != "GET", pair[0]))
    ]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def listed(labels: Sequence[str]) -> str:
    """Return the first labels of several."""
    more = len(labels) - _DESTRUCTIVE_SHOWN
    return ", ".join(labels[:_DESTRUCTIVE_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [min(44, max(len(row[at]) for row in rows)) for at in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [
            cell if len(cell) <= width else f"{cell[: width - 1]}…" for cell, width in zip(row, widths, strict=False)
        ]
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)), row[-1]]).rstrip()
