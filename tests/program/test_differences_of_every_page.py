"""No page has a signed change with CANNOT TELL, and no change or interval has more digits than it has.

A change has two digits of half of its interval: from ±10 % on whole percent, else tenths.
"""

from __future__ import annotations

import re

import pytest

from tests.compare.test_signed_changes import signed_rows
from tests.support.every_report import COMMANDS, EXPERIMENTS, make_reports, report_path

_ENDS = re.compile(r"([+\u2212-]?\d[\d,]*(?:\.\d+)?) to ([+\u2212-]?\d[\d,]*(?:\.\d+)?)\b")
_SIGNED = re.compile(r"^[+\u2212-]\d[\d,]*(?:\.(\d+))?(?: %)?$")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    make_reports(folder)
    return folder


def number(text: str) -> float:
    return float(text.replace("\u2212", "-").replace(",", ""))


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


def too_exact(text: str) -> list[str]:
    """Return the rows and sentences whose changes in percent have more digits than their intervals allow."""
    found = []
    for line in text.splitlines():
        for match in _ENDS.finditer(line):
            is_change = match[0][0] in "+\u2212-" or match[2][0] in "+\u2212-"
            ends = match[1], match[2]
            if not is_change or "points" in line or " pt (" in line[match.start() - 5 : match.start()]:
                continue  # shares have hundredths of points
            half = abs(number(ends[1]) - number(ends[0])) / 2
            most = 0 if half >= 10 else 1
            cells = [cell.strip() for cell in line.split("|")]
            changes = [cell for cell in cells if _SIGNED.match(cell)] if len(cells) > 3 else []
            if any(decimals(end) > most for end in ends) or (
                len(changes) == 1 and decimals(changes[0].removesuffix(" %")) > most
            ):
                found.append(line)
    return found


def test_a_change_with_too_many_digits_is_recognised():
    assert too_exact("| Pay | p95 ms | 100 | 200 | +99.9 % | +74 to +130 % | REGRESSED |")
    assert too_exact("average +50.0 % (-12.5 to +112.5)")
    assert not too_exact("| Pay | p95 ms | 100 | 104 | +4.1 % | +3.2 to +5.0 % | OK |\n50 to 150 ms")


@pytest.mark.real
@pytest.mark.parametrize("kind", [*COMMANDS, *EXPERIMENTS])
def test_every_page_has_only_the_digits_and_the_directions_that_it_knows(kind, made):
    text = report_path(kind, made).read_text(encoding="utf-8")
    assert signed_rows(text) == []
    assert too_exact(text) == []
