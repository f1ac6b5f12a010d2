"""Interprets the elements of an XML JTL: which are samples, and what is wrong with invalid ones.

A `<sample>` or `<httpSample>` at the top level counts, and so does any other element with the attributes of a sample:
plugins have tags of their own. Samples inside it do not count (redirects, embedded resources):
the outer sample includes their time and bytes. The exception is a Transaction Controller's sample ("generate parent
sample"): its requests occur nowhere else, so they count too, and the transaction remains a transaction. Samples are
returned as their elements end, so inner ones come before the outer one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.parsers import expat

from harness.base.errors import UsageError
from harness.jtl.layout import TRUTHS
from harness.jtl.sample import (
    ELAPSED_MAX_MS,
    LONG_MAX,
    TRANSACTION_MESSAGE,
    Dropped,
    Sample,
    whole_number,
)
from harness.jtl.times import ALWAYS, BadTimeError, Times

ROOT_TAG = "testResults"
SAMPLE_TAGS = frozenset(("sample", "httpSample"))
_ASSERTION_TEXTS = frozenset(("failure", "error", "failureMessage"))
_WHOLE_NUMBERS = {
    "ts": "timeStamp",
    "t": "elapsed",
    "by": "bytes",
    "sby": "sentBytes",
    "na": "allThreads",
    "ng": "grpThreads",
    "lt": "Latency",
    "ct": "Connect",
    "sc": "SampleCount",
    "ec": "ErrorCount",
}
_NEEDED = {"ts": "timeStamp", "t": "elapsed", "lb": "label", "s": "success"}


@dataclass(slots=True)
class Open:
    """A sample whose element has begun but not ended; with `opens_up` the samples inside it count."""

    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    counts: bool
    opens_up: bool
    failure: str = ""


class TornHere(Exception):  # noqa: N818 - not an error: it takes the word from expat
    """A tag that can occur only after the open sample has ended, with its byte index and line."""


class Elements:
    """The samples that have ended, those that are open, and the dropped ones."""

    def __init__(self, name: str, dropped: Dropped, times: Times = ALWAYS) -> None:
        self.samples: list[Sample] = []
        self.open: list[Open] = []
        self.dropped = dropped
        self.lines_before = 0  # offset of the current parser's line numbers
        self.top_column: int | None = None
        self.is_one_line = False  # then indentation is no evidence
        self.has_root = False
        self._name = name
        self._times = times
        self._root_line = 0
        self._is_indented: bool | None = None  # as JMeter writes it; None: unknown so far
        self._is_between_text = False
        self._in_assertion = self._has_failed = False
        self._message = ""
        self._text = ""
        self._sample_tags = set(SAMPLE_TAGS)

    @property
    def sample_start(self) -> re.Pattern[bytes]:
        """The beginning of a sample's tag, of those that have occurred."""
        return re.compile(rb"<(?:%b)[\s/>]" % b"|".join(re.escape(tag.encode()) for tag in sorted(self._sample_tags)))

    def attach(self, parser: expat.XMLParserType) -> None:
        """Let `parser` report to this object from now on."""
        self._parser = parser
        self._in_assertion = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse
        parser.CharacterDataHandler = None if self.open else self._between

    def counts_here(self) -> bool:
        """Return whether a sample that begins here would count."""
        return self.open[-1].opens_up if self.open else self._root_line > 0

    def _torn_here(self) -> TornHere:
        return TornHere(self._parser.CurrentByteIndex, self._parser.CurrentLineNumber)

    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self.lines_before

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in self._sample_tags:
            self._start_sample(tag, attributes)
        elif attributes and attributes.keys() >= _NEEDED.keys():
            self._sample_tags.add(tag)
            self._start_sample(tag, attributes)
        elif not self.open:
            self._start_outside(tag)
        elif tag == "assertionResult":
            # Only for a failed sample without a reason so far.
            self._in_assertion = self.open[-1].counts and not self.open[-1].failure
            self._has_failed, self._message = False, ""
        elif self._in_assertion and tag in _ASSERTION_TEXTS:
            self._text = ""
            self._parser.CharacterDataHandler = self._collect
        elif tag == ROOT_TAG:
            raise self._torn_here()  # another file begins
        elif self._is_indented is None and len(self.open) == 1 and self._line() > self.open[0].line:
            # Decided by the content of an outermost sample: further in, lost data may have joined two lines.
            self._is_indented = self._parser.CurrentColumnNumber > self.open[0].column

    def _start_outside(self, tag: str) -> None:
        if tag == ROOT_TAG:
            self._root_line, self.has_root = self._line(), True
        elif not self._root_line:
            raise UsageError(f"{self._name}: XML, but not a JTL: it begins with <{tag}>", "name a JTL")
        else:
            self.dropped.note(self._line(), f"<{tag}> is not a sample")

    def _start_sample(self, tag: str, attributes: dict[str, str]) -> None:
        line, column = self._line(), self._parser.CurrentColumnNumber
        if self.open:
            outer = self.open[-1]
            if line > outer.line and column <= outer.column and self._is_indented is not False:
                raise self._torn_here()
            counts = outer.opens_up
            if counts:
                attributes = {
                    key: outer.attributes[key] for key in ("na", "ng", "tn") if key in outer.attributes
                } | attributes
        else:
            if self.top_column is None:
                self.top_column, self.is_one_line = column, line == self._root_line
            self._root_line = self._root_line or line  # a file without its header
            counts = True
            self._parser.CharacterDataHandler = None
            self._is_between_text = False
        opens_up = counts and attributes.get("rm", "").startswith(TRANSACTION_MESSAGE)
        self.open.append(Open(tag, attributes, line, column, counts, opens_up))

    def _end(self, tag: str) -> None:
        if tag in self._sample_tags:
            ended = self.open.pop()
            if ended.counts:
                try:
                    self.samples.append(_sample(ended.attributes, ended.failure, self._times))
                except ValueError as error:
                    self.dropped.note(ended.line, str(error), is_bad_time=isinstance(error, BadTimeError))
            if not self.open:
                self._parser.CharacterDataHandler = self._between
        elif self._in_assertion:
            if tag == "assertionResult":
                self._in_assertion = False
                if self._has_failed:
                    self.open[-1].failure = self._message
            elif tag in _ASSERTION_TEXTS:
                self._parser.CharacterDataHandler = None
                if tag == "failureMessage":
                    self._message = self._text
                else:
                    self._has_failed |= self._text.strip() == "true"

    def _collect(self, text: str) -> None:
        self._text += text

    def _between(self, text: str) -> None:
        if not self._is_between_text and not text.isspace():
            self._is_between_text = True
            self.dropped.note(self._line(), "text between samples: the rest of a torn sample")

    def _refuse(self, *_declaration: object) -> None:
        raise UsageError(
            f"{self._name}:{self._line()}: a document type declaration, which a JTL never has",
            "name a JTL that JMeter wrote",
        )


