"""`lth` without an installation: python harness/__main__.py VERB, also for the runs that an experiment starts."""

import os
import sys

# Instead of the folder of this file, whose modules have names of the standard library.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib loads slowly

from harness.cli.entry import lth  # noqa: E402

lth()
