"""Secrets of curl commands and OpenAPI files: in environment variables, and in no file of the plan."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from harness.cli.verbs import main
from harness.plan.adopt.one_request import first_request, read_request, write_requests
from harness.plan.jmx.headers import variables_in
from harness.plan.plan import load_plan
from tests.plan.adopt.openapi.test_requests import OK, written

SECRET, HEX = "Zq8Lw0Xn4Tb7Rk2Vy6", "9f3c01aa7be244d10b77e2c9d1844f60"
ADDRESS = "http://127.0.0.1:8080"
LOG_IN = f'mutation {{ in(password: "{SECRET}") }}'


def files(folder: Path) -> str:
    """Return names and texts of all files, without secrets.toml."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "secrets.toml"]
    return "\n".join(f"{path} {path.read_text()}" for path in paths)


@pytest.mark.parametrize(("line", "secret"), [
    (f"'{ADDRESS}/a?api_key={SECRET}&x=1'", SECRET), (f"{ADDRESS}/reset-token/{SECRET}", SECRET),
    (f"{ADDRESS}/a -H 'X-Session: {HEX}'", HEX), (f"{ADDRESS}/a -H 'Referer: {ADDRESS}/?token={SECRET}'", SECRET),
    (f"{ADDRESS}/a -d 'otp=482913&user=ann'", "482913"), (f"{ADDRESS}/a -F session={HEX}", HEX),
    (f"{ADDRESS}/a -d '{json.dumps({'note': 'AKIAIOSFODNN7EXAMPLE'})}'", "AKIAIOSFODNN7EXAMPLE"),
    (f"{ADDRESS}/a -d '{json.dumps({'a': [{'refresh_token': 'p$$w/1 x'}]})}'", "w/1 x"),
    (f"'{ADDRESS}/a?f={quote(json.dumps({'password': 'a b/c$1'}))}'", quote("a b/c")),
    (f"{ADDRESS}/a -d '<a><password>{SECRET}</password></a>'", SECRET),
    (f"{ADDRESS}/a -u ann:hunter22", "YW5uOmh1bnRlcjIy"),
    (f"{ADDRESS}/graphql --json '{json.dumps({'query': LOG_IN})}'", SECRET),
])  # fmt: skip
def test_a_secret_of_a_curl_command_is_an_environment_variable(tmp_path, line, secret):
    request = read_request("", f"curl {line}")
    made = write_requests([request], tmp_path / "plans", "shop", "shop")
    assert [value for value in made.secrets.values() if secret in value]
    assert secret not in files(tmp_path) + "".join(made.labels)
    plan = load_plan(tmp_path / "plans", "shop")
    assert set(made.secrets) <= {*plan.secrets, *variables_in(*plan.headers.values())}


def test_the_name_of_a_run_has_no_secret_of_its_address(tmp_path):
    made = first_request("", f"curl {ADDRESS}/reset-token/{SECRET}", tmp_path)
    assert (made.name, SECRET in files(tmp_path)) == ("127.0.0.1-reset-token-RESET_TOKEN", False)


def test_harmless_values_of_a_curl_command_stay_and_random_ones_are_listed(tmp_path, capsys):
    words = [
        "init",
        "shop",
        "--curl",
        f"curl '{ADDRESS}/items/{HEX}?page_token=abc&v=1.2.3' -d 'csrf_token={HEX[::-1]}'",
    ]
    assert main([*words, "--home", str(tmp_path), "--build", str(tmp_path / "build")], "lth") == 0
    printed = capsys.readouterr().out
    assert not (tmp_path / "secrets.toml").exists()
    lines = (tmp_path / "plans/shop.jmx").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if HEX[::-1] in text)
    assert f"plans/shop.jmx:{line}: looks random and stays in the plan (csrf_token)" in printed


def test_a_token_in_an_example_of_openapi_is_an_environment_variable(tmp_path, capsys):
    parameters = [{"name": "api_key", "in": "query", "schema": {"type": "string"}, "example": SECRET}]
    body = {"content": {"application/json": {"example": {"session": HEX, "name": "ann"}}}}
    paths = {"/a": {"get": {"parameters": parameters, **OK}, "post": {"requestBody": body, **OK}}}
    words = [
        "init",
        "shop",
        "--openapi",
        str(written(tmp_path, paths)),
        "--only",
        "*",
        "--home",
        str(tmp_path / "home"),
    ]
    assert main([*words, "--build", str(tmp_path / "build")], "lth") == 0
    stored, printed = (tmp_path / "home/secrets.toml").read_text(), capsys.readouterr().out
    for secret in (SECRET, HEX):
        assert secret in stored
        assert secret[:8] not in files(tmp_path / "home") + printed
