"""A report of every kind: made by the commands, and of the experiments that an earlier version stored."""

from __future__ import annotations

import tarfile
from pathlib import Path

from harness.cli.verbs import main
from tests.support.paths import ROOT
from tests.support.releases import save_release
from tests.support.report_folder import add_run

_SIDES = ("tiny/sweep-01", "tiny/sweep-02")
# How each report about runs or sweeps is written: the command, and the path of the report.
COMMANDS = {
    "compare": (("compare", "tiny/run-07_1", "tiny/run-07_2", "--save"), "tiny/compare-run-07_1-run-07_2.md"),
    "compare-sweeps": (("compare", *_SIDES, "--save"), "tiny/compare-sweep-01-sweep-02.md"),
    "sweeps": (("sweep", *_SIDES), "sweeps/tiny-sweep-01-tiny-sweep-02.md"),
    "release": (("release", f"--base={_SIDES[0]}", f"--new={_SIDES[1]}"), "tiny/release-sweep-01-sweep-02.md"),
    "history": (("history", "--plan=tiny", "--save"), "tiny/history-TOTAL-average.md"),
}
EXPERIMENTS = {
    "ab": ("tiny/ab-01", "REGRESSED"),
    "tune": ("tiny/tune-01", "FOUND"),
    "bisect": ("tiny/bisect-01", "FOUND"),
    "trust": ("tiny/trust-01", "FOUND"),
    "nightly": ("2026-11-24", "GOAL MISSED"),
    "sweep": ("tiny/sweep-01", "CANNOT TELL"),
    "capacity": ("tiny/sweep-01", "CANNOT TELL"),
    "overload": ("tiny/overload-01", "GRACEFUL"),
}


def make_reports(folder: Path) -> None:
    """Write the runs, sweeps and reports of COMMANDS to folder/reports, an experiment of each kind to folder/<kind>."""
    reports = folder / "reports"
    for number in (1, 2):
        add_run(reports, f"tiny/run-07_{number}", samples=6_000, seconds=120)
    save_release(reports, "01")
    save_release(reports, "02", {"Search": 30.0, "Pay": 65.0}, profile="new", started_at="2026-02-01T00:00:00Z")
    for arguments, report in COMMANDS.values():
        (reports / report).parent.mkdir(exist_ok=True)
        where = [str(reports)] if arguments[0] == "history" else [f"--reports={reports}"]
        main([*arguments, *where], "aggregate.py")
    with tarfile.open(ROOT / "tests" / "data" / "experiments.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    for kind, (name, _) in EXPERIMENTS.items():
        verb = "sweep" if kind in ("sweep", "capacity") else "experiment"
        given = f"{folder / kind / name}.md" if kind in ("sweep", "capacity", "overload") else name
        main([verb, given, f"--reports={folder / kind}"], "aggregate.py")


def report_path(kind: str, folder: Path) -> Path:
    """Return the path of the report of a kind that `make_reports` wrote."""
    return folder / "reports" / COMMANDS[kind][1] if kind in COMMANDS else folder / kind / f"{EXPERIMENTS[kind][0]}.md"
