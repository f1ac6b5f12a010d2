"""What a run records beside its samples: a table, one entry for each recorder with all that it does.

To add a recorder, write its module, and add its entry here: its file, the reasons why something is not known and the
metrics that it reads are then in the run's directory, in run.json and in the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.cloudwatch.points import FILE_NAME as CLOUDWATCH
from harness.cloudwatch.points import fetched_metrics
from harness.cloudwatch.services import FILE_NAME as SERVICES
from harness.cloudwatch.services import Services, StoredServices
from harness.metrics import amounts, event_streams
from harness.run.directory import load_record
from harness.run.record import RunRecord, Unknown
from harness.run.telemetry import writer as telemetry_writer
from harness.system import exceptions, histogram_files, jfr, own_metrics_files, profile_files
from harness.system.jcmd import Paths, Pids, Problems
from harness.system.recorder import Reading, Recorder, Recording, Started

if TYPE_CHECKING:  # imported late
    from harness.run.context import RunContext
    from harness.run.prepare import PreparedRun

# In the order of their starts.
RECORDERS = (
    histogram_files.RECORDER,
    profile_files.RECORDER,
    own_metrics_files.RECORDER,
    telemetry_writer.RECORDER,
    jfr.HEAPS,
    jfr.ATTACHED,
    Recorder(  # harness/report/cloudwatch.py fetches them
        "cloudwatch", CLOUDWATCH, read=lambda of: {"cloudwatch": fetched_metrics(of.folder, of.origin_s, of.window)}
    ),
    Recorder(  # the agent in JMeter writes them
        event_streams.FILE_NAME.partition(".")[0],
        event_streams.FILE_NAME,
        read=lambda of: {"streams": event_streams.read_streams(of.lines(event_streams.FILE_NAME), of.window_ms)},
    ),
    Recorder(  # as well
        amounts.FILE_NAME.partition(".")[0],
        amounts.FILE_NAME,
        read=lambda of: {"amounts": amounts.read_amounts(of.lines(amounts.FILE_NAME), of.window_ms)},
    ),
    Recorder("services", SERVICES, read=lambda of: {"services": _services(of.folder / SERVICES)}),
    exceptions.RECORDER,
)


def _services(path: Path) -> Services | None:
    return load_record(StoredServices, path).services if path.is_file() else None


@contextmanager
def recording(run: PreparedRun, context: RunContext, pids: Pids | None = None) -> Iterator[dict[str, Started]]:
    """Yield what records a run while the block lasts, by name; with the `pids` of JMeter what starts with it."""
    folder, logs, environment = run.directory.path, run.directory.system_logs, context.guardian.environment
    of = Recording(run.spec, folder, logs, run.system, run.manifest, environment, context.log, pids or {})
    chosen = (one for one in RECORDERS if one.with_jmeter == (pids is not None))
    started = {one.name: found for one in chosen if one.start and (found := one.start(of))}
    with ExitStack() as stack:
        for one in started.values():
            stack.enter_context(one.during)
        yield started


def stored(started: Mapping[str, Started], log: Log) -> Unknown:
    """Store what was recorded and return what is not known of it; what cannot be stored costs no run."""
    unknown: dict[str, Problems] = {}
    for name, one in started.items():
        try:
            unknown[name] = one.stored()
        except (HarnessError, OSError) as error:
            why = f"what was recorded could not be stored ({error})"
            log(f"warning: {name}: {why}")
            unknown[name] = (("all processes", why),)
    return {name: problems for name, problems in unknown.items() if problems}


def finished(
    run: PreparedRun, context: RunContext, record: RunRecord, recordings: Paths, missing: Problems = ()
) -> RunRecord:
    """Store what is known after the system ended, or after a level; write and return the record with what is not.

    `recordings` are the flight recordings of the system by process, without those that are `missing`.
    """
    folder, environment = run.directory.path, context.guardian.environment
    for one in RECORDERS:
        if one.finish:
            record = record.with_unknown(one.name, missing + one.finish(folder, recordings, environment))
    run.directory.write_run(record)
    return record


def read_all(of: Reading) -> Mapping[str, Any]:
    """Return the fields of the report's `Observed`, as far as recorders read them."""
    fields: dict[str, Any] = {}
    for one in RECORDERS:
        for name, value in one.read(of).items() if one.read and (of.has_load or one.without_load) else ():
            fields[name] = fields[name] + value if name in fields else value
    return fields
