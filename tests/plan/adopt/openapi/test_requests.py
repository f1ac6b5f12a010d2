"""An OpenAPI file as a plan: the chosen operations, their values, credentials and ids, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.plan.adopt.curl import CurlExtractor
from harness.plan.adopt.openapi.requests import ApiPlan, plan_of_openapi
from harness.plan.checks.lint import lint
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.run.preflight import check_request
from tests.support.requests import request_of

BOOKS = Path(__file__).parent / "books.yaml"
TARGET = "http://127.0.0.1:8080/"
OK = {"responses": {"200": {"description": "ok"}}}


def made(path: Path, *only: str, target: str = TARGET) -> ApiPlan:
    return plan_of_openapi(path, only, target, "")


def written(folder: Path, paths: object, version: str = "3.1.0", **more: object) -> Path:
    path = folder / "api.json"
    path.write_text(json.dumps({"openapi": version, "info": {"title": "A", "version": "1"}, "paths": paths, **more}))
    return path


def get(schema: object, **more: object) -> dict[str, object]:
    """Return paths with one operation whose parameter q has the schema."""
    return {"/a": {"get": {"parameters": [{"name": "q", "in": "query", "required": True, "schema": schema}], **more}}}


def test_without_only_the_safe_operations_are_taken_and_the_others_are_listed() -> None:
    plan = made(BOOKS)
    assert {one.method for one in plan.requests} == {"GET", "HEAD"}
    assert [one.label for one in plan.requests][:3] == ["listBooks", "getBook", "HEAD /books/{bookId}"]
    assert plan.name == "books"
    assert plan.lines[-1] == (
        "not asked for: 'PUT /books/{bookId}', 'DELETE /books/{bookId}', 'POST /books', 'POST /login', 'POST /note', "
        "'POST /cover'; to add one: --only 'GET *' --only 'PUT /books/{bookId}'"
    )


@pytest.mark.real
def test_only_names_methods_with_paths_paths_and_operation_ids() -> None:
    plan = made(BOOKS, "post /lo*", "putBook", "/note")
    assert [one.label for one in plan.requests] == ["POST /login", "POST /note", "putBook"]
    with pytest.raises(UsageError, match=r"'GET /bookz' is no operation of books.yaml; did you mean"):
        made(BOOKS, "GET /bookz")


@pytest.mark.real
def test_ids_of_a_path_are_those_that_a_list_answers() -> None:
    requests = {one.label: one for one in made(BOOKS, "*").requests}
    assert requests["listBooks"].extractors == (CurlExtractor("books_bookid", "$.books[*].id", "1"),)
    assert requests["getBook"].url == "http://127.0.0.1:8080/v2/books/${books_bookid}"
    assert requests["GET /books/{bookId}/reviews"].extractors == (
        CurlExtractor("reviews_reviewid", "$[*].id", "a/b c"),
    )
    assert list(requests)[-1] == "DELETE /books/{bookId}"
    alone = made(BOOKS, "GET /books/{bookId}/reviews/*").requests[0]
    assert alone.url == "http://127.0.0.1:8080/v2/books/1/reviews/a%2Fb%20c?api%20key=$BOOKS_KEY"
    assert "bookId is a random $.books[*].id of GET /books, 1 if it lists none" in made(BOOKS).lines


def test_parameters_are_required_or_have_an_example_or_a_default() -> None:
    request = made(BOOKS, "listBooks").requests[0]
    assert request.url.partition("?")[2] == (
        "limit=20&genre=crime%20%26%20law,crime%20%26%20law&tags=new&tags=old&range%5Bfrom%5D=1&range%5Bto%5D=1"
    )
    assert request.headers == {
        "Accept": "application/json", "X-Trace": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
        "Authorization": "Bearer $BOOKS_TOKEN", "Cookie": "lang=en",
    }  # fmt: skip


def test_bodies_are_examples_else_values_of_the_schema() -> None:
    book, login, note = made(BOOKS, "POST *").requests[:3]
    sent = json.loads(book.body or "")
    assert sent | {"isbn": ""} == {
        "name": "name", "isbn": "", "price": 0.5, "stock": 10, "written": "2020-01-31", "country": "no",
        "subtitle": "subtitle", "author": {"mail": "user@example.org"}, "parts": [],
    }  # fmt: skip
    assert (login.body, note.body) == ("name=a%20%26%20b&secret=sample-password", "cost: $$5 $${x} \\ ü")
    assert login.headers["Authorization"] == "Basic $BOOKS_USER"
    assert "Authorization" not in note.headers


def test_an_xml_body_is_its_example(tmp_path: Path) -> None:
    content = {"application/xml": {"schema": {"type": "object"}, "examples": {"a": {"value": "<a>5</a>"}}}}
    (one,) = made(written(tmp_path, {"/a": {"post": {**OK, "requestBody": {"content": content}}}}), "POST *").requests
    assert (one.body, one.headers) == ("<a>5</a>", {"Content-Type": "application/xml"})


def test_files_of_several_documents_are_one_plan_and_cycles_between_them_end(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    written(tmp_path, {"/pets": {"$ref": "pets%20of%20us.yaml"}, "/loop": get({"$ref": "schemas/loop.json"})["/a"]})
    (tmp_path / "pets of us.yaml").write_text(
        "get:\n  parameters: [{$ref: '#/shared/limit'}]\n  responses: {200: {description: ok}}\n"
        "post:\n  requestBody: {content: {application/json: {schema: {$ref: schemas/pet.yaml#/Pet}}}}\n"
        "shared:\n  limit: {name: limit, in: query, required: true, schema: {type: integer, minimum: 7}}\n"
    )
    (tmp_path / "schemas" / "pet.yaml").write_text(
        "Pet:\n  type: object\n  properties:\n    name: {$ref: '#/Name'}\n    owner: {$ref: '../api.json#/info/x'}\n"
        "    mother: {$ref: pet.yaml#/Pet}\nName: {type: string, example: Rex}\n"
    )
    (tmp_path / "schemas" / "loop.json").write_text('{"$ref": "loop.json"}')
    path = tmp_path / "api.json"
    path.write_text(path.read_text().replace('"version"', '"x": {"type": "boolean"}, "version"'))
    plan = made(path, "GET *", "POST *")
    assert [(one.url, one.body) for one in plan.requests] == [
        ("http://127.0.0.1:8080/pets?limit=7", None),
        ("http://127.0.0.1:8080/pets", '{"name": "Rex", "owner": true}'),
    ]
    assert plan.lines[0] == "left out: GET /loop: #/x-files/loop.json contains itself"
    (tmp_path / "schemas" / "pet.yaml").write_text("a: b: c")
    with pytest.raises(UsageError, match=r"^pet\.yaml:1: cannot be read \(mapping values"):
        made(path)


@pytest.mark.parametrize("name", ["../token.yaml", "%2e%2e/token.yaml", "sub/../../token.yaml", "linked.yaml", "{}"])
def test_a_file_outside_of_the_folder_or_the_work_tree_is_not_read(tmp_path: Path, name: str) -> None:
    secret, folder = tmp_path / "token.yaml", tmp_path / "work"
    folder.mkdir()
    secret.write_text("token: {type: string, default: pw-of-bob}\n")
    (folder / "linked.yaml").symlink_to(secret)
    where = {"name": "q", "in": "query", "required": True, "schema": {"$ref": f"{name.format(secret)}#/token"}}
    path = written(folder, {"/a": {"get": {**OK, "parameters": [where]}}})
    with pytest.raises(UsageError, match=r"\$ref .* is outside of ") as raised:
        made(path)
    assert "pw-of-bob" not in str(raised.value)
    (tmp_path / ".git").mkdir()
    assert made(path).requests[0].url.endswith("/a?q=pw-of-bob")


@pytest.mark.parametrize(
    ("target", "base"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v2"),
        ("http://127.0.0.1:9090/", "http://127.0.0.1:9090"),
        ("https://127.0.0.1:8080/", "https://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/own/", "http://127.0.0.1:8080/own"),
    ],
)
def test_a_server_counts_only_when_it_is_the_target(target: str, base: str) -> None:
    assert made(BOOKS, "POST /note", target=target).requests[0].url == f"{base}/note"


def test_a_relative_server_is_a_path_of_the_target(tmp_path: Path) -> None:
    path = written(tmp_path, {"/a": {"get": OK, "head": {**OK, "servers": [{"url": "/$b/"}]}}}, servers=[{"url": "/x"}])
    assert [one.url for one in made(path).requests] == ["http://127.0.0.1:8080/x/a", "http://127.0.0.1:8080/$$b/a"]


def test_codes_are_those_of_the_documented_successes() -> None:
    codes = {one.label: one.codes for one in made(BOOKS, "*").requests}
    assert (codes["putBook"], codes["HEAD /books/{bookId}"], codes["DELETE /books/{bookId}"]) == (
        "(200|201)", r"2\d\d", "204"
    )  # fmt: skip


@pytest.mark.real
def test_the_plan_is_accepted_keeps_no_secret_and_is_the_same_each_time(home: Path, monkeypatch) -> None:
    plans = []
    for seed in ("1", "2"):
        code = "import sys; from harness.cli.verbs import main; sys.exit(main(sys.argv[1:], 'scripts/init'))"
        folder = home / seed
        words = [
            "shop", "--openapi", str(BOOKS), "--only", "*", TARGET, "--home", str(folder), "--build", str(home / "b")
        ]  # fmt: skip
        subprocess.run([sys.executable, "-c", code, *words], check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        plans.append([(folder / "plans" / f"shop.{kind}").read_bytes() for kind in ("jmx", "toml")])
    assert plans[0] == plans[1]
    toml = tomllib.loads(plans[0][1].decode())
    assert set(toml["secrets"]) == {"SHOP_TOKEN", "SHOP_USER", "SHOP_KEY", "SHOP_SECRET", "SHOP_COOKIE_HEADER"}
    assert lint(home / "1" / "plans" / "shop.jmx") == ()
    for name in toml["secrets"]:
        monkeypatch.setenv(name, "tk-4711-of-today")
    request = request_of(home / "1", home / "1", "shop", "local", TARGET.rstrip("/"))
    check_request(request, resolve_load(parse_load(LoadArguments(users="2")), request.plan.load))


@pytest.mark.real
def test_init_prints_the_choices_and_names_the_plan_after_the_file(home: Path, capsys) -> None:
    words = ["--openapi", str(BOOKS), "--only", "GET /books*", "-H", "X-Tenant: $TENANT"]
    assert main([*words, "--home", str(home), "--build", str(home / "build")], "scripts/init") == 0
    printed = capsys.readouterr().out
    assert "plans/books.jmx, plans/books.toml: a plan with 4 requests, listBooks, getBook, " in printed
    assert "set BOOKS_TOKEN in the environment or secrets.toml: the key or token of token" in printed
    assert tomllib.loads((home / "plans" / "books.toml").read_text())["headers"] == {"X-Tenant": "$TENANT"}
    assert (home / "loadtest.toml").read_text().count("127.0.0.1") == 0
    for words, message in (
        (["x", "--only", "GET /a"], "--only is for"),
        (["x", "--openapi", str(BOOKS), "--curl", "curl http://127.0.0.1"], "--curl and --openapi"),
        (["x", "--openapi", str(BOOKS), "http://[127.0.0.1/"], "not an address"),
    ):
        with pytest.raises(UsageError, match=message):
            main([*words, "--home", str(home), "--build", str(home / "build")], "scripts/init")


@pytest.mark.real
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "api.yaml: is no OpenAPI file; give one with the key openapi"),
        ("[1]", "api.yaml: is no OpenAPI file; give one with the key openapi"),
        ("swagger: '2.0'", "api.yaml: is Swagger 2.0; convert it to OpenAPI 3: npx swagger2openapi"),
        ("openapi: 4.0.0", "api.yaml: OpenAPI 4.0.0 is not supported; give 3.0 or 3.1"),
        ("openapi: 3.0.0", "api.yaml: has no operation; give a file with paths"),
        ("openapi: 3.0.0\npaths: []\n", "api.yaml: has no operation; give a file with paths"),
        ("openapi: 3.0.0\npaths: [1]\n", "api.yaml: paths is no object; repair the file"),
        (
            "openapi: 3.0.0\na: b: c",
            "api.yaml:2: cannot be read (mapping values are not allowed in this context); repair it",
        ),
        ('{"openapi": "3.0.0",\n "a": }', "api.yaml:2: cannot be read (Expecting value); repair it"),
        (
            "\0",
            "api.yaml: cannot be read (unacceptable character #x0000: control characters are not allowed); repair it",
        ),
        (
            "openapi: 3.0.0\npaths: {/a: {$ref: b.yaml}}",
            "api.yaml: /a: $ref b.yaml does not exist; repair the file",
        ),
        (
            "openapi: 3.0.0\npaths: {/a: {$ref: '#/paths/~1b'}, /b: {$ref: '#/paths/~1a'}}",
            "api.yaml: /a: $ref #/paths/~1b refers to itself; repair the file",
        ),
        (
            "openapi: 3.0.0\npaths: {/a: {get: {parameters: [{$ref: '#/x'}]}}}",
            "api.yaml: /a: $ref #/x does not exist; repair the file",
        ),
        ("openapi: 3.0.0\na: &a [*a]\npaths: {/a: {get: {}}}", "api.yaml: contains itself by an alias; use $ref"),
        (
            "openapi: 3.0.0\npaths: {/a: {post: {}}}",
            "api.yaml: no operation can be used: it has neither GET nor HEAD; name others with --only",
        ),
        ("openapi: 3.0.0\npaths: {/a: 5}", "api.yaml: /a: '5' is no object; repair the file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "api.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        made(tmp_path / "api.yaml")
    assert str(refused.value) == message


def test_a_file_that_is_absent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.yaml: there is no such file; name an OpenAPI file"):
        made(tmp_path / "none.yaml")


@pytest.mark.real
@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (get({"$ref": "#/components/schemas/Loop"}), "#/components/schemas/Loop contains itself"),
        (get({"$ref": "other.yaml#/a"}), "$ref other.yaml#/a does not exist"),
        (
            get({"$ref": "http://127.0.0.2/a.yaml#/b"}),
            "$ref http://127.0.0.2/a.yaml#/b is at another address: download it and refer to the file",
        ),
        (
            {"/a": {"get": {"requestBody": {"content": {"text/xml": {"schema": {"type": "object"}}}}}}},
            "its body is text/xml without an example",
        ),
        (get({"type": "strin"}), "a schema has the unknown type strin"),
        (get({"type": "integer", "minimum": 5, "maximum": 3}), "no value is known for the schema of q"),
        (get({"type": "string", "pattern": r"\p{L}"}), r"no text is known for the pattern \p{L}"),
        (get({"type": "string"}, security=[{"none": []}]), "its security scheme none (not defined) is not supported"),
        ({"/a/{id}": {"get": OK}}, "a parameter of its path is not described"),
        ({"@127.0.0.2/a": {"get": OK}}, "its path does not begin with / or is not printable"),
        ({"/a": {"get": {"parameters": [{"name": "q"}]}}}, "it is not written as OpenAPI defines"),
        (
            {"/a": {"get": {"requestBody": {"content": {"image/png": {}}}}}},
            "its body is image/png, which cannot be made",
        ),
    ],
)
def test_an_operation_of_which_no_request_can_be_made_is_left_out_with_the_reason(
    tmp_path: Path, paths: dict[str, object], reason: str
) -> None:
    loop = {"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/components/schemas/Loop"}}}
    components = {"schemas": {"Loop": loop}}
    path = written(tmp_path, {**paths, "/good": {"get": OK}}, components=components)
    plan = made(path)
    assert [one.label for one in plan.requests] == ["GET /good"]
    assert plan.lines == (f"left out: GET {next(iter(paths))}: {reason}",)
    with pytest.raises(UsageError, match=r"api\.json: no operation can be used: "):
        made(written(tmp_path, paths, components=components))


@pytest.mark.real
def test_aliases_that_multiply_are_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("harness.plan.adopt.openapi.samples._NODES_MOST", 100_000)
    lines = [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 9)]
    text = "\n".join(["openapi: 3.0.0", "paths: {/a: {get: {}}}", "a0: &a0 x", *lines])
    (tmp_path / "api.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"api\.yaml: is too large with its aliases expanded"):
        made(tmp_path / "api.yaml")


def test_texts_of_the_file_are_not_evaluated_by_jmeter(home: Path) -> None:
    bad = "${__groovy(new File('/tmp/x').createNewFile())}"
    operation = {
        "operationId": f"$${bad}", "parameters": [{"name": bad, "in": "query", "required": True, "example": bad}],
        "requestBody": {"content": {"text/plain": {"example": bad}}}, **OK,
    }  # fmt: skip
    path = written(home, {"/${__time}/{x}": {"post": {**operation, "parameters": [
        *operation["parameters"], {"name": "x", "in": "path", "required": True, "example": bad},
        {"name": "X-A", "in": "header", "required": True, "example": bad},
    ]}}, "/b": {"get": OK}}, servers=[{"url": f"/{bad}"}])  # fmt: skip
    words = ["shop", "--openapi", str(path), "--only", "*", "--home", str(home), "--build", str(home / "build")]
    assert main(words, "scripts/init") == 0
    text = (home / "plans" / "shop.jmx").read_text()
    functions = re.findall(r"\$\{_*\w+", text.replace("${__char(36)}", ""))
    assert set(functions) == {"${__P", "${__jexl3"}


def test_a_secret_of_a_body_and_a_credential_have_different_names(home: Path) -> None:
    body = {"content": {"application/json": {"example": {"token": "of-the-body-4711"}}}}
    schemes = {"securitySchemes": {"secret": {"type": "http", "scheme": "bearer"}}}
    paths = {"/a": {"post": {"requestBody": body, "security": [{"secret": []}], **OK}}, "/b": {"get": OK}}
    path = written(home, paths, components=schemes)
    words = ["shop", "--openapi", str(path), "--only", "*", "--home", str(home), "--build", str(home / "build")]
    assert main(words, "scripts/init") == 0
    secrets = tomllib.loads((home / "secrets.toml").read_text())
    assert secrets == {"format_version": 1, "SHOP_SECRET_2": "of-the-body-4711"}
    assert tomllib.loads((home / "plans" / "shop.toml").read_text())["secrets"] == ["SHOP_SECRET", "SHOP_SECRET_2"]


def test_servers_that_are_not_the_target_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"/a": {"get": OK}}, servers=[{"url": "https://shop.example.org/v1"}])
    assert made(path).lines == (
        "not the target, and not used: https://shop.example.org/v1; add their path to the address if the target has it",
    )


def test_yaml_reads_dates_and_words_as_texts(tmp_path: Path) -> None:
    path = tmp_path / "api.yaml"
    schema = "{type: object, example: {on: 2020-01-31, answer: no, at: 12:30:00, is: true}}"
    path.write_text(
        "openapi: 3.1.0\npaths: {/a: {post: {requestBody: {content: {application/json: {schema: " + schema + "}}}}}}"
    )
    sent = json.loads(made(path, "*").requests[0].body or "")
    assert sent == {"on": "2020-01-31", "answer": "no", "at": "12:30:00", "is": True}
