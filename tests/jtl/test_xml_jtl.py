import csv
import io
import tracemalloc
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.jtl.csv import parse
from harness.jtl.sample import Dropped, Sample
from harness.jtl.xml import parse_xml
from tests.support.paths import ROOT

DATA = ROOT / "tests" / "data"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n'
END = "\n</testResults>\n"


def element(label="Pay", inside="", tag="httpSample", **attributes):
    texts = {"t": "12", "it": "0", "lt": "10", "ct": "1", "ts": "1000", "s": "true", "lb": label, "rc": "201"}
    texts |= {"rm": "Created", "tn": "Users 1-1", "dt": "text", "by": "300", "sby": "120", "ng": "1", "na": "5"}
    texts |= attributes
    listed = " ".join(f"{key}={quoteattr(value)}" for key, value in texts.items() if value is not None)
    return f"<{tag} {listed}>\n{inside}</{tag}>\n" if inside else f"<{tag} {listed}/>\n"


def assertion(message="402 is not 201", failure="true", error="false"):
    return (
        f"  <assertionResult>\n    <name>is paid</name>\n    <failure>{failure}</failure>\n"
        f"    <error>{error}</error>\n    <failureMessage>{escape(message)}</failureMessage>\n  </assertionResult>\n"
    )


def read(text: str | bytes):
    dropped = Dropped()
    data = text if isinstance(text, bytes) else text.encode()
    return list(parse_xml(io.BytesIO(data), "samples.jtl", dropped)), dropped


def labels(text: str | bytes):
    samples, dropped = read(text)
    return [sample.label for sample in samples], dropped


def indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def test_an_element_becomes_a_sample_with_its_units():
    samples, dropped = read(HEAD + element() + END)
    assert samples == [Sample(1000, 12, "Pay", "201", "Created", "Users 1-1", True, "", 300, 120, 5, 10, 1, 1, 0, 1)]
    assert dropped == Dropped()


def test_a_missing_attribute_is_none_and_not_zero():
    (sample,), _ = read(
        HEAD + element(by=None, sby=None, na=None, ng=None, lt=None, ct=None, rc=None, rm=None, tn=None) + END
    )
    assert sample == Sample(1000, 12, "Pay", "", "", "", True, "", None, None, None, None, None)


def test_sample_and_error_count_have_the_same_meaning_as_in_csv():
    one = element(sc="1", ec="0", s="false")  # JMeter wrote the error count before it knew of the failure
    many = element(sc="10", ec="3", s="false")
    (first, second), _ = read(HEAD + one + many + END)
    assert [(first.sample_count, first.error_count), (second.sample_count, second.error_count)] == [(1, 1), (10, 3)]


def test_the_failure_is_the_message_of_the_first_assertion_that_failed():
    inside = assertion("fine", failure="false") + assertion('got <402> & "no"') + assertion("later")
    (sample,), _ = read(HEAD + element(s="false", inside=inside) + END)
    assert sample.failure == 'got <402> & "no"'


def test_an_assertion_in_error_is_a_failure_of_its_own_sample_only():
    sub = indented(element("Pay-0", inside=assertion("of the hop"), s="false"))
    (sample,), _ = read(HEAD + element(s="false", inside=sub + assertion("outer", "false", "true") + sub) + END)
    assert sample.failure == "outer"


def test_a_jmeter_file_with_parent_samples_counts_requests_and_transactions_only():
    samples, dropped = read((DATA / "nested_transactions_parent_sample.xml").read_bytes())
    assert [(sample.label, sample.is_transaction, sample.success) for sample in samples] == [
        ("Sign in", False, True),
        ("Shop", False, True),
        ("Cart", False, True),
        ("Pay | now", False, False),
        ("Receipt", False, False),
        ("Payment", True, False),
        ("Checkout", True, False),
    ]
    assert samples[3].failure == 'Test failed: text expected to contain /paid, "really" <now>/'
    assert dropped.count == 0


def test_transactions_with_rows_of_their_own_give_the_same_samples_in_the_same_order():
    names = [labels((DATA / f"nested_transactions_{kind}.xml").read_bytes())[0] for kind in (
        "parent_sample", "rows_of_their_own",
    )]  # fmt: skip
    assert names[0] == names[1]


