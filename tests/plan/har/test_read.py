"""HAR files of browsers and proxies, and files that are none."""

import base64
import json

import pytest

from harness.base.errors import UsageError
from harness.plan.har import read
from harness.plan.har.read import Param, read_har
from tests.support.har import entry, write


def test_calls_are_in_the_order_of_their_starts(tmp_path):
    path = write(tmp_path / "a.har", entry("/b", at_s=2), entry("/a", at_s=1))
    assert [call.url.rpartition("/")[2] for call in read_har(path).calls] == ["a", "b"]


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


def test_a_truncated_file_says_how_much_was_read(tmp_path):
    path = write(tmp_path / "cut.har", entry("/a"), entry("/b"), entry("/c"))
    path.write_text(path.read_text()[:-200])
    assert problem(path) == "cut.har:1: not complete JSON after 3 requests; export the HAR again, with content"


def test_a_large_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "MOST_BYTES", 2 * 1024**2)
    path = tmp_path / "big.har"
    with path.open("wb") as file:
        file.truncate(500 * 1024**2)
    assert problem(path) == (
        "big.har: 500 MB, and at most 2 MB are read; record only the steps of the test, without downloads"
    )


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
