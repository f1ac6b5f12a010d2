"""XML JTLs for tests: elements as JMeter writes them, and what our reader makes of a text."""

from __future__ import annotations

import io
from xml.sax.saxutils import escape, quoteattr

from harness.jtl.sample import Dropped, Sample
from harness.jtl.xml import parse_xml

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n'
END = "\n</testResults>\n"


def element(label: str = "Pay", inside: str = "", tag: str = "httpSample", **attributes: str | None) -> str:
    """Return a sample's element; an attribute that is None is left out."""
    texts: dict[str, str | None] = {
        "t": "12", "it": "0", "lt": "10", "ct": "1", "ts": "1000", "s": "true", "lb": label, "rc": "201",
        "rm": "Created", "tn": "Users 1-1", "dt": "text", "by": "300", "sby": "120", "ng": "1", "na": "5",
    }  # fmt: skip
    texts |= attributes
    listed = " ".join(f"{key}={quoteattr(value)}" for key, value in texts.items() if value is not None)
    return f"<{tag} {listed}>\n{inside}</{tag}>\n" if inside else f"<{tag} {listed}/>\n"


def assertion(message: str = "402 is not 201", failure: str = "true", error: str = "false") -> str:
    """Return the element of an assertion."""
    return (
        f"  <assertionResult>\n    <name>is paid</name>\n    <failure>{failure}</failure>\n"
        f"    <error>{error}</error>\n    <failureMessage>{escape(message)}</failureMessage>\n  </assertionResult>\n"
    )


def indented(text: str) -> str:
    """Return the lines of an element inside another one."""
    return "".join(f"  {line}\n" for line in text.splitlines())


def read(text: str | bytes) -> tuple[list[Sample], Dropped]:
    """Return the samples of a file, and what was dropped."""
    dropped = Dropped()
    data = text if isinstance(text, bytes) else text.encode()
    return list(parse_xml(io.BytesIO(data), "samples.jtl", dropped)), dropped


def labels(text: str | bytes) -> tuple[list[str], Dropped]:
    """Return the labels of the samples of a file, and what was dropped."""
    samples, dropped = read(text)
    return [sample.label for sample in samples], dropped