def test_requests_in_a_transaction_inherit_thread_and_users():
    child = indented(element("Cart", na=None, tn=None))
    outer = element("Checkout", child, "sample", rm="Number of samples in transaction : 1", na="7", tn="Users 1-3")
    (sample, transaction), _ = read(HEAD + outer + END)
    assert (sample.label, sample.all_threads, sample.thread_name) == ("Cart", 7, "Users 1-3")
    assert transaction.is_transaction


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"t": "-5"}, "elapsed -5 ms is impossible"),
        ({"t": "1700000000000"}, "elapsed 1700000000000 ms is impossible"),
        ({"t": "abc"}, "elapsed 'abc' is not a whole number"),
        ({"lt": ""}, "Latency '' is not a whole number"),
        ({"ts": None}, "no attribute ts (timeStamp)"),
        ({"s": "maybe"}, "success 'maybe' is neither true nor false"),
        ({"sc": "0"}, "SampleCount 0 is impossible"),
    ],
)
def test_a_bad_attribute_drops_the_sample_with_line_and_reason(attributes, reason):
    names, dropped = labels(HEAD + element("A") + element("B", **attributes) + element("C") + END)
    assert (names, dropped.first) == (["A", "C"], [(4, reason)])


def test_a_file_cut_off_in_a_tag_or_a_sample_loses_that_sample():
    for cut in (len(HEAD + element("A")) + 30, len(HEAD + element("A") + element("B", inside=assertion())) - 5):
        names, dropped = labels((HEAD + element("A") + element("B", inside=assertion()))[:cut])
        assert (names, dropped.first) == (["A"], [(4, "torn sample: the file ends in it")])


def test_a_file_that_ends_between_samples_reports_no_loss():
    assert labels(HEAD + element("A"))[1].count == 0
    assert labels(HEAD + element("A") + "\n</testRes")[1].count == 0


def test_complete_requests_count_when_their_transaction_is_cut_off():
    children = indented(element("Cart") + element("Pay"))
    text = HEAD + element("Checkout", children, "sample", rm="Number of samples in transaction : 2")
    names, dropped = labels(text[: text.index("</sample>")])
    assert (names, dropped.first) == (["Cart", "Pay"], [(3, "torn sample: the file ends in it")])


def test_concatenated_complete_files_lose_nothing():
    names, dropped = labels(HEAD + element("A") + END + "\ufeff" + HEAD + element("B") + END)
    assert (names, dropped.count) == (["A", "B"], 0)


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


def test_an_element_that_is_not_a_sample_is_named():
    names, dropped = labels(HEAD + element("A") + "<statSample/>\n" + END)
    assert (names, dropped.first) == (["A"], [(4, "<statSample> is not a sample")])


def test_files_without_indentation_or_line_ends_read_the_same():
    inside = indented(element("A-0") + element("A-1")) + assertion("no")
    text = HEAD + element("A", inside=inside, s="false") + element("B") + END
    flat = "\n".join(line.strip() for line in (HEAD + element("First", assertion()) + text[len(HEAD) :]).splitlines())
    assert labels(text.replace("\n", ""))[0] == ["A", "B"]
    assert labels(flat) == (["First", "A", "B"], Dropped())


def test_characters_that_xml_forbids_lose_no_sample():
    text = HEAD + element("A").replace('"Created"', '"&#x0;&#27;&#65;&#9999999999;"') + element("B", rm="\ufffd") + END
    (first, second), dropped = read(text)
    assert (first.message, second.message, dropped.count) == ("\ufffd\ufffdA\ufffd", "\ufffd", 0)


def test_an_unknown_entity_loses_its_sample():
    text = HEAD + element("A") + element("B").replace("Created", "&nbsp;") + element("C") + END
    names, dropped = labels(text)
    assert (names, dropped.first) == (
        ["A", "C"],
        [(4, "not well-formed XML: undefined entity; reading resumes in line 5")],
    )


def test_a_reference_may_be_split_by_the_end_of_a_chunk():
    plain = element("A").replace("Created", "x&#x0;y")
    for length in range(65536 - 12, 65536 + 4):
        gap = " " * (length - len(HEAD) - plain.index("&"))
        (sample,), dropped = read(HEAD + gap + plain + END)
        assert (sample.message, dropped.count) == ("x\ufffdy", 0)


def test_bytes_that_are_not_utf_8_become_replacement_characters():
    (sample,), dropped = read((HEAD + element("caf\xe9") + END).encode("latin-1"))
    assert (sample.label, dropped.count) == ("caf\ufffd", 0)


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1252", "utf-8"])
def test_a_declared_encoding_is_used(encoding):
    (sample,), _ = read((HEAD.replace("UTF-8", encoding) + element("café") + END).encode(encoding))
    assert sample.label == "café"


