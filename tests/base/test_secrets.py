"""Secrets of a plan: found where people keep them, masked in what a run keeps."""

import pytest

from harness.base.errors import UsageError
from harness.base.secrets import find_secrets, mask_secrets


def test_given_secrets_override_the_environment_which_overrides_the_file(tmp_path, monkeypatch):
    (tmp_path / "secrets.toml").write_text('format_version = 1\nA = "from file"\nB = "from file"\nC = "from file"\n')
    monkeypatch.setenv("A", "from environment")
    monkeypatch.setenv("B", "from environment")
    monkeypatch.delenv("C", raising=False)
    assert find_secrets(("A", "B", "C"), {"A": "given"}, tmp_path) == {
        "A": "given",
        "B": "from environment",
        "C": "from file",
    }


def test_a_missing_secret_is_named_with_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    with pytest.raises(UsageError, match=r'the plan needs SHOP_PASSWORD; set the .*write SHOP_PASSWORD = "…" into'):
        find_secrets(("SHOP_PASSWORD",), {}, tmp_path)


def test_a_secret_that_could_not_be_masked_is_refused(tmp_path):
    with pytest.raises(UsageError, match="PIN: shorter than 4 characters"):
        find_secrets(("PIN",), {"PIN": "123"}, tmp_path)


PROGRAMS = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS", "JAVA_HOME", "CLASSPATH", "JVM_ARGS", "HEAP", "GC_ALGO", "JMETER_OPTS", "PATH", "HOME", "ENV",
    "BASH_ENV", "BASH_FUNC_cd%%", "IFS", "GCONV_PATH", "PYTHONPATH", "PYTHONSTARTUP", "GIT_SSH_COMMAND", "TMPDIR",
    "XDG_STATE_HOME", "LTH_TRUST", "https_proxy", "SSL_CERT_FILE", "NODE_OPTIONS", "PERL5LIB", "PERL5OPT",
)  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_file_sets_a_variable_that_programs_read_themselves(tmp_path, monkeypatch, name):
    """JMeter's JVM and its start script get the secrets of a plan: a name could be that of an option that runs code."""
    (tmp_path / "secrets.toml").write_text(f'format_version = 1\n"{name}" = "-XX:OnError=true"\n')
    monkeypatch.delenv(name, raising=False)
    for given in ({}, {name: "-XX:OnError=true"}):
        with pytest.raises(UsageError, match="which programs read themselves; give it a name of its own"):
            find_secrets((name,), given, tmp_path)
    monkeypatch.setenv(name, "as it is")
    assert find_secrets((name,), {}, tmp_path) == {name: "as it is"}


@pytest.mark.parametrize("name", ["A=B", "A\0B", "\0"])
def test_what_no_variable_can_be_called_is_one_line(tmp_path, name):
    with pytest.raises(UsageError, match="is no name of a variable"):
        find_secrets((name,), {name: "a value"}, tmp_path)


@pytest.mark.parametrize(
    "name", ["SHOP_TOKEN", "PATH_TOKEN", "LD_SDK_KEY", "CURL_AUTHORIZATION_HEADER", "GIT_X", "JAVA_X", "KEY"]
)
def test_any_other_name_may_be_that_of_a_secret(tmp_path, name):
    assert find_secrets((name,), {name: "a value"}, tmp_path) == {name: "a value"}


def test_secrets_are_masked_everywhere_also_inside_an_address(tmp_path):
    (tmp_path / "system").mkdir()
    (tmp_path / "samples.jtl").write_bytes(b"1,2,GET /?key=a%2Fb%20c,200\n1,2,a/b c,200\n\xff\n")
    (tmp_path / "system" / "app.log").write_text("user a/b c logged in\n")
    (tmp_path / "jmeter.log").write_text("nothing\n")
    (tmp_path / "empty").write_text("")
    assert mask_secrets(tmp_path, ["a/b c"]) == ("samples.jtl", "system/app.log")
    mask = "•••".encode()
    expected = b"1,2,GET /?key=" + mask + b",200\n1,2," + mask + b",200\n\xff\n"
    assert (tmp_path / "samples.jtl").read_bytes() == expected
    assert (tmp_path / "system" / "app.log").read_text() == "user ••• logged in\n"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "app.log", "empty", "jmeter.log", "samples.jtl",
    ]  # fmt: skip


def test_a_secret_with_quotes_is_masked_in_json_and_in_the_quoted_fields_of_a_jtl_too(tmp_path):
    (tmp_path / "samples.jtl").write_text('1,2,"said: pa""ss\\word",200\n1,2,"{""p"": ""pa\\""ss\\\\word""}",200\n')
    (tmp_path / "answer.json").write_text('{"p": "pa\\"ss\\\\word"}\n')
    assert mask_secrets(tmp_path, ['pa"ss\\word']) == ("answer.json", "samples.jtl")
    assert (tmp_path / "samples.jtl").read_text() == '1,2,"said: •••",200\n1,2,"{""p"": ""•••""}",200\n'
    assert (tmp_path / "answer.json").read_text() == '{"p": "•••"}\n'
