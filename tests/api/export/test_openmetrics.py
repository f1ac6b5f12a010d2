"""The OpenMetrics of a finished run: what a parser and what promtool make of it."""

import re
import subprocess
from itertools import pairwise

import pytest

from harness.api.export.files import labels_text, lines
from harness.metrics.label_seconds import LabelSeconds
from tests.support.factories import failed, sample
from tests.support.programs import program

ABOUT = {"run": "tiny/run-01_1", "plan": "tiny", "env": "local", "commit": "0123456789ab"}
BASE_S = 1_700_000_000


def text_of(*samples):
    counted = LabelSeconds()
    for one in samples:
        counted.add(one)
    return "".join(lines(ABOUT, counted.sort()))


def points_of(text):
    """Return the points (s, value) of each series by its name and its labels but those of the run.

    The parser of prometheus_client drops most samples of a histogram with several times.
    """
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            metric, labels, value, at_s = re.fullmatch(r"(\w+)\{(.*)\} (\S+) (\d+)", line).groups()
            pairs = sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            plain = [_plain(text) for name, text in pairs if name not in ABOUT]
            found.setdefault((metric, *plain), []).append((int(at_s), float(value)))
    return found


def _plain(text):
    return re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], text)


def at(second, elapsed_ms=100, label="Pay", make=sample):
    """Return a sample that ends in a second."""
    return make(label, elapsed_ms=elapsed_ms, start_ms=1000 * (BASE_S + second) + 500 - elapsed_ms)


def test_counts_add_up_from_zero_and_a_point_is_at_the_end_of_its_second():
    found = points_of(text_of(at(0), at(0, 101), at(2, 2600, make=failed)))
    whose = ("load", "request", "Pay")
    assert found["loadtest_requests_total", *whose] == [(BASE_S, 0), (BASE_S + 1, 2), (BASE_S + 3, 3)]
    assert found["loadtest_errors_total", *whose] == [(BASE_S, 0), (BASE_S + 1, 0), (BASE_S + 3, 1)]
    assert found["loadtest_response_time_seconds_bucket", *whose, "0.1"][-1] == (BASE_S + 3, 1)
    assert found["loadtest_response_time_seconds_bucket", *whose, "3.15"][-1] == (BASE_S + 3, 3)
    assert found["loadtest_response_time_seconds_bucket", *whose, "+Inf"][-1] == (BASE_S + 3, 3)
    assert found["loadtest_response_time_seconds_sum", *whose][-1] == (BASE_S + 3, pytest.approx(2.801))
    assert found["loadtest_active_users",] == [(BASE_S + 1, 1), (BASE_S + 2, 1), (BASE_S + 3, 1)]


def test_a_count_that_does_not_change_is_repeated_until_the_end_of_the_run():
    found = points_of(text_of(at(0), at(150), at(200, label="Late")))
    assert [(s - BASE_S, value) for s, value in found["loadtest_requests_total", "load", "request", "Pay"]] == [
        (0, 0), (1, 1), (61, 1), (121, 1), (151, 2), (201, 2),
    ]  # fmt: skip
    assert [s - BASE_S for s, _ in found["loadtest_run_info",]] == [0, 60, 120, 180, 201]


def test_points_of_every_series_are_in_order_of_time():
    found = points_of(text_of(*(at(second, label=label) for second in range(0, 400, 7) for label in "AB")))
    assert len(found) > 50
    assert all(before[0] < after[0] for points in found.values() for before, after in pairwise(points))


def test_a_label_may_have_any_text():
    assert labels_text({"label": 'a "b"\\\nc'}) == 'label="a \\"b\\"\\\\\\nc"'
    found = points_of(text_of(at(0, label='a "b"\\\nc')))
    assert ("loadtest_requests_total", "load", "request", 'a "b"\\\nc') in found


def test_a_jtl_without_bytes_has_no_such_series():
    text = text_of(sample(received_bytes=None))
    assert "loadtest_received_bytes_total{" not in text
    assert "loadtest_sent_bytes_total{" in text
    assert text.endswith("# EOF\n")


@pytest.mark.real
def test_promtool_makes_blocks_of_it_that_have_every_count(tmp_path):
    promtool = program("promtool", package="prometheus")
    samples = [at(second, 10 + second % 90, label, failed if second % 10 == 0 else sample)
               for second in range(300) for label in ("Pay", 'Check "Out"')]  # fmt: skip
    (tmp_path / "openmetrics.txt").write_text(text_of(*samples))
    made = subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", "openmetrics.txt", "data"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    (tmp_path / "data" / "wal").mkdir()  # dump looks for it
    dumped = subprocess.run(
        [promtool, "tsdb", "dump", "data"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    last = {}
    for line in dumped.splitlines():
        series, _, rest = line.rpartition("} ")
        value, time_ms = rest.split()
        if "loadtest_requests_total" in series or "loadtest_errors_total" in series:
            name = "requests" if "requests" in series else "errors"
            last[name, "Out" in series] = max(last.get((name, "Out" in series), (0, 0.0)), (int(time_ms), float(value)))
    end_ms = 1000 * (BASE_S + 300)
    assert last == {
        ("requests", False): (end_ms, 300), ("requests", True): (end_ms, 300),
        ("errors", False): (end_ms, 30), ("errors", True): (end_ms, 30),
    }  # fmt: skip
