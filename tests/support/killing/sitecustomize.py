"""Kills the process that loads it at one of its acts: it starts a program, changes a file, or sends a signal.

KILL is JSON: the `role` of the process to kill (harness, run or guardian), `act` and `number`, that of the act at which
it is killed, "" for none, `root`, below which files count, and `log`, which gets a line per act, and the word KILLED.
`fake` replaces scripts/run in a harness, whose code is in `tree`.
"""

import json
import os
import re
import sys
from _thread import get_ident

_ACTS = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.symlink", "os.link", "shutil.rmtree")
_SIGNALS = ("os.kill", "os.killpg")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# What differs from run to run: numbers, and the random name, or the end of it, of what is temporary.
_ONCE = re.compile(r"(?<=-)[a-z0-9_]{8}(?=/|$)|(?<=/tmp/)[a-z0-9_]{8}$|(?<=/runs/)[0-9a-f]+|\d+")
# The same lines of code do this for each of these files.
_ALIKE = (
    (re.compile(r"/\.[a-z-]+(?=\.svg\.new$)"), "/.chart"),
    (re.compile(r"(?<=^os.remove /tmp/connections-N/).*"), "*"),
)


def _role(tree: str) -> str:
    """Return the role of this process; empty for another program, such as a stand-in for JMeter."""
    words = " ".join(sys.orig_argv)
    if "guardian.py" in words:
        return "guardian"
    return "run" if "--result=" in words else "harness" if f"{tree}/scripts/" in words else ""


def _name_of(event: str, arguments: tuple, root: str) -> str:
    """Return an act without what differs from run to run; empty for one that does not count."""
    if event == "subprocess.Popen":
        words = [os.path.basename(str(word)) for word in arguments[1]]  # noqa: PTH119
        return f"start {next((word for word in words if word.endswith('.py')), words[0])}"
    if event in _SIGNALS:
        return f"{event} {arguments[1]}" if arguments[1] else ""
    path = str(arguments[0])
    is_act = arguments[2] & _WRITES if event == "open" else event in _ACTS
    if not is_act or not path.startswith(root):
        return ""
    name = f"{event} {_ONCE.sub('N', path.removeprefix(root))}"
    for alike, text in _ALIKE:
        name = alike.sub(text, name)
    return name


def _arm(kill: dict) -> None:
    pid, busy = os.getpid(), set()  # the threads that write the log

    def act(event: str, arguments: tuple) -> None:
        if event not in (*_ACTS, *_SIGNALS, "open", "subprocess.Popen") or get_ident() in busy:
            return
        if os.getpid() != pid:  # a child that has not yet become another program
            return
        if name := _name_of(event, arguments, kill["root"]):
            busy.add(get_ident())
            with open(kill["log"], "a+") as log:  # noqa: PTH123
                log.write(f"{name}\n")
                log.seek(0)
                if name == kill["act"] and log.read().count(f"{name}\n") == kill["number"]:
                    log.write("KILLED\n")
                    log.close()
                    os.kill(os.getpid(), 9)
            busy.remove(get_ident())

    sys.addaudithook(act)


if "KILL" in os.environ:
    _kill = json.loads(os.environ["KILL"])
    if _role(_kill["tree"]) == "harness" and _kill.get("fake"):
        sys.path.insert(0, _kill["tree"])
        from harness.run import child

        child.RUN = (_kill["fake"],)
    if _role(_kill["tree"]) == _kill["role"]:
        _arm(_kill)
