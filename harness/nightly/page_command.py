"""`aggregate.py nightly`: the page of a night once more, out of its record and the runs of all nights."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.base.toolchain import ROOT


def add_nightly(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `nightly` and its options."""
    verb = verbs.add_parser(
        "nightly",
        help="render the page of a night again; its notes are kept",
        description="Render page, charts and JUnit XML of a night again: after a change was accepted, or a kill -9.",
    )
    verb.add_argument("night", help="a night such as 2026-11-21, or its .json or .md")
    verb.add_argument("--sure", action="store_true", help="exit code 3 also when a run is DOUBTFUL")
    verb.add_argument("--reports", type=Path, default=ROOT / "reports" / "nightly", help="default: reports/nightly/")
    verb.add_argument("--home", type=Path, default=ROOT, help="folder whose env/ has the accepted changes (this one)")


def render_night(options: argparse.Namespace) -> int:
    """Write the night's page again and say what it says; return the exit code of the night."""
    # Here, because only a night's page needs the gate, charts and templates, which take their time to load.
    from harness.nightly.files import find_night
    from harness.nightly.page_files import write_night
    from harness.nightly.render import headline

    files = find_night(options.reports, options.night)
    result = write_night(files, options.home)
    print(f"{os.path.relpath(files.page)}: {headline(result)}")
    return result.exit_code_if(sure=options.sure)
