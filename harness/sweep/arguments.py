"""Options of `lth sweep` and `lth capacity`, and the record of a new sweep with their settings."""

from __future__ import annotations

import argparse

from harness.base import units
from harness.base.errors import UsageError
from harness.experiment.arguments import new_fields
from harness.plan.goal_input import goal_names
from harness.plan.load.model import LoadArguments, parse_load
from harness.plan.stop import parse_stop
from harness.run.request import Request
from harness.sweep.record import SweepRecord

_LENGTH = ("ramp", "duration", "loops", "requests")
_WARM_UP = "30s"
_WARM_UP_MAX_S = 3600.0


def new_record(options: argparse.Namespace, request: Request, kind: str) -> SweepRecord:
    """Return the record of a new sweep with the settings of the options; it has no name yet."""
    fields, given = new_fields(options, request), _given(options)
    length = parse_load(LoadArguments(**{name: getattr(options, name) for name in _LENGTH}))
    if length.is_auto:
        what = "--duration=auto is for lth run only: the levels would have different lengths"
        raise UsageError(what, "give the levels a duration, such as --duration=100")
    warm_up_s = units.parse_duration_s(options.warmup or _WARM_UP, "--warmup")
    if warm_up_s and not 1 <= warm_up_s <= _WARM_UP_MAX_S:
        raise UsageError(f"--warmup={options.warmup}: must be 0, or from 1 s to 1 h")
    return SweepRecord(
        kind=kind,
        plan=request.plan.name,
        profile=request.profile.name,
        users=(),
        repeat=1,
        fresh=options.fresh,
        warm_up_s=warm_up_s,
        ramp_s=length.ramp_s,
        duration_s=length.duration_s,
        loops=length.loops,
        target=request.target.url if request.target else None,
        goal=None,
        first_users=None,
        most_users=None,
        runs=(),
        **fields,
        requests=length.requests,
        given=given,
    )


def _given(options: argparse.Namespace) -> dict[str, str]:
    """Return the texts of the goal's options, STOP, SET and PROFILE.

    UsageError for an invalid STOP.
    """
    if options.stop:
        parse_stop(options.stop)
    found = {name: text for name in (*goal_names(), "stop", "set") if (text := getattr(options, name))}
    return {**found, "profile": "1"} if options.profile else found
