"""The metrics of a run that monitoring systems get: names, units, labels and help, for every format."""

from __future__ import annotations

from dataclasses import dataclass

# The run, such as killbill-stripe/run-07_1, is a label of every metric: two runs never share a series.
RUN = ("run",)
# `group` is load, once, setUp or tearDown; `kind` is request or transaction.
OF_LABEL = (*RUN, "label", "group", "kind")


@dataclass(frozen=True)
class Instrument:
    """A published metric: `name` in base units, without suffixes of a format such as _total; its help in one line."""

    name: str
    help: str
    labels: tuple[str, ...] = RUN


RESPONSE_TIME = Instrument("loadtest_response_time_seconds", "Response times of all samples so far.", OF_LABEL)
REQUESTS = Instrument("loadtest_requests", "Samples so far, failed ones included.", OF_LABEL)
ERRORS = Instrument("loadtest_errors", "Failed samples so far.", OF_LABEL)
ERROR_CAUSES = Instrument(
    "loadtest_error_causes",
    "Failed samples so far, by label, response code and cause.",
    (*RUN, "label", "code", "cause"),
)
RECEIVED = Instrument("loadtest_received_bytes", "Bytes received so far.", OF_LABEL)
SENT = Instrument("loadtest_sent_bytes", "Bytes sent so far.", OF_LABEL)
USERS = Instrument("loadtest_active_users", "Active users of all load generators.")
CPU = Instrument("loadtest_process_cpu_seconds", "CPU time of a process since the load began.", (*RUN, "process"))
MEMORY = Instrument(
    "loadtest_process_resident_memory_bytes",
    "Resident memory of a process; used memory of the host.",
    (*RUN, "process"),
)
ENDED = Instrument("loadtest_run_ended", "1 when the load has ended and no count changes any more, else 0.")
INFO = Instrument("loadtest_run", "The run: plan, profile and commit of the harness.", (*RUN, "plan", "env", "commit"))


def kind_of(*, is_transaction: bool) -> str:
    """Return the value of the label `kind`."""
    return "transaction" if is_transaction else "request"
