"""Adds a W3C traceparent header to every HTTP request of a test plan (https://www.w3.org/TR/trace-context/)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from defusedxml.ElementTree import fromstring

from harness.base.errors import UsageError
from harness.jtl.sample import TRACE_COLUMN
from harness.plan.jmx.headers import with_manager
from harness.plan.jmx.tree import enabled_nodes, plan_tree
from harness.plan.jmx_writer import Expression

HEADER = "traceparent"
HTTP_SAMPLER = re.compile(r"HTTPSampler(Proxy|2)?$")
# It runs the samplers of another file, which only JMeter reads.
_INCLUDE = "IncludeController"
_HEX = "0123456789abcdef"
# JMeter evaluates it for each sample. Version 00, trace id, parent id, sampled. The parent id is the first half of the
# trace id, so that the span of a request is known by its trace id alone. The trace id is also a variable.
_PARENT = "trace_parent_id"
_TRACE_ID = f"${{__RandomString(16,{_HEX},{_PARENT})}}${{__RandomString(16,{_HEX},)}}"
_VALUE = Expression(f"00-${{__changeCase({_TRACE_ID},LOWER,{TRACE_COLUMN})}}-${{{_PARENT}}}-01")
_SAMPLE_VARIABLES = "sample_variables"


def check_traceable(jmx: Path) -> None:
    """Raise a UsageError for a plan without an HTTP request: nothing in it could carry the header."""
    kinds = {node.kind for node in enabled_nodes(plan_tree(jmx))}
    if not any(HTTP_SAMPLER.fullmatch(kind) or kind == _INCLUDE for kind in kinds):
        what = f"--trace: {jmx.parent.name}/{jmx.name} has no HTTP request, and only HTTP requests carry a {HEADER}"
        raise UsageError(what, "leave --trace out")


def with_traceparent(jmx: bytes) -> bytes:
    """Return a test plan whose HTTP requests carry a fresh traceparent each; one of their own has priority."""
    return with_manager(fromstring(jmx, forbid_dtd=True), HEADER, {HEADER: _VALUE})


def trace_columns(properties: Mapping[str, str]) -> dict[str, str]:
    """Return JMeter's property for a JTL with a column of the trace ids, beside those in `properties`."""
    columns = filter(None, (properties.get(_SAMPLE_VARIABLES), TRACE_COLUMN))
    return {_SAMPLE_VARIABLES: ",".join(columns)}
