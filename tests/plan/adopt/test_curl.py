"""curl commands, as browsers copy them: their words are those of bash, their options a request or an error."""

from __future__ import annotations

import json
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.adopt.bash_words import bash_words
from harness.plan.adopt.curl import OneRequest
from harness.plan.adopt.one_request import first_request, read_request, run_name, target_of, write_requests
from harness.plan.jmx.headers import resolved, variables_in
from harness.plan.jmx.tree import plan_tree
from harness.plan.plan import load_plan

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30)


def plain(word: str) -> str:
    """Return a word without variables as it is sent."""
    return resolved(word, lambda name: pytest.fail(f"a variable {name}"))


def in_bash(line: str) -> list[str]:
    program = 'for word in "$@"; do printf "%s\\0" "$word"; done'
    done = subprocess.run(["bash", "-c", f"set -- {line}\n{program}"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.real
@given(st.lists(TEXTS))
def test_what_shlex_quotes_is_read_as_it_was(words):
    assert [plain(word) for word in bash_words(shlex.join(words))] == words


@given(st.lists(TEXTS))
def test_what_a_browser_quotes_is_read_as_it_was(words):
    """Firefox and Chrome write texts with an apostrophe or a control character as $'…'."""
    escaped = ("".join(f"\\u{ord(one):04x}" if one < " " or one in "'\\!" else one for one in word) for word in words)
    assert [plain(word) for word in bash_words(" \\\n  ".join(f"$'{word}'" for word in escaped))] == words


@pytest.mark.real
@given(st.lists(TEXTS.filter(lambda text: "\r" not in text), min_size=1))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_what_bash_itself_quotes_is_read_as_it_was(words):
    quoted = subprocess.run(
        ["bash", "-c", 'printf "%q " "$@"', "bash", *words], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert [plain(word) for word in bash_words(quoted.stdout.decode())] == words


@pytest.mark.parametrize(
    "line",
    [
        r"""a'b'"c"\d$'e\x21'""", r'''"a\$b\`c\"d\\e\f"''', "a\\\nb c \\\n d", r"""$'\t\n\\\'\"\101\e\u00fc\xc3\xbc'""",
        "''  \"\" x", "a\u1680b \u00a0 c\x0bd\x0ce \u2003", "$'\\U1F600' a$ '$x'",
        '"two\nlines" \'a\nb\'', "a=b#c {x} a^b!",
    ],
)  # fmt: skip
def test_words_are_those_of_bash(line):
    assert [plain(word) for word in bash_words(line)] == in_bash(line)


def test_only_what_bash_replaces_is_a_variable():
    assert bash_words(r"""'$A' "$B-${C}" $D \$E $'$F' "\$G" 5$ """) == [
        "$$A", "$B-${C}", "$D", "$$E", "$$F", "$$G", "5$$",
    ]  # fmt: skip
    assert [variables_in(word) for word in bash_words('$Aü "${B}ü" $Ax')] == [("A",), ("B",), ("Ax",)]


def test_firefox_writes_other_letters_as_latin_1():
    assert bash_words(r"$'Gr\xfc\xdfe \u20ac \ud83d\ude00'") == ["Grüße € 😀"]


ADDRESS = "http://127.0.0.1:8080/x"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", OneRequest(ADDRESS)),
        ("-X PUT", OneRequest(ADDRESS, "PUT")),
        ("-XPUT -sSkL", OneRequest(ADDRESS, "PUT", follows_redirects=True)),
        ("-I --url-is-before", None),
        ("-H 'a: 1' -H 'A: 2' -H 'b:' -H 'c;'", OneRequest(ADDRESS, headers={"A": "1, 2", "c": ""})),
        ("-b a=1 -b b=2 -A me -e there", OneRequest(
            ADDRESS, headers={"Cookie": "a=1; b=2", "User-Agent": "me", "Referer": "there"})),
        ("-A me -H 'user-agent: you' -H 'Content-Length: 3'", OneRequest(ADDRESS, headers={"user-agent": "you"})),
        ("-u bob:pw", OneRequest(ADDRESS, headers={"Authorization": "Basic Ym9iOnB3"})),
        ("-d a=1 -d b=2", OneRequest(
            ADDRESS, "POST", {"Content-Type": "application/x-www-form-urlencoded"}, "a=1&b=2")),
        ("--data-raw @x -H 'content-type: text/x'", OneRequest(ADDRESS, "POST", {"content-type": "text/x"}, "@x")),
        ("--json '{' --json '}'", OneRequest(
            ADDRESS, "POST", {"Content-Type": "application/json", "Accept": "application/json"}, "{}")),
        ("-G -d a=1 --data-urlencode b=ü", OneRequest(f"{ADDRESS}?a=1&b=%C3%BC")),
        ("-F a=1 -H 'Content-Type: multipart/form-data'", OneRequest(ADDRESS, "POST", form=(("a", "1"),))),
        ("-o /dev/null --silent --compressed", OneRequest(ADDRESS, headers={"Accept-Encoding": "gzip, deflate, br"})),
    ],
)  # fmt: skip
def test_options_of_curl_are_parts_of_the_request(arguments, expected):
    if expected is None:
        with pytest.raises(UsageError):
            read_request("", f"curl {ADDRESS} {arguments}")
        return
    assert read_request("", f"curl {ADDRESS} {arguments}") == expected
    assert read_request("", f"curl {arguments} --url {ADDRESS}") == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("wget http://127.0.0.1/", "the text does not begin with curl"),
        ("", "cannot be used together|does not begin"),
        ("curl", "has 0 addresses"),
        ("curl http://127.0.0.1/a http://127.0.0.1/b", "has 2 addresses"),
        ("curl http://127.0.0.1/ --next", "the option '--next' is not supported; remove it"),
        ("curl http://127.0.0.1/ --http2", "the option '--http2' is not supported"),
        ("curl http://127.0.0.1/ -sZ", "the option '-Z' is not supported"),
        ("curl http://127.0.0.1/ -T file", "the option '-T' is not supported"),
        ("curl http://127.0.0.1/ -H", "-H has no value"),
        ("curl http://127.0.0.1/ -H nonsense", "-H has a text without a colon"),
        ("curl http://127.0.0.1/ -H @headers.txt", "-H reads a file of headers"),
        ("curl http://127.0.0.1/ -u bob", "-u has no password"),
        ("curl http://127.0.0.1/ -F a=@x.pdf", "-F a: uploads of files are not supported"),
        ("curl http://127.0.0.1/ -F 'a=1;type=text/x'", "-F a: fields with a type are not supported"),
        ("curl http://127.0.0.1/ -F a=1 -d b=2", "-F and -d cannot be used together"),
        ("curl http://127.0.0.1/ -b cookies.txt", "-b reads a file of cookies"),
        ("curl http://127.0.0.1/ -d @absent.json", "the file absent.json of its data cannot be read"),
        ("curl http://127.0.0.1/ -X PROPFIND", "-X PROPFIND is not supported"),
        ("curl 'http://127.0.0.1/[1-9]'", "a pattern of curl"),
        ('curl http://127.0.0.1/ -u "bob:$PASSWORD"', "-u with a variable is not supported"),
        ("curl http://127.0.0.1/?a=1&b=2", "the command has & outside of single quotes"),
        ("curl http://127.0.0.1/ | jq .", "the command has | outside of single quotes"),
        ("curl http://127.0.0.1/ -d \"$(cat x)\"", r"the command has \$\( outside of single quotes"),
        ("curl 'http://127.0.0.1/", "a quote that is not closed"),
        ('curl ^"http://127.0.0.1/^"', "for cmd of Windows; copy it as cURL"),
        (r"curl http://127.0.0.1/ -d $'\ud800'", "an escape that is no character"),
    ],
)  # fmt: skip
def test_a_command_that_is_no_request_is_one_line(line, message):
    with pytest.raises(UsageError, match=message) as raised:
        read_request("", line) if line else read_request("http://127.0.0.1/", "curl x")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("curl 'ftp://127.0.0.1/x'", "not an http or https address"),
        ("curl http://bob:pw-of-bob@127.0.0.1/", "only scheme, host, port and path"),
        ('curl "http://$HOST/x"', "the host is a variable"),
        ("curl http://127.0.0.1/ -H 'X-Name: Müller'", "X-Name has a value that is not ASCII text"),
        ("curl http://127.0.0.1/ -H 'X Name: a'", "'X Name' is no name of a header"),
    ],
)
def test_a_request_that_no_plan_can_send_is_refused_without_its_secrets(line, message, tmp_path):
    with pytest.raises(UsageError, match=message) as raised:
        first_request("", line, tmp_path)
    assert "pw-of-bob" not in str(raised.value)


