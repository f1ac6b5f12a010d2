"""The [[job]] tables of a plan: what they mean, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.job import Job, check_starts, latest_end_s
from harness.plan.plan import load_plan
from tests.support.several import BROWSE, HEAD, several_jmx

LOAD = '[[load]]\ngroup = "Browse"\nusers = 2\nduration_s = 60\n'
IMPORT = """
[[job]]
name = "import"
tenant = "college"
at = "1m30s"
records = 50_000
repeat = 2
limit = "20m"
goal = "duration < 15m"
headers = { x-token = "${token}" }
start = { path = "/jobs", id = "$.id", body = '{"count": {records}}' }
poll = { path = "/jobs/{id}", state = "$.status", period_s = 2 }
done = ["DONE", "DONE_WITH_ERRORS"]
failed = "ERROR"
"""
EDIT = """
[[job]]
name = "edit"
after = "import"
start = { method = "PUT", path = "/edit" }
poll = { path = "/edit", state = "$.state" }
done = "READY"
"""


def jobs_of(tmp_path: Path, text: str) -> tuple[Job, ...]:
    (tmp_path / "tiny.jmx").write_text(several_jmx(BROWSE))
    (tmp_path / "tiny.toml").write_text(HEAD + LOAD + text)
    return load_plan(tmp_path, "tiny").jobs


def test_a_job_has_its_requests_its_start_its_size_and_its_goal(tmp_path: Path) -> None:
    one, other = jobs_of(tmp_path, IMPORT + EDIT)
    assert (one.method, one.start_path, one.body, one.id_path) == ("POST", "/jobs", '{"count": 50000}', "$.id")
    assert (one.poll_path, one.state_path, one.period_s) == ("/jobs/{id}", "$.status", 2.0)
    assert (one.done, one.failed) == (("DONE", "DONE_WITH_ERRORS"), ("ERROR",))
    assert (one.at_s, one.limit_s, one.goal_s, one.repeat, one.tenant) == (90.0, 1200.0, 900.0, 2, "college")
    assert (other.method, other.after, other.id_path, other.records, other.goal_s) == ("PUT", "import", "", None, None)


def test_the_body_of_a_job_may_be_a_file_beside_the_plan_and_its_password_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"password": "s3cret-of-a-job", "rows": {records}}')
    text = IMPORT.replace("body = '{\"count\": {records}}'", 'body_file = "body.json"')
    (job,) = jobs_of(tmp_path, text)
    plan = load_plan(tmp_path, "tiny")
    assert job.body == '{"password": "s3cret-of-a-job", "rows": 50000}'
    assert "s3cret-of-a-job" in plan.hidden and plan.own_files == ("body.json",)


def test_the_last_job_ends_after_those_before_it_at_the_latest(tmp_path: Path) -> None:
    # 90 s, two repetitions of 20 minutes each, and then an hour, the default.
    assert latest_end_s(jobs_of(tmp_path, IMPORT + EDIT)) == 90 + 2 * 1200 + 3600
    assert latest_end_s(()) == 0


def test_a_job_that_would_start_after_the_load_is_refused(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, IMPORT)
    check_starts(jobs, 91.0)
    check_starts(jobs, None)  # loops end the load
    with pytest.raises(UsageError, match=r"import: starts 90 s after the load, which lasts 60 s") as refused:
        check_starts(jobs, 60.0)
    assert "longer --duration" in str(refused.value.todo)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "import"', 'nam = "import"', r"\[\[job\]\]: unknown key nam"),
        ('name = "import"', "", r"\[\[job\]\]: name is missing"),
        ('name = "import"', 'name = "im/port"', "not a name of a job"),
        ("poll = {", "pol = {", "unknown key pol"),
        ('state = "$.status", ', "", "poll: state is missing"),
        ('path = "/jobs", ', 'path = "http://other/jobs", ', 'start: path = "http://other/jobs"'),
        ('path = "/jobs", ', 'path = "//other/jobs", ', 'start: path = "//other/jobs"'),
        ('id = "$.id", ', "", "poll reads {id}, but start has no id"),
        ("records = 50_000", "", "reads {records}, but the job has no records"),
        ("records = 50_000", "records = 0", "records = 0"),
        ("repeat = 2", "repeat = true", "repeat = True"),
        ('limit = "20m"', 'limit = "soon"', "limit=soon: not a duration"),
        ('limit = "20m"', "limit = 0", "limit = 0"),
        ("period_s = 2", "period_s = 0", "period_s = 0"),
        ('goal = "duration < 15m"', 'goal = "p95 < 15m"', "not a goal of a job"),
        ('failed = "ERROR"', 'failed = ["DONE"]', "DONE is in done and in failed"),
        ('failed = "ERROR"', "failed = ['E\"']", "failed = "),
        ('done = ["DONE", "DONE_WITH_ERRORS"]', "done = []", "done is empty"),
        ('done = ["DONE", "DONE_WITH_ERRORS"]', "", "done is missing"),
        ('at = "1m30s"', 'at = 1\nafter = "import"', "has at and after"),
        ('x-token = "${token}"', 'Authorization = "Basic eA=="', "written out"),
        ("{records}}'", '{records}, "x": "${__groovy(1)}"}\'', "calls __groovy"),
        ("$.status", "$.${__groovy(1)}", "state: calls __groovy"),
        ("x-token", '"${__groovy(1)}"', "calls __groovy"),
        ("start = {", 'start = { method = "DELETE", ', 'method = "DELETE"'),
        ("body = ", 'body_file = "no.json", body = ', "has body and body_file"),
    ],
)
def test_a_wrong_job_is_refused_with_the_key_that_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert IMPORT.count(old) == 1
    with pytest.raises(UsageError, match=message.replace("{", r"\{").replace("$", r"\$")):
        jobs_of(tmp_path, IMPORT.replace(old, new))


def test_an_unreadable_body_an_unknown_job_a_double_name_and_a_circle_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"body_file 'no\.json' cannot be read"):
        jobs_of(tmp_path, IMPORT.replace("body = '{\"count\": {records}}'", 'body_file = "no.json"'))
    for outside in ("../tiny.toml", str(tmp_path / "tiny.toml")):
        with pytest.raises(UsageError, match="cannot be read; name a text file beside the plan"):
            jobs_of(tmp_path, IMPORT.replace("body = '{\"count\": {records}}'", f'body_file = "{outside}"'))
    with pytest.raises(UsageError, match="import: tenant = "):
        jobs_of(tmp_path, IMPORT.replace('tenant = "college"', "tenant = '${__groovy(1)}'"))
    with pytest.raises(UsageError, match='after = "import": there is no such job'):
        jobs_of(tmp_path, EDIT)
    with pytest.raises(UsageError, match="2 jobs have this name"):
        jobs_of(tmp_path, IMPORT + IMPORT)
    circle = IMPORT.replace('at = "1m30s"', 'after = "edit"')
    with pytest.raises(UsageError, match="import after edit after import: these jobs wait for each other"):
        jobs_of(tmp_path, circle + EDIT)
    with pytest.raises(UsageError, match="these jobs wait for each other"):
        jobs_of(tmp_path, EDIT.replace('after = "import"', 'after = "edit"'))
