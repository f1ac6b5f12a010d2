"""The names of processes in telemetry."""

from __future__ import annotations

HOST = "host"
HARNESS = "harness"
# CPU time that the hypervisor gave to other virtual machines while this one needed it; it has no memory.
STOLEN = "stolen"
# JMeter; that of a part is "generator <name>".
GENERATOR = "jmeter"
GENERATOR_PREFIX = "generator "
# All other rows are processes of the system.
NOT_SYSTEM = (GENERATOR, HARNESS, HOST, STOLEN)


def process_at(process: str, generator: str) -> str:
    """Return the name of a process of one generator's machine when there are several machines."""
    return f"{GENERATOR_PREFIX}{generator}" if process == GENERATOR else f"{process} {generator}"


def process_title(process: str) -> str:
    """Return the name of a process in tables."""
    return {HOST: "host, all processes", STOLEN: "stolen by the hypervisor"}.get(process, process)
