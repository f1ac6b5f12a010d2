"""`scripts/check-otava`: compare our change points with those of Apache Otava."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.statistics import otava
from bench.statistics.otava import OTHER, SAME, SLIP, Answer
from harness.base.errors import EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.install.python_packages import ensure_otava_venv
from harness.base.interrupts import Interrupts
from harness.base.process import Launch, run_or_fail
from harness.base.project import SHIPPED
from harness.base.units import plural
from harness.commands.history import otava_csv
from harness.history.catalogue import runs_of
from harness.history.change_points import LEAST_RATIO, P_MOST, WINDOW, change_points
from harness.history.files import read_catalogue
from harness.history.series import HistoryLine, history
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE
from harness.report.tables import cell, table

_SEED = 1
_RUNS_LEAST = 3
_EPILOG = """\
Exports histories as ./aggregate.py history --format otava does, runs Otava on them, and compares position and size of
the change points. The first call installs Otava into build/otava-venv (about 400 MB).

exit codes: 0 they agree; 1 they differ by more than docs/methodology.md allows; 2 wrong use; 3 Otava does not run.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/check-otava`."""
    parser.description = "Compare our change points with those of Apache Otava."
    parser.epilog = _EPILOG
    folders = "folders of runs; default: reports and reports/nightly"
    parser.add_argument("--reports", type=Path, action="append", metavar="FOLDER", help=folders)


def run(options: argparse.Namespace) -> int:
    """Print one row per history; return 0 when all agree, else 1."""
    with Interrupts():
        python = ensure_otava_venv()
        folders = options.reports or [SHIPPED / "reports", SHIPPED / "reports" / "nightly"]
        lines = [(name, otava.line_of(values)) for name, values in otava.histories(_SEED)]
        lines += [found for folder in folders if folder.is_dir() for found in _measured(folder)]
        answers = _otava_answers(python, [line for _, line in lines])
    rows, verdicts = [], []
    for (name, line), answer in zip(lines, answers, strict=True):
        values = [point.value or 0.0 for point in line.valid]
        ours = [Answer(change.index, change.before, change.after) for change in change_points(values)]
        verdicts.append(otava.verdict(values, answer))
        rows.append([cell(name), verdicts[-1], str(len(values)), _text(ours), _text(answer)])
    print(table(("history", "verdict", "values", "ours", "Apache Otava"), rows, text_columns=2))
    counts = "; ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in (SAME, SLIP, OTHER))
    found = sum(len(answer) for answer in answers)
    print(f"\n{len(verdicts)} histories: {counts}. Otava finds {plural(found, 'change point')} in them.")
    return EXIT_REGRESSED if OTHER in verdicts else EXIT_OK


def _measured(reports: Path) -> Iterator[tuple[str, HistoryLine]]:
    """Yield the measured averages of each plan, line by line."""
    entries = read_catalogue(reports).entries
    for plan in sorted({entry.plan for entry in entries}):
        for number, line in enumerate(history(runs_of(entries, plan), plan, TOTAL, AVERAGE).lines, start=1):
            if len(line.valid) >= _RUNS_LEAST:
                yield f"{reports.name}/{plan}, line {number}", line


def _otava_answers(python: Path, lines: Sequence[HistoryLine]) -> list[list[Answer]]:
    """Return the change points that Otava finds in each line."""
    with tempfile.TemporaryDirectory(prefix="otava-") as name:
        folder = Path(name)
        files = {}
        for number, line in enumerate(lines, start=1):
            file = folder / f"{number}.csv"
            file.write_text(otava_csv(line), encoding="utf-8")
            files[f"history{number}"] = str(file)
        config, log = folder / "otava.yaml", folder / "otava.log"
        config.write_text(otava.otava_config(files), encoding="utf-8")
        command = [str(python.with_name("otava")), "analyze", "--config-file", str(config), "--output", "json"]
        command += ["--since", "2000-01-01", "-P", str(P_MOST), "-M", str(LEAST_RATIO), "--window", str(WINDOW), *files]
        run_or_fail(Launch("Apache Otava", command, folder, {}, log))
        output = log.read_text(encoding="utf-8")
    by_name: dict[str, list[Answer]] = {}
    for text in output.splitlines():
        if text.startswith("{"):  # the other lines are its log
            by_name |= {test: [_answer(group) for group in groups] for test, groups in json.loads(text).items()}
    missing = [name for name in files if name not in by_name]
    if missing:
        raise StartError(f"Apache Otava has no result for {', '.join(missing)}", "see its output", output)
    return [by_name[name] for name in files]


def _answer(group: dict[str, list[dict[str, str]]]) -> Answer:
    (change,) = group["changes"]
    return Answer(int(change["index"]), float(change["mean_before"]), float(change["mean_after"]))


def _text(answers: Sequence[Answer]) -> str:
    return ", ".join(f"{answer.index}: {answer.before:.1f} → {answer.after:.1f}" for answer in answers) or "none"
