"""Texts in results of JMeter and of other tools control no terminal, break no table of Markdown, and are no HTML."""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from harness.cli.verbs import main
from tests.program.test_hostile_texts import check_markdown
from tests.support.paths import ROOT
from tests.support.poisoned import Poisoner, bombs, strings_of

FILES = ROOT / "tests" / "data" / "tools"
BAD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
BOMB = "|".join(bombs("/tmp/marker", "/etc/hostname").values()) + "<script>a</script>\u202e\x9b31m`x`"
LINES = 40
ANSWERS = {"status_codes", "errorDistribution"}
# Words of a file that say what it is; with other ones it is not read.
KEPT = re.compile(
    r"(?i)[\d.:TZ+-]*|true|false|text|http_\w+|Point|Metric|trend|counter|default|time|OK|KO|N/A|Aggregated"
)


def beginning(name: str) -> list[str]:
    data = (FILES / name).read_bytes()
    return (lzma.decompress(data) if name.endswith(".xz") else data).decode().splitlines()[:LINES]


def written(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def cells(head: int, *places: int) -> Callable[[str, Poisoner], str]:
    """Return what puts the bomb into columns of a table, below so many lines of its head."""

    def change(name: str, poisoner: Poisoner) -> str:
        first, rows = beginning(name)[:head], csv.reader(beginning(name)[head:])
        total = "Aggregated"  # of a request with this name the type is not empty
        return "".join(f"{line}\n" for line in first) + written(
            [poisoner.text(cell) if at in places and total not in row else cell for at, cell in enumerate(row)]
            for row in rows
        )

    return change


def texts(node: Any, poisoner: Poisoner) -> Any:
    """Return a JSON value with the bomb in each text that is no word of the format, and at the names of answers."""
    if isinstance(node, dict):
        named = {key: texts(one, poisoner) for key, one in node.items()}
        for key in ANSWERS & named.keys():
            named[key] = {poisoner.text(name): count for name, count in named[key].items()}
        return named
    if isinstance(node, list):
        return [texts(one, poisoner) for one in node]
    return poisoner.text(node) if isinstance(node, str) and not KEPT.fullmatch(node) else node


def json_lines(name: str, poisoner: Poisoner) -> str:
    found = (texts(json.loads(line), poisoner) for line in beginning(name))
    return "".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in found)


def whole_json(name: str, poisoner: Poisoner) -> str:
    text = (
        (FILES / name)
        .read_text(encoding="utf-8")
        .replace('"errorDistribution": {}', '"errorDistribution": {"refused": 2}')
    )
    return json.dumps(texts(json.loads(text), poisoner), indent=1)


def tabs(name: str, poisoner: Poisoner) -> str:
    rows = (line.split("\t") for line in beginning(name))
    keys = ("RUN", "USER", "REQUEST", "START", "END")
    return "".join(
        "\t".join(cell if cell in keys or KEPT.fullmatch(cell.strip()) else poisoner.text(cell) for cell in row) + "\n"
        for row in rows
    )


def printed_page(name: str, poisoner: Poisoner) -> str:
    """Return what a tool printed, with the bomb at the end of each line that has words of the server or the user."""
    foreign = re.compile(r"(Running|Server|Document|Benchmarking|\s+\[\d+\]).*")
    lines = (FILES / name).read_text(encoding="utf-8").splitlines()
    return "".join(f"{poisoner.text(line) if foreign.fullmatch(line) else line}\n" for line in lines)


def jtl(_: str, poisoner: Poisoner) -> str:
    head = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage"
    own = ["L", "5", "M", "U 1-1", "F", "http://h/", "here"]
    label, code, message, thread, failure, url, host = (poisoner.text(one) for one in own)
    return f"{head},bytes,URL,Hostname\n" + written(
        [1700000000000 + at, 10, label, code, message, thread, "text", "false", failure, 100, url, host]
        for at in range(LINES)
    )


