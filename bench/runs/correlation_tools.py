"""What other tools find in the recordings of `scripts/bench correlation`: the requests that get an extracted value."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape, quoteattr

from harness.base.install.toolchain import ensure_jmeter
from harness.base.java import jmeter_java_path

_SUGGESTIONS = Path(__file__).resolve().parent / "programs" / "Suggestions.java"


def paths_of_recorder(classes: str, pairs: Sequence[tuple[Path, Path]]) -> list[set[str]]:
    """Return the paths of the requests in which BlazeMeter's Correlation Recorder replaces a value, for each pair.

    `classes` is its class path, that of JMeter included. Of each pair of HARs it gets the second one as the replay.
    """
    with tempfile.TemporaryDirectory(prefix="recorder-") as folder:
        files = [Path(folder) / f"{at}.xml" for at in range(2 * len(pairs))]
        for file, har in zip(files, (har for pair in pairs for har in pair), strict=True):
            file.write_text(_jtl(json.loads(har.read_text())), encoding="utf-8")
        command = [str(jmeter_java_path()), "-cp", classes, str(_SUGGESTIONS), str(ensure_jmeter()), *map(str, files)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    return [
        {row[3].partition(" ")[2] for row in rows if row[:2] == [str(file), "replace"]}
        for file in files[::2]
    ]  # fmt: skip


def _jtl(har: Mapping[str, Any]) -> str:
    """Return a HAR as an XML JTL with everything that JMeter can store; a label is the number and path of a request."""
    samples = []
    for number, entry in enumerate(har["log"]["entries"], 1):
        sent, answer = entry["request"], entry["response"]
        texts = {
            "responseHeader": f"HTTP/1.1 {answer['status']} OK\n{_lines(answer)}",
            "requestHeader": _lines(sent),
            "responseData": answer["content"]["text"],
            "method": sent["method"],
            "queryString": sent.get("postData", {}).get("text", ""),
        }
        below = "".join(f'<{key} class="java.lang.String">{escape(text)}</{key}>' for key, text in texts.items())
        label = quoteattr(f"{number} {urlsplit(sent['url']).path}")
        samples.append(
            f'<httpSample t="20" ts="{number}" s="true" lb={label} rc="{answer["status"]}" dt="text">{below}'
            f"<java.net.URL>{escape(sent['url'])}</java.net.URL></httpSample>"
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">{"".join(samples)}</testResults>\n'


def _lines(message: Mapping[str, Any]) -> str:
    """Return headers as JMeter stores them: cookies have a field of their own."""
    return "".join(f"{one['name']}: {one['value']}\n" for one in message["headers"] if one["name"] != "Cookie")


def paths_of_k6(program: str, har: Path) -> set[str]:
    """Return the paths of the requests that get a value in the script of `k6 convert --correlate` (up to v0.46).

    It needs absolute redirects. A redirect that it follows counts as no value, as in our plans.
    """
    document = json.loads(har.read_text())
    entries = sorted(document["log"]["entries"], key=lambda entry: str(entry["startedDateTime"]))
    for entry in entries:
        for header in entry["response"]["headers"]:
            if header["name"] == "Location":
                header["value"] = urljoin(entry["request"]["url"], header["value"])
    with tempfile.TemporaryDirectory(prefix="k6-") as folder:
        given, made = Path(folder) / "in.har", Path(folder) / "out.js"
        given.write_text(json.dumps(document))
        command = [program, "convert", "--correlate", "--no-batch", "--output", str(made), str(given)]
        subprocess.run(command, check=True, capture_output=True)
        requests = re.split(r"// Request #\d+\n", made.read_text())[1:]
    pairs = zip(entries, requests, strict=True)
    return {urlsplit(entry["request"]["url"]).path for entry, request in pairs if "${json" in request}
