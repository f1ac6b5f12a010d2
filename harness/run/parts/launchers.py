"""Parses --on: one entry for each kind of place on which the parts of a run are driven."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.allowed_targets import is_loopback
from harness.plan.load.model import PARTS_MAX
from harness.run.parts.kubernetes import former_pods, new_pods
from harness.run.parts.places import HERE, PYTHON_THERE, Place

# Without keepalive messages a connection that was cut looks like an idle one.
_SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5")
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Neither user nor host begins with a dash: ssh would read an option, such as -F with a file of commands.
_HOST = re.compile(r"(?:[\w.+][\w.+-]*@)?[\w.][\w.%-]*(?::\d{1,5})?")


class Launcher(NamedTuple):
    """A kind of place: the function that reads the text behind its colon, and an example.

    The function gets the whole text, too, for errors.
    """

    places: Callable[[str, str], tuple[Place, ...]]
    example: str


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
    return tuple(
        Place(f"k8s-{number}", (), namespace=namespace, start=new_pods, find=former_pods)
        for number in range(1, parts + 1)
    )


# By the word before the colon of --on.
LAUNCHERS = {
    "local": Launcher(_local, "local:2"),
    "ssh": Launcher(_ssh, "ssh:gen1,gen2"),
    "k8s": Launcher(_kubernetes, "k8s:NAMESPACE/8"),
}


def parse_places(text: str) -> tuple[Place, ...]:
    """Return the places of --on, one for each part; UsageError for an invalid or repeated one."""
    kind, _, rest = text.partition(":")
    if kind not in LAUNCHERS or not rest:
        *others, last = (launcher.example for launcher in LAUNCHERS.values())
        raise UsageError(f"--on={text}: no such place", f"give {', '.join(others)}, or {last}")
    places = LAUNCHERS[kind].places(rest, f"--on={text}")
    names = [place.name for place in places]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"--on={text}: {twice} is repeated", "name each machine once; local:2 has two parts on one")
    if len(places) > PARTS_MAX:
        raise UsageError(f"--on: {len(places)} parts", f"give at most {PARTS_MAX}")
    return places
