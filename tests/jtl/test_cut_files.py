"""A file that is cut off anywhere is read up to there, or refused in one line: every sample file of every reader."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from harness.base.errors import UsageError
from harness.jtl.readers import READERS, SUMMARY, kind_of, reader_of, refuse_summary
from harness.jtl.sample import Dropped, Sample
from harness.jtl.tools.summary import NoSamplesError, ToolSummary
from tests.support.tool_files import TOOL_FILES, text_of
from tests.support.xml_jtls import END, HEAD, element

# Formats repeat themselves: more than this shows nothing new. Summaries are shorter.
BYTES_MOST = 3_000
ROW = '{},12,"Pay, ""{}""",200,OK,Users 1-1,text,{},"expected\n1",500,100,1,1,http://a/,10,0,7\n'
COLUMNS = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"
)
JTLS = {
    "jtl.csv": COLUMNS + "".join(ROW.format(1_700_000_000_000 + n, n, str(n != 7).lower()) for n in range(20)),
    "jtl.xml": HEAD + "".join(element(f"step {n}") for n in range(12)) + END,
}
NAMES = sorted([*JTLS, *(path.name for path in TOOL_FILES.iterdir() if path.name != "gatling-3.10.5.txt")])


def sample_file(name: str) -> bytes:
    return JTLS[name].encode() if name in JTLS else text_of(name)


def outcome(text: bytes) -> tuple[list[Sample], Dropped] | ToolSummary | str:
    """Return the samples and what was dropped, or the summary, or the one line of a refusal."""
    try:
        kind = kind_of(text, "file")
        if kind == SUMMARY:
            refuse_summary(io.BytesIO(text), "file")
        dropped = Dropped()
        return list(reader_of(kind).read(io.BytesIO(text), "file", dropped, None)), dropped
    except NoSamplesError as error:
        return error.summary
    except UsageError as error:
        return str(error)


def without_last_column(samples: list[Sample]) -> list[Sample]:
    """JMeter ends each row: of a last one without that, nobody can tell whether digits are missing."""
    return [sample._replace(connect_ms=None) for sample in samples]


def check(name: str, cuts: Iterator[int] | range | list[int]) -> None:
    whole = sample_file(name)
    full = outcome(whole)
    for cut in (cut for cut in cuts if whole[:cut].strip()):
        found = outcome(whole[:cut])
        if isinstance(found, str):
            assert found, cut
            assert "\n" not in found, cut
        elif isinstance(found, ToolSummary):
            is_history = name.endswith("history.csv")  # a shorter history is one, too
            assert isinstance(full, ToolSummary)
            assert found == full or (is_history and found.total.sample_count <= full.total.sample_count), cut
        else:
            assert not isinstance(full, str | ToolSummary), cut
            samples, dropped = found
            lines_end = whole.rfind(b"\n", 0, cut) + 1
            assert without_last_column(samples) == without_last_column(full[0])[: len(samples)], cut
            before = outcome(whole[:lines_end])
            if b"\0" not in whole and not isinstance(before, str | ToolSummary):
                assert len(before[0]) <= len(samples) <= len(before[0]) + 1, cut
                rest = whole[lines_end:cut]
                assert len(samples) > len(before[0]) or not rest.strip() or dropped.count or name == "jtl.xml", cut


def few_cuts(size: int) -> list[int]:
    """Return cuts all over the beginning, and the last ones."""
    return sorted(
        {*range(1, min(size, BYTES_MOST), max(1, min(size, BYTES_MOST) // 17)), *range(max(1, size - 6), size)}
    )


def test_there_is_a_sample_file_of_every_reader() -> None:
    kinds = {kind_of(sample_file(name)[:65536], name) for name in NAMES if name != "ab-2.3-gave-up.txt"}
    assert {reader.name for reader in READERS} | {SUMMARY} == kinds


@pytest.mark.real
@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_cut_somewhere_is_read_up_to_there_or_refused(name) -> None:
    check(name, few_cuts(len(sample_file(name))))


@pytest.mark.counterpart
@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_cut_at_any_byte_is_read_up_to_there_or_refused(name) -> None:
    check(name, range(min(BYTES_MOST, len(sample_file(name)))))
