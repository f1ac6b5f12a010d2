"""Runs a test that failed once more when the machine's clock was set meanwhile: a machine that just started does that.

A load over which the clock is set is INVALID, and rightly so, but that says nothing of the change that is tested.
"""

from __future__ import annotations

import time

import pytest
from _pytest.runner import runtestprotocol

# By how much the clock is set before a test of ours can notice; NTP slews smaller differences.
LEAST_STEP_S = 0.5


def offset_s() -> float:
    """Return the wall clock less the monotonic one, in s: it changes when the clock is set."""
    return time.time() - time.monotonic()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and run it again if it failed while the clock was set; only the last result counts."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    before_s = offset_s()
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    step_s = offset_s() - before_s
    if abs(step_s) >= LEAST_STEP_S and any(report.failed for report in reports):
        text = f"{item.nodeid} failed while the clock was set by {step_s:+.1f} s: it ran again"
        item.config.issue_config_time_warning(pytest.PytestWarning(text), stacklevel=2)
        item.session._setupstate.teardown_exact(None)  # what its file and the session share is made again
        item._initrequest()  # type: ignore[attr-defined] # as for a test that runs the first time
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
