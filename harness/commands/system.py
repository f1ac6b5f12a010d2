"""`lth system`: start a plan's system and keep it running until Ctrl-C."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from harness.base.errors import EXIT_OK, StartError, UsageError
from harness.base.interrupts import Interrupts
from harness.base.java import java_version
from harness.base.log import print_text
from harness.base.project import BUILD, default_plan, folder_with, own_folder, read_project
from harness.cli.options import take
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile, parse_port
from harness.run.consent import check_consent
from harness.run.powers import Subject
from harness.run.request import configured_system
from harness.system.supervisor import Supervisor

_PERIOD_S = 0.5
_EPILOG = """\
example:
  lth system --plan killbill-stripe --port 8080
  lth run --plan=killbill-stripe --target=http://127.0.0.1:8080       (in another terminal)

exit codes: 0 ended by Ctrl-C; 2 wrong use; 3 the system did not start, or died.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth system`."""
    parser.description = "Start a plan's system, print its address, and keep it running until Ctrl-C."
    parser.epilog = _EPILOG
    take(parser, "plan/systems env port prepare-only logs yes home")


def run(options: argparse.Namespace) -> int:
    """Keep the system running until a signal and return 0; StartError when it does not start, or a process dies.

    With --prepare-only no system is started.
    """
    first, *others = options.plan or [default_plan(options.home)]
    if others and not options.prepare_only:
        raise UsageError(f"--plan {first} {' '.join(others)}: only one system can be started", "give one plan")
    java_version()
    with Interrupts() as interrupts:
        for name in others:
            with _system_of(name, options) as system:
                system.prepare()
        with _system_of(first, options) as system:
            system.prepare()
            if options.prepare_only:
                return EXIT_OK
            return _run_until_signal(system, interrupts, _logs(options))


def _system_of(plan_name: str, options: argparse.Namespace) -> Supervisor:
    plan = load_plan(folder_with(options.home, "plans", plan_name), plan_name)
    profile = load_profile(folder_with(options.home, "env", options.env), options.env)
    system = configured_system(options.home, plan, profile)
    check_consent(Subject(read_project(options.home), plan, profile, system.manifest, system.settings))
    ports = {"http": parse_port(options.port)} if options.port else {}
    return Supervisor(system.manifest, system.settings, build_dir=BUILD, log_dir=_logs(options), fixed_ports=ports)


def _logs(options: argparse.Namespace) -> Path:
    logs: Path = options.logs or own_folder(options.home) / "system-logs"
    return logs


def _run_until_signal(system: Supervisor, interrupts: Interrupts, logs: Path) -> int:
    system.start()
    with interrupts.deferred():
        for name, value in system.facts:
            print_text(f"- {name}: {value}")
        print_text(f"{system.manifest.title} listens at {system.target_url}; Ctrl-C stops it", flush=True)
        while not interrupts.count:
            for ended in system.check():
                what = f"{ended.name} died with exit code {ended.exit_code}"
                raise StartError(what, f"see {logs}", ended.log_tail)
            time.sleep(_PERIOD_S)
        system.stop()
    return EXIT_OK