def test_utf_16_is_detected_by_its_mark_and_a_stale_declaration_is_harmless():
    text = HEAD.replace("UTF-8", "UTF-16") + element("café") + END
    assert labels(text.encode("utf-16"))[0] == labels(text)[0] == ["café"]


@pytest.mark.parametrize("encoding", ["no-such-thing", "zip", "idna"])
def test_an_unknown_encoding_is_wrong_input(encoding):
    with pytest.raises(UsageError, match=f"samples.jtl: its encoding {encoding} is unknown"):
        read(HEAD.replace("UTF-8", encoding) + END)


def test_a_document_type_declaration_is_refused():
    bomb = '<?xml version="1.0"?>\n<!DOCTYPE testResults [<!ENTITY a "aaaa">]>\n<testResults>&a;</testResults>'
    with pytest.raises(UsageError, match=r"samples.jtl:2: a document type declaration"):
        read(bomb)


def test_a_file_with_another_root_is_not_a_jtl():
    with pytest.raises(UsageError, match="begins with <jmeterTestPlan>"):
        read('<?xml version="1.0"?>\n<jmeterTestPlan version="1.2"/>')


def test_a_file_without_its_beginning_is_read():
    assert labels(element("A") + element("B")) == (["A", "B"], Dropped())


@pytest.mark.real
def test_large_response_data_does_not_pile_up():
    class Large(io.RawIOBase):
        """Twenty samples with 8 MB of response data each, made as they are read."""

        def __init__(self):
            pieces = [HEAD]
            for _ in range(20):
                pieces += [element("A", "x").replace("x</httpSample>\n", "<responseData>"), None, "</responseData>"]
                pieces += ["</httpSample>\n"]
            self.pieces = iter([*pieces, END])
            self.repeat = 0

        def read(self, _size=-1):
            if self.repeat:
                self.repeat -= 1
                return b"x" * 65536
            piece = next(self.pieces, "")
            if piece is None:
                self.repeat = 127
                return b"y" * 65536
            return piece.encode()

    tracemalloc.start()
    try:
        count = sum(1 for _ in parse_xml(Large(), "samples.jtl", Dropped()))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (count, peak_bytes < 2_000_000) == (20, True)


@pytest.mark.real
def test_a_tag_without_an_end_is_dropped_in_bounded_memory():
    text = HEAD + element("A") + "<!-- " + "x" * 9_000_000 + "\n" + element("B") + END
    names, dropped = labels(text)
    assert (names, dropped.count) == (["A", "B"], 1)


# Letters that must be escaped in XML or quoted in CSV; JMeter's XML cannot hold a carriage return in a CSV field alone.
TEXTS = st.text(st.sampled_from("ab é€𝄞<>&\"'|,;\n\t/"), max_size=8)
SAMPLES = st.lists(
    st.builds(
        Sample,
        start_ms=st.integers(0, 2_000_000_000_000),
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
        "ng": sample.group_threads,
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
        "bytes", "sentBytes", "allThreads", "Latency", "Connect", "grpThreads",
    ])  # fmt: skip
    for sample in samples:
        writer.writerow([*sample[:6], str(sample.success).lower(), *sample[7:13], sample.group_threads])
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
    assume(cut != len(text) - len("</testResults>\n") + 1)  # nobody can tell what this < begins
    found, dropped = read(text[:cut])
    whole = samples[: sum(end <= cut for end in ends)]
    assert found == whole == list(parse(io.BytesIO(as_csv(whole)), "samples.csv", Dropped()))
    assert dropped.count == sum(begin < cut < end for begin, end in zip(begins, ends, strict=True))


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
    before = sum(place - 1 <= begin for place in ends)
    after = sum(place - len(piece) >= end for place, piece in zip(ends, pieces, strict=True))
    assert found[:before] == samples[:before]
    assert found[len(found) - max(0, after - 1) :] == samples[len(samples) - max(0, after - 1) :]


def test_a_hole_that_turns_a_closed_sub_sample_into_an_open_one_keeps_the_following_samples():
    torn = element("first", indented('<httpSample t="12" lb="hop"\n') + "  <java.net.URL>http://a/b</java.net.URL>\n")
    torn = torn.replace('"hop"\n', '"hop">\n').removesuffix("</httpSample>\n") + "</httpSample>\n"
    samples, dropped = read(HEAD + torn + element("second") + element("third") + END)
    assert [sample.label for sample in samples] == ["second", "third"]
    assert (dropped.count, dropped.first[0][0]) == (1, 3)
