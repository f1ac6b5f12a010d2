"""`lth diff`: what changed between two versions of a test plan, in words; --text is for git's textconv."""

from __future__ import annotations

import argparse

from harness.base.errors import EXIT_OK, EXIT_REGRESSED, UsageError
from harness.base.log import print_page
from harness.base.regular import MOST_MB
from harness.base.units import BYTES_PER_MB
from harness.cli.options import take, take_argument
from harness.plan.jmx.diff import changes_of
from harness.plan.jmx.tree import plan_tree
from harness.plan.jmx.words import text_lines

_EPILOG = """\
examples:
  lth diff old.jmx new.jmx          thread group *Users*: Number of Threads (users) 50 → 80
  lth diff --text shop.jmx          a line per element, with its properties
  lth init --git                    git diff, git log -p and git show use that for the JMX files of this folder

Order of attributes and properties, and blanks between elements, are no changes. Secrets are masked, but not by --text.

exit codes: 0 equal; 1 different; 2 wrong use, or a file is not a test plan. With --text a file that is not a test plan
is printed as it is, because git would end its diff at an error.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `diff`."""
    parser.description = "Print what changed between two versions of a JMX, in the words of JMeter's GUI."
    parser.epilog = _EPILOG
    take_argument(parser, "jmx", "+")
    take(parser, "text")


def run(options: argparse.Namespace) -> int:
    """Print the changes, or the text of one plan, and return the exit code."""
    if len(options.jmx) != (1 if options.text else 2):
        raise UsageError(f"diff: {len(options.jmx)} files", "give two, or one with --text")
    old, new = options.jmx[0], options.jmx[-1]
    if not options.text:
        changes = changes_of(old, new)
        for change in changes:
            print_page(change.line)
        return EXIT_REGRESSED if changes else EXIT_OK
    try:
        text = "\n".join(text_lines(plan_tree(old)))
    except UsageError:
        if not old.is_file() or old.stat().st_size > MOST_MB * BYTES_PER_MB:
            raise
        text = old.read_text(encoding="utf-8", errors="replace")
    print_page(text.removesuffix("\n"))
    return EXIT_OK
