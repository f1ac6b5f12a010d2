"""A secret is masked in whatever spelling it occurs, and the file that contained it can still be read."""

import base64
import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base.secrecy import masked
from harness.base.secrets import mask_secrets
from tests.support.secret_spellings import assert_no_secret, csv_row, every_spelling

NASTY = "".join(map(chr, range(32, 127))) + "äöüßéñ€漢字Ωж😀"
# A letter or digit in each, as a secret without any could be the punctuation of any text.
SECRETS = st.text(NASTY, min_size=6, max_size=24).filter(
    lambda text: text == text.strip() and sum(character.isalnum() for character in text) >= 4 and not text.isdigit()
)


@pytest.mark.parametrize(
    "secret", ["p&ss<w\"o'rd", "hunter2", "ключ-€-4711", "a/b c+d=e?f", "C:\\new\\u00e9", "x😀yz{}[]"]
)
def test_each_spelling_is_masked(secret):
    left = {name: masked(f"a {text} z", [secret]) for name, text in every_spelling(secret).items()}
    assert {name: text for name, text in left.items() if "•••" not in text} == {}
    plain = {name: text for name, text in left.items() if "base64" not in name and "basic" not in name}
    assert set(plain.values()) == {"a ••• z"}


@pytest.mark.real
@settings(max_examples=60, deadline=None)
@given(SECRETS)
def test_no_spelling_of_a_random_secret_is_left(secret):
    for name, text in every_spelling(secret).items():
        assert text not in masked(f"a {text} z", [secret]), name


def test_the_password_of_basic_authentication_is_masked():
    for user in ("a", "ab", "abc"):
        sent = base64.b64encode(f"{user}:hunter2".encode()).decode()
        left = masked(f"Authorization: Basic {sent}", ["hunter2"]).rpartition(" ")[2].partition("•••")[0]
        assert sent.startswith(left)
        assert len(left) * 6 <= len(f"{user}:") * 8


def test_a_secret_of_digits_is_not_masked_within_a_longer_number():
    assert masked("pin=4711, 14711 0.4711 4711.5 4711. 47110", ["4711"]) == "pin=•••, 14711 0.4711 4711.5 •••. 47110"


def test_a_jtl_keeps_its_numbers_and_header_when_a_secret_equals_one_of_them(tmp_path):
    jtl = tmp_path / "samples.jtl"
    jtl.write_text("timeStamp,elapsed,label,success\n1700000000000,4711,label 4711,true\n")
    assert mask_secrets(tmp_path, ["4711", "label", "elapsed"]) == ("samples.jtl",)
    assert jtl.read_text() == "timeStamp,elapsed,label,success\n1700000000000,4711,••• •••,true\n"


def test_xml_names_are_not_masked_and_masked_json_numbers_become_strings(tmp_path):
    (tmp_path / "plan.jmx").write_text(
        '<?xml version="1.0"?>\n<!-- quot --><quot at="quot">a &quot; <b>quot</b></quot>\n'
    )
    (tmp_path / "a.json").write_text('{"pin": 4711, "list": [14711, "4711", "x4711"]}\n')
    mask_secrets(tmp_path, ["quot", "4711"])
    assert ElementTree.parse(tmp_path / "plan.jmx").getroot().get("at") == "•••"
    assert (tmp_path / "plan.jmx").read_text().endswith('<!-- ••• --><quot at="•••">a &quot; <b>•••</b></quot>\n')
    assert json.loads((tmp_path / "a.json").read_text()) == {"pin": "•••", "list": [14711, "•••", "x•••"]}


def test_a_binary_file_keeps_its_length(tmp_path):
    (tmp_path / "heap.jfr").write_bytes(b"\0\1hunter2\2hunter2")
    mask_secrets(tmp_path, ["hunter2"])
    assert (tmp_path / "heap.jfr").read_bytes() == b"\0\1*******\2*******"


def test_a_file_without_a_secret_is_not_written_again(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("an escape: &#104; and hunter\n")
    before = path.stat()
    assert mask_secrets(tmp_path, ["hunter2"]) == ()
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(SECRETS, min_size=1, max_size=3, unique=True))
@pytest.mark.real
def test_files_with_random_secrets_can_still_be_read_after_masking(tmp_path, secrets):
    texts = [text for secret in secrets for text in every_spelling(secret).values()]
    write_files(tmp_path, texts)
    mask_secrets(tmp_path, secrets)
    assert_no_secret(tmp_path, secrets)
    assert len(json.loads((tmp_path / "a.json").read_bytes())) == len(texts)
    assert len(json.loads((tmp_path / "b.json").read_bytes())) == len(texts)
    root = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert [child.tag for child in root] == ["answer"] * len(texts)
    with (tmp_path / "samples.jtl").open(newline="") as lines:
        assert [row[:2] + row[3:] for row in csv.reader(lines)] == [["1", "2", "200"]] * len(texts)


def write_files(folder: Path, texts: list[str]) -> None:
    (folder / "a.json").write_text(json.dumps(texts))
    (folder / "b.json").write_text(json.dumps(texts, ensure_ascii=False, indent=2))
    root = ElementTree.Element("answers")
    for text in texts:
        ElementTree.SubElement(root, "answer", text=text).text = text
    ElementTree.ElementTree(root).write(folder / "a.xml", encoding="utf-8")
    (folder / "samples.jtl").write_text("".join(csv_row("1", "2", f"said {text}", "200") + "\n" for text in texts))
    (folder / "a.log").write_text("".join(f"sent {text} to it\n" for text in texts))
