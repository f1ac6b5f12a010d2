"""XML JTLs: every element becomes its sample, in any encoding, and what is no sample is named."""

import io
import tracemalloc

import pytest

from harness.base.errors import UsageError
from harness.jtl.inputs import Input
from harness.jtl.sample import Dropped, Sample
from harness.jtl.xml import parse_xml
from harness.metrics.files import read_tally
from tests.support.paths import ROOT
from tests.support.xml_jtls import END, HEAD, assertion, element, indented, labels, read

DATA = ROOT / "tests" / "data"


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


def test_an_element_of_a_plugin_with_time_stamp_label_and_success_is_a_sample():
    text = '<webSocketSample t="12" ts="1000" s="false" lb="ws" rc="500" tn="u 1-1" hn="gen1"/>\n'
    samples, dropped = read(HEAD + element("A") + text + "<extra/>\n" + element("B") + END)
    assert [sample.label for sample in samples] == ["A", "ws", "B"]
    assert (samples[1].elapsed_ms, samples[1].success, samples[1].host) == (12, False, "gen1")
    assert "<extra> is not a sample" in dropped.first_text


def test_users_of_two_machines_in_one_file_add_up(tmp_path):
    rows = "".join(
        f"{1_700_000_000_000 + number * 100},90,GET /a,true,2,2,gen{1 + number % 2}\n" for number in range(100)
    )
    (tmp_path / "a.csv").write_text(f"timeStamp,elapsed,label,success,grpThreads,allThreads,Hostname\n{rows}")
    (by_source,) = read_tally([Input("a.csv", tmp_path / "a.csv")]).labels.values()
    assert {source.generator for source in by_source} == {"gen1", "gen2"}
