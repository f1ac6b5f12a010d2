"""Damaged XML JTLs: a tear or a hole costs the samples that it touches, and none of the others."""

import csv
import io
from xml.sax.saxutils import escape

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.jtl.csv import parse
from harness.jtl.sample import Dropped, Sample
from tests.support.xml_jtls import END, HEAD, assertion, element, indented, labels, read


def test_a_file_cut_off_in_a_tag_or_a_sample_loses_that_sample():
    for cut in (len(HEAD + element("A")) + 30, len(HEAD + element("A") + element("B", inside=assertion())) - 5):
        names, dropped = labels((HEAD + element("A") + element("B", inside=assertion()))[:cut])
        assert (names, dropped.first) == (["A"], [(4, "torn sample: the file ends in it")])


def test_a_file_ends_early_wherever_it_is_cut():
    inner = element("Cart", indented(element("Pay") + element("Ship")), "sample")
    whole = HEAD + element("A") + inner + element("B")
    starts = range(len(HEAD + element("A")), len(whole), 7)
    assert {labels(whole[:cut])[1].cut_count for cut in starts} == {1}
    assert {(one.cut_count, one.torn_end_count) for one in [labels(whole + END)[1]]} == {(0, 0)}


def test_a_file_that_ends_within_its_last_tag_reports_no_loss():
    assert labels(HEAD + element("A") + "\n</testRes")[1].count == 0


def test_complete_requests_count_when_their_transaction_is_cut_off():
    children = indented(element("Cart") + element("Pay"))
    text = HEAD + element("Checkout", children, "sample", rm="Number of samples in transaction : 2")
    names, dropped = labels(text[: text.index("</sample>")])
    assert (names, dropped.first) == (["Cart", "Pay"], [(3, "torn sample: the file ends in it")])


def test_concatenated_complete_files_lose_nothing():
    names, dropped = labels(HEAD + element("A") + END + "\ufeff" + HEAD + element("B") + END)
    assert (names, dropped.count) == (["A", "B"], 0)


@pytest.mark.parametrize("end", [END, "", "</testResults>"])
def test_the_line_of_each_file_that_was_appended_is_named(end):
    first = HEAD + element("A") + end
    _, dropped = labels(first + HEAD + element("B") + end + HEAD + element("C") + END)
    lines = (first + HEAD + element("B") + end + HEAD).splitlines()
    assert dropped.header_lines == [at for at, text in enumerate(lines, 1) if "<testResults" in text][1:]
    assert labels(first + element("B") + END)[1].header_lines == []


def test_a_file_appended_to_a_truncated_one_is_read_and_the_torn_sample_named():
    for cut in (20, 80, 150, 250):
        torn = element("B", inside=assertion())[:cut]
        names, dropped = labels(HEAD + element("A") + torn + HEAD + element("C") + element("D") + END)
        assert (names, dropped.count, dropped.first[0][0]) == (["A", "C", "D"], 1, 4)
    assert dropped.first == [(4, "torn sample: it has no proper end; reading resumes in line 11")]


def test_a_sample_without_an_end_does_not_swallow_the_following_samples():
    torn = element("B", inside=assertion()).removesuffix("</httpSample>\n")
    names, dropped = labels(HEAD + element("A") + torn + element("C") + element("D", inside=assertion()) + END)
    assert names == ["A", "C", "D"]
    assert dropped.first == [(4, "torn sample: it has no proper end; reading resumes in line 11")]


def test_a_tear_in_a_transaction_keeps_the_following_requests_and_the_transaction():
    children = element("A") + element("B")[:40] + "\n" + element("C")
    outer = element("Checkout", indented(children), "sample", rm="Number of samples in transaction : 3")
    names, dropped = labels(HEAD + outer + element("Last") + END)
    assert names == ["A", "C", "Checkout", "Last"]
    assert dropped.count == 1


