"""Summaries of samples, with everything that does not matter filled in."""

from __future__ import annotations

from harness.judge.summarise import SummaryOptions, summarise
from harness.judge.summary import Observed
from tests.support.factories import tally_of


def summary_of(samples, run=None, usage=(), dropped=None, profiles=(), **options):
    tally = tally_of(samples, run.once_labels if run else (), dropped)
    observed = Observed(usages=tuple(usage), profiles=profiles)
    return summarise(tally, "tiny/run-01_1", run, observed, SummaryOptions(**options))


def warnings_of(*arguments, **options):
    return {warning.code: warning.text for warning in summary_of(*arguments, **options).warnings}
