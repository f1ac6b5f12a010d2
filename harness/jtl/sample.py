"""A sample, the records that a reader dropped, and the names of a run's JTLs; shared by the readers of CSV and XML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

# The name of a run's JTL. A merged run has several.
SAMPLES_NAME = "samples.jtl"
_SAMPLES_NAMES = re.compile(r"samples(?:-([2-9]|[1-9][0-9]+))?\.jtl")
TRANSACTION_MESSAGE = "Number of samples in transaction :"
# A thread is named "<group> <group number>-<thread number>". In a distributed run the load generator's address comes
# first, as given to -R: an IPv4 address, or any host with its port. A bare host name could be a group's name.
_GENERATOR = re.compile(
    r"([0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,4}))-.* [0-9]+-[0-9]+",
    re.DOTALL,
)
_PORT_MAX = 65_535
_THREAD_NUMBERS = re.compile("[0-9]+-[0-9]+")
FIRST_LINES_MOST = 5
# Longer than any sample: a time stamp in the wrong column, or a clock that was set.
ELAPSED_MAX_MS = 7 * 24 * 3600 * 1000
# The end of the year 9999, the last one that Python's dates support.
START_MAX_MS = 253_402_300_799_999
# The names of threads that run jobs begin with it: harness/plan/jmx/job_threads.py.
JOB_MARK = "[[job]]"
# A traced run has the id of the traceparent header of each request in this column.
TRACE_COLUMN = "trace_id"
# The machine that sent a request, of jmeter.save.saveservice.hostname.
HOST_COLUMN = "Hostname"
# Java's long, in which JMeter counts.
LONG_MAX = 2**63 - 1
WHOLE = re.compile("0|-?[1-9][0-9]{0,4299}")


class Sample(NamedTuple):
    """A row of a JTL: times in milliseconds since 1970, sizes in bytes; None for a column that the file lacks."""

    start_ms: int
    elapsed_ms: int
    label: str
    code: str
    message: str
    thread_name: str
    success: bool
    failure: str
    received_bytes: int | None
    sent_bytes: int | None
    all_threads: int | None
    latency_ms: int | None = None
    connect_ms: int | None = None
    sample_count: int = 1  # in JMeter's Statistical mode a row is the sum of several samples
    error_count: int = 0
    group_threads: int | None = None
    trace_id: str = ""  # of a traced run
    host: str = ""  # the machine of the load generator, where the file has it

    @property
    def end_ms(self) -> int:
        """Return when the sample ended."""
        return self.start_ms + self.elapsed_ms

    @property
    def is_transaction(self) -> bool:
        """Return whether a Transaction Controller wrote the row, which sums up samples with rows of their own."""
        return self.message.startswith(TRANSACTION_MESSAGE)


def samples_name(number: int) -> str:
    """Return the JTL's name for a run's first, second, … load generator: samples.jtl, samples-2.jtl, …."""
    return SAMPLES_NAME if number == 1 else f"samples-{number}.jtl"


def samples_number(name: str) -> int | None:
    """Return which of a run's JTLs has this name, counting from 1; None for another file."""
    match = _SAMPLES_NAMES.fullmatch(name)
    return int(match[1] or 1) if match else None


def generator_of(thread_name: str) -> str:
    """Return the load generator at the start of a thread's name, such as 10.0.0.7:1099; "" for none."""
    if ":" not in thread_name and not thread_name[:1].isdigit():
        return ""  # almost every thread; a regular expression takes five times as long
    match = _GENERATOR.fullmatch(thread_name)
    return match[1] if match and int(match[2] or 1) <= _PORT_MAX else ""


def thread_group_of(thread_name: str) -> str:
    """Return the thread group in a thread's name: Users of `Users 1-12` and of `10.0.0.7:1099-Users 1-12`."""
    group, blank, numbers = thread_name.rpartition(" ")
    if not blank or not _THREAD_NUMBERS.fullmatch(numbers):
        return ""
    generator = generator_of(thread_name)
    return group[len(generator) + 1 :] if generator else group


@dataclass
class Dropped:
    """The records that a reader dropped: their number, and the first line numbers with the reasons.

    `header_lines` are the line numbers of header lines after the beginning of a file. `unknown` lists what the file of
    another tool does not say. `torn_end_count` are those with which a file ends: a writer was killed. `cut_count` are
    files that end early, each as one dropped record. `surplus` has the number of records by the number of
    fields that they have too many. `bad_time_count` are those with an impossible time stamp. Another tool may count the
    arrivals that it made, and left out.
    """

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    header_lines: list[int] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    torn_end_count: int = 0
    cut_count: int = 0
    surplus: dict[int, int] = field(default_factory=dict)
    bad_time_count: int = 0
    made_arrival_count: int = 0
    left_arrival_count: int = 0

    def note(
        self,
        line_number: int,
        reason: str,
        *,
        surplus: int = 0,
        is_torn_end: bool = False,
        is_cut: bool = False,
        is_bad_time: bool = False,
    ) -> None:
        """Count a dropped record that began in `line_number`, and has `surplus` fields too many."""
        self.count += 1
        self.torn_end_count += is_torn_end
        self.cut_count += is_cut
        self.bad_time_count += is_bad_time
        if surplus > 0:
            self.surplus[surplus] = self.surplus.get(surplus, 0) + 1
        if len(self.first) < FIRST_LINES_MOST:
            self.first.append((line_number, reason))

    @property
    def surplus_fields(self) -> int:
        """How many fields each dropped record has too many, of those that do not end a file; 0 where they differ.

        A single one may be torn, and have another one behind it.
        """
        fields, count = next(iter(self.surplus.items()), (0, 0))
        return fields if count > 1 and count >= self.unread_count else 0

    @property
    def has_only_bad_times(self) -> bool:
        """Whether each dropped record that does not end a file has an impossible time stamp."""
        return 0 < self.unread_count <= self.bad_time_count

    @property
    def unread_count(self) -> int:
        """How many records could not be read, without those with which files end."""
        return self.count - self.torn_end_count - self.cut_count

    @property
    def first_text(self) -> str:
        """Return the first dropped records as text; a line number of 0 means none."""
        return "; ".join(f"line {line}: {reason}" if line else reason for line, reason in self.first)

    def merge(self, other: Dropped, lines_before: int) -> None:
        """Add the dropped records of a later part that has `lines_before` lines before it."""
        self.count += other.count
        later = [(lines_before + line_number, reason) for line_number, reason in other.first]
        self.first = [*self.first, *later][:FIRST_LINES_MOST]
        self.header_lines = [*self.header_lines, *(lines_before + line for line in other.header_lines)]
        del self.header_lines[FIRST_LINES_MOST:]
        self.torn_end_count += other.torn_end_count
        self.cut_count += other.cut_count
        self.bad_time_count += other.bad_time_count
        self.made_arrival_count += other.made_arrival_count
        self.left_arrival_count += other.left_arrival_count
        for fields, count in other.surplus.items():
            self.surplus[fields] = self.surplus.get(fields, 0) + count
        self.unknown = list(dict.fromkeys((*self.unknown, *other.unknown)))


def whole_number(text: str) -> int:
    """Return a whole number as JMeter writes it. ValueError for other spellings: +7, 007, -0, 1_000, spaces."""
    if not is_plain_number(text) and not WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text)


def is_plain_number(text: str) -> bool:
    """Return whether a text is a whole number from 0 on, as JMeter writes it."""
    return text.isdigit() and text.isascii() and (text[0] != "0" or text == "0")
