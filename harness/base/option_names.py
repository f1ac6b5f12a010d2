"""Names options in messages as the user types them: ANYWAY=1 for make, --anyway for lth.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import re

# Options that are on or off, and verbs; a test compares them with the tables.
FLAGS = frozenset(
    """
    all anyway dry-run each figures-only find fix force fresh git html list merge new no-replay pairs prepare-only
    profile remove replace replay resume save soak static strict sure text trace transactions verify
    yes
    """.split()  # noqa: SIM905 - shorter than a line for each
)
VERBS = """
    init record check run sweep overload soak compare ab tune bisect trust baseline nightly accept report experiment
    site summary history release table tally sweeps mcp export profile heap metrics comment notify push pull ls diff gui
    system setup doctor completion capacity merge pin
""".split()  # noqa: SIM905
# Words of messages that are options where they are written alone, without a value.
_ALONE = "PLAN|TARGET|PORT|USERS|RATE|DURATION|LOOPS|REQUESTS|PROPERTIES|GOAL|LEVEL_DURATION|WARMUP|REPEAT"
# Variables of the environment.
_ENVIRONMENT = re.compile(
    "PYTHON|CHROME|DISPLAY|NO_COLOR|TMPDIR|.*_HOME|HARNESS_.*|AWS_.*|MAVEN_.*|LIVE_TOKEN|LTH_TRUST|J.*_OPTIONS"
)
_GIVEN = re.compile(r"(?<![\w$./-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)=(1(?!\w))?")
_WORD = re.compile(rf"(?<![\w$./-])({_ALONE})(?![\w=/.-])")
_MAKE = re.compile(rf"(?<![\w-])make (?=(?:help|{'|'.join(VERBS)})(?![\w-]))")
_OPTION = re.compile(r"(?<![\w'-])--([a-z][a-z0-9-]*)(=?)")


def caller_of(command: str) -> str:
    """Return how the options of messages about a run are spelled: as in its stored command, lth or make."""
    return "lth" if command.startswith("lth ") else ""


def spelled(text: str, caller: str) -> str:
    """Return a message with options as the caller types them: lth, make, or scripts/ and aggregate.py (unchanged)."""
    if caller == "make":
        return _OPTION.sub(_variable, text)
    return _with_options(text) if caller == "lth" else text


def _variable(match: re.Match[str]) -> str:
    name = match[1].upper().replace("-", "_")
    return f"{name}=1" if match[1] in FLAGS and not match[2] else f"{name}{match[2]}"


def _with_options(text: str) -> str:
    text = _GIVEN.sub(lambda match: match[0] if _ENVIRONMENT.fullmatch(match[1]) else _option(match), text)
    text = _WORD.sub(lambda match: f"--{match[1].lower().replace('_', '-')}", text)
    return _MAKE.sub("lth ", text)


def _option(match: re.Match[str]) -> str:
    name = match[1].lower().replace("_", "-")
    if match[2] and name in FLAGS:
        return f"--{name}"
    return f"--{name}={match[2] or ''}"
