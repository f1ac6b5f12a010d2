"""`lth tally`: write the counts of JTL files to a small file, of which `table` makes the same table."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base import units
from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import print_text
from harness.base.writable import writing_into
from harness.cli.options import take, take_argument
from harness.jtl.inputs import resolve
from harness.metrics.tally_file import to_bytes
from harness.report.jtls import Counting, run_of, silences_of, tally_of_jtls
from harness.run.names import as_samples

_SUFFIX = ".tally"
_EPILOG = """\
examples:
  lth tally samples.jtl -o gen1.tally                      on each machine: 10 GB of samples become about 100 KB
  lth table gen1.tally gen2.tally                          anywhere: the table of gen1's and gen2's samples as one run
  lth table *.tally extra.jtl                              tallies and JTLs together
  lth tally *.tally -o all.tally                           merges tallies into one
  lth table s3://bucket/prefix/gen1.tally                  read from S3

The table is exact, to the byte the one of the JTLs: a tally contains how often each label took how many milliseconds,
and is never rounded. It contains no samples: --window needs the JTLs. lth help format describes the file.

exit codes: 0 success; 2 wrong use or an unreadable file.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `tally`."""
    parser.description = (
        "Count JTL files into a small tally file. Tallies of many machines merge exactly into one table."
    )
    parser.epilog = _EPILOG
    take_argument(parser, "input", "+")
    take(parser, "output/tally columns strict endpoint-url")


def run(options: argparse.Namespace) -> int:
    """Write the tally file and return the exit code."""
    path: Path = options.output
    if path.suffix != _SUFFIX:
        raise UsageError(
            f"--output {path}: not the name of a tally", f"let it end with {_SUFFIX}: {path.name}{_SUFFIX}"
        )
    given = [path for name in options.input for path in as_samples(name)]
    inputs = resolve(given, options.endpoint_url)
    columns = tuple(name.strip() for name in options.columns.split(",")) if options.columns is not None else None
    counting = Counting(columns=columns, strict=options.strict, run=run_of(inputs), with_timeline=False)
    tally = tally_of_jtls(inputs, counting)
    once_labels = counting.run.once_labels if counting.run else ()
    content = to_bytes(tally, silences_of(inputs, tally, once_labels, columns))
    draft = path.with_name(f".{path.name}.part")
    with writing_into(path.absolute().parent):
        draft.write_bytes(content)
        draft.replace(path)
    sample_count = sum(counts.histogram.count for by_source in tally.labels.values() for counts in by_source.values())
    print_text(
        f"{path}: {units.plural(sample_count, 'sample')} of {units.plural(len(tally.names), 'file')}, "
        f"{units.kb_text(len(content))} KB; lth table {path} prints the table"
    )
    return EXIT_OK
