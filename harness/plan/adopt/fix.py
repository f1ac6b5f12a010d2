"""Lists the kinds of fixes that `make init` offers."""

from __future__ import annotations

from enum import StrEnum


class Fix(StrEnum):
    """A kind of fix; its value is the title that people read."""

    TARGET = "host, port and protocol are those of TARGET, also for credentials and cookies"
    BASE_PATH = "paths begin with the path of TARGET"
    GROUPS = "thread groups have the kinds and names by which the report separates setUp and load"
    MODULES = "Module Controllers have the present name of the Test Plan in their paths"
    LOAD = "users, ramp-up, duration, loops and think time are those of the run"
    EMBEDDED = "embedded resources are not retrieved"
    CODES = "response codes are asserted: a request without an assertion must return 2xx, or 3xx if JMeter may"
    LISTENERS = "listeners are disabled: the harness writes the JTL"
    EXTRACTORS = "extractors have a default, so no value of an earlier response is sent"
    PROPERTIES = "properties have one default"
    LABELS = "each sampler of a thread group has its own label"
    PATHS = "characters that no URL can have are encoded"
    ASSERTIONS = "assertions of a variable without a name check the response"
    SECRETS = "passwords, tokens and keys are environment variables"
    DATA = "the files that the plan reads are in plans/data"
