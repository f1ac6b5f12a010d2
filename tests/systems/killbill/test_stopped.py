"""What the KillBill of the other tests left when it was stopped: these tests are the last ones of the folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.system.exceptions import count_exceptions
from harness.system.heap import heap_uses, read_heaps
from harness.system.jfr import write_heap
from tests.support.killbill_instance import SETTINGS, Shared

pytestmark = [pytest.mark.real, pytest.mark.counterpart]


class Stopped(NamedTuple):
    """What the shared KillBill left when it was stopped. The tests that need it running come before."""

    logs: Path
    recordings: dict[str, Path]
    exception_logs: list[str]


@pytest.fixture(scope="module")
def stopped(shared: Shared) -> Stopped:
    shared.stack.close()
    recordings = {name: Path(path) for name, path in shared.started.recordings.items()}
    return Stopped(shared.logs, recordings, shared.started.exception_logs)


def test_a_stopped_killbill_has_recorded_its_heap(stopped: Stopped, tmp_path: Path) -> None:
    assert stopped.recordings == {"killbill": stopped.logs / "killbill.jfr"}
    assert write_heap(tmp_path / "heap.csv", stopped.recordings, {}) == ()
    (use,) = heap_uses(read_heaps((tmp_path / "heap.csv").read_text().splitlines()), 0, 2**63)
    assert use.process == "killbill"
    assert use.point_count >= 2
    low, high = SETTINGS["heap_min_mb"] * 1024**2, SETTINGS["heap_max_mb"] * 1024**2
    assert 0 < use.used_bytes_min < use.used_bytes_max <= use.committed_bytes_max <= high
    assert use.committed_bytes_min >= low
    assert (use.reserved_bytes_min, use.reserved_bytes_max) == (high, high)


def test_the_recorder_records_the_heap_and_nothing_else(stopped: Stopped) -> None:
    jfr = Path(os.path.realpath(str(shutil.which("java")))).parent / "jfr"
    summary = subprocess.run(
        [str(jfr), "summary", str(stopped.recordings["killbill"])], capture_output=True, text=True, check=True
    ).stdout
    counts = dict(re.findall(r"^ *(\S+\.\S+) +(\d+) +\d+ *$", summary, re.MULTILINE))
    recorded = {name for name, count in counts.items() if int(count)}
    assert recorded == {"jdk.GCHeapSummary", "jdk.Metadata", "jdk.CheckPoint"}
    assert stopped.recordings["killbill"].stat().st_size < 1_000_000


def test_the_exceptions_of_a_failing_gateway_are_counted_in_killbills_log(shared: Shared, stopped: Stopped) -> None:
    assert stopped.exception_logs == ["killbill.log"]
    first = (stopped.logs / "killbill.log").read_bytes()[: shared.log_bytes].decode(errors="replace")
    counts = count_exceptions(first.splitlines(keepends=True), "killbill.log")
    payments = [kind for kind in counts if "Error connecting to Stripe" in kind.example]
    assert sum(kind.count for kind in payments) == 3  # one trace for each payment that failed
    assert {kind.class_name.rpartition(".")[2] for kind in payments} == {"MappableException"}
    # The gateway fails in two ways, by chance.
    assert {kind.cause for kind in payments} <= {"com.stripe.exception.ApiException", "java.io.IOException"}
