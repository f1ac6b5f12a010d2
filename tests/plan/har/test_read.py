"""HAR files of browsers and proxies, and files that are none."""

import base64
import json
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.har import entries, read
from harness.plan.har.read import Param, read_har
from tests.support.har import FORM, entry, write


def test_calls_are_in_the_order_of_their_starts(tmp_path):
    path = write(tmp_path / "a.har", entry("/b", at_s=2), entry("/a", at_s=1))
    assert [call.url.rpartition("/")[2] for call in read_har(path).calls] == ["a", "b"]


@pytest.mark.parametrize("status", [None, -1])
def test_a_request_without_a_response_has_a_status_of_its_own_in_each_tool(tmp_path, status):
    path = write(tmp_path / "a.har", entry("/"), {**entry("/gone", status=status), "time": None, "pageref": None})
    assert read_har(path).left_out == {"without a response": 1}


def test_what_is_no_request_of_a_plan_is_counted_by_reason(tmp_path):
    path = write(
        tmp_path / "a.har",
        entry("/"), entry("ws://127.0.0.1:8080/live"), entry("data:text/plain,x"), entry("blob:http://h/1"),
        entry("/live", status=101), entry("/gone", status=0), entry("/api", method="OPTIONS"),
    )  # fmt: skip
    recording = read_har(path)
    assert len(recording.calls) == 1
    assert recording.left_out == {
        "WebSocket": 2, "data: URL": 1, "blob: URL": 1, "without a response": 1, "OPTIONS": 1,
    }  # fmt: skip


def test_pseudo_headers_of_http2_are_left_out(tmp_path):
    one = entry("/", headers={":authority": "h", ":path": "/", "accept": "*/*"})
    assert read_har(write(tmp_path / "a.har", one)).calls[0].headers == (("accept", "*/*"),)


def test_content_in_base64_is_decoded_and_an_image_has_no_text(tmp_path):
    def content(data: bytes, kind: str):
        one = entry("/")
        one["response"]["content"] = {
            "mimeType": kind, "text": base64.b64encode(data).decode(), "encoding": "base64",
        }  # fmt: skip
        return one

    page, image = content("über".encode("latin-1"), "text/html; charset=iso-8859-1"), content(b"\x89PNG", "image/png")
    assert [call.response for call in read_har(write(tmp_path / "a.har", page, image)).calls] == ["über", ""]


def test_a_recording_without_contents_can_be_read(tmp_path):
    one = entry("/", method="POST", body="a=1")
    del one["response"]["content"]
    assert read_har(write(tmp_path / "a.har", one)).calls[0].response == ""


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        ({"mimeType": "application/x-www-form-urlencoded", "text": "a=1%202&b="}, [Param("a", "1 2"), Param("b", "")]),
        (  # without the text, as Firefox stores it
            {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "1"}]},
            [Param("a", "1")],
        ),
        (
            {
                "mimeType": "multipart/form-data; boundary=x",
                "text": '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
                '--x\r\nContent-Disposition: form-data; name="f"; filename="b.csv"\r\n'
                "Content-Type: text/csv\r\n\r\nq,w\r\n--x--\r\n",
            },
            [Param("a", "1"), Param("f", "q,w", "b.csv", "text/csv")],
        ),
        (  # Chrome leaves the files out
            {
                "mimeType": "multipart/form-data; boundary=x",
                "params": [{"name": "f", "fileName": "b.csv", "contentType": "text/csv"}],
            },
            [Param("f", "", "b.csv", "text/csv")],
        ),
    ],
    ids=["text", "fields", "multipart", "multipart-without-content"],
)
def test_the_fields_of_a_form(tmp_path, data, fields):
    one = entry("/", method="POST")
    one["request"]["postData"] = data
    assert list(read_har(write(tmp_path / "a.har", one)).calls[0].params) == fields


LATIN = "ISO-8859-1"


