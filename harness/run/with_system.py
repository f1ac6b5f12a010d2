"""Measures one run together with its system: starts the system, runs the load, and stops everything again."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from harness.base.secrets import mask_secrets
from harness.plan.spec import RunSpec
from harness.run.context import RunContext, start, system_of
from harness.run.directory import RunDirectory
from harness.run.measure import measure
from harness.run.prepare import prepare
from harness.run.record import RunRecord
from harness.run.request import Request
from harness.system.jfr import write_heap
from harness.system.own_metrics import sources_elsewhere
from harness.system.own_metrics_files import answering


def measure_with_system(spec: RunSpec, request: Request, directory: RunDirectory, context: RunContext) -> RunRecord:
    """Start the system unless there is a target, run JMeter, write run.json and return it; stop what was started.

    StartError when the system does not start.
    """
    with ExitStack() as stack:
        # From the start: the system writes its logs into the directory, and the plan there is masked only at the end.
        stack.enter_context(context.guardian.masking(directory.path, spec.hidden))
        system = None
        if spec.target is None:
            system = stack.enter_context(system_of(request, directory.system_logs, context))
            start(system, directory.system_logs, request, context)
        prepared = prepare(spec, directory, system, context)
        if spec.target and request.manifest:
            found = answering(sources_elsewhere(request.manifest, spec.target.url))
            prepared = replace(prepared, metrics_elsewhere=found)
        with context.interrupts.deferred():
            record = measure(prepared, context)
            if system:
                recordings = system.recordings
                system.stop()  # a JVM writes its recording when it ends
                mask_secrets(directory.system_logs, spec.hidden)
                heap_unknown = write_heap(directory.heap, recordings, context.guardian.environment)
                record = replace(record, heap_unknown=heap_unknown)
                directory.write_run(record)
        return record
