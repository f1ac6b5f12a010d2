"""The JMeter properties (-J) that a run gives its plan: where the system listens, and the load."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import replace

from harness.base import units
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name, secret_values
from harness.base.spellings import MASK
from harness.plan.jmx.tree import read_properties
from harness.plan.load.model import Load, OpenLoad
from harness.plan.plan import SET_BY_THE_RUN, Plan
from harness.plan.spec import Target

_EXAMPLE = '--properties="amount=25 httpsampler.max_redirects=5"'
_NAME = re.compile(r"[\w.$#-]+")
# How a command line sets what it may not set as a property; for the others the plan's table names the way.
_VARIABLES = {"users": "--users", "ramp_s": "--ramp", "duration_s": "--duration"}
# JMeter's own properties that only the harness may set, and why.
_OF_THE_HARNESS = {
    "jmeter.save.saveservice.": "the report reads the JTL in the harness's format",
    "jmeterengine.": "the harness ends JMeter through it",
    "search_paths": "the harness names the plan's plugins there: use [jmeter] plugins",
}


def target_properties(target: Target) -> dict[str, str]:
    """Return the -J properties with the address of the system."""
    return {"scheme": target.scheme, "host": target.host, "port": str(target.port), "base_path": target.base_path}


def load_properties(load: Load) -> dict[str, str]:
    """Return the -J properties of the load; a duration of 0 means that only the loops end the run."""
    if isinstance(load, OpenLoad):
        return {}  # the schedule is in effective.jmx
    return {
        "users": str(load.users or 0),
        "ramp_s": units.number_text(load.ramp_s),
        "duration_s": "0" if load.duration_s is None else units.number_text(load.duration_s),
        "loops": "-1" if load.loops is None else str(load.loops),
    }


def with_properties(plan: Plan, text: str, where: str = "--properties: ") -> Plan:
    """Return the plan with further properties of a command line, such as `amount=25 note='two words'`.

    UsageError for anything but name=value, a name that occurs twice or that the run itself sets, and one that looks
    like a misspelt property of the JMX. Other names are properties of JMeter. Messages start with `where`.
    """
    known = read_properties(plan.jmx_path)
    given = dict(plan.given)
    try:
        settings = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{where}{str(error).lower()}", f"give {_EXAMPLE}") from None
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(f"{where}{name if equals else setting} is not name=value", f"give {_EXAMPLE}")
        if name in given:
            raise UsageError(f"{where}{name} occurs twice", "give each property once")
        _check_name(name, known, plan, where)
        given[name] = value
    private = {name: value for name, value in given.items() if value != known.get(name)}
    secret = tuple(name for name in private if is_secret_name(name))
    return replace(
        plan,
        given=given,
        secret_properties=tuple(dict.fromkeys((*plan.secret_properties, *secret))),
        hidden=(*plan.hidden, *secret_values(private.items())),
    )


def _check_name(name: str, known: Mapping[str, str | None], plan: Plan, where: str) -> None:
    if name in SET_BY_THE_RUN:
        todo = f"use {_VARIABLES.get(name, SET_BY_THE_RUN[name])} instead"
        raise UsageError(f"{where}{name} is set by the run", todo)
    for prefix, why in _OF_THE_HARNESS.items():
        if name.startswith(prefix):
            raise UsageError(f"{where}{name} is set by the harness: {why}", "leave it out")
    own = sorted(known.keys() - SET_BY_THE_RUN.keys())
    if name not in known and (meant := did_you_mean(name, own)):
        raise UsageError(f"{where}{plan.jmx_path.name} does not read {name}", f"{meant}it reads: {', '.join(own)}")


def properties_text(plan: Plan, without: Collection[str] = ()) -> str:
    """Return the properties as the command line gave them, secrets masked, except those named in `without`."""
    given = [(name, value) for name, value in plan.given.items() if name not in without]
    settings = (f"{name}={MASK if name in plan.secret_properties else value}" for name, value in given)
    return " ".join(shlex.quote(setting) if " " in setting else setting for setting in settings)