def xml(_: str, poisoner: Poisoner) -> str:
    def name(text: str) -> str:
        return BAD.sub("", poisoner.text(text)).replace("\0", "")

    pairs = {"lb": "L", "rc": "5", "rm": "M", "tn": "U 1-1", "dt": "text", "hn": "here"}
    attributes = " ".join(f"{key}={quoteattr(name(value))}" for key, value in pairs.items())
    failure = name("F").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    rows = (
        f'<httpSample t="10" ts="{1700000000000 + at}" s="false" by="100" {attributes}><assertionResult><name>{failure}'
        f"</name><failure>true</failure><failureMessage>{failure}</failureMessage></assertionResult></httpSample>\n"
        for at in range(LINES)
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n{"".join(rows)}</testResults>\n'


# How the bomb gets into the texts of a file, and how many there are.
SOURCES: dict[str, tuple[Callable[[str, Poisoner], str], int]] = {
    "samples.jtl": (jtl, 7),
    "samples.xml": (xml, 7),
    "k6-0.54.0.json.xz": (json_lines, 127),
    "k6-0.54.0.csv.xz": (cells(1, 3, 4, 7, 8, 9, 10, 11, 12, 15, 16, 17), 429),
    "gatling-3.10.5.log.xz": (tabs, 64),
    "vegeta-12.13.0.json.xz": (json_lines, 201),
    "vegeta-12.13.0.csv.xz": (cells(0, 5, 7, 9, 10), 160),
    "locust-2.47.0_stats.csv": (cells(1, 0, 1), 4),
    "locust-2.47.0_stats_history.csv": (cells(1, 2, 3), 44),
    "k6-0.54.0-summary.json": (whole_json, 1),
    "oha-1.16.0.json": (whole_json, 1),
    "vegeta-12.13.0-report.json": (whole_json, 3),
    "wrk-4.1.0.txt": (printed_page, 1),
    "ab-2.3.txt": (printed_page, 6),
    "hey-0.1.5.txt": (printed_page, 2),
}
# The first seven are files of samples; the texts of the first nine become labels.
SAMPLES, LABELS = tuple(SOURCES)[:7], tuple(SOURCES)[:9]


def hostile(source: str, folder: Path) -> str:
    """Return the path of a file of this source with the bomb in each of its texts."""
    change, count = SOURCES[source]
    poisoner = Poisoner(BOMB)
    path = folder / "results.txt"
    path.write_bytes(change(source, poisoner).encode("utf-8", "surrogatepass"))
    assert poisoner.count == count
    return str(path)


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
@pytest.mark.parametrize("source", SOURCES)
def test_the_table_of_any_source_shows_its_texts_as_texts(source, form, tmp_path, capsys):
    options = [] if form == "text" else ["--format", form]
    assert main(["table", hostile(source, tmp_path), *options]) == 0
    printed, said = capsys.readouterr()
    assert not BAD.search(said)
    assert ("groovy" in printed) is (source in LABELS)
    if form in ("csv", "json"):  # for programs: the very label
        found = csv.reader(io.StringIO(printed, newline="")) if form == "csv" else json.loads(printed)
        labels = [text for text in strings_of([*found] if form == "csv" else found) if "groovy" in text]
        # XML has no control characters, and Gatling separates groups by commas.
        assert all(BOMB in text or "xml" in source or BOMB.replace(",", " / ") in text for text in labels)
    else:
        assert not BAD.search(printed)
    if form == "markdown":
        check_markdown(printed)


@pytest.mark.parametrize("source", SAMPLES)
def test_the_report_of_any_samples_shows_their_texts_as_texts(source, tmp_path, capsys):
    report = tmp_path / "reports" / "shop" / "run-01_1"
    assert main(["report", hostile(source, tmp_path), "--into", str(report)]) in (0, 1, 3)
    (page,) = report.parent.glob("*.md")
    assert "groovy" in page.read_text(encoding="utf-8")
    check_markdown(page.read_text(encoding="utf-8"))
    assert not BAD.search("".join(capsys.readouterr()))
