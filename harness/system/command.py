"""`scripts/system`: starts a plan's system and keeps it running until Ctrl-C, so that several runs can use it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from harness.base import toolchain
from harness.base.errors import EXIT_OK, StartError
from harness.base.interrupts import Interrupts
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile, parse_port
from harness.run.arguments import configured_system
from harness.system.supervisor import Supervisor

_PERIOD_S = 0.5
_EPILOG = """\
example:
  scripts/system --plan killbill-stripe --port 8080
  make run PLAN=killbill-stripe TARGET=http://127.0.0.1:8080       (in another terminal)
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="scripts/system",
        description="Start a plan's system, print its address, and keep it running until Ctrl-C.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--plan", default="killbill-stripe", help="the plan whose system to start (killbill-stripe)")
    result.add_argument("--env", default="local", help="profile env/<ENV>.toml (local)")
    result.add_argument("--port", help="port of the system (a free one)")
    result.add_argument("--logs", type=Path, default=toolchain.BUILD / "system-logs", help="folder of its logs")
    result.add_argument(
        "--home", type=Path, default=toolchain.ROOT, help="folder with plans/, env/, systems/ (this one)"
    )
    return result


def main(arguments: Sequence[str]) -> int:
    """Keep the system running until a signal; return 0. StartError when it does not start or a process dies."""
    options = parser().parse_args(arguments)
    plan = load_plan(options.home / "plans", options.plan)
    profile = load_profile(options.home / "env", options.env)
    manifest, settings = configured_system(options.home, plan, profile)
    ports = {"http": parse_port(options.port)} if options.port else {}
    toolchain.java_version()
    with (
        Interrupts() as interrupts,
        Supervisor(manifest, settings, build_dir=toolchain.BUILD, log_dir=options.logs, fixed_ports=ports) as system,
    ):
        system.prepare()
        system.start()
        for name, value in system.facts:
            print(f"- {name}: {value}")
        print(f"{manifest.title} listens at {system.target_url}; Ctrl-C stops it", flush=True)
        with interrupts.held():
            while not interrupts.count:
                for name, code, tail in system.check():
                    raise StartError(f"{name} died with exit code {code}", f"see {options.logs}", tail)
                time.sleep(_PERIOD_S)
            system.stop()
    return EXIT_OK
