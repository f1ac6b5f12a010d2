"""Parses --on: the machines on which the parts of a run are driven, and the command that reaches each."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.allowed_targets import is_loopback
from harness.plan.load.model import PARTS_MAX

# It runs the program that follows at standard input.
_BEGIN = "import sys; r=sys.stdin.buffer; exec(compile(r.read(int(r.readline())), 'relay', 'exec'))"
_PYTHONS = "python3 python3.14 python3.13 python3.12 python3.11"
# A shell of any machine finds a Python for it.
PYTHON_THERE = (
    f"for p in {_PYTHONS}; do command -v $p >/dev/null && $p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && "
    f'exec $p -u -c {shlex.quote(_BEGIN)}; done; echo "it has no Python 3.11 or newer" >&2; exit 2'
)
# The same on this machine.
HERE = (sys.executable, "-u", "-c", _BEGIN)
# Without keepalive messages a connection that was cut looks like an idle one.
_SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5")
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Neither user nor host begins with a dash: ssh would read an option, such as -F with a file of commands.
_HOST = re.compile(r"(?:[\w.+][\w.+-]*@)?[\w.][\w.%-]*(?::\d{1,5})?")


@dataclass(frozen=True)
class Place:
    """A machine of one part: its name, and the command that starts a relay there.

    With `has_tool` its tool and JMeter are those of this machine. `is_here` means that it is certainly this machine.
    `by_hand` is a command that shows whether it can be reached. `environment` is for the command, besides ours.

    With a `namespace` it is a `pod` of Kubernetes, which has no command before it is started. `why_lost` returns why
    the machine is gone, "" when only the connection is.
    """

    name: str
    argv: tuple[str, ...]
    has_tool: bool = False
    is_here: bool = False
    by_hand: str = "python3 -V"
    environment: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    pod: str | None = None
    why_lost: Callable[[], str] = str


def _local(text: str, what: str) -> tuple[Place, ...]:
    count = units.parse_whole_number(text, f"the number of parts in {what}", 1, PARTS_MAX)
    return tuple(Place(f"local-{number}", HERE, has_tool=True, is_here=True) for number in range(1, count + 1))


def _ssh(text: str, what: str) -> tuple[Place, ...]:
    places: list[Place] = []
    for host in text.split(","):
        if not _HOST.fullmatch(host):
            todo = "give names of ~/.ssh/config or addresses, such as ssh:gen1,perf@gen2:2222"
            raise UsageError(f"{what}: {host or 'an empty part'} is no host", todo)
        address, _, port = host.partition(":")
        options = ("-p", port) if port else ()
        argv = (*_SSH, *options, "--", address, f"sh -c {shlex.quote(PYTHON_THERE)}")
        is_here = is_loopback(address.rpartition("@")[2])
        by_hand = " ".join(["ssh -o BatchMode=yes", *options, address, "python3 -V"])
        places.append(Place(host.rpartition("@")[2], argv, is_here=is_here, by_hand=by_hand))
    return tuple(places)


def _kubernetes(text: str, what: str) -> tuple[Place, ...]:
    namespace, _, count = text.partition("/")
    if not _NAMESPACE.fullmatch(namespace):
        raise UsageError(f"{what}: {namespace or 'an empty text'} is no namespace", "give one, such as k8s:perf/8")
    parts = units.parse_whole_number(count, f"the number of parts in {what}", 1, PARTS_MAX)
    return tuple(Place(f"k8s-{number}", (), namespace=namespace) for number in range(1, parts + 1))


# By the word before the colon of --on: what returns the places of the text behind it.
LAUNCHERS: dict[str, Callable[[str, str], tuple[Place, ...]]] = {"local": _local, "ssh": _ssh, "k8s": _kubernetes}


def parse_places(text: str) -> tuple[Place, ...]:
    """Return the places of --on, one for each part; UsageError for an invalid or repeated one."""
    kind, _, rest = text.partition(":")
    if kind not in LAUNCHERS or not rest:
        raise UsageError(f"ON={text}: no such place", "give local:2, ssh:gen1,gen2, or k8s:NAMESPACE/8")
    places = LAUNCHERS[kind](rest, f"ON={text}")
    names = [place.name for place in places]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"ON={text}: {twice} is repeated", "name each machine once; local:2 has two parts on one")
    if len(places) > PARTS_MAX:
        raise UsageError(f"ON: {len(places)} parts", f"give at most {PARTS_MAX}")
    return places
