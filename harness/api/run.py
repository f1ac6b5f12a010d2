"""Opens a run or JTLs, and provides what the harness knows of them: tables, time series, samples, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import overload

from pandas import DataFrame

from harness.api.export.files import seconds_of
from harness.api.frames import joined, label_second_frame, second_frame, table_frame, timeline_frame
from harness.api.sample_frames import sample_frames
from harness.api.sample_pieces import sample_pieces
from harness.base.errors import UsageError
from harness.base.project import current_project
from harness.compare.sources import read_summary
from harness.history.pin_files import runs_of_pins
from harness.jtl.inputs import Input, opened, resolve
from harness.jtl.readers import TALLY
from harness.jtl.sample import SAMPLES_NAME
from harness.judge.goals import GoalResult
from harness.judge.summarise import origin_of
from harness.judge.summary import RunSummary
from harness.judge.verdict import Verdict
from harness.judge.warnings import RunWarning
from harness.metrics.figures import PERCENTILES
from harness.metrics.generators import short_names
from harness.metrics.tally import SampleTally
from harness.metrics.window import Window, parse_window
from harness.report.columns import parse_percentiles, rising
from harness.report.jtls import Counting, run_of, summary_of_jtls, tally_of_jtls
from harness.report.selection import Selection
from harness.run.directory import RunDirectory
from harness.run.kinds import RUN_NAME
from harness.run.names import find_paths, split_choice
from harness.run.record import RunRecord

REPORTS = current_project().reports
_CHUNK_ROWS = 100_000
# Fewer lines are not read at a time: each reading has costs of its own.
_LINES_LEAST = 10_000


@dataclass(frozen=True, repr=False)
class Run:
    """A run, or JTLs that are counted as one run; `open_run` and `read_jtl` make it.

    `name` is plan and run, or the names of the files. `directory` is None for bare JTLs, and `files` are their paths.
    `columns` are those of files without a header line. `stored` is the JSON of the run.

    Everything is read when it is first used, and the results of `summary` and of the counts per second are cached.
    A sample belongs to the second in which it ended; second 0 is the one in which the load began.
    """

    name: str
    directory: RunDirectory | None = None
    files: tuple[Input, ...] = ()
    columns: tuple[str, ...] | None = None
    stored: RunSummary | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<Run {self.name}>"

    @property
    def verdict(self) -> Verdict:
        """The verdict: `state` (VALID, DOUBTFUL, INVALID, INTERRUPTED), `reasons`, `goals_met`, `goals_missed`."""
        return self.summary.verdict

    @property
    def goals(self) -> tuple[GoalResult, ...]:
        """Each goal with what was measured; empty for bare JTLs, which have no plan."""
        return self.summary.verdict.goals

    @property
    def warnings(self) -> tuple[RunWarning, ...]:
        """The warnings of the report: each has `code`, `text`, `severity` and `subject`."""
        return self.summary.warnings

    @property
    def window(self) -> Window:
        """The measurement window of `table()`: seconds `from_s` to before `to_s`, and why some are left out."""
        return self.summary.window

    @property
    def record(self) -> RunRecord | None:
        """The facts of the run: plan, load, versions, host, commit; None for JTLs outside of a run directory."""
        return self.stored.run if self.stored else run_of(self.files)

    @cached_property
    def summary(self) -> RunSummary:
        """All results, as in the JSON of the run (docs/format.md)."""
        return self.stored or summary_of_jtls(self.files, self._counting("all"))

    def table(self, window: str | None = None, percentiles: str | Sequence[float] = ()) -> DataFrame:
        """Return a row per label and a TOTAL per group, with every metric of the wide table in full precision.

        Without `window` the table of a run is that of its report, which counts the load in the steady window; that of
        JTLs counts all samples, as `lth table` does. `window` is `all`, `steady` or `FROM..TO` (30s..2m); it
        needs the samples. `percentiles` are shown beside the usual ones: (97, 99.99).

        Columns: `group` and `label` (categories), `is_total`, `is_transaction` (bool), `sample_count`, `error_count`,
        `min_ms`, `max_ms`, `p50_ms`, … (int64), all others float64 with NaN for unknown. Ratios are 0-1.

        UsageError for a wrong window or percentile, and without a sample in the window.
        """
        text = percentiles if isinstance(percentiles, str) else ",".join(map(str, percentiles))
        wanted = rising((*PERCENTILES, *(parse_percentiles(text) if text else ())))
        if window is None:
            return table_frame(self.summary.groups, wanted)
        summary = summary_of_jtls(self._samples, self._counting(window))
        return table_frame(Selection().view(summary, self.name).groups, wanted)

    def per_second(self, by_label: bool = False) -> DataFrame:
        """Return a row per second of the load: what was counted, and the users; with `by_label` a row per label.

        Columns: `second` (int64), `time` (its beginning, datetime64 in UTC), `sample_count`, `error_count` (int64),
        `average_ms` (float64, NaN without samples), `active_users` (Int64). Transactions are not counted, because their
        requests are; unless there is nothing else.

        With `by_label`: a row per second and label with samples, and one of TOTAL of the load, as `lth export`
        writes them: also `group`, `label` (categories), `is_total`, `is_transaction` (bool), `min_ms`, `p50_ms`, …,
        `max_ms` (int64), `received_bytes`, `sent_bytes` (Int64). Percentiles are exact. The samples are read one by
        one, and each takes 24 bytes meanwhile.

        UsageError when the samples are not on this machine, or are of more than a month.
        """
        if not by_label:
            return second_frame(self._tally)
        self._refuse_tally()
        return label_second_frame(seconds_of(self._samples, self._once_labels, self.columns), self._origin_s)

    def timeline(self) -> DataFrame:
        """Return the response times over time: exact percentiles of the intervals of the report's charts.

        Intervals have 1 s; 2, 4, … s where fewer than ten samples end per second, and in runs of more than ten minutes,
        which have at most 600 intervals. Columns: `second`,
        `length_s` (int64), `sample_count`, `error_count` (int64), `average_ms` (float64, one decimal), `p50_ms`, … and
        `active_users` (Int64). Samples and errors as in `per_second`.
        """
        return timeline_frame(self._tally)

    @overload
    def samples(self) -> DataFrame: ...

    @overload
    def samples(self, chunk_rows: int) -> Iterator[DataFrame]: ...

    def samples(self, chunk_rows: int | None = None) -> DataFrame | Iterator[DataFrame]:
        """Return the samples, a row each in file order; with `chunk_rows` an iterator of DataFrames of so many rows.

        A million samples in one DataFrame take about 150 MB; in chunks they take the memory of one chunk.

        Columns: `file`, `group`, `label`, `thread_name`, `code`, `message`, `failure`, `trace_id` (categories; each
        chunk has its own), `second` (in which it ended, int64), `start_time` (datetime64[ms] in UTC), `elapsed_ms`,
        `sample_count`, `error_count` (int64), `success`, `is_transaction` (bool), `latency_ms`, `connect_ms`,
        `received_bytes`, `sent_bytes`, `active_users` (Int64, <NA> when the file lacks the column).

        Records that cannot be read are left out; `summary.dropped_count` is their number.

        UsageError when the samples are not on this machine, or `chunk_rows` is less than 1.
        """
        if chunk_rows is not None and chunk_rows < 1:
            raise UsageError(f"chunk_rows={chunk_rows}: a chunk has at least one row", "give 100000, for example")
        self._refuse_tally()
        rows = chunk_rows or _CHUNK_ROWS
        pieces = sample_pieces(self._samples, self.columns, min(rows * max(1, _LINES_LEAST // rows), _CHUNK_ROWS))
        paths = [given.name for given in self._samples]
        names = short_names(paths) if len(paths) > 1 else [Path(paths[0]).name]
        found = sample_frames(pieces, rows, names, self._once_labels, self._origin_s)
        return joined(found) if chunk_rows is None else found

    def _refuse_tally(self) -> None:
        for given in self._samples:
            with opened(given) as file:
                if file.kind == TALLY:
                    raise UsageError(f"{given.name}: a tally, which contains no samples", "name the JTLs")

    @property
    def _once_labels(self) -> tuple[str, ...]:
        return tuple(self.record.once_labels) if self.record else ()

    @property
    def _origin_s(self) -> int | None:
        return self.stored.origin_s if self.stored else origin_of(self._tally)

    @cached_property
    def _tally(self) -> SampleTally:
        return tally_of_jtls(self._samples, Counting(columns=self.columns, run=self.record))

    @cached_property
    def _samples(self) -> tuple[Input, ...]:
        """The JTLs with samples; UsageError when they are not on this machine."""
        if self.files:
            return self.files
        folder = self.directory.path if self.directory else None
        if folder is None or not any(folder.glob(f"{SAMPLES_NAME}*")):
            what = f"{self.name}: its samples are not on this machine"
            raise UsageError(what, "table() without a window needs only the JSON; lth pull fetches samples")
        # A load generator that could not start leaves an empty file.
        inputs = tuple(one for one in resolve([str(folder)]) if one.path and one.path.stat().st_size)
        if not inputs:
            raise UsageError(f"{self.name}: its JTL is empty", f"see {folder}/jmeter.log")
        return inputs

    def _counting(self, window: str) -> Counting:
        return Counting(window=parse_window(window), columns=self.columns, run=self.record, with_timeline=False)


def open_run(name: str | Path, reports: str | Path = REPORTS) -> Run:
    """Return a run by its name in the folder `reports`, such as `killbill-stripe/run-07_1`, or by a path.

    `run-07_1` suffices when one plan has it; a pin (`baseline`) means its run. The path is that of a run directory, of
    its .json or .md, or of a JTL. The JSON of the run is read, else its samples.

        run = open_run("killbill-stripe/run-07_1")
        print(run.verdict.state, [goal.measured_text for goal in run.goals])

    UsageError when there is no such run, when it is still in progress, or when only its Markdown report exists.
    """
    folder = Path(reports)
    paths = find_paths(runs_of_pins([str(name)], [str(name)], folder), folder)
    if len(paths) != 1:
        raise UsageError(f"{name}: {len(paths)} results match", "name one of them")
    path = paths[0]
    if (summary := read_summary(path)) is not None:
        return Run(summary.source, directory=RunDirectory(path) if path.suffix != ".json" else None, stored=summary)
    if RUN_NAME.fullmatch(path.name) or split_choice(path).file.suffix == ".md":
        raise UsageError(
            f"{name}: only a Markdown report, which has neither counts nor samples",
            "name a run with its JSON, or a JTL; compare() reads Markdown reports, too",
        )
    return read_jtl(path)


def read_jtl(*paths: str | Path, columns: Sequence[str] | None = None) -> Run:
    """Return JTLs as one run: files of several load generators are counted together.

    A path is a JTL in CSV or XML, plain or packed (.gz, .zst), a folder or pattern of them, or s3://bucket/key.
    `columns` are the names of the columns of files without a header line.

        run = read_jtl("gen1/samples.jtl.zst", "gen2/samples.jtl.zst")
        for chunk in run.samples(chunk_rows=100_000):
            print(chunk[chunk.label == "Pay"].elapsed_ms.max())

    UsageError for a path that matches nothing, a file that is not a JTL, and the same file twice.
    """
    if not paths:
        raise UsageError("read_jtl: no path", "name a JTL")
    files = resolve([str(path) for path in paths])
    for given in files:
        if given.path is None and given.url is None:
            raise UsageError("read_jtl: standard input can be read only once", "name a file")
        with opened(given):  # not a JTL: that is better known now
            pass
    name = " + ".join(Path(given.name).name for given in files)
    return Run(name, files=files, columns=tuple(columns) if columns else None)