@pytest.mark.real
def test_commands_of_one_address_at_once_have_whole_plans_each_of_its_own_request(tmp_path):
    """They had one file, which was written in place, and was of the last command where only the queries differed."""

    def texts(query: str) -> set[str]:
        made = [first_request(f"{ADDRESS}/items?{query}", None, tmp_path) for _ in range(8)]
        return {(one.folder / f"{one.name}.jmx").read_text() for one in made}

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(texts, ("q=1", "q=2", "q=1", "q=2")))
    assert [len(one) for one in found] == [1, 1, 1, 1]
    assert found[0] == found[2] != found[1] == found[3]
    assert len(list((tmp_path / "first-look").iterdir())) == 2


@pytest.mark.parametrize(
    ("address", "name", "origin"),
    [
        ("http://127.0.0.1:8080/api/items?q=1#top", "127.0.0.1-api-items", "http://127.0.0.1:8080"),
        ("https://127.0.0.1", "127.0.0.1", "https://127.0.0.1:443"),
        ("http://[::1]:81/a$b", "1-a-b", "http://[::1]:81"),
        ("http://localhost?next=/x", "localhost", "http://localhost:80"),
    ],
)
def test_the_address_is_the_target_and_names_the_reports(address, name, origin):
    request = read_request(address, None)
    assert (run_name(request), target_of(request).origin, target_of(request).base_path) == (name, origin, "")