def _sample(attributes: dict[str, str], failure: str, times: Times) -> Sample:
    """Return the sample of an element's attributes. ValueError names a bad one, BadTimeError its time stamp."""
    get = attributes.get
    try:
        elapsed_ms, success = whole_number(attributes["t"]), TRUTHS[attributes["s"]]
        received, sent, threads, latency, connect, group_threads = (
            None if text is None else whole_number(text) for text in map(get, ("by", "sby", "na", "lt", "ct", "ng"))
        )
        sample_count = whole_number(get("sc", "1"))
        error_count = 0 if success else sample_count
        if sample_count > 1 and "ec" in attributes:
            error_count = whole_number(attributes["ec"])
        sample = Sample(
            whole_number(attributes["ts"]),
            elapsed_ms,
            attributes["lb"],
            get("rc", ""),
            get("rm", ""),
            get("tn", ""),
            success,
            failure,
            received,
            sent,
            threads,
            latency,
            connect,
            sample_count,
            error_count,
            group_threads,
            host=get("hn", ""),
        )
    except (KeyError, ValueError):
        raise ValueError(_complaint(attributes)) from None
    if not 0 <= elapsed_ms <= ELAPSED_MAX_MS:
        raise ValueError(f"elapsed {elapsed_ms} ms is impossible")
    times.check(sample.start_ms, str(sample.start_ms))
    for column in ("received_bytes", "sent_bytes", "all_threads", "group_threads", "latency_ms", "connect_ms"):
        if not 0 <= (getattr(sample, column) or 0) <= LONG_MAX:
            raise ValueError(f"{column} {getattr(sample, column)} is impossible")
    if sample_count < 1:
        raise ValueError(f"SampleCount {sample_count} is impossible")
    return sample


def _complaint(attributes: dict[str, str]) -> str:
    for key, column in _NEEDED.items():
        if key not in attributes:
            return f"no attribute {key} ({column})"
    for key, column in _WHOLE_NUMBERS.items():
        try:
            whole_number(attributes.get(key, "0"))
        except ValueError:
            return f"{column} {attributes[key]!r} is not a whole number"
    return f"success {attributes['s']!r} is neither true nor false"
