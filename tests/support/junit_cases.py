"""Reads JUnit XML with junitparser, as a CI system does."""

from __future__ import annotations

from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped


def cases_in(path: str | Path) -> dict[str, dict[str, str]]:
    """Return what became of each case, by suite and name."""
    kinds = {Failure: "failed", Error: "error", Skipped: "skipped"}
    return {
        suite.name: {case.name: kinds[type(case.result[0])] if case.result else "passed" for case in suite}
        for suite in JUnitXml.fromfile(str(path))
    }