def test_sub_samples_are_not_samples_after_a_tear_either():
    subs = indented(element("B-0") + element("B-1"))
    text = HEAD + element("A") + element("B", inside=subs).replace('lb="B-0"', 'lb="B-0') + element("C") + END
    names, dropped = labels(text)
    assert (names, dropped.count) == (["A", "C"], 1)


def test_a_block_of_nul_bytes_is_reported():
    names, dropped = labels(HEAD + element("A") + "\0" * 5000 + element("B") + END)
    assert (names, dropped.count, dropped.first[0][0]) == (["A", "B"], 1, 4)
    assert dropped.first[0][1].startswith("NUL bytes: data was lost here")


def test_the_rest_of_a_torn_sample_between_samples_is_named():
    names, dropped = labels(HEAD + element("A") + 'lb="B" by="3"/>\n' + element("C") + END)
    assert (names, dropped.first) == (["A", "C"], [(4, "text between samples: the rest of a torn sample")])


@pytest.mark.real
def test_a_killed_jmeter_leaves_a_file_without_its_end_which_is_said():
    names, dropped = labels(HEAD + element("A") + element("B"))
    assert (names, dropped.count, dropped.cut_count) == (["A", "B"], 1, 1)
    assert dropped.first == [(0, "the file ends without </testResults>: JMeter was killed, or still writes")]
    assert labels(HEAD + element("A") + END.rstrip("\n"))[1].count == 0


@pytest.mark.real
def test_a_tag_without_an_end_is_dropped_in_bounded_memory():
    text = HEAD + element("A") + "<!-- " + "x" * 9_000_000 + "\n" + element("B") + END
    names, dropped = labels(text)
    assert (names, dropped.count) == (["A", "B"], 1)


# Letters that must be escaped in XML or quoted in CSV; JMeter's XML cannot contain a carriage return of a CSV field.
TEXTS = st.text(st.sampled_from("ab é€𝄞<>&\"'|,;\n\t/"), max_size=8)
SAMPLES = st.lists(
    st.builds(
        Sample,
        start_ms=st.integers(1_700_000_000_000, 1_710_000_000_000),  # of one file: within a year
        elapsed_ms=st.integers(0, 100_000),
        label=TEXTS,
        code=TEXTS,
        message=TEXTS,
        thread_name=TEXTS,
        success=st.booleans(),
        failure=st.just(""),
        received_bytes=st.integers(0, 10**9),
        sent_bytes=st.integers(0, 10**9),
        all_threads=st.integers(0, 1000),
        latency_ms=st.integers(0, 1000),
        connect_ms=st.integers(0, 1000),
        sample_count=st.just(1),
        error_count=st.just(0),
        group_threads=st.integers(0, 1000),
        trace_id=st.just(""),  # only in a run's own JTL, which is CSV
        host=TEXTS,
    ).flatmap(
        lambda sample: st.builds(
            sample._replace,
            failure=st.just("") if sample.success else TEXTS,
            error_count=st.just(0 if sample.success else 1),
            group_threads=st.just(sample.group_threads),
        )
    ),
    max_size=6,
)


def as_xml(sample: Sample) -> str:
    attributes = {
        "t": sample.elapsed_ms, "lt": sample.latency_ms, "ct": sample.connect_ms, "ts": sample.start_ms,
        "s": str(sample.success).lower(), "lb": sample.label, "rc": sample.code, "rm": sample.message,
        "tn": sample.thread_name, "by": sample.received_bytes, "sby": sample.sent_bytes, "na": sample.all_threads,
        "ng": sample.group_threads, "hn": sample.host,
    }  # fmt: skip
    escapes = {"\n": "&#xa;", "\t": "&#x9;", '"': "&quot;"}
    listed = " ".join(f'{key}="{escape(str(value), escapes)}"' for key, value in attributes.items())
    sub = indented(element("a hop")) if sample.elapsed_ms % 3 == 0 else ""
    reason = "" if sample.success else assertion(sample.failure)
    inside = reason + sub + ("  <java.net.URL>http://a/b</java.net.URL>\n" if sample.elapsed_ms % 2 else "")
    return f"<httpSample {listed}>\n{inside}</httpSample>" if inside else f"<httpSample {listed}/>"


