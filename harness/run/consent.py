"""Asks once before a project that was not made on this machine runs, and remembers the answer by what it may do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.base.errors import HarnessError, UsageError
from harness.base.log import log, print_text
from harness.base.paths import shown
from harness.base.plain_text import printable
from harness.base.project import NAME, read_project
from harness.base.writable import is_private
from harness.plan.plan import load_plan
from harness.plan.spec import parse_system
from harness.run.powers import ADDS, KINDS, LOADS, READS, RUNS, TYPED, Power, Subject, of_plan, powers_of

# 1 trusts every project of this process and of those that it starts; --yes sets the other value, which also remembers.
TRUST_VARIABLE, TRUSTED, ACCEPTED = "LTH_TRUST", "1", "yes"
_FILE_NAME, _VERSION = "trusted.json", 1
_SHOWN_MOST = 6
_WIDTH = 200
_TODO = f"read it, then give --yes or set {TRUST_VARIABLE}=1"


def check_consent(subject: Subject) -> None:
    """Raise a UsageError unless the user trusts what a project may do; ask in a terminal, once for each new power.

    A project of the tool itself, and one that `lth init` made here, is trusted.
    """
    if os.environ.get(TRUST_VARIABLE, "") != TRUSTED:
        folder = subject.plan.jmx_path.parent if subject.is_plan_typed else subject.project.folder
        check_powers(folder, powers_of(subject))


def check_powers(folder: Path, powers: Sequence[Power]) -> None:
    """Raise a UsageError unless the user trusts a folder with these powers, as `check_consent` does."""
    given = os.environ.get(TRUST_VARIABLE, "")
    if given == TRUSTED:
        return
    known = _accepted()
    if not powers or any(set(powers) <= one for one in known.values()):
        return
    own = known.get(str(folder.resolve()), set())
    new = [power for power in powers if power not in own]
    if given != ACCEPTED:
        _ask(folder, new, own)
    if not accept(folder, powers):
        os.environ[TRUST_VARIABLE] = TRUSTED  # the processes of this command cannot find the answer elsewhere


def accept(folder: Path, powers: Iterable[Power]) -> bool:
    """Remember that a project may have these powers besides those that it has; return whether that was possible."""
    known = _accepted()
    known.setdefault(str(folder.resolve()), set()).update(powers)
    projects = {name: sorted(own) for name, own in known.items()}
    try:
        path = _file()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(json.dumps({"format_version": _VERSION, "projects": projects}, indent=1), encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(path)
        return True
    except (OSError, RuntimeError) as error:  # a user without a home
        log(f"the answer is not remembered: {error}")
        return False


def trust_made(home: Path, name: str, *, is_new_project: bool = False, is_of_jmx: bool = False) -> None:
    """Trust a plan that `lth init` has just written, and the targets of a project that it made.

    With is_of_jmx the plan came from a JMX, which somebody else may have written: its scripts, plugins and secrets are
    asked about.
    """
    with suppress(HarnessError):  # a plan that cannot be read yet is asked about when it can
        plan = load_plan(home / "plans", name)
        powers = [one for one in of_plan(plan, home) if not (is_of_jmx and one.kind in (READS, RUNS, ADDS))]
        powers.append(Power(LOADS, TYPED))
        if is_new_project:
            read_project.cache_clear()  # its file is new
            powers += [Power(LOADS, parse_system(one).origin) for one in read_project(home).targets.values()]
        accept(home, powers)


def _ask(folder: Path, new: Sequence[Power], own: set[Power]) -> None:
    """Ask in a terminal; UsageError without one, or for another answer than yes."""
    name = str(folder.resolve()) if shown(folder) == "." else shown(folder)
    lines = list(_lines(new, own))
    head = f"{name} may now" if own else f"{name} was not made on this machine. Its plan may"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{head} {'; '.join(lines)}", _TODO)
    log(f"{head}")
    for line in lines:
        log(f"  {line}")
    print_text("Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError(f"{name} is not trusted; nothing was started", "read its files, and answer y next time")


def _lines(new: Sequence[Power], own: set[Power]) -> Iterator[str]:
    """Yield a line of each kind of power."""
    before = {(power.kind, power.text) for power in own}
    for kind in KINDS:
        texts = [
            f"{power.text}, which changed" if (power.kind, power.text) in before else power.text
            for power in new
            if power.kind == kind
        ]
        if texts:
            more = f" and {len(texts) - _SHOWN_MOST} more" if len(texts) > _SHOWN_MOST else ""
            text = printable(", ".join(texts[:_SHOWN_MOST]) + more)
            yield f"{kind} {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}"


def _file() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    states = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return states / NAME / _FILE_NAME


def _accepted() -> dict[str, set[Power]]:
    """Return the accepted powers by project; empty when the file is missing, broken, or not this user's alone."""
    path = _file()
    try:
        if not is_private(path.parent) or not is_private(path):
            return {}
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        projects: Mapping[str, list[list[str]]] = data["projects"]
        return {name: {Power(*power) for power in powers} for name, powers in projects.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return {}
