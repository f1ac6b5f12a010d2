"""Warns that an unusual response code counts as success.

Seen: a code of HTTP other than 101, 200, 201 and 204, or none, counts as success.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import LABELS_NAMED, Evidence, Values
from harness.judge.ignored import refused
from harness.judge.warning_kind import ReportPart, WarningKind
from harness.metrics.figures import CodeCount, is_of_http

# No HTTP sampler takes 101 for a success; one of WebSocket does.
EXPECTED_SUCCESS_CODES = ("101", "200", "201", "204")
ACCEPTED_CODE = "202"


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield each unusual response code that counts as success, and the labels that were answered with it.

    Samplers of other protocols check their codes themselves, such as OK of gRPC and 1000 of WebSocket. A plan may check
    those of a step, and of refusals the account tells.
    """
    by_code: dict[str, list[CodeCount]] = {}
    checked = {step.label for step in evidence.run.steps if step.checks_code} if evidence.run else set[str]()
    told = refused(evidence)
    for code in evidence.codes:
        is_known = code.label in checked or code in told
        is_unusual = is_of_http(code.code) if code.code else not evidence.dropped.unknown
        is_success = code.sample_count > code.error_count and not is_known
        if is_success and is_unusual and code.code not in EXPECTED_SUCCESS_CODES:
            by_code.setdefault(code.code, []).append(code)
    for name, codes in by_code.items():
        counts = [(code.label, code.sample_count - code.error_count) for code in codes[:LABELS_NAMED]]
        named = ", ".join(f"{label}: {units.plural(count, 'sample')}" for label, count in counts)
        more = f" and {units.plural(len(codes) - LABELS_NAMED, 'more label')}" if len(codes) > LABELS_NAMED else ""
        advice = "nothing checked that it is the expected answer. Assert on the code in the plan."
        if name == ACCEPTED_CODE:
            advice = "the work may not be complete when the answer comes."
            advice += " Let the plan wait for its end, or assert on it."
        what = f"Code {name}" if name else "No code"
        yield {"what": what, "labels": f"{named}{more}", "advice": advice, "subject": name}


WARNING = WarningKind(
    code="unexpected-success-code",
    since="1.0.0",
    concerns=(ReportPart.CODE,),
    needs=("codes",),
    text="{what} counts as success ({labels}): {advice}",
    page=__doc__,
    found_in=found_in,
)
