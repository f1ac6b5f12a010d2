"""Has a JMX read environment variables as properties, so that no request waits for a script engine to start."""

from __future__ import annotations

import re
from collections.abc import Collection

# As the agent in JMeter names the properties: harness/run/java/Environment.java.
PREFIX = "harness.environment."
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUOTE = rb"(\"|'|&quot;|&apos;|&#34;|&#39;)"
_READ = re.compile(
    rb"\$\{__groovy\(\s*(?:java\.lang\.)?System\.getenv\(\s*" + _QUOTE + rb"([A-Za-z_]\w*)\1\s*\)\s*,?\s*\)\}"
)
_GIVEN = re.compile(rf"\$\{{__P\({re.escape(PREFIX)}([A-Za-z_]\w*),\)\}}")


def environment_option(names: Collection[str]) -> str:
    """Return the option of JMeter's JVM with the environment variables that become properties; empty without any."""
    readable = [name for name in names if _NAME.fullmatch(name)]  # others are no part of a JMX, and could be an option
    return f"-Dharness.environment={','.join(readable)}" if readable else ""


def with_properties_for(jmx: bytes, names: Collection[str]) -> bytes:
    """Return a test plan that reads the environment variables `names` as properties instead of by Groovy."""

    def property_read(match: re.Match[bytes]) -> bytes:
        name = match[2].decode("ascii")
        return b"${__P(%b%b,)}" % (PREFIX.encode("ascii"), match[2]) if name in names else match[0]

    return _READ.sub(property_read, jmx)


def as_in_plan(text: str) -> str:
    """Return a text of the JMX of a run as its plan has it."""
    return _GIVEN.sub(r'${__groovy(System.getenv("\1"))}', text)
