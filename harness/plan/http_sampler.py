"""The HTTP samplers that can send the requests of a plan, by name."""

from __future__ import annotations

from harness.base.errors import UsageError

# The sampler in harness/run/java/sampler, and the one that JMeter has.
LEAN, JMETERS = "lean", "jmeter"


def parse_sampler(text: str, name: str = "--sampler") -> str:
    """Return the name of an HTTP sampler; UsageError for another text."""
    if text not in (LEAN, JMETERS):
        raise UsageError(f"{name}={text}: no HTTP sampler", f"give {LEAN} or {JMETERS}")
    return text
