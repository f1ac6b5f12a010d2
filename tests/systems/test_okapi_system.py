"""The Okapi stand-in: its answers to log-in and check-in, ten requests at a time, and that nothing of it is left."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from harness.system.manifest import load_manifest
from harness.system.supervisor import Supervisor
from tests.support.paths import ROOT

pytestmark = pytest.mark.real

MANIFEST = load_manifest(ROOT / "systems" / "okapi")
SERVICE_S = 0.5
# No spread, so that times show how many requests were processed together.
SETTINGS = {"service_median_ms": SERVICE_S * 1000, "service_sigma": 0.0, "login_median_ms": 1.0}
TENANT = {"x-okapi-tenant": "standin_tenant"}
USER = {"username": "standin_user", "password": "standin_password"}
GOOD = {
    "itemBarcode": "3000000001",
    "servicePointId": "5bc8fbbc-bde5-4099-8164-d8399f767c45",
    "checkInDate": "2020-12-31T23:59:59.123Z",
}


class Answer(NamedTuple):
    """Status, headers and body of an answer; a body that is no JSON is a text."""

    status: int
    token: str
    body: Any


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    settings = MANIFEST.resolve_settings(SETTINGS)
    logs = tmp_path_factory.mktemp("logs")
    with Supervisor(MANIFEST, settings, build_dir=ROOT / "build", log_dir=logs) as supervisor:
        supervisor.prepare()
        supervisor.start()
        yield supervisor


@pytest.fixture(scope="module")
def okapi(supervisor: Supervisor) -> str:
    return supervisor.target_url


def post(url: str, body: object, headers: dict[str, str]) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {**headers, "Content-Type": "application/json"})
    try:
        answer = urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read().decode()
        parsed = json.loads(text) if answer.headers["Content-Type"] == "application/json" else text
        return Answer(answer.status, answer.headers.get("x-okapi-token", ""), parsed)


def log_in(okapi: str, user: object = USER, headers: dict[str, str] = TENANT) -> Answer:
    return post(f"{okapi}/authn/login", user, headers)


@pytest.fixture(scope="module")
def token(okapi: str) -> dict[str, str]:
    return {**TENANT, "x-okapi-token": log_in(okapi).token}


def check_in(okapi: str, headers: dict[str, str], body: object = GOOD) -> Answer:
    return post(f"{okapi}/circulation/check-in-by-barcode", body, headers)


def test_a_log_in_is_201_and_its_token_is_in_a_header(okapi: str) -> None:
    first, second = log_in(okapi), log_in(okapi)
    assert (first.status, second.status) == (201, 201)
    assert first.token and first.token != second.token


@pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"username": "nobody"}], ids=str)
def test_a_wrong_log_in_is_422_without_a_token(okapi: str, wrong: dict[str, str]) -> None:
    answer = log_in(okapi, {**USER, **wrong})
    assert (answer.status, answer.token) == (422, "")
    assert answer.body["errors"][0]["message"] == "Password does not match"


@pytest.mark.parametrize("headers", [{}, {"x-okapi-tenant": "another"}], ids=str)
def test_another_tenant_or_none_is_refused(okapi: str, headers: dict[str, str]) -> None:
    assert log_in(okapi, headers=headers).status == 400
    assert check_in(okapi, headers).status == 400


def test_a_check_in_returns_the_requested_item(okapi: str, token: dict[str, str]) -> None:
    status, _, body = check_in(okapi, token)
    assert status == 200
    assert body.keys() == {"loan", "item", "staffSlipContext", "inHouseUse"}
    item = body["item"]
    assert item["barcode"] == "3000000001"
    assert {"id", "title", "holdingsRecordId", "instanceId"} < item.keys()
    assert item["status"]["name"] == "Available"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", item["status"]["date"])
    assert (item["materialType"]["name"], item["location"]["name"]) == ("book", "Main Library")
    assert body["loan"]["itemId"] == item["id"]
    assert body["loan"]["returnDate"] == GOOD["checkInDate"]


def test_the_optional_properties_are_taken(okapi: str, token: dict[str, str]) -> None:
    more = {"claimedReturnedResolution": "Found by library", "sessionId": GOOD["servicePointId"]}
    assert check_in(okapi, token, {**GOOD, **more}).status == 200


@pytest.mark.parametrize(
    ("header", "message"),
    [(None, "Token missing, access requires permission: circulation.check-in-by-barcode.post"), ("x", "Invalid token")],
)
def test_no_token_or_a_wrong_one_is_401(okapi: str, header: str | None, message: str) -> None:
    headers = {**TENANT, "x-okapi-token": header} if header else TENANT
    assert check_in(okapi, headers) == (401, "", message)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("itemBarcode", "Checkin request must have an item barcode"),
        ("servicePointId", "Checkin request must have a service point id"),
        ("checkInDate", "Checkin request must have an check in date"),
    ],
)
def test_a_missing_or_empty_field_is_422_and_named(okapi: str, token: dict[str, str], key: str, message: str) -> None:
    expected = {"errors": [{"message": message, "parameters": [{"key": key, "value": None}]}]}
    without = {name: value for name, value in GOOD.items() if name != key}
    for body in (without, {**GOOD, key: ""}):
        assert check_in(okapi, token, body) == (422, "", expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "5bc8fbbc-bde5-4099-8164-d8399f767c45"},
        {"servicePointId": "circ desk"},
        {"checkInDate": "2020-12-31"},
        {"checkInDate": "2020-12-31T24:00:00Z"},
        {"itemBarcode": 3000000001},
        {"claimedReturnedResolution": "Lost"},
        {"sessionId": "1"},
    ],
    ids=str,
)
def test_a_violation_of_the_schema_is_422(okapi: str, token: dict[str, str], wrong: dict[str, object]) -> None:
    status, _, body = check_in(okapi, token, {**GOOD, **wrong})
    assert (status, body["errors"][0]["message"]) == (422, "Checkin request does not fit its schema")


@pytest.mark.parametrize("barcode", ["99990001", 'a "quoted" one', "back\\slash"])
def test_an_unknown_barcode_is_422_and_named(okapi: str, token: dict[str, str], barcode: str) -> None:
    status, _, body = check_in(okapi, token, {**GOOD, "itemBarcode": barcode})
    (error,) = body["errors"]
    assert (status, error["message"]) == (422, f"No item with barcode {barcode} exists")
    assert error["parameters"] == [{"key": "itemBarcode", "value": barcode}]


def get(url: str, headers: dict[str, str]) -> Answer:
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read().decode()
        return Answer(
            answer.status, "", json.loads(text) if answer.headers["Content-Type"] == "application/json" else text
        )


LOAN = {"itemBarcode": "3000000001", "userBarcode": "7000001", "servicePointId": GOOD["servicePointId"]}


def check_out(okapi: str, headers: dict[str, str], body: object = LOAN) -> Answer:
    return post(f"{okapi}/circulation/check-out-by-barcode", body, headers)


def test_a_check_out_is_201_with_the_loan_of_that_item_to_that_patron(okapi: str, token: dict[str, str]) -> None:
    status, _, body = check_out(okapi, token)
    assert (status, body["status"]["name"]) == (201, "Open")
    assert (body["item"]["barcode"], body["borrower"]["barcode"]) == ("3000000001", "7000001")
    found = get(f"{okapi}/circulation/loans/{body['id']}", token)
    assert (found.status, found.body["id"]) == (200, body["id"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"servicePointId": ""}, "Check out must be performed at a service point"),
        ({"userBarcode": ""}, "Could not find user with matching barcode"),
        ({"itemBarcode": "99990001"}, "No item with barcode 99990001 could be found"),
        ({"id": "1"}, "Checkout request does not fit its schema"),
    ],
    ids=str,
)
def test_a_wrong_check_out_is_422(okapi: str, token: dict[str, str], change: dict[str, str], message: str) -> None:
    status, _, body = check_out(okapi, token, {**LOAN, **change})
    assert (status, body["errors"][0]["message"]) == (422, message)


@pytest.mark.parametrize(("path", "key"), [("users", "users"), ("inventory/items", "items")])
def test_a_search_by_barcode_finds_one_record_none_or_is_refused(
    okapi: str, token: dict[str, str], path: str, key: str
) -> None:
    query = f"{okapi}/{path}?query="
    (record,) = get(f"{query}(barcode%3D%3D%22abc-1%22)", token).body[key]
    assert record["barcode"] == "abc-1"
    assert get(f"{query}barcode%3D%3D%2299991%22", token).body == {key: [], "totalRecords": 0}
    assert get(f"{query}title%3Dx", token).status == 400
    assert get(f"{query}(barcode%3D%3D%22abc-1%22)", TENANT).status == 401


def test_no_request_is_open_for_an_item(okapi: str, token: dict[str, str]) -> None:
    url = f"{okapi}/circulation/requests?query=(itemId%3D%3D%22{GOOD['servicePointId']}%22)"
    assert get(url, token).body == {"requests": [], "totalRecords": 0}


def test_invalid_json_or_an_unknown_path_is_an_error(okapi: str, token: dict[str, str]) -> None:
    assert check_in(okapi, token, b"no JSON").status == 422
    assert post(f"{okapi}/circulation/loans", {}, token).status == 404


def test_ten_check_ins_are_processed_at_a_time(okapi: str, token: dict[str, str]) -> None:
    check_in(okapi, token)
    with ThreadPoolExecutor(20) as pool:
        begin_s = time.monotonic()

        def ended_after_s(_: int) -> float:
            assert check_in(okapi, token).status == 200
            return time.monotonic() - begin_s

        ends_s = sorted(pool.map(ended_after_s, range(20)))
    # With fewer than ten at a time the tenth would end in a second round, with more the eleventh in the first one.
    assert ends_s[9] < 2 * SERVICE_S <= ends_s[10]


IMPORTS, EDITS = "change-manager/jobExecutions", "bulk-operations"


def test_a_job_is_done_when_its_records_are_and_fails_without_any(okapi: str, token: dict[str, str]) -> None:
    branch = {**token, "x-okapi-tenant": "standin_branch"}
    # 20 records of 120 ms by 20 workers in 10 slots take two rounds.
    status, _, started = post(f"{okapi}/{IMPORTS}", {"totalRecords": 20}, branch)
    job = started["parentJobExecutionId"]
    assert status == 201 and [one["id"] for one in started["jobExecutions"]] == [job]
    assert get(f"{okapi}/{IMPORTS}/{job}", token).body["status"] == "PARSING_IN_PROGRESS"
    edit = post(f"{okapi}/{EDITS}/query", {"totalRecords": 1}, token).body["id"]
    until_s = time.monotonic() + 5
    while get(f"{okapi}/{IMPORTS}/{job}", token).body["status"] != "COMMITTED" and time.monotonic() < until_s:
        time.sleep(0.05)
    assert get(f"{okapi}/{IMPORTS}/{job}", token).body["progress"] == {"current": 20, "total": 20}
    found = get(f"{okapi}/{EDITS}/{edit}", token).body
    assert (found["status"], found["processedNumOfRecords"]) == ("COMPLETED", 1)
    assert post(f"{okapi}/{IMPORTS}", {}, token).body["jobExecutions"][0]["status"] == "ERROR"
    assert post(f"{okapi}/{EDITS}/query", {}, token).body["status"] == "FAILED"
    assert (get(f"{okapi}/{IMPORTS}/none", token).status, get(f"{okapi}/{EDITS}/none", TENANT).status) == (404, 401)


def test_a_check_in_waits_for_the_records_of_a_job(okapi: str, token: dict[str, str]) -> None:
    begin_s = time.monotonic()
    assert check_in(okapi, token).status == 200
    alone_s = time.monotonic() - begin_s
    post(f"{okapi}/{IMPORTS}", {"totalRecords": 100}, token)  # 1.2 s for all ten slots, 20 records want one
    begin_s = time.monotonic()
    assert check_in(okapi, token).status == 200
    assert time.monotonic() - begin_s > alone_s + 0.05


def test_the_stand_in_listens_only_on_loopback_and_leaves_nothing(supervisor: Supervisor) -> None:
    """The last test of the file: it stops the stand-in."""
    (process,) = [psutil.Process(pid) for pid in supervisor.processes.values()]
    work = Path(process.cwd())
    listening = [each.laddr.ip for each in process.net_connections(kind="tcp") if each.status == psutil.CONN_LISTEN]
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
    assert dict(supervisor.facts)["requests at a time"] == "10, the others wait in line"
    assert work.is_dir()
    supervisor.stop()
    assert not process.is_running()
    assert not work.exists()