def as_csv(samples: list[Sample]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([
        "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "success", "failureMessage",
        "bytes", "sentBytes", "allThreads", "Latency", "Connect", "grpThreads", "Hostname",
    ])  # fmt: skip
    for sample in samples:
        writer.writerow([*sample[:6], str(sample.success).lower(), *sample[7:13], sample.group_threads, sample.host])
    return text.getvalue().encode()


@given(SAMPLES, st.data())
@settings(deadline=None)
@pytest.mark.real
def test_a_file_cut_anywhere_yields_its_complete_samples_as_the_same_csv_does(samples, data):
    text, ends, begins = HEAD.encode(), [], []
    for sample in samples:
        begins.append(len(text))
        text += as_xml(sample).encode()
        ends.append(len(text))
        text += b"\n"
    text += END.encode()
    cut = data.draw(st.integers(0, len(text)))
    end = len(text) - len("</testResults>\n")
    assume(cut != end + 1)  # nobody can tell what this < begins
    found, dropped = read(text[:cut])
    whole = samples[: sum(end <= cut for end in ends)]
    assert found == whole == list(parse(io.BytesIO(as_csv(whole)), "samples.csv", Dropped()))
    in_sample = any(begin < cut < end for begin, end in zip(begins, ends, strict=True))
    is_cut = in_sample or len(HEAD) - 1 <= cut <= end
    assert (dropped.count, dropped.cut_count) == (is_cut, is_cut)


@pytest.mark.real
@given(SAMPLES, SAMPLES, st.data())
@settings(deadline=None)
def test_a_complete_file_appended_to_a_truncated_one_loses_nothing(first, second, data):
    text, ends = HEAD, []
    for sample in first:
        text += as_xml(sample)
        ends.append(len(text))
        text += "\n"
    text += END
    cut = data.draw(st.integers(0, len(text)))
    found, dropped = read(text[:cut] + HEAD + "\n".join(map(as_xml, second)) + END)
    whole = [sample for sample, end in zip(first, ends, strict=True) if end <= cut]
    assert found == whole + second
    assert dropped.count <= 1


@pytest.mark.real
@given(SAMPLES, st.data(), st.sampled_from([b"", b"\0" * 700, b"\n", b"garbage"]))
@settings(deadline=None)
def test_a_hole_loses_at_most_the_samples_it_touches_and_the_next_one(samples, data, filling):
    pieces = [as_xml(sample).encode() + b"\n" for sample in samples]
    text = HEAD.encode() + b"".join(pieces) + END.encode()
    begin = data.draw(st.integers(len(HEAD), len(text)))
    end = data.draw(st.integers(begin, len(text)))
    found, _ = read(text[:begin] + filling + text[end:])
    ends = [len(HEAD) + sum(map(len, pieces[: index + 1])) for index in range(len(pieces))]
    before = sum(position - 1 <= begin for position in ends)
    after = sum(position - len(piece) >= end for position, piece in zip(ends, pieces, strict=True))
    assert found[:before] == samples[:before]
    assert found[len(found) - max(0, after - 1) :] == samples[len(samples) - max(0, after - 1) :]


def test_a_hole_that_turns_a_closed_sub_sample_into_an_open_one_keeps_the_following_samples():
    torn = element("first", indented('<httpSample t="12" lb="hop"\n') + "  <java.net.URL>http://a/b</java.net.URL>\n")
    torn = torn.replace('"hop"\n', '"hop">\n').removesuffix("</httpSample>\n") + "</httpSample>\n"
    samples, dropped = read(HEAD + torn + element("second") + element("third") + END)
    assert [sample.label for sample in samples] == ["second", "third"]
    assert (dropped.count, dropped.first[0][0]) == (1, 3)
