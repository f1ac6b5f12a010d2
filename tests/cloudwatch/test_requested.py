"""What a profile requests from CloudWatch, and what a run stores of it."""

from __future__ import annotations

import re

import pytest

from harness.base.errors import UsageError
from harness.base.records import build
from harness.cloudwatch.queries import CloudWatchSpec, requested, resource_title
from harness.cloudwatch.resources import Resource
from tests.support.paths import ROOT
from tests.support.requests import request_of


def test_a_profile_without_the_table_requests_nothing():
    assert requested(None, "far") is None


@pytest.mark.parametrize("table", ["", "rds = []", 'moon = ["x"]', 'rds = ["x"]\nperiod_s = 7'])
def test_a_wrong_table_is_an_error_before_a_run(tmp_path, table):
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "far.toml").write_text(f"format_version = 1\n[cloudwatch]\n{table}\n")
    with pytest.raises(UsageError, match=re.escape("env/far.toml [cloudwatch]")):
        request_of(tmp_path, ROOT, "lb-direct", "far")


@pytest.mark.parametrize("resources", [None, [None], [{"kind": ["fake"], "name": "a"}]])
def test_a_stored_request_that_is_wrong_is_an_error_that_names_the_key(resources):
    stored = {"region": None, "endpoint_url": None, "period_s": 60, "resources": resources}
    with pytest.raises(ValueError, match=r"^run.cloudwatch"):
        build(CloudWatchSpec, stored, "run.cloudwatch")


def test_an_unknown_kind_of_resource_is_a_one_line_error():
    with pytest.raises(UsageError, match="moon x: CloudWatch has no such kind"):
        resource_title(Resource("moon", "x"))
