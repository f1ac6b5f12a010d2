"""Kills the process that loads it at one of its acts: a program started, a file opened to write, renamed or removed.

KILL is JSON: the `role` of the process to kill (harness, run or guardian), `at`, the number of its act, 0 for none,
`root`, below which files count, and `log`, which gets a line per act. `fake` replaces scripts/run in a harness.
"""

import json
import os
import sys

_ACTS = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.killpg")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _role() -> str:
    words = " ".join(sys.orig_argv)
    return "guardian" if "guardian.py" in words else "run" if "--result=" in words else "harness"


def _arm(kill: dict) -> None:
    state = {"count": 0, "is_busy": False}

    def act(event: str, arguments: tuple) -> None:
        if state["is_busy"]:
            return
        if event == "open":
            path, _, flags = arguments
            if not isinstance(path, str) or not flags & _WRITES or not path.startswith(kill["root"]):
                return
        elif event not in _ACTS and event != "subprocess.Popen":
            return
        state["is_busy"] = True
        state["count"] += 1
        with open(kill["log"], "a") as log:  # noqa: PTH123
            log.write(json.dumps([event, str(arguments[0])]) + "\n")
        state["is_busy"] = False
        if state["count"] == kill["at"]:
            os.kill(os.getpid(), 9)

    sys.addaudithook(act)


if "KILL" in os.environ:
    _kill = json.loads(os.environ["KILL"])
    if _role() == "harness" and _kill.get("fake"):
        sys.path.insert(0, _kill["tree"])
        from harness.run import child

        child.RUN = (_kill["fake"],)
    if _role() == _kill["role"]:
        _arm(_kill)
