"""The machines on which the parts of a run are driven, and the command that reaches each."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from harness.base.log import Log
from harness.plan.spec import Profile

# It runs the program that follows at standard input. With -P no file of the folder in which it starts, which may be
# somebody else's project, is taken for a module that the program imports.
_BEGIN = "import sys; r=sys.stdin.buffer; exec(compile(r.read(int(r.readline())), 'relay', 'exec'))"
_PYTHONS = "python3 python3.14 python3.13 python3.12 python3.11"
# A shell of any machine finds a Python for it.
PYTHON_THERE = (
    f"for p in {_PYTHONS}; do command -v $p >/dev/null && $p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && "
    f'exec $p -P -u -c {shlex.quote(_BEGIN)}; done; echo "it has no Python 3.11 or newer" >&2; exit 2'
)
# The same on this machine.
HERE = (sys.executable, "-P", "-u", "-c", _BEGIN)


@dataclass(frozen=True)
class Place:
    """A machine of one part: its name, and the command that starts a relay there.

    With `has_tool` its tool and JMeter are those of this machine. `is_here` means that it is certainly this machine.
    `by_hand` is a command that shows whether it can be reached. `environment` is for the command, besides ours.

    A machine that is started for the run has no command before. `start` starts those of all parts, for this many
    seconds of load, and yields their places; `find` yields those that another launcher left, by their names. `pod` is
    the name of such a machine, in its `namespace`. `why_lost` returns why it is gone, "" when only the connection is.
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
    start: Callable[[Sequence[Place], Profile, float | None, Log], Places] | None = None
    find: Callable[[Sequence[Place], Sequence[str], Log], Places] | None = None


Places = AbstractContextManager[tuple[Place, ...]]