def test_the_secrets_of_a_command_are_environment_variables_of_the_plan(tmp_path):
    body = json.dumps({"password": "hunter22", "path": "C:\\new\\x"})
    line = f"curl '{ADDRESS}' -H 'Authorization: Bearer abc-def-123' -b 'id=0123456789' -H 'X-Plain: 1' -d '{body}'"
    made = write_requests([read_request("", line)], tmp_path, "shop", "shop")
    assert made.secrets == {
        "SHOP_AUTHORIZATION_HEADER": "Bearer abc-def-123", "SHOP_COOKIE_HEADER": "id=0123456789",
        "SHOP_SECRET": "hunter22",
    }  # fmt: skip
    plan = load_plan(tmp_path, "shop")
    assert plan.headers == {
        "Content-Type": "application/x-www-form-urlencoded", "Cookie": "$SHOP_COOKIE_HEADER",
        "Authorization": "$SHOP_AUTHORIZATION_HEADER", "X-Plain": "1",
    }  # fmt: skip
    sampler = next(node for node in plan_tree(plan.jmx_path).walk() if node.kind == "HTTPSamplerProxy")
    read = '${__groovy(System.getenv("SHOP_SECRET"))}'
    # In a text with a reference, JMeter reads two backslashes as one.
    assert sampler.value("Argument.value") == body.replace("\\", "\\\\").replace("hunter22", read)
    assert not [path for path in Path(tmp_path).iterdir() if "hunter22" in path.read_text()]