@pytest.mark.parametrize(
    ("data", "body", "params", "charset"),
    [
        ({"mimeType": "text/xml; charset=iso-8859-1", "text": "<a>é</a>"}, "<a>é</a>", [], LATIN),
        ({"mimeType": "text/xml; charset=utf-8", "text": "<a>é</a>"}, "<a>é</a>", [], ""),
        ({"mimeType": "text/xml; charset=unheard-of", "text": "<a>é</a>"}, "<a>é</a>", [], ""),
        ({"mimeType": FORM, "text": "a=%E9"}, "a=%E9", [Param("a", "é")], LATIN),
        ({"mimeType": FORM, "text": "a=%C3%A9"}, "a=%C3%A9", [Param("a", "é")], ""),
        ({"mimeType": f"{FORM}; charset=windows-1251", "text": "a=%E9"}, "a=%E9", [Param("a", "й")], "WINDOWS-1251"),
        ({"mimeType": "text/plain", "encoding": "base64", "text": "w6k="}, "é", [], ""),
        ({"mimeType": "image/png", "encoding": "base64", "text": "iVBORw=="}, "\x89PNG", [], LATIN),
    ],
)
def test_a_body_has_the_charset_of_its_bytes(tmp_path, data, body, params, charset):
    one = entry("/", method="POST")
    one["request"]["postData"] = data
    (call,) = read_har(write(tmp_path / "a.har", one)).calls
    assert (call.body, list(call.params), call.charset) == (body, params, charset)


@pytest.mark.parametrize("stamp", ["2026-11-27T08:00:00.123Z", "2026-11-27T09:00:00.123+01:00"])
def test_time_stamps_of_each_tool(tmp_path, stamp):
    path = write(tmp_path / "a.har", {**entry("/"), "startedDateTime": stamp})
    assert read_har(path).calls[0].start_s == 1795766400.123


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = write(tmp_path / "a.har", entry("/"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_har(path).calls) == 1


def problem(path) -> str:
    with pytest.raises(UsageError) as raised:
        read_har(path)
    return str(raised.value)


def test_a_truncated_file_says_in_which_entry_it_ends(tmp_path):
    whole = write(tmp_path / "cut.har", entry("/a"), entry("/b"), entry("/c")).read_text()
    third = whole.index("/c")
    for end, where in [(third, "in entry 3"), (len(whole) - 4, "in entry 3"), (60, "before the first entry ends")]:
        (tmp_path / "cut.har").write_text(whole[:end])
        assert problem(tmp_path / "cut.har") == (
            f"cut.har: the file ends {where}: it is not complete; export the HAR again, with content"
        )


def test_wrong_json_and_a_nesting_without_end_name_the_entry(tmp_path):
    path = write(tmp_path / "a.har", entry("/a"), entry("/b"))
    whole = path.read_text()
    path.write_text(whole.replace('"method": "GET"', '"method": GET', 1))
    assert problem(path) == "a.har: no JSON before the first entry ends (Expecting value); " + read.TODO
    path.write_text(whole.replace(whole[whole.rindex('"startedDateTime"') :], '"a": ' + "[" * 100_000 + "1"))
    assert problem(path) == "a.har: no JSON in entry 2 (nested too deeply); " + read.TODO


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(0, 40))
def test_the_size_of_a_chunk_changes_nothing(chunk, length):
    head = {"version": 1.25, "pages": [{"id": "é"}], "count": 12}
    wanted = [{"a": "ü\u2028\\" * length}, {"b": [1, 2.5, None]}, {}]
    with TemporaryDirectory() as folder, patch.object(entries, "_CHUNK", chunk):
        path = Path(folder) / "a.har"
        path.write_text(json.dumps({"comment": True, "log": {**head, "entries": wanted}, "after": []}, indent=1))
        assert list(entries.entries_of(path)) == wanted


@pytest.mark.real
def test_a_large_file_needs_the_memory_of_its_largest_entry(tmp_path):
    path, picture = tmp_path / "big.har", "A" * 300_000
    with path.open("w") as file:
        image = {**entry("/a.png", kind="image/png"), "response": {"status": 200, "content": {
            "mimeType": "image/png", "encoding": "base64", "text": picture}}}  # fmt: skip
        file.write('{"log": {"entries": [' + ",".join([json.dumps(entry("/", "<p>Hello")), *[json.dumps(image)] * 80]))
        file.write("]}}")
    tracemalloc.start()
    try:
        recording = read_har(path)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(recording.calls) == 81
    assert 3 * peak_bytes < path.stat().st_size


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"log": {}}, "a.har: no HAR: it has no log.entries"),
        ([], "a.har: no HAR: it has no log.entries"),
        ({"log": {"entries": []}}, "a.har: no HTTP request with a response"),
        ({"log": {"entries": [{"request": 1}]}}, "a.har: entry 1 is not that of a HAR"),
    ],
)
def test_a_file_that_is_no_har_is_one_line(tmp_path, data, message):
    path = tmp_path / "a.har"
    path.write_text(json.dumps(data))
    assert problem(path).startswith(message)
    assert "\n" not in problem(path)


def test_a_missing_file_is_named(tmp_path):
    assert "none.har: cannot be read (No such file or directory)" in problem(tmp_path / "none.har")
