"""`scripts/bench failures`: compares runs that watch for failed requests with runs that do not; no request fails."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.run import StartedSystem
from harness.base import toolchain
from harness.base.errors import EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number

# Full speed, without a pause: nothing shows the cost of a sample better.
_PLAN = "lb-direct"
# Both are profiles of the same machine; an empty value switches the agent's part off.
_PROFILES = {
    "without": '[generator]\njvm_args = "-Dharness.exchanges="\n',
    "with": '[generator]\njvm_args = "-Dharness.bench=1"\n',
}
_SERIES = {"without": "01", "with": "02"}
_log = stderr_log("bench: ")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--repeat", default="6", metavar="N", help="runs of each side (6)")
    parser.add_argument("--users", default="10", metavar="N", help="users of each run (10)")
    parser.add_argument("--duration", default="20", metavar="S", help="seconds of each run (20)")


def bench(options: argparse.Namespace) -> int:
    """Print what `aggregate.py compare` prints; return 0, or 1 when the runs that watch are slower."""
    repeat = parse_whole_number(options.repeat, "--repeat", 2, 100)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        _write_home(folder / "home")
        with StartedSystem(_PLAN, folder) as target:
            for number in range(repeat):
                _log(f"round {number + 1} of {repeat}")
                sides = list(_PROFILES) if number % 2 == 0 else list(reversed(_PROFILES))
                for side in sides:
                    _run(side, target, folder, options)
        done = subprocess.run(_compare(folder), stdout=subprocess.PIPE, text=True, check=False)
    # The last line is the path of the report, which is gone.
    print("```\n" + done.stdout.rstrip("\n").rpartition("\n")[0].rstrip("\n") + "\n```")
    return done.returncode


def _write_home(home: Path) -> None:
    """Write a home with the plans and systems of this one, and the two profiles."""
    (home / "env").mkdir(parents=True)
    for name in ("plans", "systems"):
        (home / name).symlink_to(toolchain.ROOT / name)
    for name, generator in _PROFILES.items():
        text = f'format_version = 1\ntitle = "Local machine"\n{generator}'
        (home / "env" / f"{name}.toml").write_text(text, encoding="utf-8")


def _run(side: str, target: str, folder: Path, options: argparse.Namespace) -> None:
    command = [sys.executable, str(toolchain.ROOT / "scripts" / "run"), "--plan", _PLAN, "--env", side]
    command += ["--home", str(folder / "home"), "--reports", str(folder / "reports"), "--series", _SERIES[side]]
    command += ["--target", target, "--users", options.users, "--duration", options.duration]
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code not in (EXIT_OK, EXIT_REGRESSED):
        raise StartError(f"{' '.join(command)} ended with code {code}", "see its output")


def _compare(folder: Path) -> Sequence[str]:
    """Return the command that compares both series, DOUBTFUL runs too: on a busy machine most are."""
    reports = folder / "reports"
    command = [sys.executable, str(toolchain.ROOT / "aggregate.py"), "compare", "--reports", str(reports), "--anyway"]
    command += ["--plan", _PLAN, "--base", f"run-{_SERIES['without']}_*", "--new", f"run-{_SERIES['with']}_*"]
    return [*command, "--output", str(folder / "compare.md")]
