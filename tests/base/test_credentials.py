"""What is a secret in a request, by its name or by its shape, and what only looks like one."""

import json

import pytest

from harness.base.credentials import credentials_in, credentials_of_header, credentials_of_path, looks_random

HEX = "9f3c01aa7be244d10b77e2c9d1844f60"
UUID = "1b4e28ba-2fa1-41d2-883f-b9a761bde3fb"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"


def values(name: str, text: str) -> set[str]:
    return {one.value for one in credentials_in(name, text)}


@pytest.mark.parametrize(("name", "value"), [
    ("api_key", "k-1234"), ("apiKey", "hunter2"), ("access_token", "abcdef"), ("refreshToken", "r.1.2"),
    ("otp", "482913"),
    ("totp", "482913"), ("pin", "4711"), ("mfa_code", "482913"), ("password", "correct horse"),
    ("client_secret", "s3cr"),
    ("cvv", "1234"), ("sid", HEX), ("JSESSIONID", HEX.upper()), ("session_id", UUID), ("x-session", HEX),
    ("signature", HEX), ("key", HEX), ("SAMLResponse", "PHNhbWxwOlJlc3BvbnNlIElEPSJfOGU4ZGM1ZjY5YTk4Y2M0"),
    ("code", "4/0AX4XfWhQ9x2BdLk3TzR8"), ("note", JWT), ("note", "AKIAIOSFODNN7EXAMPLE"), ("x", "ghp_" + "a1" * 18),
    ("data", "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"), ("q", "sk_live_4eC39HqLyjWDarjt"),
    ("X-Amz-Signature", HEX * 2), ("Ocp-Apim-Subscription-Key", HEX), ("token", UUID),
])  # fmt: skip
def test_a_secret_is_known_by_its_name_or_its_shape(name, value):
    assert values(name, value) == {value}


@pytest.mark.parametrize(("name", "value"), [
    ("csrf_token", HEX), ("csrfmiddlewaretoken", HEX * 2), ("_token", HEX), ("form[_token]", HEX),
    ("X-XSRF-TOKEN", HEX),
    ("authenticity_token", HEX), ("__RequestVerificationToken", HEX), ("javax.faces.ViewState", HEX), ("nonce", HEX),
    ("state", HEX), ("form_key", HEX), ("sesskey", HEX), ("nextPageToken", HEX), ("page_token", HEX), ("id", UUID),
    ("orderId", UUID), ("id", HEX), ("date", "2026-11-28T18:46:22.123Z"), ("v", "1.2.3-beta.4+build.5678"),
    ("hash", HEX),
    ("sha256", HEX * 2), ("integrity", f"sha384-{HEX}"), ("etag", HEX), ("x-request-id", UUID), ("t", "1795737600123"),
    ("token_type", "Bearer"), ("grant_type", "password"), ("token_url", "http://127.0.0.1/token"),
    ("expires_in", "3600"),
    ("password_changed_at", "2026-11-28"), ("token_expires", "1795737600"), ("remember_token", "true"),
    ("max_tokens", "4096"),
    ("sort_key", "created"), ("primary_key", UUID), ("idempotency-key", UUID), ("key", "shop"), ("key", UUID),
    ("session", "autumn-2026"), ("training_session_id", "42"), ("session_id", "1234567890"),
    ("keyword", "password reset"),
    ("secret_name", "shop"), ("zip_code", "12345"), ("country_code", "DE-BY-90402"), ("code", "ABC-12345-XYZ"),
    ("user", "ann"), ("email", "ann@example.org"), ("comment", "my token: hello there"), ("title", "Basic information"),
    ("q", "session tickets for tonight"), ("url", "https://127.0.0.1/a/b?page=2"), ("author", "Ann"),
    ("public_key", HEX),
    ("chunk", "main.3f2a9c1b.js"), ("has_password", "false"), ("description", "Bearer of good news and tokens"),
])  # fmt: skip
def test_a_harmless_value_is_no_secret(name, value):
    assert values(name, value) == set()
    assert values("", json.dumps({"a": [{name: value}]})) == set()


@pytest.mark.parametrize("text", [
    '{"a": {"b": [{"access_token": "s3cr3t-value"}]}}',
    '{"query": "mutation { login(password: \\"s3cr3t-value\\") { id } }"}',
    '{"variables": "{\\"password\\": \\"s3cr3t-value\\"}"}',
    '{"credentials": [{"type": "password", "value": "s3cr3t-value"}]}',
    '{"otp": "s3cr3t-value", "otp": "1"}',
    "<login><user>ann</user><password>s3cr3t-value</password></login>",
    '<login xmlns="urn:x" password="s3cr3t-value"/>',
    '<s:Password Type="PasswordText">s3cr3t-value</s:Password>',
    "<a><password><![CDATA[s3cr3t-value]]></password></a>",
    '{"password": {"value": "s3cr3t-value"}}',
    "user=ann&api_key=s3cr3t-value&x=1",
    "http://127.0.0.1/?x=1&access_token=s3cr3t-value",
    "http://ann:s3cr3t-value@127.0.0.1/",
    'mutation { login(password: "s3cr3t-value") { id } }',
])  # fmt: skip
def test_a_secret_is_found_within_a_text(text):
    assert values("", text) == {"s3cr3t-value"}


@pytest.mark.parametrize(("name", "value", "secret"), [
    ("Authorization", f"Bearer {JWT}", {JWT}), ("authorization", "Basic YW5uOnB3MTIz", {"YW5uOnB3MTIz"}),
    ("Authorization", "abcdef", {"abcdef"}), ("X-Session", HEX, {HEX}), ("X-Auth", "abcd1", {"abcd1"}),
    ("Proxy-Authorization", "Digest username=\"a\", response=\"b\"", {"username=\"a\", response=\"b\""}),
    ("Cookie", f"lang=de; sid={HEX}", {HEX}), ("X-CSRF-Token", HEX, set()), ("Accept", "text/html", set()),
    ("Referer", f"http://127.0.0.1/in?token={HEX}", {HEX}), ("X-Request-ID", UUID, set()),
])  # fmt: skip
def test_the_secrets_of_a_header(name, value, secret):
    assert {one.value for one in credentials_of_header(name, value)} == secret


@pytest.mark.parametrize(("before", "segment", "secret"), [
    ("reset-token", HEX, {HEX}), ("token", "refresh", set()), ("password", "change-it-for-the-user", set()),
    ("sessions", UUID, set()), ("verify", HEX, {HEX}), ("verify", "e-mail", set()), ("orders", HEX, set()),
    ("x", JWT, {JWT}), ("", f"home;jsessionid={HEX}", {HEX}),
])  # fmt: skip
def test_the_secrets_of_a_path(before, segment, secret):
    assert {one.value for one in credentials_of_path(before, segment)} == secret


@pytest.mark.parametrize(
    "value", ["training-session-2026-autumn", "autumn2026edition", "a" * 40, "Registrierungsformular"]
)
def test_words_do_not_look_random(value):
    assert not looks_random(value)
