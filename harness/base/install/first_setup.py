"""Sets up a fresh clone: the Python packages, JMeter and the system of the plan at once, not one after the other.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from harness.base.errors import HarnessError, StartError
from harness.base.install import setup_step, toolchain
from harness.base.install.class_data import store_class_data
from harness.base.install.python_packages import (
    VENV,
    check_python,
    ensure_optional_packages,
    ensure_small_packages,
    ensure_venv,
    has_venv,
)
from harness.base.java import jmeter_java_version
from harness.base.project import BUILD, CHECKOUT, PACKAGE, SHIPPED, TOP

# Programs that run JMeter and, without a target, start the system of a plan.
_LOADS = ("run", "soak", "sweep", "capacity", "check")
_TOOL = PACKAGE / "__main__.py"
# lth system, in an environment that is not complete yet and would otherwise be completed first.
_SYSTEM_NOW = "import sys; from harness.cli.verbs import main; sys.exit(main(['system', *sys.argv[1:]], 'lth'))"


def enter_venv(program: str, verb: str, arguments: Sequence[str]) -> None:
    """Complete .venv if necessary, and run the program again with its Python if this process is another one.

    The plan and profile in the `arguments` of the verb say which system is prepared meanwhile.
    """
    check_python()
    is_fresh = verb in _LOADS and not has_venv()
    python = set_up(system_arguments(arguments)) if is_fresh else ensure_venv(tests=False)
    if Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), program, *sys.argv[1:]])


def system_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the options of lth system for a program's plan and profile; empty when no system is started."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for name in ("--plan", "--env", "--home", "--target"):
        parser.add_argument(name)
    with suppress(argparse.ArgumentError):
        known, _ = parser.parse_known_args(arguments)
        if not known.target:
            given = {name: getattr(known, name) for name in ("plan", "env", "home")}
            return ["--prepare-only", *(f"--{name}={value}" for name, value in given.items() if value)]
    return []


def set_up(system: Sequence[str] = (), *, tests: bool = False) -> Path:
    """Return the Python of .venv; at the same time build JMeter and, with options in `system`, prepare a system.

    A system is prepared as soon as the small packages are there. A StartError of the Python packages ends everything.
    Another part that fails is only left out: the program that needs it builds it again, and reports the error.
    """
    ahead = [_thread(_build_jmeter)]
    try:
        if system:
            small = ensure_small_packages()
            ahead.append(_thread(_prepare_system, small, system))
        python = ensure_venv(tests=tests)
        for thread in ahead:
            thread.join()
    except BaseException:
        setup_step.end_all()
        for thread in ahead:
            thread.join()
        raise
    return python


def set_up_tools(*, everything: bool) -> None:
    """Build what each run needs; with `everything` also what only some commands need, and the systems of all plans.

    Afterwards no command with the profile local downloads anything. StartError names what could not be installed.
    """
    home = toolchain.ensure_jmeter()
    toolchain.ensure_counter()
    toolchain.ensure_agent()
    toolchain.ensure_sampler(home)
    if not everything:
        return
    if CHECKOUT:
        ensure_optional_packages()
    store_class_data(home, toolchain.ensure_agent(), jmeter_java_version())
    toolchain.ensure_profiler()
    toolchain.ensure_charts()
    with setup_step.step("the systems of all plans", BUILD / "system.log") as step:
        plans = plans_with_a_system(SHIPPED / "plans")
        python = str(VENV / "bin" / "python") if CHECKOUT else sys.executable
        setup_step.run([python, str(_TOOL), "system", "--prepare-only", "--plan", *plans], step, TOP, "see its log")


def plans_with_a_system(folder: Path) -> list[str]:
    """Return the names of the plans in a folder that start a system."""
    import tomllib  # here, because every start would wait for it

    tables = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}
    return [name for name, table in tables.items() if table.get("system")]


def _thread(target: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, name="set-up")
    thread.start()
    return thread


def _build_jmeter() -> None:
    # The counter for large JTLs is not needed before the first report of one.
    with suppress(HarnessError, OSError):
        toolchain.ensure_jmeter()
        toolchain.ensure_agent()


def _prepare_system(python: Path, system: Sequence[str]) -> None:
    with suppress(StartError), setup_step.step("the plan's system", BUILD / "system.log") as step:
        setup_step.run([str(python), "-c", _SYSTEM_NOW, *system], step, TOP, "see its log")
